"""Notifications: rows written with the event, read on the site, sent by e-mail."""
