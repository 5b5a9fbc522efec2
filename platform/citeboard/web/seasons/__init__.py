"""Home, season and task pages."""
