"""The official metrics, in plain Python; task types name them by reference."""

from scoring.metrics.base import Metric, UnknownMetric
from scoring.metrics.declared import known_metric, metric_of, metrics_of
from tasks.types.unavailable import Unavailable

__all__ = ["Metric", "Unavailable", "UnknownMetric", "known_metric", "metric_of", "metrics_of"]
