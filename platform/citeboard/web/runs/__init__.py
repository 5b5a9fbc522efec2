"""Pages of runs, with uploads, results, instances, claims and comparisons."""
