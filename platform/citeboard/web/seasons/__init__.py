"""Pages of seasons and tasks, and the home page."""
