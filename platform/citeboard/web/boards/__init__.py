"""Pages of a phase: its board, tabs, files and charts."""
