"""Tasks that are declared in a folder and need no code: `task.toml`, the card, a sample."""
