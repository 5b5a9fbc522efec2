"""The names of the ways in which intervals are made; apart, so that a command line can name them at once."""

WILSON_JACKKNIFE, PERCENTILE, BCA = "wilson-jackknife", "percentile", "bca"
#: Methods that draw units with replacement. They need a number of resamples and a seed.
RESAMPLED = (PERCENTILE, BCA)
METHODS = (WILSON_JACKKNIFE, *RESAMPLED)
