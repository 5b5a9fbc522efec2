"""What a job needs of the worker that does it: the queue it waits in, and whether it is heavy."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.db.models import F
from django.utils.module_loading import import_string

from tasks.models import Job, Submission, Task

LIGHT, MODELS, GPU = Job.LIGHT, "models", "gpu"
#: Named and not imported: what metrics need is known to scoring, which stands to the right of tasks.
NEEDS_MODELS = "scoring.metrics.model_demand.needs_models"
#: A run is heavy where runs of its phase have lately taken so long.
HEAVY = dt.timedelta(seconds=20)
RECENT = 5


def queue_of(task: Task) -> str:
    """The one its organisers have named, or by what its metrics need under its options."""
    if task.queue:
        return task.queue
    return MODELS if import_string(NEEDS_MODELS)(task.type, tuple(task.rules), task.options) else LIGHT


def is_heavy(submission: Submission, queue: str, step: Job.Step) -> bool:
    """Whether light runs must not wait behind it."""
    if queue != LIGHT or submission.size > settings.CHECK_MAX_MB * 1024 * 1024:
        return True
    done = Job.objects.filter(submission__phase=submission.phase_id, state=Job.State.DONE, step=step)
    lately = done.filter(started_at__isnull=False, finished_at__isnull=False).order_by("-pk")
    took = sorted(lately.values_list(F("finished_at") - F("started_at"), flat=True)[:RECENT])
    return bool(took) and took[len(took) // 2] > HEAVY


def facts_of(submission: Submission, step: Job.Step) -> dict[str, object]:
    """What a job is given when it is queued. A check needs no model."""
    queue = LIGHT if step == Job.Step.CHECK else queue_of(submission.phase.task)
    again = submission.status == Submission.Status.SCORED
    return {
        "queue": queue,
        "is_heavy": is_heavy(submission, queue, step),
        "priority": Job.Priority.AGAIN if again else Job.Priority.NEW,
    }
