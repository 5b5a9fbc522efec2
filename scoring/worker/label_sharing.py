"""A season's labels become those of all seasons; its own stay, so that its scores rest on what they did."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.teams.models import User
from scoring.models import EntailmentLabel, EntailmentModel, LabelImport
from scoring.worker import pending_labels
from scoring.worker.entailment_labels import AT_ONCE, Imported, LabelsRefused, label_lines
from tasks.models import Season
from tasks.submissions.uploads import safe_filename
from tasks.types import Problem


def share_labels(*, season: Season, model: str, by: User) -> Imported:
    """Keep the season's labels of a model for all seasons, all or none; runs that wait go on with them.

    Raises EntailmentModel.DoesNotExist, or LabelsRefused where shared labels say otherwise.
    """
    EntailmentModel.objects.get(name=model, season=season)
    with transaction.atomic():
        EntailmentModel.objects.get_or_create(name=model, season=None)
        own, shared = EntailmentModel.objects.select_for_update().deciding(model, season)
        known = _known(own, shared)
        source = LabelImport.objects.create(
            model=shared,
            filename=safe_filename(f"labels of {season.slug}"),
            sha256=_digest(own),
            added=own.decided - known,
            known=known,
            imported_by=by,
        )
        has_sha1 = _add(own, source)
        EntailmentModel.objects.filter(pk=shared.pk).update(decided=shared.decided + source.added)
        words = f"shared {source.added} labels of {shared} with all seasons"
        audit.note(actor=by, action="labels-shared", words=words, subject=source, place=season)
    resumed = pending_labels.go_on(shared, is_unsure=has_sha1)
    return Imported(model=shared, added=source.added, known=known, resumed=resumed)


def _known(own: EntailmentModel, shared: EntailmentModel) -> int:
    """How many are shared already. Raises LabelsRefused."""
    there = shared.entailment_labels.filter(premise=OuterRef("premise"), hypothesis=OuterRef("hypothesis"))
    otherwise = there.filter(~Q(entailed=OuterRef("entailed")))
    contradicted = own.entailment_labels.filter(Exists(otherwise)).count()
    if contradicted:
        message = _("%(number)s of these labels contradict those that all seasons share")
        message %= {"number": contradicted}
        raise LabelsRefused([Problem(message=message, expected=_("what a model has decided once"))])
    return own.entailment_labels.filter(Exists(there)).count()


def _add(own: EntailmentModel, source: LabelImport) -> bool:
    """Copies those that are not shared yet; whether any is known by SHA-1."""
    there = source.model.entailment_labels.filter(
        premise=OuterRef("premise"), hypothesis=OuterRef("hypothesis")
    )
    rows = own.entailment_labels.exclude(Exists(there)).order_by("pk")
    last, has_sha1 = 0, False
    while found := list(rows.filter(pk__gt=last)[:AT_ONCE]):
        EntailmentLabel.objects.bulk_create(
            EntailmentLabel(
                model=source.model,
                premise=row.premise,
                hypothesis=row.hypothesis,
                entailed=row.entailed,
                source=source,
            )
            for row in found
        )
        last = found[-1].pk
        has_sha1 = has_sha1 or any(len(row.premise) < len(row.hypothesis) for row in found)
    return has_sha1


def _digest(own: EntailmentModel) -> str:
    """Of the labels as a file of theirs has them."""
    digest = hashlib.sha256()
    for line in label_lines([own]):
        digest.update(line.encode())
    return digest.hexdigest()
