"""Notifications and webhooks, and their delivery."""
