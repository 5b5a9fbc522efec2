"""The base classes of metrics. A metric computes one matrix row per instance, and a
value from any sum of rows.

``instance_stats`` converts n instances to an (n, k) matrix. ``aggregate`` computes the
metric's value from the sum of any rows of the matrix. The score, its interval
(resampled weights times matrix), the values of classes (sums over their rows) and
paired tests of two runs are all computed from this matrix.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.tokenizers import (
    explain_unsuitable_tokenizer,
    find_tokenizer_version,
)
from tasks.types.base import (
    DEFAULT_TOKENIZER_VALUE,
    ENGINE,
    PACKAGE_ENGINE,
    TOKENIZER,
    MeasureCredits,
    Options,
    is_official_rule_set,
)
from tasks.types.columns import compute_mask_of_present_rows, renumber_without_gaps
from tasks.types.ledger import ENTAILS_KIND
from tasks.types.problems import SoftwareUnavailable
from tasks.types.text import normalise_to_nfc

Floats = NDArray[np.float64]
Parameters = Mapping[str, str | int | float]
PRECISION_RECALL_F1 = ("precision", "recall", "f1")


class UnknownMetric(LookupError):
    """No metric has this name."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A resource that a metric needs, such as a model.

    ``missing`` is empty if the resource is available, and otherwise explains how to
    install the resource. ``place`` is the location of the resource. ``version`` is the
    resource's version, or the first digits of its digest.
    """

    kind: str
    name: str
    place: str = ""
    version: str = ""
    missing: str = ""


def find_requirement(
    kind: str, name: str, look: Callable[[], tuple[str, str]]
) -> Requirement:
    """Return a metric's requirement for the resource with this kind and name. ``look``
    returns the resource's location and version without loading the resource, or raises
    Unavailable.
    """
    try:
        place, version = look()
    except SoftwareUnavailable as missing:
        return Requirement(kind=kind, name=name, missing=str(missing))
    return Requirement(kind=kind, name=name, place=place, version=version)


class FixedValueReason(StrEnum):
    """The reason why a metric has the same value for all runs in a class of instances,
    or only a restricted range of values.
    """

    ONE_LABEL = "one-label"
    BAND_OF_GOLD = "band-of-gold"
    EMPTY_GOLD = "empty-gold"


@dataclass(frozen=True, kw_only=True)
class ClassGold:
    """The gold of a class of instances. ``rows`` are the rows of the metric's matrix
    for the gold. ``labels`` is the number of labels that occur in the gold, None if
    instances have no labels. ``is_band`` is True if the class contains the instances
    whose gold number lies in an interval.
    """

    rows: Floats
    labels: int | None = None
    is_band: bool = False


class UnitColumns(NamedTuple):
    """The indices of the matrix columns with each unit's weighted value, weight and
    number of missing labels.

    ``of`` names the kind of unit that people label, such as nuggets, citations or
    claims.
    """

    of: str
    value: int
    weight: int
    missing: int


class Metric(ABC):
    """A measure of runs, such as accuracy, under one rule set.

    ``statistic`` names the matrix. Metrics with the same statistic, such as precision,
    recall and F1 of an overlap, share one matrix. If ``per_unit`` is True, the rows of
    each resampling unit are summed first, and ``unit_stats`` converts each sum to a
    row. Metrics that average over topics set ``per_unit``.
    """

    name: str
    statistic: str
    higher_is_better: bool | None = True
    #: The published scale of a metric ends at 1 for shares and at 100 for percentages.
    #: The scale 0 stands for counts, which have no maximum.
    scale: float = 1
    #: Minimum and maximum of the value.
    #: None means a minimum of 0 and a maximum of ``scale``.
    ends: tuple[float, float] | None = None
    #: Each change of the metric's arithmetic increases this version number.
    version: int = 1
    #: The shape names the formula that computes the value, such as a mean or a ratio.
    #: `scripts/interval_coverage.py` simulates populations to check intervals by shape.
    shape: str = ""
    #: Rule sets that are not official use this metric version unless the number is 0.
    own_version: int = 0
    #: Texts are compared in NFC unless the rule set is official.
    compares_texts: bool = False
    #: True if the metric's value depends on the words that its tokenizer finds.
    rests_on_tokens: bool = False
    #: The task selects this tokenizer from `scoring.metrics.tokenizers`.
    #: The empty text stands for the metric's default tokenizer.
    tokenizer: str = ""
    citation: str = ""
    per_unit: bool = False
    #: False if the metric's value for a class depends on rows of other classes.
    #: Class values that depend on other classes have no jackknife interval.
    is_decomposable: bool = True
    #: False if the metric says little about instances with one gold label.
    #: One gold label makes macro means small, precision 1 and correlations undefined.
    is_valid_in_one_label: bool = True
    #: The metric stays valid in classes of these kinds, as accuracy does for one label.
    stands_in: tuple[FixedValueReason, ...] = ()
    #: False if tests cannot exchange rows of two runs, as for clusters of MAUVE.
    #: Metrics without exchangeable rows have no comparisons and no instance values.
    is_exchangeable: bool = True
    #: True if the last matrix column, not the gold, marks the rows that count.
    counts_by_last_column: bool = False
    #: False if no interval of the metric reaches its nominal coverage.
    has_honest_interval: bool = True
    #: False if rare classes dominate the error, so that intervals may be too narrow.
    holds_with_rare_classes: bool = True
    #: Signatures state the versions of these packages, which compute the value.
    packages: tuple[str, ...] = ()
    #: The option `engine` lets this package compute the value instead of Citeboard.
    #: Without the option `engine`, verification compares package and Citeboard.
    engine: str = ""
    #: True if the package replaces Citeboard's own computation.
    is_by_package: bool = False
    #: ``labels_kind`` is the kind of the labels that ``labels_used`` returns.
    labels_kind = ENTAILS_KIND
    #: ``parameters`` always contains these settings of the metric.
    fixed: Parameters = {}
    #: The digest of the metric's declared task, or an empty text for other tasks.
    task: str = ""

    @property
    def unit_columns(self) -> UnitColumns | None:
        """Return the matrix columns of the units that people label, or None if human
        labels of a sample cannot correct the metric.
        """
        return None

    def __init__(self, name: str, rules: str) -> None:
        self.name = name
        self.rules = rules
        if self.own_version and not is_official_rule_set(rules):
            self.version = self.own_version

    @property
    def unicode_normal_form(self) -> str:
        """Return the name of the Unicode normal form in which texts are compared, or an
        empty text if texts are not normalised.
        """
        return (
            "nfc"
            if self.compares_texts and not is_official_rule_set(self.rules)
            else ""
        )

    def normalise_text(self, text: str) -> str:
        return normalise_to_nfc(text) if self.unicode_normal_form else text

    def fixed_by(self, gold: ClassGold) -> FixedValueReason | None:
        """Return the reason why all runs have the same value in a class of instances,
        or None if values can differ.
        """
        if self.is_valid_in_one_label:
            return None
        if gold.is_band:
            return FixedValueReason.BAND_OF_GOLD
        return FixedValueReason.ONE_LABEL if gold.labels == 1 else None

    def is_constant(self, rows: Floats) -> bool:
        """Return True if a run's rows show that the run gave the same answer to all
        instances.
        """
        return False

    @property
    def value_range(self) -> tuple[float, float]:
        """Return the minimum and maximum of the metric and of its interval, which are
        infinite for an unbounded range.
        """
        return self.ends or (0.0, self.scale or math.inf)

    @property
    def interval_version(self) -> int:
        """Return the version of the method that computes the metric's default interval."""
        low, high = self.value_range
        return 3 if math.isinf(low) != math.isinf(high) else 2

    def denominators(self, rows: Floats) -> Floats:
        """Return an array (units,) with the amount that each unit adds to the
        denominator of the value. Units that add 0 to the denominator do not influence
        the value. For example, a unit adds its number of answers to the denominator of
        a precision. By default each unit with a non-zero row adds 1 to the denominator.
        """
        return np.asarray(rows.any(axis=1), dtype=np.float64)

    def has_enough_units(self, rows: Floats) -> bool:
        """Return True if a jackknife over the units with these rows can estimate the
        standard error of the value.

        The base class returns True, because callers require at least three units.
        """
        return True

    def on_interval_scale(self, values: Floats) -> Floats:
        """Convert values of the metric to the scale on which intervals are computed."""
        return np.asarray(values)

    def from_interval_scale(self, values: Floats) -> Floats:
        return values

    @property
    def parameters(self) -> Parameters:
        """Return the metric's settings that can change the value, as written in the
        signature.
        """
        return self.fixed

    def normalise_texts(self, values: Sequence[TextOrHasText | None]) -> list[str]:
        """Return each text in the Unicode normal form in which the metric compares
        texts, or an empty text for None.
        """
        return [self.normalise_text(text) for text in extract_texts(values)]

    def tokens(self, text: str) -> list[str]:
        """Return the words that the metric's tokenizer finds in a text."""
        raise NotImplementedError

    def collect_gold_texts(self, gold: Sequence[Any]) -> list[str]:
        """Return all texts of the gold. A gold value may be a tuple of several
        references.
        """
        return [
            text
            for value in gold
            if value is not None
            for text in extract_texts(value if isinstance(value, tuple) else (value,))
        ]

    def unseen(self, gold: Sequence[Any]) -> str:
        """Return the reason to disable the metric if its tokenizer ignores words of the
        gold, or else an empty text.

        A metric is never disabled under official rules or if the task selects a
        tokenizer.
        """
        if (
            not self.rests_on_tokens
            or self.tokenizer
            or is_official_rule_set(self.rules)
        ):
            return ""
        texts = [self.normalise_text(text) for text in self.collect_gold_texts(gold)]
        return explain_unsuitable_tokenizer(self.tokens, texts)

    def choose_tokenizer(self, options: Options | None) -> None:
        """Use the tokenizer that the task's options select. Official rules define their
        own tokenizer and ignore the option for the tokenizer.
        """
        name = (options or {}).get(TOKENIZER.name, DEFAULT_TOKENIZER_VALUE)
        if name != DEFAULT_TOKENIZER_VALUE and not is_official_rule_set(self.rules):
            self.tokenizer = name

    def choose_engine(self, options: Options | None) -> None:
        self.is_by_package = (
            bool(self.engine) and (options or {}).get(ENGINE.name) == PACKAGE_ENGINE
        )

    @property
    def engine_parameters(self) -> Parameters:
        """Return the package that computes the metric's value, with its version, as a
        mapping for the signature, or an empty mapping if Citeboard computes the value.
        Raises Unavailable.
        """
        return (
            {ENGINE.name: f"{self.engine}-{find_package_version(self.engine)}"}
            if self.is_by_package
            else {}
        )

    @abstractmethod
    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, k) with one row per pair of gold and answer. The gold or
        the answer is None if a pair lacks the gold or the answer.
        """

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """For each instance, return the credits from 0 to 1 of the single parts of gold
        and answer. Pages colour the parts of an answer by credit. The task's form
        defines the parts, such as labels or spans, and their order. The result for an
        instance is None if the metric does not count single parts.
        """
        return [None] * len(gold)

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        """Return the number of instances that count in the metric's value."""
        return int(stats[:, -1].sum() if self.counts_by_last_column else has_gold.sum())

    @property
    def needs_model(self) -> bool:
        """Return True if a language model computes the metric, which is slow and not
        possible on every worker.
        """
        return False

    def requirements(self) -> Sequence[Requirement]:
        """Return the models and other resources that the metric needs."""
        needed: list[Requirement] = []
        if self.is_by_package:
            needed.append(
                find_requirement(
                    "package",
                    self.engine,
                    lambda: ("", find_package_version(self.engine)),
                )
            )
        if self.tokenizer:
            needed.append(
                find_requirement(
                    "tokenizer",
                    self.tokenizer,
                    lambda: find_tokenizer_version(self.tokenizer),
                )
            )
        return tuple(needed)

    @property
    def replaces(self) -> str:
        """Return the part of a column key that marks values from before the
        installation of a better resource, or an empty text.
        """
        return ""

    def labels_used(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Mapping[tuple[str, ...], bool | str] | None:
        """Return the labels that the run's scores depend on, keyed by the digests of the
        judged texts. Return None if no file has labels of a judge.
        """
        return None

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """Return additional counts from the metric's matrix, such as the number of
        missing labels.
        """
        return {}

    def details(self, answers: Sequence[Any]) -> Mapping[str, Mapping[str, Any]]:
        """Return details of each unit as JSON values, for the page of a run."""
        return {}

    def unit_stats(self, sums: Floats) -> Floats:
        """Convert (units, k) sums of matrix rows to (units, m) rows, one row per unit.
        Metrics with ``per_unit`` override this method, and their method ``aggregate``
        takes sums of the converted rows.
        """
        return sums

    @abstractmethod
    def aggregate(self, sums: Floats) -> Floats:
        """Return (…) values on the metric's scale from (…, k) sums of matrix rows.
        Undefined values are NaN.
        """

    def as_stored(self, *names: Container[str]) -> Metric | None:
        """Return the newest version of this metric that all runs have a stored matrix
        for, or None if there is no such version. Each item of ``names`` contains the
        names of one run's stored matrices.
        """
        return self if all(self.statistic in name for name in names) else None

    def paired_rows(self, rows: Floats) -> Floats:
        """Return (units, m) rows that a paired test may exchange between two runs."""
        return rows

    def can_be_compared(self, rows: Floats) -> bool:
        """Return True if a run's ``paired_rows`` are precise enough to compare two
        runs.
        """
        return True

    def of_class(self, sums: Floats, whole: Floats) -> Floats:
        """Return the metric's value for a class from the sums of the class's rows.
        ``whole`` contains the sums of the rows of all classes.
        """
        return self.aggregate(sums)

    def of_label(self, label: str) -> Metric | None:
        """Return the metric that is shown in the results of one gold label. The default
        is the metric itself, computed on the label's rows. Subclasses may return a
        metric that is computed on all rows, or None.
        """
        return self

    def total(self, rows: Floats) -> float:
        """Return the metric's value for a whole run. Subclasses override this method if
        an official program prints another value than the aggregate.
        """
        return float(self.aggregate(rows.sum(axis=0)))


#: A jackknife over more units than this divides the units into this many random groups.
MAX_JACKKNIFE_GROUPS = 400
#: Maximum number of resampling weights in memory at once.
MAX_WEIGHTS_IN_MEMORY = 4_000_000


class WeightedMetric(Metric):
    """A metric whose value is a function of weighted matrix rows, not of sums of rows.

    Weights are integers. A jackknife uses weights of 0 and 1, a bootstrap any weights.
    The first column of the rows that ``build_unit_rows`` returns is the unit number.
    """

    shape = "weighted"
    counts_by_last_column = True
    interval_version = 3
    #: False if a jackknife does not estimate the standard error of the value.
    has_interval: bool = True
    #: Only rows that are non-zero in these columns, as positives are, decide the value.
    #: An interval needs enough units with non-zero rows in each of these columns.
    #: If ``carriers`` is None, all rows determine the value.
    carriers: tuple[int, ...] | None = None

    @abstractmethod
    def value(self, rows: Floats, weights: Floats) -> Floats:
        """Return (…) values of the metric from (n, k) rows and (…, n) weights, or NaN
        if undefined.
        """

    def aggregate(self, sums: Floats) -> Floats:
        raise TypeError(f"{self.name} does not follow from sums")

    def carried(self, rows: Floats) -> Floats:
        """Return an array (n, c) with 1 where the (n, k) rows are non-zero in the c
        columns ``carriers``, else 0.
        """
        if self.carriers is None:
            return np.asarray(rows.any(axis=1, keepdims=True), dtype=np.float64)
        own: Floats = (rows[:, list(self.carriers)] != 0).astype(np.float64)
        return own

    def sum_carriers_by_unit(self, rows: Floats) -> Floats:
        """Return an array (units, c) with the sums of ``carried`` over each unit.
        Column 0 of ``rows`` is the unit number.
        """
        return sum_rows_by_unit(self.carried(rows[:, 1:]), rows[:, 0].astype(np.intp))

    def total(self, rows: Floats) -> float:
        return float(self.value(rows[:, 1:], np.ones(len(rows))))

    def left_out(self, rows: Floats) -> Floats:
        """Return the jackknife values, which are the metric's values without each unit,
        or without each group of units if there are many units.
        """
        names, units = np.unique(rows[:, 0], return_inverse=True)
        count = len(names)
        if count > MAX_JACKKNIFE_GROUPS:
            units, count = (
                np.random.default_rng(0).permutation(count)[units]
                % MAX_JACKKNIFE_GROUPS,
                MAX_JACKKNIFE_GROUPS,
            )
        return self.compute_values_of_weights(
            rows, lambda first, last: units != np.arange(first, last)[:, None], count
        )

    def compute_values_of_weights(
        self, rows: Floats, weights: Callable[[int, int], NDArray[Any]], count: int
    ) -> Floats:
        """Return one value of the metric for each of ``count`` weight vectors. The
        function ``weights`` supplies the vectors in blocks. Rows and weights must not
        be empty.
        """
        block = max(1, MAX_WEIGHTS_IN_MEMORY // len(rows))
        blocks = (
            weights(first, min(count, first + block))
            for first in range(0, count, block)
        )
        return np.concatenate(
            [self.value(rows[:, 1:], block.astype(np.float64)) for block in blocks]
        )


class MeanMetric(Metric):
    """The mean of one matrix column over the instances that count, times the scale (or
    times 1 for counts).

    The matrix has the measured ``columns``, then a column that is 1 for rows that count
    and else 0. An answer without gold does not count. A gold instance without an answer
    scores 0. The mean over no instances is undefined (NaN). If ``over_units`` is True,
    the value is the mean of the units' means (a macro average).
    """

    shape = "mean"
    counts_by_last_column = True
    #: The names of the measured columns, in order.
    columns: tuple[str, ...] = ()

    def __init__(
        self, name: str, rules: str, *, column: str = "", over_units: bool = False
    ) -> None:
        super().__init__(name, rules)
        self.column, self.per_unit = column or self.columns[0], over_units

    @property
    def parameters(self) -> Parameters:
        return {"average": "units" if self.per_unit else "instances", **self.fixed}

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, -1]

    def unit_stats(self, sums: Floats) -> Floats:
        """For each unit, return the mean and the count 1, or zeros if no instance of
        the unit counts.
        """
        count = sums[:, -1]
        means = divide_or_zero(sums[:, self.columns.index(self.column)], count)
        return np.column_stack([means, count > 0]).astype(np.float64)

    def aggregate(self, sums: Floats) -> Floats:
        chosen = sums[..., 0 if self.per_unit else self.columns.index(self.column)]
        return np.asarray((self.scale or 1) * quotient(chosen, sums[..., -1]))


class CountMetric(Metric):
    """Precision, recall or F1 from a matrix with columns for true positives, false
    positives and false negatives.

    The micro average is computed from the pooled counts of all instances. The macro
    average is the mean precision or mean recall over units. Macro F1 is computed from
    macro precision and macro recall, as in the CL-SciSumm programs. 0/0 is 0.
    """

    shape = "ratio"

    def __init__(self, name: str, rules: str, *, part: str, average: str) -> None:
        super().__init__(name, rules)
        self.part, self.average = part, average
        self.per_unit = average == "macro"
        self.fixed = {"average": average}

    def unit_stats(self, sums: Floats) -> Floats:
        """Return precision, recall and 1 for each unit. The sums of these rows over
        units yield mean precision and mean recall.
        """
        rows = sums.copy()
        rows[:, 0] = divide_or_zero(sums[:, 0], sums[:, 0] + sums[:, 1])
        rows[:, 1] = divide_or_zero(sums[:, 0], sums[:, 0] + sums[:, 2])
        rows[:, 2] = 1
        return rows

    def denominators(self, rows: Floats) -> Floats:
        if self.average == "macro":
            return rows[:, 2]
        weights = {"precision": (1, 1, 0), "recall": (1, 0, 1), "f1": (2, 1, 1)}[
            self.part
        ]
        return np.asarray(rows @ np.array(weights))

    def aggregate(self, sums: Floats) -> Floats:
        if self.average == "macro":
            precision, recall = (
                divide_or_zero(sums[..., 0], sums[..., 2]),
                divide_or_zero(sums[..., 1], sums[..., 2]),
            )
        else:
            precision = divide_or_zero(sums[..., 0], sums[..., 0] + sums[..., 1])
            recall = divide_or_zero(sums[..., 0], sums[..., 0] + sums[..., 2])
        return select_part_of_means(self.part, precision, recall)


def build_unit_rows(
    metric: Metric,
    stats: Floats,
    units: NDArray[np.intp],
    clusters: NDArray[np.intp] | None = None,
) -> Floats:
    """Return the (U, m) rows that are resampled, one row for each unit, sorted by unit
    number. ``units`` contains the unit number of each instance. ``clusters`` contains
    the cluster number of each instance. If clusters are given, each returned row
    belongs to a cluster instead of a unit.
    """
    if isinstance(metric, WeightedMetric):
        return np.column_stack([units if clusters is None else clusters, stats]).astype(
            np.float64
        )
    if clusters is None:
        sums = sum_rows_by_unit(stats, units)
        return metric.unit_stats(sums) if metric.per_unit else sums
    if not metric.per_unit:
        return sum_rows_by_unit(stats, clusters)
    return sum_rows_by_unit(
        build_unit_rows(metric, stats, units),
        clusters[np.unique(units, return_index=True)[1]],
    )


def sum_rows_by_unit(stats: Floats, units: NDArray[np.intp]) -> Floats:
    """Return an array (U, k) with the sums of each unit's rows in ``stats``."""
    places = renumber_without_gaps(units)[1]
    return np.column_stack([np.bincount(places, weights=column) for column in stats.T])


def compute_metric_value(
    metric: Metric, stats: Floats, units: NDArray[np.intp]
) -> float:
    """Return the metric's value for the instances with these rows and unit numbers, or
    NaN if the value is undefined without instances.
    """
    rows = (
        build_unit_rows(metric, stats, units)
        if metric.per_unit or isinstance(metric, WeightedMetric)
        else stats
    )
    return metric.total(rows)


def divide_or_zero(
    numerator: NDArray[Any] | float, denominator: NDArray[Any] | float
) -> Floats:
    """Return numerator over denominator, or 0 if the denominator is 0, as the official
    programs do.
    """
    zeros = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(
        numerator, denominator, out=zeros, where=np.not_equal(denominator, 0)
    )


def finite_or_none(value: float | None) -> float | None:
    """Return the value, or None for undefined and infinite values, which JSON and the
    database cannot store.
    """
    return value if value is not None and math.isfinite(value) else None


def quotient(total: Floats, count: Floats) -> Floats:
    """Return total over count, or NaN if the count is 0, because a mean over nothing is
    undefined.
    """
    undefined = np.full(np.broadcast(total, count).shape, np.nan)
    return np.asarray(np.divide(total, count, out=undefined, where=count > 0))


def compute_harmonic_mean(precision: Floats | float, recall: Floats | float) -> Floats:
    """Return the harmonic mean of precision and recall, or 0 if both are 0, or NaN if
    one is undefined.
    """
    return divide_or_zero(2 * precision * recall, precision + recall)


def select_part_of_means(part: str, precision: Floats, recall: Floats) -> Floats:
    """Return the measure that ``part`` names, which is mean precision, mean recall, or
    for `f1` the harmonic mean of both.
    """
    if part == "f1":
        return compute_harmonic_mean(precision, recall)
    return precision if part == "precision" else recall


def compute_deviation(total: Floats, squares: Floats, count: Floats) -> Floats:
    """Return the population standard deviation from sum, sum of squares and count, or
    NaN without values.
    """
    return quotient(np.sqrt(np.maximum(squares * count - total**2, 0)), count)


def f1_of_counts(
    both: Floats | float, answered: Floats | float, wanted: Floats | float
) -> Floats:
    """Return F1 from the counts of common, answered and gold items, or 0 if there are
    no answered and no gold items.

    F1 equals the harmonic mean of precision and recall up to rounding.
    """
    return divide_or_zero(2 * both, answered + wanted)


class HasText(Protocol):
    @property
    def text(self) -> str: ...


TextOrHasText = str | HasText


class TextMean(MeanMetric):
    """The mean over instances of a measure that compares two texts. A missing answer
    counts as an empty text.
    """

    own_version = 2
    compares_texts = True

    def instance_stats(
        self,
        gold: Sequence[TextOrHasText | None],
        answers: Sequence[TextOrHasText | None],
    ) -> Floats:
        counts = compute_mask_of_present_rows(gold).astype(np.float64)
        texts = self.normalise_texts(gold), self.normalise_texts(answers)
        return np.column_stack([self.measured(*texts) * counts[:, None], counts])

    @abstractmethod
    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        """Return an array (n, k) with the values of ``columns`` for n pairs of texts."""


def extract_texts(values: Sequence[TextOrHasText | None]) -> list[str]:
    return [
        "" if value is None else value if isinstance(value, str) else value.text
        for value in values
    ]


def find_package_version(package: str) -> str:
    """Return the version of an installed Python package. Raises Unavailable if the
    package is missing.
    """
    try:
        return version(package)
    except PackageNotFoundError as missing:
        message = (
            f"engine=package needs the package {package}; `make models` installs it"
        )
        raise SoftwareUnavailable(message) from missing
