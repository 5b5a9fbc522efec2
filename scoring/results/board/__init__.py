"""The board of a phase: its statement, its rows, who differs from whom, its charts and exports."""
