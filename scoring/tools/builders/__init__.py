"""Build the gold of citation tasks from corpora of papers. Corpora are streamed, and
all rules are documented.
"""
