"""Signed requests to organisers' programs: written with the event, posted by the sweeper."""
