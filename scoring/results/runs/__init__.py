"""A run's own page: its numbers, how it came to them, where it stands on its way."""
