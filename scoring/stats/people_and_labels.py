"""Measure the agreement between human and automatic labels, as in Table 4 and section 6
of the ALiiCE paper (2025). 2025.
"""

import math
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeVar

import numpy as np

from scoring.metrics.base import finite_or_none
from scoring.metrics.classification import (
    MIN_UNITS_PER_CLASS,
    Classification,
    Kappa,
    Label,
    QuadraticKappa,
)
from scoring.stats.jackknife import (
    MIN_INFLUENTIAL_UNITS,
    NoIntervalReason,
    ValueRange,
    compute_jackknife_interval,
    compute_ratio_interval,
)
from scoring.stats.resampling import IntervalBounds
from tasks.types.files import open_input_files
from tasks.types.problems import (
    Problem,
    raise_if_any_problem_is_fatal,
    shorten_quoted_line,
)
from tasks.types.text import iterate_json_objects

#: An item is a claim (id, text), a citation mark (id, text, mark) or a response (id,).
JudgedItem = tuple[Any, ...]

AutomaticLabels = Mapping[str, Mapping[JudgedItem, int]]
_Answers = TypeVar("_Answers")


def collect_automatic_labels(
    details: Mapping[str, Mapping[str, Any]],
) -> dict[str, dict[JudgedItem, int]]:
    """Return the automatic labels of the claims that count and of the citation marks of
    these claims.

    Pending labels are omitted. A citation mark that is repeated in a claim has the
    label of its first occurrence.
    """
    labels: dict[str, dict[JudgedItem, int]] = {RECALL_LABELS: {}, PRECISION_LABELS: {}}
    for name, facts in details.items():
        for claim in (
            claim
            for sentence in facts.get("sentences", ())
            for claim in sentence["claims"]
        ):
            if claim["entailed"] is not None:
                labels[RECALL_LABELS].setdefault(
                    (name, claim["text"]), int(claim["entailed"])
                )
            for mark, credit in zip(claim["marks"], claim["credits"], strict=False):
                if credit is not None:
                    labels[PRECISION_LABELS].setdefault(
                        (name, claim["text"], mark), int(credit)
                    )
    return labels


def collect_judgeable_items(
    details: Mapping[str, Mapping[str, Any]],
) -> set[JudgedItem]:
    """Return the items of a run that people can judge, which are claims, citation marks
    and responses.
    """
    items: set[JudgedItem] = {(name,) for name in details}
    for name, facts in details.items():
        for claim in (
            claim
            for sentence in facts.get("sentences", ())
            for claim in sentence["claims"]
        ):
            if claim["counts"]:
                items.add((name, claim["text"]))
                items |= {(name, claim["text"], mark) for mark in claim["marks"]}
    return items


def agreement(
    judgements: "AnnotatorJudgements", automatic: AutomaticLabels
) -> dict[str, dict[str, Any]]:
    """Return the agreement between people and automatic labels for each kind of
    judgement.

    The agreement contains the numbers of items and annotators, the mean, Cohen's kappa
    of each annotator with the automatic labels, Fleiss' kappa of all annotators,
    Krippendorff's alpha (ordinal for ratings), and Gwet's AC1. Recall and precision are
    means over responses, times 100, for items with human and automatic labels. Mean
    ratings have a 95 % interval, or None with fewer than three responses. Each
    remaining statistic has a jackknife interval over responses, or the reason why it
    has no interval.
    """
    return {
        **{
            kind: _compute_label_agreement(judgements.answers[kind], automatic[kind])
            for kind in (RECALL_LABELS, PRECISION_LABELS)
        },
        **{
            kind: _compute_rating_statistics(judgements.answers[kind], levels)
            for kind, levels in LEVELS_BY_RATING.items()
        },
    }


def _compute_label_agreement(
    judged: Mapping[JudgedItem, Mapping[str, int]], automatic: Mapping[JudgedItem, int]
) -> dict[str, Any]:
    annotators = sorted({name for answers in judged.values() for name in answers})
    common = {item: answers for item, answers in judged.items() if item in automatic}

    def compute_agreement_of_people(
        kept: Mapping[JudgedItem, Mapping[str, int]],
    ) -> float:
        return compute_mean_of_defined_values(
            100 * _compute_mean_over_responses(_collect_labels_of_person(name, kept))
            for name in annotators
        )

    def make_kappa_function(
        name: str,
    ) -> Callable[[Mapping[JudgedItem, Mapping[str, int]]], float]:
        return lambda kept: apply_kappa_to_pairs(
            compute_cohen_kappa,
            [
                (answer, automatic[item])
                for item, answer in _collect_labels_of_person(name, kept).items()
            ],
        )

    def compute_mean_kappa(kept: Mapping[JudgedItem, Mapping[str, int]]) -> float:
        return compute_mean_of_defined_values(
            make_kappa_function(name)(kept) for name in annotators
        )

    beside = {
        name: {
            item: [answer, automatic[item]]
            for item, answer in _collect_labels_of_person(name, common).items()
        }
        for name in annotators
    }
    return {
        "items": len(judged),
        "annotators": len(annotators),
        "pending": len(judged) - len(common),
        "people": finite_or_none(compute_agreement_of_people(judged)),
        "people_interval": compute_agreement_interval(
            judged, compute_agreement_of_people, (0.0, 100.0)
        ),
        "automatic": finite_or_none(
            100
            * _compute_mean_over_responses({item: automatic[item] for item in common})
        ),
        "cohen": {
            name: finite_or_none(make_kappa_function(name)(common))
            for name in annotators
        },
        "cohen_intervals": {
            name: compute_agreement_interval(
                common,
                make_kappa_function(name),
                is_carried=has_enough_agreement_per_label(beside[name]),
            )
            for name in annotators
        },
        "cohen_mean": finite_or_none(compute_mean_kappa(common)),
        "cohen_mean_interval": compute_agreement_interval(
            common,
            compute_mean_kappa,
            is_carried=all(map(has_enough_agreement_per_label, beside.values())),
        ),
        **_compute_annotator_agreement(judged, "nominal", BINARY_LABELS),
    }


def _collect_labels_of_person(
    name: str, judged: Mapping[JudgedItem, Mapping[str, int]]
) -> dict[JudgedItem, int]:
    return {item: answers[name] for item, answers in judged.items() if name in answers}


def _compute_rating_statistics(
    judged: Mapping[JudgedItem, Mapping[str, int]], levels: Sequence[int]
) -> dict[str, Any]:
    """Return the statistics of people's ratings of responses. The mean rating and its
    interval are computed from the mean ratings of the single responses.
    """
    of_responses = [fmean(answers.values()) for answers in judged.values()]
    rows = np.array([(value, 1.0) for value in of_responses])
    low, high = compute_ratio_interval(rows, (levels[0], levels[-1])) or (None, None)
    return {
        "items": len(judged),
        "annotators": len({name for answers in judged.values() for name in answers}),
        "ratings": sum(map(len, judged.values())),
        "people": finite_or_none(compute_mean_of_defined_values(of_responses)),
        "low": low,
        "high": high,
        **_compute_annotator_agreement(judged, "ordinal", levels),
    }


def _compute_annotator_agreement(
    judged: Mapping[JudgedItem, Mapping[str, int]],
    level: "MeasurementLevel",
    labels: Sequence[int],
) -> dict[str, Any]:
    answers = {
        item: list(by_annotator.values()) for item, by_annotator in judged.items()
    }
    items = list(answers.values())
    has_labels = has_enough_agreement_per_label(answers)
    has_levels = has_labels if level == "nominal" else has_two_agreed_levels(answers)
    return {
        "fleiss": finite_or_none(compute_fleiss_kappa(items)),
        "fleiss_interval": compute_agreement_interval(
            answers,
            lambda kept: compute_fleiss_kappa(list(kept.values())),
            is_carried=has_labels,
        ),
        "krippendorff": finite_or_none(compute_krippendorff_alpha(items, level)),
        "krippendorff_interval": compute_agreement_interval(
            answers,
            lambda kept: compute_krippendorff_alpha(list(kept.values()), level),
            is_carried=has_levels,
        ),
        "ac1": finite_or_none(compute_gwet_ac1(items, labels)),
        "ac1_interval": compute_agreement_interval(
            answers, lambda kept: compute_gwet_ac1(list(kept.values()), labels)
        ),
    }


def has_enough_agreement_per_label(
    rated: Mapping[JudgedItem, Sequence[Hashable]],
) -> bool:
    """Return True if two annotators agree on each label in at least five responses or
    instances.

    Labels on which annotators agree more rarely dominate the standard error of nominal
    kappa and alpha, and a jackknife does not reveal this error.
    """
    return all(
        count >= MIN_UNITS_PER_CLASS
        for count in _count_responses_by_label(rated).values()
    )


def has_two_agreed_levels(rated: Mapping[JudgedItem, Sequence[Hashable]]) -> bool:
    """Return True if two annotators agree on a level in at least five responses or
    instances, not counting the most frequent level.
    """
    counts = Counter(rating for ratings in rated.values() for rating in ratings)
    if not counts:
        return False
    most = counts.most_common(1)[0][0]
    return (
        len(_find_responses_with_agreement(rated, without=most)) >= MIN_UNITS_PER_CLASS
    )


def _count_responses_by_label(
    rated: Mapping[JudgedItem, Sequence[Hashable]],
) -> dict[Hashable, int]:
    labels = {rating for ratings in rated.values() for rating in ratings}
    return {
        label: len(_find_responses_with_agreement(rated, only=label))
        for label in labels
    }


def _find_responses_with_agreement(
    rated: Mapping[JudgedItem, Sequence[Hashable]],
    only: Hashable = None,
    without: Hashable = None,
) -> set[Any]:
    """Return the responses that contain an item with two equal ratings. If ``only`` is
    set, only ratings with this label count, and ratings with the label ``without``
    never count.
    """
    return {
        item[0]
        for item, ratings in rated.items()
        for label, count in Counter(ratings).items()
        if count > 1 and label != without and (only is None or label == only)
    }


def compute_agreement_interval(
    judged: Mapping[JudgedItem, _Answers],
    coefficient: Callable[[Mapping[JudgedItem, _Answers]], float],
    value_range: ValueRange = (-1.0, 1.0),
    *,
    is_carried: bool = True,
) -> IntervalBounds | NoIntervalReason:
    """Return the jackknife interval of an agreement coefficient over responses or
    instances, or the reason why the coefficient has no interval. The first element of
    an item identifies the response or instance of the item. ``is_carried`` is False if
    a label is too rare for an interval.
    """
    units = list(dict.fromkeys(item[0] for item in judged))
    if len(units) < MIN_INFLUENTIAL_UNITS:
        return NoIntervalReason.FEW_UNITS
    if not is_carried:
        return NoIntervalReason.FEW_OF_A_CLASS
    kept = (
        {item: answers for item, answers in judged.items() if item[0] != unit}
        for unit in units
    )
    left_out = [coefficient(judgements) for judgements in kept]
    return (
        compute_jackknife_interval(coefficient(judged), left_out, value_range)
        or NoIntervalReason.UNDEFINED
    )


def _compute_mean_over_responses(answers: Mapping[JudgedItem, int]) -> float:
    by_response: defaultdict[str, list[int]] = defaultdict(list)
    for item, answer in answers.items():
        by_response[item[0]].append(answer)
    return fmean(map(fmean, by_response.values())) if by_response else math.nan


def compute_mean_of_defined_values(values: Iterable[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return fmean(defined) if defined else math.nan


RECALL_LABELS, PRECISION_LABELS = "recall", "precision"
#: Labels of recall and precision are 0 or 1.
BINARY_LABELS = (0, 1)

LEVELS_BY_RATING: Mapping[str, tuple[int, ...]] = {
    "utility": (1, 2, 3, 4, 5),
    "citation_utility": (0, 1),
}

EXAMPLE_JUDGEMENT_LINE = (
    '{"annotator": "A", "id": "q1", "claim": "It rains", "recall": 1}'
)


@dataclass(frozen=True)
class AnnotatorJudgements:
    """Labels and ratings by annotators, keyed by kind of judgement, item and annotator."""

    answers: dict[str, dict[JudgedItem, dict[str, int]]] = field(
        default_factory=lambda: {
            kind: defaultdict(dict)
            for kind in (RECALL_LABELS, PRECISION_LABELS, *LEVELS_BY_RATING)
        }
    )


def read_judgements(
    path: Path, is_known: Callable[[JudgedItem], bool], *, shown: str | None = None
) -> AnnotatorJudgements:
    """Read people's judgements of claims and responses from a file with one JSON object
    per line.

    A claim is identified by its text. `recall` is 1 if the passages of the claim's
    citation marks entail the claim, else 0. `precision` is 1 if the citation mark earns
    credit, else 0. `utility` rates a response from 1 to 5, and `citation_utility` is 0
    or 1. Error messages name the file by ``shown``. Raises InputRefused with all lines
    that are invalid or judge an item that the run does not contain.

    {"annotator": "A", "id": "q1", "claim": "It rains", "recall": 1}
    {"annotator": "A", "id": "q1", "claim": "It rains", "mark": 2, "precision": 0}
    {"annotator": "A", "id": "q1", "utility": 4, "citation_utility": 1}
    """
    problems: list[Problem] = []
    judgements = AnnotatorJudgements()
    for file in open_input_files(path, shown=shown):
        for line, record, raw in iterate_json_objects(file, problems):
            faults = list(_find_record_faults(record)) or [
                (
                    f"the run has no {_format_item_name(item)}",
                    "a claim as the run's details spell it",
                )
                for _, item, _ in _iterate_judgements(record)
                if not is_known(item)
            ]
            if not faults:
                again = f"{shorten_quoted_line(record['annotator'])} says otherwise on an earlier line"
                faults = [
                    (again, "one judgement of each")
                    for kind, item, value in _iterate_judgements(record)
                    if judgements.answers[kind][item].setdefault(
                        record["annotator"], value
                    )
                    != value
                ]
            problems += [
                file.make_problem(*fault, line=line, raw=raw) for fault in faults
            ]
    raise_if_any_problem_is_fatal(problems)
    return judgements


def _iterate_judgements(
    record: Mapping[str, Any],
) -> Iterator[tuple[str, JudgedItem, int]]:
    name, claim, mark = record["id"], record.get("claim"), record.get("mark")
    if RECALL_LABELS in record:
        yield RECALL_LABELS, (name, claim), record[RECALL_LABELS]
    if PRECISION_LABELS in record:
        yield PRECISION_LABELS, (name, claim, mark), record[PRECISION_LABELS]
    yield from (
        (kind, (name,), record[kind]) for kind in LEVELS_BY_RATING if kind in record
    )


def _find_record_faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("annotator", "id"):
        if not isinstance(record.get(key), str):
            yield f"“{key}” is no text", EXAMPLE_JUDGEMENT_LINE
    kinds = [
        kind
        for kind in (RECALL_LABELS, PRECISION_LABELS, *LEVELS_BY_RATING)
        if kind in record
    ]
    if not kinds:
        yield (
            "nothing is judged",
            f"one of {', '.join((RECALL_LABELS, PRECISION_LABELS, *LEVELS_BY_RATING))}",
        )
    for kind in kinds:
        allowed = LEVELS_BY_RATING.get(kind, (0, 1))
        if type(record[kind]) is not int or record[kind] not in allowed:
            yield (
                f"“{kind}” is {shorten_quoted_line(repr(record[kind]))}",
                f"one of {', '.join(map(str, allowed))}",
            )
    if (RECALL_LABELS in record or PRECISION_LABELS in record) and not isinstance(
        record.get("claim"), str
    ):
        yield "“claim” is no text", EXAMPLE_JUDGEMENT_LINE
    if PRECISION_LABELS in record and type(record.get("mark")) is not int:
        example = '{"annotator": "A", "id": "q1", "claim": "It rains", "mark": 2, "precision": 0}'
        yield "“mark” is no number", example


def _format_item_name(item: JudgedItem) -> str:
    names = ("response", "claim", "mark")
    return f"{names[len(item) - 1]} “{shorten_quoted_line(str(item[-1]))}”" + (
        f" of {item[0]}" if len(item) > 1 else ""
    )


def compute_cohen_kappa(first: Sequence[Label], second: Sequence[Label]) -> float:
    """Return Cohen's kappa (Cohen 1960, A Coefficient of Agreement for Nominal Scales),
    where each rater has a separate distribution of labels.

    Kappa is NaN without items, or if both raters use the same single label for all
    items.
    """
    return _compute_two_rater_agreement(
        Kappa("kappa", "", labels=sorted({*first, *second}, key=str)), first, second
    )


def compute_quadratic_kappa(first: Sequence[int], second: Sequence[int]) -> float:
    """Return kappa with squared distances as weights (Cohen 1968, Weighted Kappa).
    Kappa is NaN without items, or if both raters use the same single label for all
    items.
    """
    scale = range(
        min([*first, *second], default=0), max([*first, *second], default=0) + 1
    )
    return _compute_two_rater_agreement(
        QuadraticKappa("quadratic_kappa", "", labels=scale), first, second
    )


def apply_kappa_to_pairs(
    kappa: Callable[[Sequence[int], Sequence[int]], float],
    pairs: Collection[tuple[int, int]],
) -> float:
    """Apply the function ``kappa`` to pairs of ratings by two annotators."""
    first, second = zip(*pairs, strict=True) if pairs else ((), ())
    return kappa(first, second)


def _compute_two_rater_agreement(
    metric: Classification, first: Sequence[Label], second: Sequence[Label]
) -> float:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings")
    return float(metric.aggregate(metric.instance_stats(first, second).sum(axis=0)))


def compute_fleiss_kappa(items: Sequence[Sequence[Hashable]]) -> float:
    """Return Fleiss' kappa (Fleiss 1971, Measuring nominal scale agreement among many
    raters), where all raters have a common distribution of labels.

    Items with fewer than two ratings are excluded. The number of ratings may differ
    between items. Fleiss' kappa is NaN without items, or if all ratings are equal.
    """
    rated = [Counter(item) for item in items if len(item) > 1]
    if not rated:
        return math.nan
    totals = [sum(item.values()) for item in rated]
    observed = sum(
        sum(count * (count - 1) for count in item.values()) / (total * (total - 1))
        for item, total in zip(rated, totals, strict=True)
    ) / len(rated)
    habits: Counter[Hashable] = sum(rated, Counter())
    expected = sum((count / sum(totals)) ** 2 for count in habits.values())
    return (
        math.nan
        if math.isclose(expected, 1)
        else (observed - expected) / (1 - expected)
    )


def compute_gwet_ac1(
    items: Sequence[Sequence[Hashable]], labels: Collection[Hashable]
) -> float:
    """Return AC1 of Gwet 2008 (Computing inter-rater reliability and its variance in
    the presence of high agreement, British Journal of Mathematical and Statistical
    Psychology 61).

    Chance agreement is Σ π (1 - π) / (q - 1) over all q possible ``labels``, where π is
    the mean share of a label over items. Items with a single rating contribute only to
    the mean share π of a label. AC1 is NaN if no item has two ratings. Raises
    ValueError for a rating that is not in ``labels``, or for fewer than two labels.
    """
    rated = [Counter(item) for item in items if item]
    if len(labels) < 2 or {label for item in rated for label in item} - set(labels):
        raise ValueError(f"ratings beside the labels {labels}: expected two or more")
    several = [item for item in rated if item.total() > 1]
    if not several:
        return math.nan
    observed = fmean(
        sum(count * (count - 1) for count in item.values())
        / (item.total() * (item.total() - 1))
        for item in several
    )
    shares = [fmean(item[label] / item.total() for item in rated) for label in labels]
    expected = sum(share * (1 - share) for share in shares) / (len(labels) - 1)
    return (observed - expected) / (1 - expected)


MeasurementLevel = Literal["nominal", "ordinal", "interval"]


def compute_krippendorff_alpha(
    items: Sequence[Sequence[Any]], level: MeasurementLevel
) -> float:
    """Return Krippendorff's alpha (Krippendorff 2004, Content Analysis, chapter 11),
    which is 1 minus observed over expected disagreement.

    Items with fewer than two ratings are excluded. The distance between two ratings is
    0 or 1 for nominal ratings, the number of ratings between them for ordinal ratings,
    and the squared difference for interval ratings. Alpha is NaN without items or if
    all ratings are equal.
    """
    rated = [list(item) for item in items if len(item) > 1]
    values = sorted({rating for item in rated for rating in item})
    if len(values) < 2:
        return math.nan
    import krippendorff

    counts = np.array([[item.count(value) for value in values] for item in rated])
    return float(
        krippendorff.alpha(
            value_counts=counts, value_domain=values, level_of_measurement=level
        )
    )
