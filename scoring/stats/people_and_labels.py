"""How far people and the automatic labels agree, as in Table 4 and section 6 of Xu et al. 2025."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from scoring.metrics.agreement import Level, alpha, cohen, fleiss
from scoring.metrics.entailment.judgements import PRECISION, RATINGS, RECALL, Item, Judgements
from scoring.stats.jackknife import ratio_interval

Automatic = Mapping[str, Mapping[Item, int]]


def automatic_labels(details: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[Item, int]]:
    """What the automatic labels say of each counting claim and each of its marks; pending ones are not
    there.

    A mark that a claim has twice is known by its first occurrence.
    """
    found: dict[str, dict[Item, int]] = {RECALL: {}, PRECISION: {}}
    for name, own in details.items():
        for claim in (claim for sentence in own.get("sentences", ()) for claim in sentence["claims"]):
            if claim["entailed"] is not None:
                found[RECALL].setdefault((name, claim["text"]), int(claim["entailed"]))
            for mark, credit in zip(claim["marks"], claim["credits"], strict=False):
                if credit is not None:
                    found[PRECISION].setdefault((name, claim["text"], mark), int(credit))
    return found


def items_of(details: Mapping[str, Mapping[str, Any]]) -> set[Item]:
    """Everything of a run that can be judged."""
    found: set[Item] = {(name,) for name in details}
    for name, own in details.items():
        for claim in (claim for sentence in own.get("sentences", ()) for claim in sentence["claims"]):
            if claim["counts"]:
                found.add((name, claim["text"]))
                found |= {(name, claim["text"], mark) for mark in claim["marks"]}
    return found


def agreement(judgements: Judgements, automatic: Automatic) -> dict[str, dict[str, Any]]:
    """By kind: items, annotators, their mean, Cohen's kappa of each with the automatic labels, Fleiss' of
    all annotators, and Krippendorff's alpha, ordinal of ratings.

    Recall and precision are means over responses, times 100, on the items that both have; ratings have the
    interval of their mean, 95 %, None with fewer than three responses.
    """
    return {
        **{kind: _labels(judgements.answers[kind], automatic[kind]) for kind in (RECALL, PRECISION)},
        **{kind: _ratings(judgements.answers[kind], levels) for kind, levels in RATINGS.items()},
    }


def _labels(judged: Mapping[Item, Mapping[str, int]], automatic: Mapping[Item, int]) -> dict[str, Any]:
    by_annotator: defaultdict[str, dict[Item, int]] = defaultdict(dict)
    for item, answers in judged.items():
        for annotator, answer in answers.items():
            by_annotator[annotator][item] = answer
    kappas = {}
    for name, rated in sorted(by_annotator.items()):
        both = [item for item in rated if item in automatic]
        kappas[name] = cohen([rated[item] for item in both], [automatic[item] for item in both])
    common = [item for item in judged if item in automatic]
    return {
        "items": len(judged),
        "annotators": len(by_annotator),
        "pending": len(judged) - len(common),
        "people": _mean(100 * _over_responses(own) for own in by_annotator.values()),
        "automatic": _number(100 * _over_responses({item: automatic[item] for item in common})),
        "cohen": {name: _number(kappa) for name, kappa in kappas.items()},
        "cohen_mean": _mean(kappas.values()),
        **_together(judged, "nominal"),
    }


def _ratings(judged: Mapping[Item, Mapping[str, int]], levels: Sequence[int]) -> dict[str, Any]:
    """The interval is that of the mean over responses, each with the mean of its ratings."""
    of_responses = [fmean(answers.values()) for answers in judged.values()]
    rows = np.array([(value, 1.0) for value in of_responses])
    low, high = ratio_interval(rows, (levels[0], levels[-1])) or (None, None)
    return {
        "items": len(judged),
        "annotators": len({name for answers in judged.values() for name in answers}),
        "ratings": sum(map(len, judged.values())),
        "people": _mean(of_responses),
        "low": low,
        "high": high,
        **_together(judged, "ordinal"),
    }


def _together(judged: Mapping[Item, Mapping[str, int]], level: Level) -> dict[str, Any]:
    """The agreement of all annotators."""
    items = [list(answers.values()) for answers in judged.values()]
    return {"fleiss": _number(fleiss(items)), "krippendorff": _number(alpha(items, level))}


def _over_responses(answers: Mapping[Item, int]) -> float:
    """The mean over responses of the share of items that are judged good."""
    by_response: defaultdict[str, list[int]] = defaultdict(list)
    for item, answer in answers.items():
        by_response[item[0]].append(answer)
    return fmean(map(fmean, by_response.values())) if by_response else math.nan


def _mean(values: Iterable[float]) -> float | None:
    known: Sequence[float] = [value for value in values if not math.isnan(value)]
    return fmean(known) if known else None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
