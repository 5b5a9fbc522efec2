"""Compute boards, pages of runs, comparisons of runs and tables of published results
from stored scores.
"""
