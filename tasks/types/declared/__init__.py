"""Tasks that a folder declares without code, in a `task.toml`, a card, and a sample."""
