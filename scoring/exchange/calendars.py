"""A season's calendar for programs that keep one (iCalendar, RFC 5545): what opens, closes and is due."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from citeboard.core.audit import history
from citeboard.core.instants import WITHOUT_END
from scoring.exchange.results import place, site_address
from tasks.models import Phase, Season
from tasks.seasons.file.entries import SEASON, phase_prefix

ICALENDAR = "text/calendar; charset=utf-8"
#: Octets of a line, its break apart; what is longer goes on in the next, behind a space.
MAX_OCTETS = 75


class Event(NamedTuple):
    """``name`` stays the same when it is moved; ``key`` is what it is called in the season file."""

    name: str
    key: str
    at: dt.datetime
    words: str
    address: str


def season_calendar(season: Season) -> bytes:
    moved, last = Counter[str](), dict[str, dt.datetime]()
    for entry in history(season).exclude(changes=[]).order_by("at", "pk").only("at", "changes"):
        for change in entry.changes:
            moved[change["key"]] += 1
            last[change["key"]] = entry.at
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Citeboard//Citeboard//EN"]
    lines += [f"X-WR-CALNAME:{_escaped(season.title)}"]
    for event in sorted(_events(season), key=lambda event: event.at):
        lines += [
            "BEGIN:VEVENT",
            f"UID:{event.name}@{urlsplit(settings.BASE_URL).hostname}",
            f"DTSTAMP:{_utc(last.get(event.key, season.created_at))}",
            f"SEQUENCE:{moved[event.key]}",
            f"DTSTART:{_utc(event.at)}",
            f"SUMMARY:{_escaped(event.words)}",
            f"URL:{event.address}",
            "END:VEVENT",
        ]
    return "".join(_folded(line) for line in [*lines, "END:VCALENDAR"]).encode()


def _events(season: Season) -> Iterator[Event]:
    for name, at in season.dates.items():
        words, address = f"{season}: {Season.date_label(name)}", site_address("season", season.slug)
        yield Event(f"season-{season.pk}-{name}", f"{SEASON}.{name}", at, words, address)
    said = {
        "inputs_from": _("%(season)s: inputs of %(task)s, %(phase)s, are given out"),
        "opens": _("%(season)s: %(task)s, %(phase)s, opens"),
        "closes": _("%(season)s: %(task)s, %(phase)s, closes"),
    }
    for phase in Phase.objects.filter(task__season=season).select_related("task__season"):
        prefix, address = phase_prefix(phase.task.slug, phase.slug), site_address("board", *place(phase))
        for name, words in said.items():
            if (at := getattr(phase, name)) is not None and at < WITHOUT_END:
                named = {"season": season, "task": phase.task, "phase": phase}
                yield Event(f"phase-{phase.pk}-{name}", f"{prefix}.{name}", at, words % named, address)


def _utc(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"


def _escaped(text: str) -> str:
    for sign in ("\\", ";", ","):
        text = text.replace(sign, f"\\{sign}")
    return "\\n".join("".join(filter(str.isprintable, line)) for line in text.splitlines())


def _folded(line: str) -> str:
    """No sign is cut in two, however many octets it has."""
    folded, octets = "", 0
    for sign in line:
        size = len(sign.encode())
        if octets + size > MAX_OCTETS:
            folded, octets = f"{folded}\r\n ", 1
        folded, octets = folded + sign, octets + size
    return f"{folded}\r\n"
