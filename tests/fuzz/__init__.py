"""Mutated runs of every task type, checked and, where they pass, scored: whatever comes, no traceback and no
hang. `python -m tests.fuzz` tries 100,000 files and prints what became of them.
"""
