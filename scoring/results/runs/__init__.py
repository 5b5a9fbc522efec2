"""Prepare the page of a run with its scores, an explanation of the scores, and its
progress.
"""
