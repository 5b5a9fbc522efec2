"""Entries of teams in seasons."""
