"""Store uploaded measures (Python code) and official programs of tasks, and approve
them.
"""

import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, confinement, refusals
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.teams.models import User
from tasks.models import MeasuresFile, Season, Task
from tasks.models.declarations import can_run_measures
from tasks.seasons.access import require_staff
from tasks.types import Problem
from tasks.types.declared.own_measures import (
    compute_measures_digest,
    list_measures_without_carriers,
)

PROGRAM_WARNINGS_FUNCTION = "tasks.submissions.reading:program_warnings"


class MeasuresRefused(refusals.ActionRefused):
    pass


def store_uploaded_measures(
    text: str, *, by: User | None, season: Season | None = None
) -> None:
    """Store the text of the `measures.py` of a task, which contains code for measures.
    Staff must approve the code before the site runs it. ``by`` is the uploading user,
    or None for the operator of the site.

    Raises MeasuresRefused.
    """
    if can_run_measures(text):
        return
    if settings.OWN_MEASURES == "nobody":
        raise MeasuresRefused(
            _("this site computes no measures but those that ship with Citeboard")
        )
    if not confinement.is_fully_confined():
        raise MeasuresRefused(
            _(
                "this machine cannot keep a program that is not ours from files and network"
            )
        )
    is_approved = by is None or by.is_staff or settings.OWN_MEASURES == "organisers"
    row = _store_measures(text, by=by, season=season, is_approved=is_approved)
    if not is_approved:
        message = _(
            "measures.py (%(digest)s) waits until the site's staff have approved it"
        )
        raise MeasuresRefused(message % {"digest": row.digest[:12]})


def list_missing_carrier_warnings(text: str) -> list[str]:
    """Return a warning for each weighted measure whose code does not set `carriers`,
    the columns of the rows that decide the value of the measure.
    """
    words = _(
        "“%(measure)s” does not declare its “carriers”, so its interval counts all units; "
        "the interval may be too narrow where few units decide"
    )
    return [words % {"measure": name} for name in list_measures_without_carriers(text)]


def store_uploaded_program(
    text: str, *, by: User | None, season: Season | None = None
) -> None:
    """Store an official program. Staff must approve the program, even if this site
    cannot run programs.
    """
    if can_run_measures(text):
        return
    mode = settings.OWN_MEASURES
    is_approved = mode == "organisers" or (
        mode == "staff" and (by is None or by.is_staff)
    )
    _store_measures(text, by=by, season=season, is_approved=is_approved)


def explain_unapproved_program(text: str) -> str:
    """Return the reason why the site does not run the official program with this text,
    or an empty text if the site runs the program.
    """
    if can_run_measures(text):
        return ""
    if settings.OWN_MEASURES == "nobody":
        return _("this site stores official programs and runs none")
    if not confinement.is_fully_confined():
        return _(
            "this machine has no sandbox for official programs: the program is stored and not run"
        )
    return _("the official program waits until the site's staff approve it")


def _store_measures(
    text: str, *, by: User | None, season: Season | None, is_approved: bool
) -> MeasuresFile:
    with transaction.atomic():
        row, is_new = MeasuresFile.objects.get_or_create(
            digest=compute_measures_digest(text),
            defaults={"text": text, "season": season, "brought_by": by},
        )
        if is_approved:
            MeasuresFile.objects.filter(pk=row.pk).update(approved_at=timezone.now())
        if is_new or is_approved:
            kind = "program" if row.is_official_program else "measures"
            action = f"{kind}-brought/approved" if is_approved else f"{kind}-brought"
            facts = {"digest": row.digest[:12]}
            audit.record_action(
                action, actor=by, subject=row, place=season or row, facts=facts
            )
    return row


def get_measures_file_or_404(user: object, measures: int) -> MeasuresFile:
    require_staff(user)
    return get_object_or_404(MeasuresFile, pk=measures)


@lru_cache(maxsize=32)
def _read_program_warnings(text: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory(prefix="citeboard-program-") as folder:
        path = Path(folder) / "program.json"
        path.write_text(text, encoding="utf-8")
        with confinement.read_upload(
            PROGRAM_WARNINGS_FUNCTION, path, {}, owner=None
        ) as done:
            return tuple(map(str, done.result))


def list_program_warnings(row: MeasuresFile) -> Sequence[str]:
    """Return a sentence for each resource that an unapproved official program needs and
    this machine does not have.

    A sandboxed process reads the official program to find the needed resources.
    """
    if row.approved_at is not None or not row.is_official_program:
        return ()
    try:
        return _read_program_warnings(row.text)
    except (confinement.UploadUnreadable, SandboxPoolFull):
        return (_("its code could not be read within the limits of the site"),)


def decide_measures(*, measures: MeasuresFile, decision: str, by: User) -> MeasuresFile:
    """Approve an uploaded `measures.py` or official program, or withdraw the approval.
    Runs of tasks whose measures are not approved wait.
    """
    with transaction.atomic():
        row = MeasuresFile.objects.select_for_update().get(pk=measures.pk)
        wanted = timezone.now() if decision == "approve" else None
        if (wanted is None) != (row.approved_at is None):
            changes = audit.update_row_and_list_changes(row, {"approved_at": wanted})
            kind = "program" if row.is_official_program else "measures"
            action = f"{kind}-approved" if wanted else f"{kind}-withdrawn"
            facts = {"digest": row.digest[:12]}
            audit.record_action(
                action,
                actor=by,
                subject=row,
                place=row.season or row,
                facts=facts,
                changes=changes,
            )
    return row


def record_measure_failure(task: Task, why: Problem) -> None:
    """Record the failure of a measure in the history of the season, once per reason."""
    facts = {"task": task.title, "why": str(why)}
    if (
        not audit.find_history_of_place(task.season)
        .filter(action="measures-failed", facts=facts)
        .exists()
    ):
        audit.record_action(
            "measures-failed", actor=None, subject=task, place=task.season, facts=facts
        )
