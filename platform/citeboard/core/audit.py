"""Writing and reading the audit trail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils import translation

from citeboard.core.language import ENGLISH
from citeboard.core.models import MAX_NAME, MAX_SUBJECT, MAX_WORDS, AuditEntry

#: Who acts where nobody is signed in: a command, or whoever has a shell.
OPERATOR = "The site's operator"


@dataclass(frozen=True)
class Change:
    """What an act turned into what, each as JSON has it; None stands for nothing."""

    key: str
    before: Any
    after: Any

    def as_json(self) -> dict[str, Any]:
        return {"key": self.key, "before": as_json(self.before), "after": as_json(self.after)}


@contextmanager
def in_english() -> Iterator[None]:
    """Around words that are kept: a reader of another language gets them translated when they are shown."""
    # `override` itself, as a decorator, would be one for all threads.
    with translation.override(ENGLISH):
        yield


@in_english()
def note(
    *,
    actor: Any,
    action: str,
    words: str,
    subject: Model,
    place: Model,
    changes: Iterable[Change] = (),
    called: str = "",
) -> AuditEntry:
    """Write down an act, in the transaction that it belongs to.

    ``actor`` of None is the site's operator, or somebody without a name here, who is ``called`` something.
    """
    return AuditEntry.objects.create(
        actor=actor,
        actor_name=called or name_of(actor),
        action=action,
        words=_cut(words, MAX_WORDS),
        subject_type=_kind(subject),
        subject_id=subject.pk,
        subject=_cut(str(subject), MAX_SUBJECT),
        place_type=_kind(place),
        place_id=place.pk,
        changes=[change.as_json() for change in changes],
    )


def history(place: Model) -> QuerySet[AuditEntry]:
    """What was done in a season or a team, newest first."""
    return AuditEntry.objects.filter(place_type=_kind(place), place_id=place.pk)


def about(subject: Model) -> QuerySet[AuditEntry]:
    """What was done with a thing, newest first."""
    return AuditEntry.objects.filter(subject_type=_kind(subject), subject_id=subject.pk)


def forget(person: Model) -> None:
    """Let entries say `deleted account 7` of somebody who leaves; what was done stays written.

    It is called in the transaction that deletes the account.
    """
    name, after = str(person), f"deleted account {person.pk}"
    AuditEntry.objects.filter(actor_id=person.pk).update(actor_name=after)
    about = Q(subject_type=_kind(person), subject_id=person.pk) | Q(words__contains=name) | Q(subject=name)
    for entry in AuditEntry.objects.filter(about):
        entry.words = _cut(entry.words.replace(name, after), MAX_WORDS)
        entry.subject = after if entry.subject == name else entry.subject
        entry.save(update_fields=["words", "subject"])


def name_of(actor: Any) -> str:
    return _cut(str(actor) if actor is not None else OPERATOR, MAX_NAME)


def as_json(value: Any) -> Any:
    """A field's value as JSON has it: an instant is written in UTC, a row as what it is called."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, Model) else value


def _kind(thing: Model) -> str:
    return thing._meta.label_lower  # noqa: SLF001  (it is documented, whatever its name says)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
