"""Names of the methods that compute intervals. This module has no imports, so that the
command line starts quickly.
"""

WILSON_JACKKNIFE, PERCENTILE, BCA = "wilson-jackknife", "percentile", "bca"
#: Bootstrap methods.
#: Bootstrap methods for intervals need a number of bootstrap samples and a seed.
RESAMPLING_METHODS = (PERCENTILE, BCA)
METHODS = (WILSON_JACKKNIFE, *RESAMPLING_METHODS)
