"""Code that reproduces figures of the five papers: their systems, sweeps, manual checks
and converters.
"""
