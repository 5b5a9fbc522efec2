"""What people said of each system by class of the instances, such as their data set."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from scoring.board.comparisons import Unreadable
from scoring.comparison.paired_scores import classes_by_instance
from scoring.human.adjudication import final_ratings
from scoring.human.agreement import Mean, means
from scoring.models import CRITERIA, Evaluation, Sheet
from tasks.models import Submission


@dataclass(frozen=True, kw_only=True)
class ClassMeans:
    """One class: by criterion and run the mean of its ratings."""

    label: str
    instances: int
    means: dict[str, dict[int, Mean]]


def means_by_class(sheet: Sheet, dimension: str) -> list[ClassMeans]:
    """In the order of the sheet; nothing where its instances are of one class, or no run says of which.

    An instance of several classes counts in each.
    """
    found = _classes(sheet, dimension)
    places: dict[str, dict[str, int]] = defaultdict(dict)
    for name in sheet.instances.order_by("position").values_list("name", flat=True):
        for label in found.get(name, ()):
            places[label][name] = len(places[label])
    if len(places) < 2:
        return []
    return [
        ClassMeans(
            label=label,
            instances=len(own),
            means={criterion: _means(sheet, criterion, own) for criterion in CRITERIA},
        )
        for label, own in places.items()
    ]


def _means(sheet: Sheet, criterion: str, own: dict[str, int]) -> dict[int, Mean]:
    """By run over the instances of a class, which has them under these numbers."""
    rated = [rating for rating in final_ratings(sheet, criterion) if rating.instance in own]
    return means([(rating.run, own[rating.instance], rating.value) for rating in rated], len(own))


def _classes(sheet: Sheet, dimension: str) -> dict[str, tuple[str, ...]]:
    runs = Submission.objects.filter(sheet_texts__instance__sheet=sheet)
    for evaluation in Evaluation.objects.filter(submission__in=runs).order_by("-pk"):
        try:
            return classes_by_instance(evaluation, dimension)
        except Unreadable:
            continue
    return {}
