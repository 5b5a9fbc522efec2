"""What a sender says of a run: made plain, and refused by field where it cannot be meant."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from citeboard.core.plain_text import MAX_DESCRIPTION, one_line, plain_paragraphs, plain_text
from tasks.models import Submission

MAX_SYSTEM = 80
MAX_KEY = 100
#: What a team may call its run; baselines come with the season.
TEAM_KINDS = (Submission.Kind.PRIMARY.value, Submission.Kind.CONTRASTIVE.value)


@dataclass(frozen=True, kw_only=True)
class RunDetails:
    """The fields of a submission that its sender writes."""

    system: str
    description: str
    kind: str
    idempotency_key: str = ""


def checked_details(
    *, system: str, description: str = "", kind: str, idempotency_key: str = ""
) -> RunDetails:
    """Raises ValidationError with every field that is refused. Markup stays: pages show it as typed."""
    given = RunDetails(
        system=one_line(system),
        description=plain_paragraphs(description),
        kind=kind,
        idempotency_key=idempotency_key.strip(),
    )
    faults = {}
    if not given.system:
        faults["system"] = _("give the system a name")
    elif len(given.system) > MAX_SYSTEM:
        faults["system"] = _("the name has %(found)s characters; at most %(most)s fit") % {
            "found": len(given.system),
            "most": MAX_SYSTEM,
        }
    if len(given.description) > MAX_DESCRIPTION:
        faults["description"] = _("the description has %(found)s characters; at most %(most)s fit") % {
            "found": f"{len(given.description):,}",
            "most": f"{MAX_DESCRIPTION:,}",
        }
    if kind not in TEAM_KINDS:
        faults["kind"] = _("“%(found)s” is not one of %(names)s") % {
            "found": plain_text(kind)[:40],
            "names": ", ".join(TEAM_KINDS),
        }
    key = given.idempotency_key
    if len(key) > MAX_KEY or not (key.isascii() and (key.isprintable() or not key)):
        faults["idempotency_key"] = _("at most %(number)s printable ASCII characters") % {"number": MAX_KEY}
    if faults:
        raise ValidationError(faults)
    return given


def shortened_description(text: str) -> str:
    """A description that no person wrote here, made plain and cut to what fits."""
    return plain_paragraphs(text)[:MAX_DESCRIPTION].rstrip()
