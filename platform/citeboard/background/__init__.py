"""Background jobs besides scoring: sheets, imports, archives."""
