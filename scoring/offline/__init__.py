"""Check, score and compare runs of systems without a database."""
