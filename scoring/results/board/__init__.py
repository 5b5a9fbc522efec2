"""Compute the summary, rows, significance tests, charts and exports of a phase's board."""
