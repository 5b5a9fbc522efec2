"""Deleting rows so that it can be undone: what goes stands in the history and is brought back from there."""

from typing import Any

from django.contrib.admin.utils import NestedObjects
from django.core import serializers
from django.db import DEFAULT_DB_ALIAS, DatabaseError, transaction
from django.db.models import Model
from django.db.models.deletion import ProtectedError
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.actions import ACTIONS, worded
from citeboard.core.models import AuditEntry

#: The action of an entry whose rows can be brought back, and of one that brought them back.
DELETED, RESTORED = "deleted", "restored"
#: The key under which an entry keeps the rows.
ROWS = "rows"


class NotRestored(Exception):
    """The rows cannot stand where they stood; the message says why."""


def delete(*, row: Model, place: Model, by: Any) -> None:
    """Delete a row with all that hangs on it. Raises ProtectedError where something must not go."""
    with transaction.atomic():
        present = type(row)._default_manager.select_for_update().get(pk=row.pk)  # noqa: SLF001  (documented)
        nested = NestedObjects(using=DEFAULT_DB_ALIAS)
        nested.collect([present])
        if nested.protected:
            raise ProtectedError(f"{present} holds what is not deleted", nested.protected)
        nested.sort()
        # What others refer to comes first, as it has to when the rows are written again.
        rows = [part for model in reversed(list(nested.data)) for part in nested.data[model]]
        stored = [
            {**part, "fields": {name: audit.as_json(value) for name, value in part["fields"].items()}}
            for part in serializers.serialize("python", rows)
        ]
        kind = str(row._meta.verbose_name)  # noqa: SLF001  (documented)
        has_sentence = f"{DELETED}/{kind}" in ACTIONS
        audit.record(
            f"{DELETED}/{kind}" if has_sentence else DELETED,
            actor=by,
            subject=present,
            place=place,
            facts={"name": present} if has_sentence else {"name": present, "kind": kind},
            changes=[audit.Change(ROWS, stored, None)],
        )
        present.delete()


def may_be_restored(entry: AuditEntry) -> bool:
    return (
        entry.action == DELETED
        and not AuditEntry.objects.filter(
            action=RESTORED, subject_type=entry.subject_type, subject_id=entry.subject_id, pk__gt=entry.pk
        ).exists()
    )


def restore(*, entry: AuditEntry, by: Any) -> None:
    """Bring the rows of a deletion back; once more changes nothing. Raises NotRestored."""
    if not may_be_restored(entry):
        return
    rows = next(change["before"] for change in entry.changes if change["key"] == ROWS)
    try:
        with transaction.atomic():
            for row in serializers.deserialize("python", rows, ignorenonexistent=True):
                if type(row.object)._default_manager.filter(pk=row.object.pk).exists():  # noqa: SLF001
                    raise NotRestored(_("%(name)s is there already") % {"name": entry.subject})
                row.save(force_insert=True)
            facts = {"name": entry.subject}
            AuditEntry.objects.create(
                actor=by,
                actor_name=audit.name_of(by),
                action=RESTORED,
                facts=facts,
                text=worded(RESTORED, facts),
                subject_type=entry.subject_type,
                subject_id=entry.subject_id,
                subject=entry.subject,
                place_type=entry.place_type,
                place_id=entry.place_id,
                changes=[audit.Change(ROWS, None, len(rows)).as_json()],
            )
    except DatabaseError as refused:
        raise NotRestored(
            _("%(name)s cannot be brought back: something else has its place or its name")
            % {"name": entry.subject}
        ) from refused
