"""Classification: accuracy, precision, recall and F1 by class and averaged, Cohen's kappa and
Matthews' correlation; equal to scikit-learn.

Everything follows from three counts for each class: instances that have it in the gold, that were given
it, and that have and were given it. Weighted kappa needs the confusions themselves.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, f1_of_counts, quotient, ratio
from tasks.types.columns import present

AVERAGES = ("macro", "micro", "weighted")
CITATION = "van Rijsbergen 1979, Information Retrieval, 2nd edition, chapter 7"
KAPPA = (
    "Cohen 1960, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20"
)
MATTHEWS = (
    "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, "
    "Biochimica et Biophysica Acta 405; "
    "Gorodkin 2004, Comparing two K-category assignments by a K-category correlation coefficient"
)
WEIGHTED_KAPPA = "Cohen 1968, Weighted kappa: Nominal scale agreement with provision for scaled disagreement"

#: Units in which a class must occur for a mean over classes to have an interval.
MIN_UNITS_OF_A_CLASS = 3

Label = str | int


class Classification(Metric):
    """What classification metrics share: the classes, and a matrix of them.

    ``labels`` are the classes in order; None for those of the gold, sorted. An answer that is none of
    them is wrong and belongs to no class, and a missing one likewise: scikit-learn's ``labels=`` does
    the same. Answers without gold do not count.
    """

    citation = CITATION
    #: What the matrix holds.
    kind = "classes"

    def __init__(self, name: str, rules: str, *, labels: Sequence[Label] | None = None) -> None:
        super().__init__(name, rules)
        self.labels = labels
        named = "gold" if labels is None else ",".join(map(str, labels))
        self.statistic, self.fixed = f"{self.kind}:{named}", {"labels": named, "zero": 0}

    def codes(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """The class numbers of gold and answers, -1 for none, and how many classes there are."""
        labels = self.labels or sorted(
            {label for label in gold if label is not None}, key=lambda label: (str(type(label)), label)
        )
        numbers: dict[Label | None, int] = {label: number for number, label in enumerate(labels)}
        wanted, answered = (
            np.array([numbers.get(label, -1) for label in side], dtype=np.intp) for side in (gold, answers)
        )
        return wanted, np.where(present(gold), answered, -1), len(labels)

    def instance_stats(self, gold: Sequence[Label | None], answers: Sequence[Label | None]) -> Floats:
        """(n, 3c + 1): in the gold, given, and both, of c classes side by side; and 1 where there is gold."""
        wanted, answered, count = self.codes(gold, answers)
        stats = np.zeros((len(wanted), 3 * count + 1))
        for part, codes in enumerate((wanted, answered, np.where(wanted == answered, wanted, -1))):
            rows = np.flatnonzero(codes >= 0)
            stats[rows, part * count + codes[rows]] = 1
        stats[:, -1] = present(gold)
        return stats


def class_counts(sums: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """From (…, 3c + 1) sums: (…, c) in the gold, given and both, and (…) instances."""
    support, answered, both = np.split(sums[..., :-1], 3, axis=-1)
    return support, answered, both, sums[..., -1]


class Accuracy(Classification):
    """The share of instances whose answer is the gold answer; undefined (NaN) over none."""

    def aggregate(self, sums: Floats) -> Floats:
        _, _, both, count = class_counts(sums)
        return quotient(both.sum(axis=-1), count)


class ClassAverage(Classification):
    """Precision, recall or F1, averaged over classes, or of one class.

    ``macro`` is the plain mean over classes, ``weighted`` the mean weighted by how many instances have
    the class in the gold, ``micro`` pools the counts. 0/0 is 0, which scikit-learn calls
    ``zero_division=0``; a class without instances counts in a macro average, with 0.
    """

    def __init__(
        self, name: str, rules: str, *, part: str, average: str, labels: Sequence[Label] | None = None
    ) -> None:
        super().__init__(name, rules, labels=labels)
        self.part, self.average = part, average
        self.fixed = {**self.fixed, "average": average}

    def has_enough_units(self, rows: Floats) -> bool:
        """A mean over classes needs each class in some units: what is left out must be able to come."""
        if self.average != "macro":
            return True
        support = class_counts(rows)[0]
        return bool(((support > 0).sum(axis=0) >= MIN_UNITS_OF_A_CLASS).all())

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, _ = class_counts(sums)
        if self.average == "micro":
            pooled = (counts.sum(axis=-1) for counts in (both, answered, support))
            return part_of(self.part, *pooled)
        by_class = part_of(self.part, both, answered, support)
        if self.average == "macro":
            return (
                np.asarray(by_class.mean(axis=-1)) if by_class.shape[-1] else np.full(sums.shape[:-1], np.nan)
            )
        return ratio((by_class * support).sum(axis=-1), support.sum(axis=-1))


class OneClass(Classification):
    """Precision, recall or F1 of one class; 0/0 is 0."""

    def __init__(self, name: str, rules: str, *, part: str, label: Label, labels: Sequence[Label]) -> None:
        super().__init__(name, rules, labels=labels)
        self.part, self.place = part, list(labels).index(label)

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, _ = class_counts(sums)
        return part_of(self.part, both[..., self.place], answered[..., self.place], support[..., self.place])


class Kappa(Classification):
    """Cohen's kappa: agreement beyond what the two distributions of classes give by chance.

    Undefined (NaN) over no instances and where chance alone would agree always. Instances whose answer
    is no class are left out, as they cannot stand in a table of confusions.
    """

    citation = KAPPA
    ends = (-1.0, 1.0)
    kind = "agreement"

    def instance_stats(self, gold: Sequence[Label | None], answers: Sequence[Label | None]) -> Floats:
        stats = super().instance_stats(gold, answers)
        wanted, answered, _ = self.codes(gold, answers)
        return stats * ((wanted >= 0) & (answered >= 0))[:, None]

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, count = class_counts(sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = (support * answered).sum(axis=-1) / count
            return np.asarray((both.sum(axis=-1) - expected) / (count - expected))


class Matthews(Classification):
    """Matthews' correlation coefficient, of two classes or, as Gorodkin has it, of several.

    1 where all is right, 0 where answers tell no more than chance. A missing answer and one that is no class
    count as one class more, which the gold never has. 0 where all gold is of one class, or all answers are;
    undefined (NaN) over no instances.
    """

    citation = MATTHEWS
    ends = (-1.0, 1.0)

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, count = class_counts(sums)
        other = count - answered.sum(axis=-1)
        shared = both.sum(axis=-1) * count - (support * answered).sum(axis=-1)
        of_gold = count**2 - (support**2).sum(axis=-1)
        of_answers = count**2 - (answered**2).sum(axis=-1) - other**2
        value = ratio(shared, np.sqrt(of_gold * of_answers))
        return np.asarray(np.where(count > 0, value, np.nan))


class QuadraticKappa(Classification):
    """Kappa with disagreements weighted by the square of the distance between classes, which have an order.

    Undefined (NaN) over no instances and where no disagreement is to be expected.
    """

    citation = WEIGHTED_KAPPA
    ends = (-1.0, 1.0)
    kind = "confusions"

    def instance_stats(self, gold: Sequence[Label | None], answers: Sequence[Label | None]) -> Floats:
        """(n, c * c): a 1 in the cell of gold and answer, row by row; none where either is no class."""
        wanted, answered, count = self.codes(gold, answers)
        rows = np.flatnonzero((wanted >= 0) & (answered >= 0))
        stats = np.zeros((len(wanted), count * count))
        stats[rows, wanted[rows] * count + answered[rows]] = 1
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        table = confusions(sums)
        size = table.shape[-1]
        distance = (np.arange(size)[:, None] - np.arange(size)) ** 2
        by_chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
        count = table.sum(axis=(-2, -1))
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = (by_chance * distance).sum(axis=(-2, -1)) / count
            return np.asarray(1 - (table * distance).sum(axis=(-2, -1)) / expected)


def confusions(sums: Floats) -> Floats:
    """(…, c, c) from sums of ``QuadraticKappa``: how often gold is the row's, the answer the column's."""
    size = round(sums.shape[-1] ** 0.5)
    return sums.reshape(*sums.shape[:-1], size, size)


def part_of(part: str, both: Floats, answered: Floats, support: Floats) -> Floats:
    if part == "precision":
        return ratio(both, answered)
    return ratio(both, support) if part == "recall" else f1_of_counts(both, answered, support)
