"""This package manages seasons with their files, phases, announcements and visibility."""
