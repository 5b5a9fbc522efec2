"""Pages with the board of a phase and with its tabs, files and charts."""
