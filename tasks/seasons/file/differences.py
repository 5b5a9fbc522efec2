"""Where a season file and the site differ, and whether it is the file that has changed or the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from citeboard.core.audit import as_json
from citeboard.core.refusals import Refused
from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.gold.packing import PreparedGold
from tasks.models import Gold, Season, SeasonFile
from tasks.registration.terms import current_terms, terms_text
from tasks.seasons.file.defaults import settings_of
from tasks.seasons.file.facts import (
    Facts,
    default_of,
    gold_key,
    key_of,
    organiser_key,
    rows_of,
    terms_key,
)
from tasks.types.printed_options import printed_options

#: What `--apply` and `--keep` take for every key.
ALL = "all"


class _Unsaid:
    """The file has never said anything that the site remembers."""

    def __repr__(self) -> str:
        return _("not known")


UNSAID = _Unsaid()


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One key; ``last`` is what the file said when it was last loaded, all values as JSON has them."""

    key: str
    last: Any
    site: Any
    file: Any

    @property
    def is_conflict(self) -> bool:
        """Whether the file would undo what was changed in the site since it was last loaded."""
        return bool(self.last is UNSAID or self.last != self.site)

    def as_json(self) -> dict[str, Any]:
        """``last`` is left out where the file has never said anything."""
        known = {} if self.last is UNSAID else {"last": self.last}
        return {"key": self.key, "site": self.site, "file": self.file, **known}


@dataclass(frozen=True)
class Decisions:
    """Of what was changed in the site since: which keys take the file's value, and which keep the site's."""

    apply: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()

    def keeps(self, key: str) -> bool:
        return key in self.keep or (ALL in self.keep and key not in self.apply)

    def decides(self, key: str) -> bool:
        return bool({key, ALL} & (self.apply | self.keep))

    def unknown(self, known: Iterable[str]) -> list[str]:
        return sorted((self.apply | self.keep) - {ALL, *known})


UNDECIDED = Decisions()


class LoadConflicts(Refused):
    """The file would undo what was changed in the site, and nobody has said that it may."""

    def __init__(self, conflicts: list[Difference]) -> None:
        self.conflicts = conflicts
        words = ngettext(
            "%(number)s key was changed in the site since the file was last loaded",
            "%(number)s keys were changed in the site since the file was last loaded",
            len(conflicts),
        )
        super().__init__(words % {"number": len(conflicts)})

    def answer(self) -> dict[str, object]:
        return super().answer() | {"conflicts": [row.as_json() for row in self.conflicts]}


class KeyNotKnown(Refused):
    """A decision names a key that the file does not have."""

    status = 400

    def __init__(self, keys: list[str]) -> None:
        super().__init__(_("the file says nothing of %(keys)s") % {"keys": ", ".join(keys)})

    def answer(self) -> dict[str, object]:
        words = sentence(self)
        return {"detail": f"apply: {words}", "errors": {"apply": [words]}}


class Remembered:
    """What the season's file said when it was last loaded."""

    def __init__(self, season: Season) -> None:
        kept = SeasonFile.objects.filter(season=season.pk).first()
        self.values: Mapping[str, Any] = kept.values if kept else {}

    def last(self, prefix: str, field: str) -> Any:
        """A setting that came with a later release was at its default when the file was loaded."""
        key = key_of(prefix, field)
        if key in self.values:
            return self.values[key]
        if key_of(prefix, "title") in self.values:
            return as_json(default_of(prefix, field))
        return UNSAID


def differences(
    season: Season,
    facts: Mapping[str, Facts],
    gold: Mapping[tuple[str, str], PreparedGold],
    organisers: Iterable[str],
    terms: str,
) -> list[Difference]:
    """Between the file and the rows that the site has; a row that it has not is new."""
    if season._state.adding:  # noqa: SLF001  (documented)
        return []
    remembered = Remembered(season)
    found = [
        *_of_rows(season, facts, remembered),
        *_of_gold(season, gold, remembered),
        *_of_organisers(season, organisers, remembered),
        *_of_terms(season, terms, remembered),
    ]
    return [difference for difference in found if difference.site != difference.file]


def settings_now(season: Season) -> dict[str, Any]:
    """Every setting by its key, as JSON has it."""
    found = {
        key_of(prefix, field): as_json(getattr(row, field))
        for prefix, row in rows_of(season, held=False).items()
        for field in settings_of(type(row))
    }
    return {key: printed_options(own) if key.endswith(".options") else own for key, own in found.items()}


def _of_rows(season: Season, facts: Mapping[str, Facts], remembered: Remembered) -> Iterator[Difference]:
    rows = rows_of(season)
    for prefix, said in facts.items():
        if prefix not in rows:
            continue
        for field, value in said.items():
            yield Difference(
                key=key_of(prefix, field),
                last=remembered.last(prefix, field),
                site=as_json(getattr(rows[prefix], field)),
                file=as_json(value),
            )


def _of_gold(
    season: Season, gold: Mapping[tuple[str, str], PreparedGold], remembered: Remembered
) -> Iterator[Difference]:
    for (task, split), prepared in gold.items():
        own = Gold.objects.filter(task__season=season, task__slug=task, split=split)
        present = own.order_by("-number").first()
        if present is not None:
            key = gold_key(task, split)
            last = remembered.values.get(key, UNSAID)
            yield Difference(key=key, last=last, site=present.digest, file=prepared.digest)


def _of_terms(season: Season, terms: str, remembered: Remembered) -> Iterator[Difference]:
    """A file without terms says nothing of them: what was accepted stays."""
    present = current_terms(season)
    if terms:
        last = remembered.values.get(terms_key(), None)
        yield Difference(
            key=terms_key(), last=last, site=terms_text(present.text) if present else None, file=terms
        )


def _of_organisers(season: Season, addresses: Iterable[str], remembered: Remembered) -> Iterator[Difference]:
    """New ones, and those whom the file made organisers and the site has removed since."""
    present = {address.lower() for address in season.organisers.values_list("user__email", flat=True)}
    for address in with_account(addresses):
        key, organises = organiser_key(address), address.lower() in present
        yield Difference(key=key, last=remembered.values.get(key, False), site=organises, file=True)


def with_account(addresses: Iterable[str]) -> list[str]:
    return [address for address in addresses if User.objects.filter(email__iexact=address).exists()]


def said_values(
    facts: Mapping[str, Facts],
    gold: Mapping[tuple[str, str], PreparedGold],
    organisers: Iterable[str],
    terms: str,
) -> dict[str, Any]:
    """What the site remembers of a file that has been loaded."""
    values = {
        key_of(prefix, field): as_json(value)
        for prefix, said in facts.items()
        for field, value in said.items()
    }
    values |= {gold_key(task, split): prepared.digest for (task, split), prepared in gold.items()}
    values |= {organiser_key(address): True for address in with_account(organisers)}
    return values | ({terms_key(): terms} if terms else {})
