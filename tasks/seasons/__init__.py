"""Seasons: their files, phases, announcements, and visibility."""
