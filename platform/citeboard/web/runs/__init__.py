"""Pages of runs: upload, results, instances, claims, comparison."""
