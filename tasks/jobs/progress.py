"""How far a run has come: the share that is scored."""

from __future__ import annotations

from django.db.models import OuterRef, QuerySet, Subquery

from tasks.models import Job, Submission


def with_progress(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Each with ``progress``: the share of a check or a scoring that is under way, None where none is."""
    running = Job.objects.filter(submission=OuterRef("pk"), sets_status=True, state=Job.State.RUNNING)
    return submissions.annotate(progress=Subquery(running.order_by("-id").values("progress")[:1]))
