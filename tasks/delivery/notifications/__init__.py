"""Notifications. A notification is stored in the transaction of the event, shown on the
site, and sent by e-mail.
"""
