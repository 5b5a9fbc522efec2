"""Tasks that a folder declares without code: `task.toml`, the card, and a sample."""
