"""What the site computes from stored scores: boards, pages of runs, comparisons, published results."""
