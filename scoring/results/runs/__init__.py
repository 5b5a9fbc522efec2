"""The page of a run: its scores, their explanation, and its progress."""
