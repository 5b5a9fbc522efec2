"""Background jobs of workers besides scoring: sheets, imports, archives."""
