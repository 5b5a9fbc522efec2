"""This package manages the entries (registrations) of teams in seasons."""
