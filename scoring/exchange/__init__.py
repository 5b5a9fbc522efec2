"""Boards and data in the formats of others: one module a format."""
