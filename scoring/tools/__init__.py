"""Plain Python around the scorer: baselines, builders of data sets, training."""
