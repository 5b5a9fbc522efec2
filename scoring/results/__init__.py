"""Boards, pages of runs, comparisons and published results, computed from stored
scores.
"""
