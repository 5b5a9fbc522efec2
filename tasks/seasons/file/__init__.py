"""Read a season file as tables and entries, compare the entries with the site in a
plan, and load the plan.
"""
