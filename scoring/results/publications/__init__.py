"""Read the results of publications, and compare these results with the site's scores."""
