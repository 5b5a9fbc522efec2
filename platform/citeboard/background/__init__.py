"""Background jobs besides scoring, such as sheets, imports and archives."""
