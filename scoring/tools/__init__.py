"""Tools beside the scorer: baselines, builders of data sets, and training. The tools do
not import Django.
"""
