"""Metrics of classification, such as accuracy, precision, recall, F1, Cohen's kappa and
Matthews' correlation. The values of all metrics equal those of scikit-learn.

Metrics are computed from three counts for each class, which are the numbers of
instances with this gold class, with this answered class, and with both. Weighted kappas
need the confusion matrix.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import (
    ClassGold,
    FixedValueReason,
    Floats,
    MeanMetric,
    Metric,
    divide_or_zero,
    f1_of_counts,
    quotient,
)
from tasks.types.base import MeasureCredits
from tasks.types.columns import NO_CLASS_CODE, compute_mask_of_present_rows

F_MEASURE_CITATION = (
    "van Rijsbergen 1979, Information Retrieval, 2nd edition, chapter 7"
)

#: Kappas, correlations and macro means need each class in this many units.
#: If a class occurs in fewer units, these metrics have no interval.
MIN_UNITS_PER_CLASS = 5

Label = str | int


class Classification(Metric):
    """The base class of classification metrics. ``labels`` are the classes in order. If
    ``labels`` is None, the classes are the sorted labels of the gold. A missing answer,
    or an answer that is not one of the classes, is wrong and belongs to no class, as
    with scikit-learn's ``labels=``. Answers without gold do not count.
    """

    citation = F_MEASURE_CITATION
    is_valid_in_one_label = False
    #: ``kind`` names the matrix's content, such as class counts or confusion matrices.
    kind = "classes"
    #: A mean over classes has an interval only if each class occurs in several units.
    #: Resampling may omit a class that occurs in few units.
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
        """Return True if a run's answers contain at most one label."""
        if self.kind != Classification.kind:
            return False
        return int(np.count_nonzero(split_class_counts(rows)[1].sum(axis=0))) <= 1

    def has_enough_units(self, rows: Floats) -> bool:
        """Return True if each class occurs in at least ``MIN_UNITS_PER_CLASS`` units,
        or in all units of a run with fewer units.
        """
        if not self.needs_each_class:
            return True
        return bool(
            (
                (split_class_counts(rows)[0] > 0).sum(axis=0)
                >= min(MIN_UNITS_PER_CLASS, len(rows))
            ).all()
        )

    def encode_labels(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """Return the class indices of gold and answers, or ``NO_CLASS_CODE`` for a missing
        label, and the number of classes.
        """
        labels = self.labels or sorted(
            {label for label in gold if label is not None},
            key=lambda label: (str(type(label)), label),
        )
        numbers: dict[Label | None, int] = {
            label: number for number, label in enumerate(labels)
        }
        wanted, answered = (
            np.array([numbers.get(label, NO_CLASS_CODE) for label in side], np.intp)
            for side in (gold, answers)
        )
        counts = counting(gold, answers)
        return (
            np.where(counts, wanted, NO_CLASS_CODE),
            np.where(counts, answered, NO_CLASS_CODE),
            len(labels),
        )

    def instance_stats(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> Floats:
        """Return an array (n, 3c + 1) for c classes, which contains indicators of the
        gold class, of the answered class and of both, then 1 if gold exists.

        An instance with several labels has the indicator 1 for each label.
        """
        if any(isinstance(labels, tuple) for labels in gold):
            assert self.labels is not None
            labelled, given = (
                build_label_indicators(side, self.labels) for side in (gold, answers)
            )
            has_gold = compute_mask_of_present_rows(gold).astype(np.float64)
            given *= has_gold[:, None]
            return np.column_stack([labelled, given, labelled * given, has_gold])
        wanted, answered, count = self.encode_labels(gold, answers)
        stats = np.zeros((len(wanted), 3 * count + 1))
        for part, codes in enumerate(
            (wanted, answered, np.where(wanted == answered, wanted, NO_CLASS_CODE))
        ):
            rows = np.flatnonzero(codes >= 0)
            stats[rows, part * count + codes[rows]] = 1
        stats[:, -1] = counting(gold, answers)
        return stats

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """Mark a label as right if both gold and answer have this label."""
        sides = zip(gold, answers, counting(gold, answers), strict=True)
        return [
            self.mark_instance(own, answer) if counts else None
            for own, answer, counts in sides
        ]

    def mark_instance(self, own: Any, answer: Any) -> MeasureCredits | None:
        return _mark_equal_labels(own, answer)


def _mark_equal_labels(own: Any, answer: Any) -> MeasureCredits:
    if not isinstance(own, tuple):
        credit = float(answer == own)
        return MeasureCredits((credit,), () if answer is None else (credit,))
    given = answer or ()
    return MeasureCredits(
        tuple(float(label in given) for label in own),
        tuple(float(label in own) for label in given),
    )


def counting(gold: Sequence[Any], answers: Sequence[Any]) -> NDArray[np.bool_]:
    """Return a mask of the instances that confusion matrices count, which have gold and
    an answer that the rule set does not exclude.
    """
    return np.asarray(
        compute_mask_of_present_rows(gold) & ~find_left_out_answers(answers)
    )


def find_left_out_answers(answers: Sequence[Any]) -> NDArray[np.bool_]:
    return np.array(
        [getattr(answer, "is_left_out", False) for answer in answers], dtype=bool
    )


def build_label_indicators(sides: Sequence[Any], labels: Sequence[Label]) -> Floats:
    """Return an array (n, c) with 1 if the instance has the label, else 0."""
    numbers = {label: number for number, label in enumerate(labels)}
    rows = np.zeros((len(sides), len(labels)))
    for row, side in enumerate(sides):
        rows[row, [numbers[label] for label in side or ()]] = 1
    return rows


def split_class_counts(sums: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Split (…, 3c + 1) sums into (…, c) counts of gold, answered and common labels,
    and (…) counts of instances.
    """
    support, answered, both = np.split(sums[..., :-1], 3, axis=-1)
    return support, answered, both, sums[..., -1]


class Accuracy(Classification):
    """The share of instances whose answer is the gold answer. The value is undefined
    (NaN) over no instances.
    """

    shape = "mean"
    stands_in = (FixedValueReason.ONE_LABEL,)

    def fixed_by(self, gold: ClassGold) -> None:
        """Return None, because accuracy is valid in any class of instances."""

    def aggregate(self, sums: Floats) -> Floats:
        _, _, both, count = split_class_counts(sums)
        return quotient(both.sum(axis=-1), count)


#: The quotient 0/0 for a class is 0 or undefined.
#: Averages exclude undefined classes.
ZERO_DIVISION_IS_ZERO, ZERO_DIVISION_IS_LEFT_OUT = "0", "left-out"


def _describe_zero_division(zero: str) -> dict[str, str]:
    return {} if zero == ZERO_DIVISION_IS_ZERO else {"zero": zero}


class ClassAverage(Classification):
    """Precision, recall or F1, averaged over classes. The ``macro`` average is the
    plain mean over classes, and the ``weighted`` average is weighted by the frequency
    of the class in the gold. ``micro`` pools the counts. By default 0/0 is 0, as with
    scikit-learn's ``zero_division=0``, and a class without instances counts as 0 in a
    macro average. If ``zero`` is "left-out", 0/0 is undefined and averages exclude the
    class, as with ``zero_division=np.nan``.
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
        zero: str = ZERO_DIVISION_IS_ZERO,
    ) -> None:
        super().__init__(name, rules, labels=labels)
        self.part, self.average, self.zero = part, average, zero
        self.fixed = {**self.fixed, "average": average, **_describe_zero_division(zero)}
        self.needs_each_class = average == "macro"
        self.holds_with_rare_classes = not self.needs_each_class
        self.stands_in = (FixedValueReason.ONE_LABEL,) if average == "micro" else ()

    def fixed_by(self, gold: ClassGold) -> FixedValueReason | None:
        """Return None for a micro average, because a micro average is valid in any
        class of instances.
        """
        return None if self.average == "micro" else super().fixed_by(gold)

    def denominators(self, rows: Floats) -> Floats:
        support, answered, _, count = split_class_counts(rows)
        if self.average != "micro":
            return count
        return select_denominator(
            self.part, answered.sum(axis=-1), support.sum(axis=-1)
        )

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, _ = split_class_counts(sums)
        if self.average == "micro":
            return compute_precision_recall_or_f1(
                self.part,
                *(counts.sum(axis=-1) for counts in (both, answered, support)),
                zero=self.zero,
            )
        by_class = compute_precision_recall_or_f1(
            self.part, both, answered, support, zero=self.zero
        )
        if self.zero == ZERO_DIVISION_IS_LEFT_OUT:
            is_defined = ~np.isnan(by_class)
            weights = is_defined * (1.0 if self.average == "macro" else support)
            # If all classes have weight 0, the mean is unweighted, as in scikit-learn.
            weights = np.where(weights.any(-1, keepdims=True), weights, is_defined)
            total = (np.where(is_defined, by_class, 0) * weights).sum(axis=-1)
            return quotient(total, weights.sum(axis=-1))
        if self.average == "macro":
            return quotient(by_class.sum(axis=-1), np.asarray(by_class.shape[-1]))
        return divide_or_zero((by_class * support).sum(axis=-1), support.sum(axis=-1))


class BalancedAccuracy(Classification):
    """The mean recall of the classes that occur in the gold. The balanced accuracy is
    undefined (NaN) if no class occurs in the gold.
    """

    shape = "classes"
    stands_in = (FixedValueReason.ONE_LABEL,)

    def fixed_by(self, gold: ClassGold) -> None:
        """Return None, because the balanced accuracy of instances with one gold label
        is the recall of this label.
        """

    citation = "Brodersen et al. 2010, The balanced accuracy and its posterior distribution, ICPR"

    def aggregate(self, sums: Floats) -> Floats:
        support, _, both, _ = split_class_counts(sums)
        return quotient(
            divide_or_zero(both, support).sum(axis=-1), (support > 0).sum(axis=-1)
        )


class Coverage(Classification):
    """The share of instances that a run answers. Abstaining is an answer."""

    shape = "mean"
    kind = "coverage"
    is_valid_in_one_label = True
    citation = "El-Yaniv and Wiener 2010, On the Foundations of Noise-free Selective Classification, JMLR 11"

    def instance_stats(
        self, gold: Sequence[Label | None], answers: Sequence[Label | None]
    ) -> Floats:
        """Return an array (n, 2) with 1 if the instance has an answer, and 1 if the
        instance has gold. An instance whose label has ``is_answer`` False counts as
        unanswered.
        """
        answered = [
            answer is not None and getattr(answer, "is_answer", True)
            for answer in answers
        ]
        counts = compute_mask_of_present_rows(gold)
        return np.column_stack(
            [np.array(answered, dtype=bool) & counts, counts]
        ).astype(np.float64)

    def mark_instance(self, own: Any, answer: Any) -> MeasureCredits | None:
        """Return None, because coverage does not depend on whether a label is right."""
        return None

    def aggregate(self, sums: Floats) -> Floats:
        return quotient(sums[..., 0], sums[..., 1])


class LabelSets(MeanMetric):
    """The mean over instances of a measure that compares two sets of labels. ``column``
    selects exact match, Hamming loss (the share of labels in only one of both sets),
    Jaccard's coefficient, precision, recall or F1. 0/0 is 0, as with scikit-learn's
    ``zero_division=0``. A missing answer counts as an empty set of labels.
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
        wanted, answered = (
            build_label_indicators(side, self.labels) for side in (gold, answers)
        )
        both, differing = (
            (wanted * answered).sum(axis=1),
            (wanted != answered).sum(axis=1),
        )
        given, support, counts = (
            answered.sum(axis=1),
            wanted.sum(axis=1),
            compute_mask_of_present_rows(gold),
        )
        columns = [
            differing == 0,
            differing / len(self.labels),
            divide_or_zero(both, both + differing),
            divide_or_zero(both, given),
            divide_or_zero(both, support),
            f1_of_counts(both, given, support),
        ]
        return np.column_stack(
            [np.column_stack(columns) * counts[:, None], counts]
        ).astype(np.float64)

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """Mark a label as right if both gold and answer have this label. Under exact
        match, all labels of an instance are right or all are wrong.
        """
        found = [
            None if own is None else _mark_equal_labels(own, answer)
            for own, answer in zip(gold, answers, strict=True)
        ]
        return (
            list(map(_reduce_to_all_or_nothing, found))
            if self.column == "exact"
            else found
        )


def _reduce_to_all_or_nothing(marks: MeasureCredits | None) -> MeasureCredits | None:
    if marks is None:
        return None
    credit = float(all((*marks.gold, *marks.answer)))
    return MeasureCredits((credit,) * len(marks.gold), (credit,) * len(marks.answer))


class HammingLoss(LabelSets):
    higher_is_better = False


class OneClass(Classification):
    """Precision, recall or F1 of one class. 0/0 is 0, or undefined if ``zero`` is
    "left-out".
    """

    shape = "ratio"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        label: Label,
        labels: Sequence[Label],
        zero: str = ZERO_DIVISION_IS_ZERO,
    ) -> None:
        super().__init__(name, rules, labels=labels)
        self.part, self.place, self.zero = part, list(labels).index(label), zero
        self.fixed = {**self.fixed, **_describe_zero_division(zero)}
        if part in ("recall", "false-positives"):
            self.stands_in = (FixedValueReason.ONE_LABEL,)

    def fixed_by(self, gold: ClassGold) -> FixedValueReason | None:
        """Return None if the metric is valid on the instances of the class. Recall
        needs an instance with the label, and the false positive rate needs an instance
        with another label.
        """
        has_label = gold.rows[:, self.place]
        is_valid = (self.part == "recall" and has_label.any()) or (
            self.part == "false-positives" and not has_label.all()
        )
        return None if is_valid else super().fixed_by(gold)

    def denominators(self, rows: Floats) -> Floats:
        support, answered, _, _ = split_class_counts(rows)
        return select_denominator(
            self.part, answered[:, self.place], support[:, self.place]
        )

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, _ = split_class_counts(sums)
        return compute_precision_recall_or_f1(
            self.part,
            both[..., self.place],
            answered[..., self.place],
            support[..., self.place],
            zero=self.zero,
        )


class EachClass(OneClass):
    """Precision, recall or F1 of one class, shown in the results of the instances with
    this gold label. The value is computed on all instances, including instances with
    other gold labels.
    """

    is_valid_in_one_label = True
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
    """The share of the instances of other classes that the run assigns to the class
    ``label``. The false positive rate is undefined (NaN) if no instance has another
    class.
    """

    higher_is_better = False

    def __init__(
        self, name: str, rules: str, *, label: Label, labels: Sequence[Label]
    ) -> None:
        super().__init__(
            name, rules, part="false-positives", label=label, labels=labels
        )

    def denominators(self, rows: Floats) -> Floats:
        support, _, _, count = split_class_counts(rows)
        return count - support[:, self.place]

    def aggregate(self, sums: Floats) -> Floats:
        support, answered, both, count = split_class_counts(sums)
        own = self.place
        return quotient(answered[..., own] - both[..., own], count - support[..., own])


class Kappa(Classification):
    """Cohen's kappa, which measures the agreement beyond the chance agreement of the
    class distributions of gold and answers.

    Kappa is undefined (NaN) over no instances, and if the chance agreement is 1.
    Missing and invalid answers form an additional class that never occurs in the gold.
    A missing or invalid answer always disagrees with the gold. Under rule sets that
    exclude missing answers, kappa excludes missing answers too.
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
        support, answered, both, count = split_class_counts(sums)
        with np.errstate(invalid="ignore"):
            expected = (support * answered).sum(axis=-1) / count
            return np.asarray((both.sum(axis=-1) - expected) / (count - expected))


class Matthews(Classification):
    """Matthews' correlation coefficient, for two classes, or for several as generalised
    by Gorodkin.

    The coefficient is 1 if all answers are right, and 0 if the answers are no better
    than chance. Missing and invalid answers form an additional class that never occurs
    in the gold. The coefficient is 0 if all gold labels or all answers are equal. The
    value is undefined (NaN) over no instances.
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
        support, answered, both, count = split_class_counts(sums)
        other = count - answered.sum(axis=-1)
        shared = both.sum(axis=-1) * count - (support * answered).sum(axis=-1)
        of_gold = count**2 - (support**2).sum(axis=-1)
        of_answers = count**2 - (answered**2).sum(axis=-1) - other**2
        return np.asarray(
            np.where(
                count > 0, divide_or_zero(shared, np.sqrt(of_gold * of_answers)), np.nan
            )
        )


class QuadraticKappa(Classification):
    """Kappa with disagreements weighted by the squared distance between ordered
    classes.

    Missing and invalid answers have the maximum distance from each class. Weighted
    kappa is undefined (NaN) over no instances and if the expected disagreement is 0.
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
        """Return an array (n, c * (c + 1)) with flattened confusion matrices of single
        instances, with the gold in rows. The last column of each confusion matrix
        counts answers without a class.
        """
        wanted, answered, count = self.encode_labels(gold, answers)
        rows = np.flatnonzero(wanted >= 0)
        stats = np.zeros((len(wanted), count * (count + 1)))
        stats[
            rows,
            wanted[rows] * (count + 1) + np.where(answered >= 0, answered, count)[rows],
        ] = 1
        return stats

    def mark_instance(self, own: Any, answer: Any) -> MeasureCredits | None:
        """Return a credit of the answer that decreases with the distance between gold
        and answer.
        """
        if self.labels is None or answer not in self.labels:
            return super().mark_instance(own, answer)
        distance = abs(self.labels.index(own) - self.labels.index(answer))
        credit = 1 - (distance / max(1, len(self.labels) - 1)) ** self.power
        return MeasureCredits((credit,), (credit,))

    def aggregate(self, sums: Floats) -> Floats:
        table = reshape_to_confusion_matrices(sums)
        size = table.shape[-2]
        distance = np.abs(np.arange(size)[:, None] - np.arange(size + 1)) ** self.power
        distance[:, -1] = (size - 1) ** self.power
        by_chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
        count = table.sum(axis=(-2, -1))
        with np.errstate(invalid="ignore"):
            expected = (by_chance * distance).sum(axis=(-2, -1)) / count
            return np.asarray(1 - (table * distance).sum(axis=(-2, -1)) / expected)


class LinearKappa(QuadraticKappa):
    """Kappa with disagreements weighted by the distance between ordered classes."""

    power = 1


def reshape_to_confusion_matrices(sums: Floats) -> Floats:
    """Reshape sums of the rows of ``QuadraticKappa`` to (…, c, c + 1) confusion
    matrices, with gold in rows and answers in columns.

    The last column of a confusion matrix counts answers without a class.
    """
    size = int(sums.shape[-1] ** 0.5)
    return sums.reshape(*sums.shape[:-1], size, size + 1)


def select_denominator(part: str, answered: Floats, support: Floats) -> Floats:
    return {"precision": answered, "recall": support, "f1": answered + support}[part]


def compute_precision_recall_or_f1(
    part: str,
    both: Floats,
    answered: Floats,
    support: Floats,
    *,
    zero: str = ZERO_DIVISION_IS_ZERO,
) -> Floats:
    """Return precision, recall or F1 of each class from counts of instances. The
    quotient 0/0 is 0, or NaN if ``zero`` is "left-out".
    """
    if zero == ZERO_DIVISION_IS_LEFT_OUT:
        doubled = 2 * both if part == "f1" else both
        return quotient(doubled, select_denominator(part, answered, support))
    if part == "precision":
        return divide_or_zero(both, answered)
    return (
        divide_or_zero(both, support)
        if part == "recall"
        else f1_of_counts(both, answered, support)
    )
