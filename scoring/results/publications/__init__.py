"""Results of publications, and their comparison with the site's results."""
