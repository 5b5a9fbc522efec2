"""Faults that `manage.py drill` injects into a copy of the site."""
