"""Seasons: their files, phases, announcements, and who may see them."""
