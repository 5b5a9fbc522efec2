"""Compute intervals, significance tests, breakdowns and signatures of scores in plain
Python.
"""
