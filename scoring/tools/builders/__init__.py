"""Build the gold (reference answers) of citation tasks from corpora of papers. The
builders read corpora as streams and document all of their rules.
"""
