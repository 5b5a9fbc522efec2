"""A metric looks at each instance once and adds up many times.

``instance_stats`` turns n instances into an (n, k) array; ``aggregate`` turns the sum of any rows into the
value. From that one matrix follow the score, its interval (resampled weights times matrix), every breakdown
(the rows of a class) and the paired tests between two runs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.tokenizers import installed, unseen
from tasks.types.base import (
    ENGINE,
    OWN_TOKENIZER,
    PACKAGE,
    TOKENIZER,
    Options,
    is_official,
)
from tasks.types.columns import present, renumbered
from tasks.types.problems import Unavailable
from tasks.types.text import nfc

Floats = NDArray[np.float64]
Parameters = Mapping[str, str | int | float]
PARTS = ("precision", "recall", "f1")


class UnknownMetric(LookupError):
    """No metric has this name."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What a metric cannot do without besides this program, such as a model. ``missing`` says what is not on
    this machine and what to do about it; empty where it is there. ``place`` is where it lies, ``version`` its
    version or the beginning of its digest.
    """

    kind: str
    name: str
    place: str = ""
    version: str = ""
    missing: str = ""


def looked_for(
    kind: str, name: str, look: Callable[[], tuple[str, str]]
) -> Requirement:
    """``look`` gives place and version, or raises Unavailable; it loads nothing."""
    try:
        place, version = look()
    except Unavailable as missing:
        return Requirement(kind=kind, name=name, missing=str(missing))
    return Requirement(kind=kind, name=name, place=place, version=version)


class Fixed(StrEnum):
    """Why the gold of a class fixes the value of a measure there, or restricts its range."""

    ONE_LABEL = "one-label"
    BAND_OF_GOLD = "band-of-gold"
    EMPTY_GOLD = "empty-gold"


@dataclass(frozen=True, kw_only=True)
class ClassGold:
    """A class as its gold is: the rows that any run has there, the number of labels that occur in its gold
    (None if instances have no labels), and whether the class is a band of the number that runs predict.
    """

    rows: Floats
    labels: int | None = None
    is_band: bool = False


class Metric(ABC):
    """A measure under one rule set. ``statistic`` names the matrix: metrics that share it (precision, recall
    and F1 of one overlap) share the work. ``per_unit`` says that the rows of each resampling unit are added
    up first and turned by ``unit_stats`` into a row of their own, as in an average over topics.
    """

    name: str
    statistic: str
    higher_is_better: bool | None = True
    #: 1 where the field publishes shares, 100 where percentages, 0 for counts, which have no end.
    scale: float = 1
    #: Between which values it lies, where these are not 0 and the scale.
    ends: tuple[float, float] | None = None
    #: Raised whenever the arithmetic changes.
    version: int = 1
    #: How the value follows from its rows, such as a mean or a ratio. The populations by which
    #: `scripts/interval_coverage.py` checks intervals are sorted by it.
    shape: str = ""
    #: The version outside of the official rule sets, where the arithmetic has changed in these alone.
    own_version: int = 0
    #: Whether it compares texts: outside of the official rule sets it does so in NFC.
    compares_texts: bool = False
    #: Whether it rests on the words that its tokenizer finds.
    rests_on_tokens: bool = False
    #: The tokenizer that the task names, of `scoring.metrics.tokenizers`; empty for the measure's own.
    tokenizer: str = ""
    citation: str = ""
    per_unit: bool = False
    #: False where a class's value rests on rows outside of the class too (``of_class``): units of the class
    #: cannot be left out alone then, and such a value has no interval.
    is_decomposable: bool = True
    #: False where it means little on the instances of one gold label alone: a mean over labels is small there
    #: whatever a run does, a precision 1, and a correlation undefined.
    is_valid_in_one_label: bool = True
    #: Restrictions of classes under which this measure stays valid while others are fixed: accuracy with one
    #: label, for example.
    stands_in: tuple[Fixed, ...] = ()
    #: False where row i of one run and row i of another cannot be exchanged, as where each run has clusters
    #: of its own: no two runs are then compared or tested by it, and single instances have no value.
    is_exchangeable: bool = True
    #: Whether the last column of the matrix says which rows count; else those do that have gold.
    counts_by_last_column: bool = False
    #: False where no interval of it holds its true value as often as it says.
    has_honest_interval: bool = True
    #: False where rare classes make its error, so that an interval may hold less often than it says.
    holds_with_rare_classes: bool = True
    #: Packages besides NumPy whose arithmetic the number rests on; their versions are part of the signature.
    packages: tuple[str, ...] = ()
    #: The package that computes the same, by the option `engine` or as a witness.
    engine: str = ""
    #: Whether it does, in place of this program.
    is_by_package: bool = False
    #: What of ``parameters`` is known from the start.
    fixed: Parameters = {}
    #: The digest of the declared task that it is a measure of, if it is of one.
    task: str = ""

    def __init__(self, name: str, rules: str) -> None:
        self.name = name
        self.rules = rules
        if self.own_version and not is_official(rules):
            self.version = self.own_version

    @property
    def normal_form(self) -> str:
        """The Unicode normal form in which texts are compared, for the column key; empty as they are."""
        return "nfc" if self.compares_texts and not is_official(self.rules) else ""

    def comparable(self, text: str) -> str:
        """Return the text in the form in which it is compared."""
        return nfc(text) if self.normal_form else text

    def fixed_by(self, gold: ClassGold) -> Fixed | None:
        """Return why the class fixes the value, whatever runs answer there, or None if it does not."""
        if self.is_valid_in_one_label:
            return None
        if gold.is_band:
            return Fixed.BAND_OF_GOLD
        return Fixed.ONE_LABEL if gold.labels == 1 else None

    def is_constant(self, rows: Floats) -> bool:
        """Return True if the rows show that the run gives one answer everywhere."""
        return False

    @property
    def value_range(self) -> tuple[float, float]:
        """Between which values the metric lies, infinite where it has no end; its interval lies there too."""
        return self.ends or (0.0, self.scale or math.inf)

    @property
    def interval_version(self) -> int:
        """Raised whenever the ends of the default interval are computed in another way."""
        low, high = self.value_range
        return 3 if math.isinf(low) != math.isinf(high) else 2

    def denominators(self, rows: Floats) -> Floats:
        """(units,) what each unit's row adds to what the value is a share of; a unit with 0 carries nothing.
        Of a precision what was answered, of a recall what the gold has, of a mean the instances that count.
        Where a metric does not say, each unit with anything in its row adds 1.
        """
        return np.asarray(rows.any(axis=1), dtype=np.float64)

    def has_enough_units(self, rows: Floats) -> bool:
        """Whether leaving out one unit at a time shows how far the value may be off. ``rows`` are those of
        the units. Mostly three are enough, which is looked after elsewhere.
        """
        return True

    def on_interval_scale(self, values: Floats) -> Floats:
        """The values as their interval is made of them: mostly as they are."""
        return np.asarray(values)

    def from_interval_scale(self, values: Floats) -> Floats:
        return values

    @property
    def parameters(self) -> Parameters:
        """Whatever else can change the number; part of the signature."""
        return self.fixed

    def comparable_texts(self, values: Sequence[Text | None]) -> list[str]:
        """Return each one's text in the form in which it is compared; empty where there is none."""
        return [self.comparable(text) for text in texts_of(values)]

    def tokens(self, text: str) -> list[str]:
        """Return the words that it finds in a text, where it rests on words."""
        raise NotImplementedError

    def gold_texts(self, gold: Sequence[Any]) -> list[str]:
        """Return the texts of the gold, of several references each."""
        return [
            text
            for value in gold
            if value is not None
            for text in texts_of(value if isinstance(value, tuple) else (value,))
        ]

    def unseen(self, gold: Sequence[Any]) -> str:
        """Return why the metric is off: its tokens miss the words of the gold. Empty if the metric counts.

        A metric stays on under official rules, and if the task names a tokenizer.
        """
        if not self.rests_on_tokens or self.tokenizer or is_official(self.rules):
            return ""
        texts = [self.comparable(text) for text in self.gold_texts(gold)]
        return unseen(self.tokens, texts)

    def choose_tokenizer(self, options: Options | None) -> None:
        """Take the tokenizer that the options name; official rules have their own."""
        name = (options or {}).get(TOKENIZER.name, OWN_TOKENIZER)
        if name != OWN_TOKENIZER and not is_official(self.rules):
            self.tokenizer = name

    def choose_engine(self, options: Options | None) -> None:
        self.is_by_package = (
            bool(self.engine) and (options or {}).get(ENGINE.name) == PACKAGE
        )

    @property
    def signed_engine(self) -> Parameters:
        """What a signature says of the package that computes the number. Raises Unavailable."""
        return (
            {ENGINE.name: f"{self.engine}-{package_version(self.engine)}"}
            if self.is_by_package
            else {}
        )

    @abstractmethod
    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """An (n, k) array: a row for each pair. Gold or answer is None where the other has no partner."""

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        """How many instances the value over these rows rests on."""
        return int(stats[:, -1].sum() if self.counts_by_last_column else has_gold.sum())

    @property
    def needs_model(self) -> bool:
        """Whether a model computes it, so that it is slow and not every worker has what it takes."""
        return False

    def requirements(self) -> Sequence[Requirement]:
        """Models and the like without which it cannot score, for whoever runs a site; mostly nothing."""
        needed: list[Requirement] = []
        if self.is_by_package:
            needed.append(
                looked_for(
                    "package", self.engine, lambda: ("", package_version(self.engine))
                )
            )
        if self.tokenizer:
            needed.append(
                looked_for(
                    "tokenizer", self.tokenizer, lambda: installed(self.tokenizer)
                )
            )
        return tuple(needed)

    @property
    def replaces(self) -> str:
        """Part of the column keys of numbers that are computed anew, as something better is there now."""
        return ""

    def labels_used(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Mapping[tuple[str, str], bool] | None:
        """The labels of a file that decided this run, by digests of premise and hypothesis; None without."""
        return None

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """What the matrix counts besides the score, such as labels still to be made."""
        return {}

    def details(self, answers: Sequence[Any]) -> Mapping[str, Mapping[str, Any]]:
        """By unit, what a page can show of how a run came to its numbers, as JSON values; mostly nothing."""
        return {}

    def unit_stats(self, sums: Floats) -> Floats:
        """Where ``per_unit``: from (units, k) sums to the (units, m) rows that ``aggregate`` adds up."""
        return sums

    @abstractmethod
    def aggregate(self, sums: Floats) -> Floats:
        """From (…, k) sums of rows to (…) values, on the metric's scale; NaN where the value is undefined."""

    def as_stored(self, *names: Container[str]) -> Metric | None:
        """Return the metric, or an earlier version of it, that reads all of these stored matrices, by the
        names of their statistics; None if there is none.
        """
        return self if all(self.statistic in own for own in names) else None

    def paired_rows(self, rows: Floats) -> Floats:
        """Return the (units, m) rows in the form in which rows of two runs can be exchanged."""
        return rows

    def can_be_compared(self, rows: Floats) -> bool:
        """Whether ``paired_rows`` of these rows have enough digits."""
        return True

    def of_class(self, sums: Floats, whole: Floats) -> Floats:
        """The value over a class from the sums of its rows; ``whole`` are those of all rows."""
        return self.aggregate(sums)

    def of_label(self, label: str) -> Metric | None:
        """By what a class is measured: mostly this metric over its rows, or another over all, or nothing."""
        return self

    def total(self, rows: Floats) -> float:
        """The value over a whole run, where a program publishes something else than that of the rows' sum."""
        return float(self.aggregate(rows.sum(axis=0)))


#: So many units are left out one by one; of more, as many groups of them by chance.
MAX_LEFT_OUT = 400
#: Weights that are held in memory at once.
WEIGHTS = 4_000_000


class WeightedMetric(Metric):
    """A measure that is no function of sums: of the rows, each with a weight. Weights are whole numbers: 0
    and 1 leave units out, others resample. What is resampled or exchanged are rows with the number of their
    unit before them (``unit_rows``).
    """

    shape = "weighted"
    counts_by_last_column = True
    interval_version = 3
    #: False where leaving out units does not show how far the value may be off.
    has_interval: bool = True
    #: The columns of the matrix whose rows other than 0 carry the value, such as the positives of an average
    #: precision; of several columns the one with the fewest units decides. None: all rows, which is too many
    #: where a value rests on a few of them.
    carriers: tuple[int, ...] | None = None

    @abstractmethod
    def value(self, rows: Floats, weights: Floats) -> Floats:
        """From (n, k) rows and (…, n) weights to (…) values; NaN where a value is undefined."""

    def aggregate(self, sums: Floats) -> Floats:
        raise TypeError(f"{self.name} does not follow from sums")

    def carried(self, rows: Floats) -> Floats:
        """Return (n, c): the amount that each of the (n, k) rows adds to each of c groups of carriers."""
        if self.carriers is None:
            return np.asarray(rows.any(axis=1, keepdims=True), dtype=np.float64)
        own: Floats = (rows[:, list(self.carriers)] != 0).astype(np.float64)
        return own

    def carried_by_unit(self, rows: Floats) -> Floats:
        """Return (units, c): ``carried`` summed over each unit; column 0 of ``rows`` numbers the units."""
        return unit_sums(self.carried(rows[:, 1:]), rows[:, 0].astype(np.intp))

    def total(self, rows: Floats) -> float:
        return float(self.value(rows[:, 1:], np.ones(len(rows))))

    def left_out(self, rows: Floats) -> Floats:
        """The values without each unit, or without each of many groups of units."""
        names, units = np.unique(rows[:, 0], return_inverse=True)
        count = len(names)
        if count > MAX_LEFT_OUT:
            units, count = (
                np.random.default_rng(0).permutation(count)[units] % MAX_LEFT_OUT,
                MAX_LEFT_OUT,
            )
        return self.of_weights(
            rows, lambda first, last: units != np.arange(first, last)[:, None], count
        )

    def of_weights(
        self, rows: Floats, weights: Callable[[int, int], NDArray[Any]], count: int
    ) -> Floats:
        """The values under so many weights, which are asked for in blocks; of both there is one at least."""
        block = max(1, WEIGHTS // len(rows))
        blocks = (
            weights(first, min(count, first + block))
            for first in range(0, count, block)
        )
        return np.concatenate(
            [self.value(rows[:, 1:], own.astype(np.float64)) for own in blocks]
        )


class MeanMetric(Metric):
    """The mean of one column of the matrix over the instances that count, times the scale (of counts, by 1).
    The matrix has the measured ``columns``, then a last one of ones and zeros that says which rows count: an
    answer without gold does not, a gold instance without an answer does, with 0. Over no instances the mean
    is undefined (NaN). ``over_units`` takes the mean of each unit first and then the mean of these (a macro
    average).
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
        """The unit's mean and 1; zeros where none of its instances counts."""
        count = sums[:, -1]
        means = ratio(sums[:, self.columns.index(self.column)], count)
        return np.column_stack([means, count > 0]).astype(np.float64)

    def aggregate(self, sums: Floats) -> Floats:
        chosen = sums[..., 0 if self.per_unit else self.columns.index(self.column)]
        return np.asarray((self.scale or 1) * quotient(chosen, sums[..., -1]))


class CountMetric(Metric):
    """Precision, recall or F1 of matrices with the columns true positive, false positive, false negative.

    Micro pools the counts. Macro is the mean precision and the mean recall over units, and F1 is computed
    *from those two means*, as the CL-SciSumm programs do. 0/0 is 0.
    """

    shape = "ratio"

    def __init__(self, name: str, rules: str, *, part: str, average: str) -> None:
        super().__init__(name, rules)
        self.part, self.average = part, average
        self.per_unit = average == "macro"
        self.fixed = {"average": average}

    def unit_stats(self, sums: Floats) -> Floats:
        """Precision, recall and 1 for each unit: their sums give the two means."""
        rows = sums.copy()
        rows[:, 0] = ratio(sums[:, 0], sums[:, 0] + sums[:, 1])
        rows[:, 1] = ratio(sums[:, 0], sums[:, 0] + sums[:, 2])
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
                ratio(sums[..., 0], sums[..., 2]),
                ratio(sums[..., 1], sums[..., 2]),
            )
        else:
            precision = ratio(sums[..., 0], sums[..., 0] + sums[..., 1])
            recall = ratio(sums[..., 0], sums[..., 0] + sums[..., 2])
        return part_of_means(self.part, precision, recall)


def unit_rows(
    metric: Metric,
    stats: Floats,
    units: NDArray[np.intp],
    clusters: NDArray[np.intp] | None = None,
) -> Floats:
    """The rows that are resampled: (U, m), one for each unit that occurs, in the order of the unit numbers.
    ``units`` gives each instance's unit as a number. Units without a row in ``stats`` are left out. Where
    whole clusters of units are resampled, ``clusters`` gives each instance's, and a row is a cluster's.
    """
    if isinstance(metric, WeightedMetric):
        return np.column_stack([units if clusters is None else clusters, stats]).astype(
            np.float64
        )
    if clusters is None:
        sums = unit_sums(stats, units)
        return metric.unit_stats(sums) if metric.per_unit else sums
    if not metric.per_unit:
        return unit_sums(stats, clusters)
    return unit_sums(
        unit_rows(metric, stats, units),
        clusters[np.unique(units, return_index=True)[1]],
    )


def unit_sums(stats: Floats, units: NDArray[np.intp]) -> Floats:
    """The (U, k) sums over each unit's rows, added up in the order of the rows."""
    places = renumbered(units)[1]
    return np.column_stack([np.bincount(places, weights=column) for column in stats.T])


def value_of(metric: Metric, stats: Floats, units: NDArray[np.intp]) -> float:
    """The metric's value over the given instances; NaN where there are none and it is then undefined."""
    rows = (
        unit_rows(metric, stats, units)
        if metric.per_unit or isinstance(metric, WeightedMetric)
        else stats
    )
    return metric.total(rows)


def ratio(numerator: NDArray[Any] | float, denominator: NDArray[Any] | float) -> Floats:
    """Numerator over denominator, 0 where the denominator is 0, as the official programs have it."""
    zeros = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(
        numerator, denominator, out=zeros, where=np.not_equal(denominator, 0)
    )


def finite(value: float | None) -> float | None:
    """As JSON and the database can carry it: None where it is undefined or infinite."""
    return value if value is not None and math.isfinite(value) else None


def quotient(total: Floats, count: Floats) -> Floats:
    """Total over count, NaN where the count is 0: a mean over nothing is undefined."""
    undefined = np.full(np.broadcast(total, count).shape, np.nan)
    return np.asarray(np.divide(total, count, out=undefined, where=count > 0))


def harmonic_mean(precision: Floats | float, recall: Floats | float) -> Floats:
    """0 where both are 0; NaN where one is undefined."""
    return ratio(2 * precision * recall, precision + recall)


def part_of_means(part: str, precision: Floats, recall: Floats) -> Floats:
    """One of them, or for `f1` their harmonic mean."""
    if part == "f1":
        return harmonic_mean(precision, recall)
    return precision if part == "precision" else recall


def deviation_of(total: Floats, squares: Floats, count: Floats) -> Floats:
    """The standard deviation of all, not of a sample, from sums; NaN of nothing."""
    return quotient(np.sqrt(np.maximum(squares * count - total**2, 0)), count)


def f1_of_counts(
    both: Floats | float, answered: Floats | float, wanted: Floats | float
) -> Floats:
    """Of what is given, of what is wanted, and of what is both; 0 where nothing is given and nothing wanted.
    The same as the harmonic mean of both ratios, but for the last digits.
    """
    return ratio(2 * both, answered + wanted)


class HasText(Protocol):
    @property
    def text(self) -> str: ...


Text = str | HasText


class TextMean(MeanMetric):
    """A mean over instances of what is measured of two texts; a missing answer is an empty text."""

    own_version = 2
    compares_texts = True

    def instance_stats(
        self, gold: Sequence[Text | None], answers: Sequence[Text | None]
    ) -> Floats:
        counts = present(gold).astype(np.float64)
        texts = self.comparable_texts(gold), self.comparable_texts(answers)
        return np.column_stack([self.measured(*texts) * counts[:, None], counts])

    @abstractmethod
    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        """The (n, k) columns of n pairs."""


def texts_of(values: Sequence[Text | None]) -> list[str]:
    """Each one's text; empty where there is none."""
    return [
        "" if value is None else value if isinstance(value, str) else value.text
        for value in values
    ]


def package_version(package: str) -> str:
    """Raises Unavailable where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError as missing:
        message = (
            f"engine=package needs the package {package}; `make models` installs it"
        )
        raise Unavailable(message) from missing
