"""Jobs: their workers, the wake-ups of workers, and their results."""
