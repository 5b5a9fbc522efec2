"""A season as a folder that works from disk without a server, and from which every number can be verified."""
