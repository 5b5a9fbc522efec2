"""Gold: read, checked, packed and numbered."""
