"""Mark runs of several teams that are the same, for organisers to look at."""

from django.db import transaction
from django.db.models import QuerySet

from tasks.models import Submission


def mark_alike(runs: QuerySet[Submission]) -> None:
    """Mark identical runs if several teams submitted these runs.

    The caller must have committed the runs, because two simultaneous transactions
    cannot see each other's runs.
    """
    if runs.values("team").distinct().count() < 2:
        return
    with transaction.atomic():
        # All processes lock the rows in the same order, so that no deadlock occurs.
        unmarked = runs.filter(is_alike=False).order_by("pk").select_for_update()
        locked = list(unmarked.values_list("pk", flat=True))
        Submission.objects.filter(pk__in=locked).update(is_alike=True)


def mark_same_file(run: Submission) -> None:
    mark_alike(Submission.objects.filter(sha256=run.sha256, team__isnull=False))
