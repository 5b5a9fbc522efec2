"""Small metrics whose values can be worked out by hand."""

import numpy as np

from scoring.metrics.base import CountMetric, MeanMetric, Metric


class Mean(MeanMetric):
    """The mean of given numbers; a row is the number and 1."""

    statistic = "numbers"
    columns = ("number",)

    def __init__(self, name="mean", rules="corrected", *, over_units=False):
        super().__init__(name, rules, column="number", over_units=over_units)

    def instance_stats(self, gold, answers):
        return mean_rows(answers)


class Counts(CountMetric):
    """Precision, recall or F1 of given counts."""

    statistic = "counts"

    def __init__(self, part="f1", average="micro"):
        super().__init__(f"{part}_{average}", "corrected", part=part, average=average)

    def instance_stats(self, gold, answers):
        return np.array(answers, dtype=float).reshape(-1, 3)


class Divergence(Metric):
    """KL of the answers' shares of three classes from the gold's, in nats; infinite where the answers have
    none of a class.
    """

    name, statistic, higher_is_better = "kl", "shares", False

    def __init__(self, gold=(0.5, 0.3, 0.2)):
        super().__init__("kl", "corrected")
        self.gold = np.array(gold)

    def instance_stats(self, gold, answers):
        return np.eye(3)[np.array(answers)]

    def aggregate(self, sums):
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = sums / sums.sum(axis=-1, keepdims=True)
            return (self.gold * np.log(self.gold / shares)).sum(axis=-1)


def mean_rows(numbers):
    numbers = np.asarray(numbers, dtype=float)
    return np.column_stack([numbers, np.ones(len(numbers))])
