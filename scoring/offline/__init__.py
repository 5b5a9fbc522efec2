"""The offline scorer: check, score and compare without a database."""
