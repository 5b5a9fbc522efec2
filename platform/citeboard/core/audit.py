import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet
from django.utils import translation

from citeboard.core.actions import OPERATOR, VARIANT, cut, worded
from citeboard.core.language import ENGLISH
from citeboard.core.models import MAX_NAME, MAX_SUBJECT, AuditEntry


@dataclass(frozen=True)
class Change:
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
def record(
    key: str,
    *,
    actor: Any,
    subject: Model,
    place: Model,
    facts: Mapping[str, object] | None = None,
    changes: Iterable[Change] = (),
    called: str = "",
) -> AuditEntry:
    """Write down an act, in the transaction that it belongs to; ``key`` is one of `actions.ACTIONS`."""
    action, _slash, variant = key.partition("/")
    stored = {name: fact if isinstance(fact, int) else str(fact) for name, fact in (facts or {}).items()}
    stored |= {VARIANT: variant} if variant else {}
    return AuditEntry.objects.create(
        actor=actor,
        actor_name=called or name_of(actor),
        action=action,
        facts=stored,
        text=worded(action, stored),
        subject_type=_kind(subject),
        subject_id=subject.pk,
        subject=cut(str(subject), MAX_SUBJECT),
        place_type=_kind(place),
        place_id=place.pk,
        changes=[change.as_json() for change in changes],
    )


def set_fields(row: Model, wanted: Mapping[str, Any], prefix: str = "", **beside: Any) -> list[Change]:
    """Give a row that is locked these values, and save it; what changed by that, for the history."""
    changes = [
        Change(f"{prefix}{name}", before, value)
        for name, value in wanted.items()
        if (before := getattr(row, name)) != value
    ]
    if changes:
        values = {**wanted, **beside}
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))
    return changes


def history(place: Model) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(place_type=_kind(place), place_id=place.pk)


def about(subject: Model) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(subject_type=_kind(subject), subject_id=subject.pk)


def replace(entry: AuditEntry, written: re.Pattern[str], called: str) -> None:
    entry.text = written.sub(lambda _: called, entry.text)
    if entry.facts is not None:
        entry.facts = {
            name: written.sub(lambda _: called, fact) if isinstance(fact, str) else fact
            for name, fact in entry.facts.items()
        }


def name_of(actor: Any) -> str:
    return cut(str(actor) if actor is not None else OPERATOR, MAX_NAME)


def as_json(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, Model) else value


def _kind(thing: Model) -> str:
    return thing._meta.label_lower  # noqa: SLF001  (it is documented, whatever its name says)
