"""Statistics in plain Python: intervals, significance tests, breakdowns, signatures."""
