"""Reproduce figures of the five papers, with the papers' systems, parameter sweeps,
manual checks and file formats.
"""
