"""This package stores jobs (units of work), wakes workers, and stores the results of
jobs.
"""
