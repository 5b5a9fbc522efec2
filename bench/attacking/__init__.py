"""Attacks on a running site by those who know its rules: rival organisers, readers, and teams with programs.

`bench/attack.py` starts the site and prints the table. Each attack yields a row.
"""
