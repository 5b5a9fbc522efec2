"""The gold text beside a sheet's sources, for tasks whose texts people judge against it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.confinement import UploadUnreadable, limits_for_organisers, read_upload
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from scoring.human.scales import as_values
from scoring.models import Rating, Sheet
from tasks.models import Gold, Phase
from tasks.submissions.run_card import READING

HEADING = "The gold text"


class ReferencesRefused(Refused):
    """Annotators do not get to see the gold; the message says why."""


def could_show_references(sheet: Sheet) -> bool:
    human_evaluation = sheet.phase.task.task_type.human_evaluation
    return human_evaluation is not None and human_evaluation.references is not None


def show_references(*, sheet: Sheet, by: User) -> None:
    """Let annotators read the gold text of each instance and judge against it. Raises ReferencesRefused.

    Only where no phase needs the gold secret any more, and before anything has been rated.
    """
    phase = sheet.phase
    if not could_show_references(sheet):
        raise ReferencesRefused(_("the texts of this task are not judged against a gold text"))
    same_gold = Phase.objects.filter(task=phase.task_id, split=phase.split)
    if same_gold.filter(Q(closes__gt=now()) | Q(late_until__gt=now())).exists():
        raise ReferencesRefused(_("a phase on this gold is still to end; until then nobody is shown it"))
    if any(own.is_frozen() for own in same_gold):
        # Whoever has the gold can compute what a frozen board does not show.
        raise ReferencesRefused(_("a board on this gold is frozen; until it is revealed nobody is shown it"))
    found = _references(phase)
    human_evaluation = phase.task.task_type.human_evaluation
    assert human_evaluation is not None
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if not locked.is_open or Rating.objects.filter(annotator__sheet=locked).exists():
            raise ReferencesRefused(_("something has been rated without the gold text already"))
        if locked.has_references:
            return
        instances = list(locked.instances.all())
        if missing := next((own.name for own in instances if own.name not in found), None):
            raise ReferencesRefused(
                _("the present gold has no instance %(name)s any more") % {"name": missing}
            )
        for instance in instances:
            instance.sources = [*instance.sources, [HEADING, found[instance.name]]]
            instance.save(update_fields=["sources"])
        locked.has_references = True
        locked.scales = {**locked.scales, **as_values(human_evaluation.reference_scales)}
        locked.save(update_fields=["has_references", "scales"])
        audit.record(
            "sheet-references",
            actor=by,
            subject=phase,
            place=phase.task.season,
            facts={"sheet": sheet.pk},
        )


def _references(phase: Phase) -> Mapping[str, str]:
    gold = Gold.objects.current(phase)
    assert gold is not None
    given = {"task_type": phase.task.type}
    with tempfile.TemporaryDirectory(prefix="citeboard-sheet-") as folder:
        try:
            path = storage.local_copy(storage.gold, gold.file, Path(folder))
            with read_upload(
                f"{READING}:references", path, given, owner=None, limits=limits_for_organisers()
            ) as done:
                return dict(done.result)
        except (OSError, UploadUnreadable) as reason:
            raise ReferencesRefused(_("the gold of the phase cannot be read")) from reason
