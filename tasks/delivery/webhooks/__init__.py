"""Webhooks: signed requests to organisers' programs. A delivery is stored in the
transaction of its event. The sweeper sends all deliveries.
"""
