"""Mark runs of different teams that have the same content, so that organisers can look
at these runs.
"""

from django.db import transaction
from django.db.models import QuerySet

from tasks.models import Submission


def mark_runs_of_different_teams_as_equal(runs: QuerySet[Submission]) -> None:
    """Mark the runs in ``runs``, which have the same content, if they are from
    different teams.

    The caller must first commit the runs, because two simultaneous transactions cannot
    see each other's runs.
    """
    if runs.values("team").distinct().count() < 2:
        return
    with transaction.atomic():
        # All processes lock the rows in the same order, so that no deadlock occurs.
        unmarked = runs.filter(is_alike=False).order_by("pk").select_for_update()
        locked = list(unmarked.values_list("pk", flat=True))
        Submission.objects.filter(pk__in=locked).update(is_alike=True)


def mark_runs_with_same_file(run: Submission) -> None:
    mark_runs_of_different_teams_as_equal(
        Submission.objects.filter(sha256=run.sha256, team__isnull=False)
    )
