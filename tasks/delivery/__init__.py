"""Notifications and webhooks, and how both are delivered."""
