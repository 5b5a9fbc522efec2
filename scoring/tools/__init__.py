"""Tools beside the scorer: baselines, builders of data sets, and training. They do not
import Django.
"""
