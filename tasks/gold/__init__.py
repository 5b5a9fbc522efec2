"""Gold: reading, checking, packing and versions."""
