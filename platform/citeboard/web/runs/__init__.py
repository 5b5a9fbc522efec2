"""Pages of runs: upload, result, claims, comparison."""
