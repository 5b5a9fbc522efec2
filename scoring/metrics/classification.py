"""Classification: accuracy, precision, recall and F1 by class and averaged, Cohen's kappa and
Matthews' correlation; equal to scikit-learn.

Everything follows from three counts for each class: instances that have it in the gold, that were given
it, and that have and were given it. Weighted kappa needs the confusions themselves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import (
    ClassGold,
    Fixed,
    Floats,
    MeanMetric,
    Metric,
    f1_of_counts,
    quotient,
    ratio,
)
from tasks.types.columns import NO_CLASS, present

CITATION = "van Rijsbergen 1979, Information Retrieval, 2nd edition, chapter 7"

#: Units in which a class must occur for a mean over classes, a kappa or a correlation to have an interval.
MIN_UNITS_OF_A_CLASS = 5

Label = str | int


class Classification(Metric):
    """What classification metrics share: the classes, and a matrix of them. ``labels`` are the classes in
    order; None for those of the gold, sorted. An answer that is none of them is wrong and belongs to no
    class, and a missing one likewise: scikit-learn's ``labels=`` does the same. Answers without gold do not
    count.
    """

    citation = CITATION
    is_valid_in_one_label = False
    #: What the matrix holds.
    kind = "classes"
    #: A mean over classes needs each in some units for its interval: what is left out must be able to come.
    needs_each_class = False

    def __init__(
        self, name: str, rules: str, *, labels: Sequence[Label] | None = None
    ) -> None:
        super().__init__(name, rules)
        self.labels = labels
        named = "gold" if labels is None else ",".join(map(str, labels))
        self.statistic, self.fixed = (
            f"{self.kind}:{named}",
            {"labels": named, "zero": 0},
        )

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, -1]

    def is_constant(self, rows: Floats) -> bool:
        """Return True if at most one label is answered."""
        if self.kind != Classification.kind:
            return False
        return int(np.count_nonzero(class_counts(rows)[1].sum(axis=0))) <= 1

    def has_enough_units(self, rows: Floats) -> bool:
        """Where it has to, each class occurs in enough of the units, or in all of few."""
        if not self.needs_each_class:
            return True
        return bool(
            (
                (class_counts(rows)[0] > 0).sum(axis=0)
                >= min(MIN_UNITS_OF_A_CLASS, len(rows))
            ).all()
        )

    def codes(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """The class numbers of gold and answers, ``NO_CLASS`` for none, and how many classes there are."""
        labels = self.labels or sorted(
            {label for label in gold if label is not None},
            key=lambda label: (str(type(label)), label),
        )
        numbers: dict[Label | None, int] = {
            label: number for number, label in enumerate(labels)
        }
        wanted, answered = (
            np.array([numbers.get(label, NO_CLASS) for label in side], np.intp)
            for side in (gold, answers)
        )
        counts = counting(gold, answers)
        return (
            np.where(counts, wanted, NO_CLASS),
            np.where(counts, answered, NO_CLASS),
            len(labels),
        )

    def instance_stats(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> Floats:
        """(n, 3c + 1): in the gold, given, and both, of c classes side by side; and 1 where there is gold.
        Where instances have several labels each, a row has a 1 in each of their columns.
        """
        if any(isinstance(labels, tuple) for labels in gold):
            assert self.labels is not None
            labelled, given = (
                indicators(side, self.labels) for side in (gold, answers)
            )
            has_gold = present(gold).astype(np.float64)
            given *= has_gold[:, None]
            return np.column_stack([labelled, given, labelled * given, has_gold])
        wanted, answered, count = self.codes(gold, answers)
        stats = np.zeros((len(wanted), 3 * count + 1))
        for part, codes in enumerate(
            (wanted, answered, np.where(wanted == answered, wanted, NO_CLASS))
        ):
            rows = np.flatnonzero(codes >= 0)
            stats[rows, part * count + codes[rows]] = 1
        stats[:, -1] = counting(gold, answers)
        return stats


def counting(gold: Sequence[Any], answers: Sequence[Any]) -> NDArray[np.bool_]:
    """Which instances stand in tables of confusions: those with gold whose answer is not left out."""
    return np.asarray(present(gold) & ~left_out(answers))


def left_out(answers: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array(
        [getattr(answer, "is_left_out", False) for answer in answers], dtype=bool
    )


def indicators(sides: Sequence[Any], labels: Sequence[Label]) -> Floats:
    """(n, c): 1 where the instance has the label; of those without labels a row of zeros."""
    numbers = {label: number for number, label in enumerate(labels)}
    rows = np.zeros((len(sides), len(labels)))
    for row, own in enumerate(sides):
        rows[row, [numbers[label] for label in own or ()]] = 1
    return rows


def class_counts(sums: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """From (…, 3c + 1) sums: (…, c) in the gold, given and both, and (…) instances."""
    support, answered, both = np.split(sums[..., :-1], 3, axis=-1)
    return support, answered, both, sums[..., -1]


class Accuracy(Classification):
    """The share of instances whose answer is the gold answer; undefined (NaN) over none."""

    shape = "mean"
    stands_in = (Fixed.ONE_LABEL,)

    def fixed_by(self, gold: ClassGold) -> None:
        """Return None: the share of right answers is valid in any class."""

    def aggregate(self, sums: Floats) -> Floats:
        _, _, both, count = class_counts(sums)
        return quotient(both.sum(axis=-1), count)


#: What 0/0 of a class is: 0, or undefined, which leaves the class out of averages.
AS_ZERO, LEFT_OUT = "0", "left-out"


def _fixed_zero(zero: str) -> dict[str, str]:
    """What the signature says of a class without a value, where this is not the default."""
    return {} if zero == AS_ZERO else {"zero": zero}


class ClassAverage(Classification):
    """Precision, recall or F1, averaged over classes, or of one class. ``macro`` is the plain mean over
    classes, ``weighted`` the mean weighted by how many instances have the class in the gold, ``micro`` pools
    the counts. 0/0 is 0, which scikit-learn calls ``zero_division=0``; a class without instances counts in a
    macro average, with 0. With ``zero`` "left-out", 0/0 is undefined and leaves its class out of the average,
    as with ``zero_division=np.nan``.
    """

    shape = "classes"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        average: str,
        labels: Sequence[Label] | None = None,
        zero: str = AS_ZERO,
    ) -> None:
        super().__init__(name, rules, labels=labels)
        self.part, self.average, self.zero = part, average, zero
        self.fixed = {**self.fixed, "average": average, **_fixed_zero(zero)}
        self.needs_each_class = average == "macro"
        self.holds_with_rare_classes = not self.needs_each_class
        self.stands_in = (Fixed.ONE_LABEL,) if average == "micro" else ()

    def fixed_by(self, gold: ClassGold) -> Fixed | None:
        """Return None for a micro average, which pools the answers of all classes."""
        return None if self.average == "micro" else super().fixed_by(gold)

    def denominators(self, rows: Floats) -> Floats:
        support, answered, _, count = class_counts(rows)
        if self.average != "micro":
            return count
        return denominator_of(self.part, answered.sum(axis=-1), support.sum(axis=-1))

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, _ = class_counts(sums)
        if self.average == "micro":
            return part_of(
                self.part,
                *(counts.sum(axis=-1) for counts in (both, answered, support)),
                zero=self.zero,
            )
        by_class = part_of(self.part, both, answered, support, zero=self.zero)
        if self.zero == LEFT_OUT:
            is_defined = ~np.isnan(by_class)
            weights = is_defined * (1.0 if self.average == "macro" else support)
            # Without any weight the plain mean counts, as in scikit-learn.
            weights = np.where(weights.any(-1, keepdims=True), weights, is_defined)
            total = (np.where(is_defined, by_class, 0) * weights).sum(axis=-1)
            return quotient(total, weights.sum(axis=-1))
        if self.average == "macro":
            return quotient(by_class.sum(axis=-1), np.asarray(by_class.shape[-1]))
        return ratio((by_class * support).sum(axis=-1), support.sum(axis=-1))


class BalancedAccuracy(Classification):
    """The mean recall of the classes that occur in the gold; undefined (NaN) where none does."""

    shape = "classes"
    stands_in = (Fixed.ONE_LABEL,)

    def fixed_by(self, gold: ClassGold) -> None:
        """Return None: where one label occurs, the value is its recall."""

    citation = "Brodersen et al. 2010, The balanced accuracy and its posterior distribution, ICPR"

    def aggregate(self, sums: Floats) -> Floats:
        support, _, both, _ = class_counts(sums)
        return quotient(ratio(both, support).sum(axis=-1), (support > 0).sum(axis=-1))


class Coverage(Classification):
    """The share of instances that a run answers; one in which it abstains is answered too."""

    shape = "mean"
    kind = "coverage"
    is_valid_in_one_label = True
    citation = "El-Yaniv and Wiener 2010, On the Foundations of Noise-free Selective Classification, JMLR 11"

    def instance_stats(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> Floats:
        """(n, 2): whether it is answered, and 1. A label alone that stands in for an answer is none."""
        answered = [
            answer is not None and getattr(answer, "is_answer", True)
            for answer in answers
        ]
        counts = present(gold)
        return np.column_stack(
            [np.array(answered, dtype=bool) & counts, counts]
        ).astype(np.float64)

    def aggregate(self, sums: Floats) -> Floats:
        return quotient(sums[..., 0], sums[..., 1])


class LabelSets(MeanMetric):
    """The mean over instances that have several labels: whether the sets are equal, Jaccard's coefficient,
    precision, recall and F1 of each instance, or the share of labels that only one of both has. 0/0 is 0, as
    scikit-learn has it with ``zero_division=0``; an instance without an answer has no labels.
    """

    columns = ("exact", "hamming", "jaccard", "precision", "recall", "f1")
    statistic = "label-sets"
    citation = (
        "Tsoumakas and Katakis 2007, Multi-Label Classification: An Overview, IJDWM 3"
    )

    def __init__(
        self, name: str, rules: str, *, labels: Sequence[Label], column: str
    ) -> None:
        super().__init__(name, rules, column=column)
        self.labels = labels
        self.fixed = {"labels": ",".join(map(str, labels)), "zero": 0}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        wanted, answered = (indicators(side, self.labels) for side in (gold, answers))
        both, differing = (
            (wanted * answered).sum(axis=1),
            (wanted != answered).sum(axis=1),
        )
        given, support, counts = answered.sum(axis=1), wanted.sum(axis=1), present(gold)
        columns = [
            differing == 0,
            differing / len(self.labels),
            ratio(both, both + differing),
            ratio(both, given),
            ratio(both, support),
            f1_of_counts(both, given, support),
        ]
        return np.column_stack(
            [np.column_stack(columns) * counts[:, None], counts]
        ).astype(np.float64)


class HammingLoss(LabelSets):
    higher_is_better = False


class OneClass(Classification):
    """Precision, recall or F1 of one class; 0/0 is 0, or undefined with ``zero`` "left-out"."""

    shape = "ratio"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        label: Label,
        labels: Sequence[Label],
        zero: str = AS_ZERO,
    ) -> None:
        super().__init__(name, rules, labels=labels)
        self.part, self.place, self.zero = part, list(labels).index(label), zero
        self.fixed = {**self.fixed, **_fixed_zero(zero)}
        if part in ("recall", "false-positives"):
            self.stands_in = (Fixed.ONE_LABEL,)

    def fixed_by(self, gold: ClassGold) -> Fixed | None:
        """Return None for the recall of a label that occurs, and for false positives if another one does."""
        has_label = gold.rows[:, self.place]
        is_valid = (self.part == "recall" and has_label.any()) or (
            self.part == "false-positives" and not has_label.all()
        )
        return None if is_valid else super().fixed_by(gold)

    def denominators(self, rows: Floats) -> Floats:
        support, answered, _, _ = class_counts(rows)
        return denominator_of(
            self.part, answered[:, self.place], support[:, self.place]
        )

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, _ = class_counts(sums)
        return part_of(
            self.part,
            both[..., self.place],
            answered[..., self.place],
            support[..., self.place],
            zero=self.zero,
        )


class EachClass(OneClass):
    """The same of whichever label a class is of, as it stands by gold label; it rests on all instances."""

    is_valid_in_one_label = True
    #: By what a single class is measured.
    one_class: type[OneClass] = OneClass

    def __init__(
        self, name: str, rules: str, *, part: str, labels: Sequence[Label]
    ) -> None:
        super().__init__(name, rules, part=part, label=labels[0], labels=labels)

    def of_label(self, label: str) -> Metric | None:
        own = {str(one): one for one in self.labels or ()}
        if label not in own:
            return None
        return self.one_class(
            self.name,
            self.rules,
            part=self.part,
            label=own[label],
            labels=[*own.values()],
        )


class FalsePositiveRate(OneClass):
    """The share of the instances of other classes that are given this one; undefined (NaN) without any."""

    higher_is_better = False

    def __init__(
        self, name: str, rules: str, *, label: Label, labels: Sequence[Label]
    ) -> None:
        super().__init__(
            name, rules, part="false-positives", label=label, labels=labels
        )

    def denominators(self, rows: Floats) -> Floats:
        support, _, _, count = class_counts(rows)
        return count - support[:, self.place]

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, count = class_counts(sums)
        own = self.place
        return quotient(answered[..., own] - both[..., own], count - support[..., own])


class Kappa(Classification):
    """Cohen's kappa: agreement beyond what the two distributions of classes give by chance. Undefined (NaN)
    over no instances and where chance alone would agree always. A missing answer and one that is no class
    count as one class more, which the gold never has: as disagreement that chance never agrees on. A rule set
    whose missing answers are left out has them in neither.
    """

    shape = "kappa"
    citation = (
        "Cohen 1960, A coefficient of agreement for nominal scales, "
        "Educational and Psychological Measurement 20"
    )
    ends = (-1.0, 1.0)
    version = 2
    needs_each_class = True

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, count = class_counts(sums)
        with np.errstate(invalid="ignore"):
            expected = (support * answered).sum(axis=-1) / count
            return np.asarray((both.sum(axis=-1) - expected) / (count - expected))


class Matthews(Classification):
    """Matthews' correlation coefficient, of two classes or, as Gorodkin has it, of several. 1 where all is
    right, 0 where answers tell no more than chance. A missing answer and one that is no class count as one
    class more, which the gold never has. 0 where all gold is of one class, or all answers are; undefined
    (NaN) over no instances.
    """

    shape = "kappa"
    citation = (
        "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, "
        "Biochimica et Biophysica Acta 405; "
        "Gorodkin 2004, Comparing two K-category assignments by a K-category correlation coefficient"
    )
    ends = (-1.0, 1.0)
    needs_each_class = True

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, count = class_counts(sums)
        other = count - answered.sum(axis=-1)
        shared = both.sum(axis=-1) * count - (support * answered).sum(axis=-1)
        of_gold = count**2 - (support**2).sum(axis=-1)
        of_answers = count**2 - (answered**2).sum(axis=-1) - other**2
        return np.asarray(
            np.where(count > 0, ratio(shared, np.sqrt(of_gold * of_answers)), np.nan)
        )


class QuadraticKappa(Classification):
    """Kappa with disagreements weighted by the square of the distance between classes, which have an order. A
    missing answer and one that is no class are as far from each class as the two ends are from each other.
    Undefined (NaN) over no instances and where no disagreement is to be expected.
    """

    shape = "kappa"
    citation = "Cohen 1968, Weighted kappa: Nominal scale agreement with provision for scaled disagreement"
    ends = (-1.0, 1.0)
    kind = "confusions"
    power = 2
    version = 2

    def denominators(self, rows: Floats) -> Floats:
        return np.asarray(rows.sum(axis=1))

    def instance_stats(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> Floats:
        """(n, c * (c + 1)): a 1 in the cell of gold and answer, row by row, the last cell for no class."""
        wanted, answered, count = self.codes(gold, answers)
        rows = np.flatnonzero(wanted >= 0)
        stats = np.zeros((len(wanted), count * (count + 1)))
        stats[
            rows,
            wanted[rows] * (count + 1) + np.where(answered >= 0, answered, count)[rows],
        ] = 1
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        table = confusions(sums)
        size = table.shape[-2]
        distance = np.abs(np.arange(size)[:, None] - np.arange(size + 1)) ** self.power
        distance[:, -1] = (size - 1) ** self.power
        by_chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
        count = table.sum(axis=(-2, -1))
        with np.errstate(invalid="ignore"):
            expected = (by_chance * distance).sum(axis=(-2, -1)) / count
            return np.asarray(1 - (table * distance).sum(axis=(-2, -1)) / expected)


class LinearKappa(QuadraticKappa):
    """Kappa with disagreements weighted by the distance between classes, which have an order."""

    power = 1


def confusions(sums: Floats) -> Floats:
    """(…, c, c + 1) from sums of ``QuadraticKappa``: how often gold is the row's, the answer the column's.
    The last column is of no class.
    """
    size = int(sums.shape[-1] ** 0.5)
    return sums.reshape(*sums.shape[:-1], size, size + 1)


def denominator_of(part: str, answered: Floats, support: Floats) -> Floats:
    return {"precision": answered, "recall": support, "f1": answered + support}[part]


def part_of(
    part: str,
    both: Floats,
    answered: Floats,
    support: Floats,
    *,
    zero: str = AS_ZERO,
) -> Floats:
    """Return precision, recall or F1 from counts; 0/0 is 0, or NaN if ``zero`` is left out."""
    if zero == LEFT_OUT:
        doubled = 2 * both if part == "f1" else both
        return quotient(doubled, denominator_of(part, answered, support))
    if part == "precision":
        return ratio(both, answered)
    return (
        ratio(both, support)
        if part == "recall"
        else f1_of_counts(both, answered, support)
    )
