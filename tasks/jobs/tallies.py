"""Counters of `/metrics` that outlive the rows they are of, written where something happens."""

from bisect import bisect_left
from itertools import accumulate

from django.db import IntegrityError, transaction
from django.db.models import F

from tasks.models import Tally

#: Seconds at which a histogram is divided; the last part has no end.
BUCKETS = (0.5, 1, 2, 5, 10, 30, 60, 300, 1800)

JOB_SECONDS, UPLOAD_TO_SCORE = "job_seconds", "upload_to_score_seconds"
LEASES_LOST, BEGUN_AGAIN = "leases_lost", "jobs_begun_again"


def count(name: str, label: str = "", *, place: int = 0, total: float = 0.0) -> None:
    """In the transaction of what is counted, as late as can be: it holds the counter until that ends."""
    key = {"name": name, "label": label, "place": place}
    same = Tally.objects.filter(**key)
    if not same.update(number=F("number") + 1, total=F("total") + total):
        try:
            with transaction.atomic():
                Tally.objects.create(**key, number=1, total=total)
        except IntegrityError:
            same.update(number=F("number") + 1, total=F("total") + total)


def observe(name: str, label: str, seconds: float) -> None:
    count(name, label, place=bisect_left(BUCKETS, seconds), total=seconds)


def counted(name: str) -> dict[str, int]:
    return dict(Tally.objects.filter(name=name).values_list("label", "number"))


def histogram(name: str) -> dict[str, tuple[list[int], float]]:
    """By label how many were at most each of BUCKETS, then all, and the sum of their seconds."""
    numbers: dict[str, list[int]] = {}
    sums: dict[str, float] = {}
    for tally in Tally.objects.filter(name=name):
        numbers.setdefault(tally.label, [0] * (len(BUCKETS) + 1))[tally.place] = tally.number
        sums[tally.label] = sums.get(tally.label, 0.0) + tally.total
    return {label: (list(accumulate(places)), sums[label]) for label, places in numbers.items()}
