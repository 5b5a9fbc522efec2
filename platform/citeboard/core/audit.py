import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.utils import NestedObjects
from django.core import serializers
from django.db import DEFAULT_DB_ALIAS, DatabaseError, transaction
from django.db.models import Model, QuerySet
from django.db.models.deletion import ProtectedError
from django.utils import translation
from django.utils.translation import gettext as _

from citeboard.core import actions, middleware
from citeboard.core.models import MAX_ACTOR_NAME_LENGTH, MAX_SUBJECT_LENGTH, AuditEntry
from citeboard.core.words import truncate_text


@dataclass(frozen=True)
class SettingChange:
    key: str
    before: Any
    after: Any

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "before": convert_to_json_value(self.before),
            "after": convert_to_json_value(self.after),
        }


@contextmanager
def render_in_english() -> Iterator[None]:
    """Render texts in English in the block, because the history is stored in English."""
    # With `translation.override` as a decorator, all threads would share one instance.
    with translation.override(middleware.ENGLISH_LANGUAGE_CODE):
        yield


@render_in_english()
def record_action(
    key: str,
    *,
    actor: Any,
    subject: Model,
    place: Model,
    facts: Mapping[str, object] | None = None,
    changes: Iterable[SettingChange] = (),
    called: str = "",
) -> AuditEntry:
    """Add a user action to the history, in the database transaction of the action.

    ``key`` is the name of the action in `actions.ACTION_SENTENCES`.
    """
    action, _slash, variant = key.partition("/")
    stored = {
        name: fact if isinstance(fact, int) else str(fact)
        for name, fact in (facts or {}).items()
    }
    stored |= {actions.SENTENCE_VARIANT_KEY: variant} if variant else {}
    where = {
        "subject_type": _find_model_label(subject),
        "subject_id": subject.pk,
        "place_type": _find_model_label(place),
    }
    where |= {
        "subject": truncate_text(str(subject), MAX_SUBJECT_LENGTH),
        "place_id": place.pk,
    }
    return _create_audit_entry(
        actor, called or find_actor_name(actor), action, stored, changes, **where
    )


def _create_audit_entry(
    actor: Any,
    called: str,
    action: str,
    facts: dict[str, Any],
    changes: Iterable[SettingChange],
    **where: Any,
) -> AuditEntry:
    return AuditEntry.objects.create(
        actor=actor,
        actor_name=called,
        action=action,
        facts=facts,
        text=actions.render_action_sentence(action, facts),
        changes=[change.as_json() for change in changes],
        **where,
    )


def update_row_and_list_changes(
    row: Model, wanted: Mapping[str, Any], prefix: str = "", **beside: Any
) -> list[SettingChange]:
    """Change and save a locked database row, and return the changes for the history.

    ``wanted`` contains the new values of the row's fields. If a value changes, the row
    also gets the values in ``beside``, which the history omits.
    """
    changes = [
        SettingChange(f"{prefix}{name}", before, value)
        for name, value in wanted.items()
        if (before := getattr(row, name)) != value
    ]
    if changes:
        values = {**wanted, **beside}
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    return changes


def find_history_of_place(place: Model) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(
        place_type=_find_model_label(place), place_id=place.pk
    )


def find_history_of_subjects(*subjects: Model) -> QuerySet[AuditEntry]:
    numbers = [subject.pk for subject in subjects]
    return AuditEntry.objects.filter(
        subject_type=_find_model_label(subjects[0]), subject_id__in=numbers
    )


def replace_name_in_entry(
    entry: AuditEntry, written: re.Pattern[str], called: str
) -> None:
    entry.text = written.sub(lambda _: called, entry.text)
    if entry.facts is not None:
        entry.facts = {
            name: written.sub(lambda _: called, fact) if isinstance(fact, str) else fact
            for name, fact in entry.facts.items()
        }


def find_actor_name(actor: Any) -> str:
    return truncate_text(
        str(actor) if actor is not None else actions.OPERATOR_ACTOR_NAME,
        MAX_ACTOR_NAME_LENGTH,
    )


def convert_to_json_value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, Model) else value


def _find_model_label(thing: Model) -> str:
    return thing._meta.label_lower  # noqa: SLF001  (it is documented, whatever its name says)


DELETED_ACTION_KEY, RESTORED_ACTION_KEY = "deleted", "restored"
#: A history entry stores deleted rows as a change with the key DELETED_ROWS_KEY.
DELETED_ROWS_KEY = "rows"


class RowsNotRestored(Exception):
    """The deleted rows of a history entry cannot be restored, for the reason in the
    message.
    """


def delete_row_and_record(*, row: Model, place: Model, by: Any) -> None:
    """Delete a row and all rows that depend on the row, and store the deleted rows.

    Raises ProtectedError if a dependent row is protected.
    """
    with transaction.atomic():
        present = type(row)._default_manager.select_for_update().get(pk=row.pk)  # noqa: SLF001  (documented)
        nested = NestedObjects(using=DEFAULT_DB_ALIAS)
        nested.collect([present])
        if nested.protected:
            raise ProtectedError(
                f"{present} holds what is not deleted", nested.protected
            )
        nested.sort()
        # A restore inserts rows in stored order, so referenced rows must come first.
        rows = [
            part for model in reversed(list(nested.data)) for part in nested.data[model]
        ]
        stored = [
            {
                **part,
                "fields": {
                    name: convert_to_json_value(value)
                    for name, value in part["fields"].items()
                },
            }
            for part in serializers.serialize("python", rows)
        ]
        kind = str(row._meta.verbose_name)  # noqa: SLF001  (documented)
        has_sentence = f"{DELETED_ACTION_KEY}/{kind}" in actions.ACTION_SENTENCES
        facts: dict[str, object] = (
            {"name": present} if has_sentence else {"name": present, "kind": kind}
        )
        key, changes = (
            f"{DELETED_ACTION_KEY}/{kind}" if has_sentence else DELETED_ACTION_KEY,
            [SettingChange(DELETED_ROWS_KEY, stored, None)],
        )
        record_action(
            key, actor=by, subject=present, place=place, facts=facts, changes=changes
        )
        present.delete()


def can_restore_deleted_rows(entry: AuditEntry) -> bool:
    later = AuditEntry.objects.filter(action=RESTORED_ACTION_KEY, pk__gt=entry.pk)
    same = later.filter(subject_type=entry.subject_type, subject_id=entry.subject_id)
    return entry.action == DELETED_ACTION_KEY and not same.exists()


def restore_deleted_rows(*, entry: AuditEntry, by: Any) -> None:
    """Restore the rows that the action of a history entry deleted.

    The function does nothing if the rows were restored already. Raises RowsNotRestored if
    the rows cannot be restored.
    """
    if not can_restore_deleted_rows(entry):
        return
    rows = next(
        change["before"]
        for change in entry.changes
        if change["key"] == DELETED_ROWS_KEY
    )
    try:
        with transaction.atomic():
            for row in serializers.deserialize("python", rows, ignorenonexistent=True):
                if type(row.object)._default_manager.filter(pk=row.object.pk).exists():  # noqa: SLF001
                    raise RowsNotRestored(
                        _("%(name)s is there already") % {"name": entry.subject}
                    )
                row.save(force_insert=True)
            names = ("subject_type", "subject_id", "subject", "place_type", "place_id")
            where = {name: getattr(entry, name) for name in names}
            change = SettingChange(DELETED_ROWS_KEY, None, len(rows))
            _create_audit_entry(
                by,
                find_actor_name(by),
                RESTORED_ACTION_KEY,
                {"name": entry.subject},
                [change],
                **where,
            )
    except DatabaseError as refused:
        message = _(
            "%(name)s cannot be restored: something else has its place or its name"
        )
        raise RowsNotRestored(message % {"name": entry.subject}) from refused
