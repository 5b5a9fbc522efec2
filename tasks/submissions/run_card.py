"""The card of a run: what its sender gives, what its `ir_metadata` fills, and what organisers require."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.plain_text import checked_link, one_line
from citeboard.core.words import listed
from citeboard.teams.models import User
from tasks.models import Phase
from tasks.models.run_cards import CARD, COSTS, METHOD, NONE, REQUIRABLE, CardField
from tasks.submissions.details import shortened_description
from tasks.submissions.refusals import CardIncomplete
from tasks.submissions.team_figures import readable_figures
from tasks.submissions.uploads import Upload
from tasks.types import Problem, TaskType

READER = "tasks.submissions.reading:metadata"
_DATE = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?|none|unknown")
_NAME = re.compile(r"[\w.+-]+(?: [\w.+-]+)*")


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """What `ir_metadata` says of a run: its description, its card, and its costs."""

    description: str = ""
    card: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)

    def before(self, other: Metadata) -> Metadata:
        """With what the other says where this one says nothing."""
        return Metadata(
            description=self.description or other.description,
            card={**other.card, **self.card},
            figures={**other.figures, **self.figures},
        )


def checked_card(given: Mapping[str, object]) -> dict[str, str]:
    """The fields that are filled in, made plain. Raises ValidationError with every field that is refused."""
    found: dict[str, str] = {}
    faults: dict[str, str] = {}
    for name, value in given.items():
        known = CARD.get(name)
        if known is None:
            faults[name] = _("a run card has no such field; there are %(names)s") % {"names": ", ".join(CARD)}
            continue
        try:
            text = _judged(known, value)
        except ValueError as fault:
            faults[name] = str(fault)
        else:
            found |= {name: text} if text else {}
    if faults:
        raise ValidationError(faults)
    return found


def _judged(known: CardField, value: object) -> str:
    """Raises ValueError with a clause for its sender."""
    text = one_line("" if value is None else str(value))
    if not text:
        return ""
    if len(text) > known.max_length:
        raise ValueError(
            _("this has %(found)s characters; at most %(most)s fit")
            % {"found": f"{len(text):,}", "most": f"{known.max_length:,}"}
        )
    if known.values and text not in known.values:
        raise ValueError(
            _("“%(found)s” is not one of %(names)s") % {"found": text[:40], "names": ", ".join(known.values)}
        )
    if known.is_date and not _DATE.fullmatch(text.lower()):
        raise ValueError(
            _("“%(found)s” is no year, month or day such as 2024-06, nor none or unknown") % {"found": text}
        )
    if known.is_list:
        return _listed(text)
    if known.is_link:
        checked_link(text)
    return text.lower() if known.is_date else text


def _listed(text: str) -> str:
    """Each name once, in the order of the alphabet, in small letters."""
    names = sorted({name.strip().lower() for name in text.split(",")} - {""})
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                _("“%(found)s” is no name of a data set: letters, digits, spaces and . _ - + alone")
                % {"found": name[:40]}
            )
    if NONE in names and len(names) > 1:
        raise ValueError(_("it names data sets and says none"))
    return ", ".join(names)


def require_card(
    phase: Phase, *, description: str, card: Mapping[str, str], figures: Mapping[str, float]
) -> None:
    """Raises CardIncomplete where something is missing that the phase requires."""
    if missing := missing_from(phase, description=description, card=card, figures=figures):
        raise CardIncomplete(missing, listed([f"{REQUIRABLE[name]} ({name})" for name in missing]))


def missing_warnings(phase: Phase, said: Metadata) -> list[Problem]:
    """For a check: each field that the phase requires and nobody has filled in."""
    missing = missing_from(phase, description=said.description, card=said.card, figures=said.figures)
    return [
        Problem(
            message=_("the run card lacks %(field)s (%(name)s), which this phase requires")
            % {"field": REQUIRABLE[name], "name": name},
            expected=_(
                "filled in when the run is submitted, by the form, a file of ir_metadata or its header"
            ),
            fatal=False,
        )
        for name in missing
    ]


def missing_from(
    phase: Phase, *, description: str, card: Mapping[str, str], figures: Mapping[str, float]
) -> list[str]:
    """What the phase requires and the card lacks."""
    there = {**card, METHOD: description, COSTS: figures}
    return [name for name in phase.card_required if not there.get(name)]


def read_metadata(upload: Upload, task_type: TaskType, by: User | None) -> Metadata:
    """What a file of `ir_metadata` says, read in a confined process.

    Raises ValidationError for a file that is none, or that says what a card cannot hold; PoolFull.
    """
    try:
        with read_upload(READER, upload.path, {}, owner=by) as done:
            said: dict[str, Any] = done.result
    except UploadUnreadable as reason:
        raise ValidationError({"metadata": str(reason)}) from reason
    if problem := said.get("problem"):
        raise ValidationError({"metadata": f"{upload.filename}: {problem}"})
    try:
        card = checked_card(said["card"])
    except ValidationError as faults:
        words = "; ".join(f"{name}: {' '.join(errors)}" for name, errors in faults.message_dict.items())
        raise ValidationError({"metadata": f"{upload.filename}: {words}"}) from faults
    return Metadata(
        description=shortened_description(said["description"]),
        card=card,
        figures=readable_figures(task_type, said["figures"]),
    )


def metadata_of_header(task_type: TaskType, said: Mapping[str, Any]) -> Metadata:
    """What the header of a run says; what cannot be meant is passed over, since no score depends on it."""
    card: dict[str, str] = {}
    for name, value in said["card"].items():
        try:
            card |= checked_card({name: value})
        except ValidationError:
            continue
    return Metadata(
        description=shortened_description(said["description"]),
        card=card,
        figures=readable_figures(task_type, said["figures"]),
    )
