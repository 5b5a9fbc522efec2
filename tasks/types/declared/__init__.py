"""Tasks that a folder defines without code, in the configuration file `task.toml`, a
description `card.md`, and a sample of data.
"""
