"""A season from its file: read as tables, then as entries, judged as a plan, and loaded."""
