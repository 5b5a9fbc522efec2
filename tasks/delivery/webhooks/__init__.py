"""A webhook sends signed HTTP requests about events to a program of a season's
organisers. Each delivery of an event is stored in the transaction that causes the
event. A regular job (the sweeper) sends the stored deliveries.
"""
