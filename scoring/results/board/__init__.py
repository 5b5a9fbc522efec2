"""The board of a phase: summary, rows, significance tests, charts and exports."""
