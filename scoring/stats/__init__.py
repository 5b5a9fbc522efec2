"""Statistics over units, in plain Python: intervals, significance, breakdowns, signatures."""
