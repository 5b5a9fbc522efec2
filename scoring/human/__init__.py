"""Human evaluation: sheets of blinded texts, ratings, and their results."""
