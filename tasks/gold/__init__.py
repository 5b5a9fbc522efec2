"""This package reads, checks, packs and versions gold (the reference answers)."""
