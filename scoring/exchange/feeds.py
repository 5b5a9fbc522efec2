"""Atom feeds, and the calendar of a season in iCalendar format (RFC 5545). Atom feeds
exist for public seasons, for a season's announcements and phases, and for a board's
rows and gold versions.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import format_html
from django.utils.translation import gettext as _

from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import ENDLESS_PHASE_END, format_day, format_utc_minute
from citeboard.core.markdown import render_markdown
from citeboard.core.words import count_with_noun
from scoring.exchange.results import (
    build_absolute_site_address,
    list_season_task_and_phase_slugs,
)
from scoring.results.board.formatting import display_name_of_metric, format_score
from scoring.results.board.public_results import (
    PublicResultInPhase,
    PublicTeam,
    build_system_slug,
)
from scoring.results.board.standings import Board
from tasks.models import Announcement, Gold, Phase, Season
from tasks.seasons.file.entries import SEASON_KEY_PREFIX, make_phase_key_prefix

ATOM_CONTENT_TYPE = "application/atom+xml; charset=utf-8"
MAX_FEED_ENTRIES = 50
#: XML cannot contain these control characters.
_CONTROL_CHARACTERS_PATTERN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, kw_only=True)
class FeedEntry:
    name: str
    title: str
    html: str
    address: str
    published: dt.datetime
    updated: dt.datetime | None = None


def build_season_feed(season: Season, now: dt.datetime) -> str:
    address, announcements = (
        build_absolute_site_address("season", season.slug),
        build_absolute_site_address("announcements", season.slug),
    )
    entries = [
        FeedEntry(
            name=f"announcement-{announcement.pk}",
            title=f"Announcement of {format_day(announcement.announced_at)}",
            html=render_markdown(announcement.text, 3),
            address=f"{announcements}#announcement-{announcement.pk}",
            published=announcement.announced_at,
            updated=announcement.edited_at,
        )
        for announcement in Announcement.objects.filter(season=season).standing()[
            :MAX_FEED_ENTRIES
        ]
    ]
    entries += _iterate_phase_entries(season, now)
    # The feed does not contain the name of the user who changed the dates of a phase.
    for moved in find_history_of_place(season).filter(action="phase-moved")[
        :MAX_FEED_ENTRIES
    ]:
        name, title = f"moved-{moved.pk}", f"{moved.words[:1].upper()}{moved.words[1:]}"
        html = format_html("<p>{}</p>", address)
        entries.append(
            FeedEntry(
                name=name, title=title, html=html, address=address, published=moved.at
            )
        )
    return _format_feed(season.title, address, "season-feed", [season.slug], entries)


def build_board_feed(board: Board) -> str:
    phase = board.phase
    where = list_season_task_and_phase_slugs(phase)
    title = f"{phase.task.season}: {phase.task}, {phase}"
    entries = []
    for row in board.rows:
        facts = (
            [f"rank {board.format_rank_of_row(row)}"] if row.rank is not None else []
        )
        cell = (
            row.scores.get(board.ranking.name)
            if board.ranking and row.value is not None
            else None
        )
        if board.ranking and cell is not None and cell.value is not None:
            label = display_name_of_metric(board.ranking.metric, phase.task.task_type)
            facts.append(f"{label} {format_score(cell.value, board.ranking.scale)}")
        entry = FeedEntry(
            name=f"run-{row.submission}",
            title=f"{row.system} of {row.display_name}"
            if row.is_competing
            else row.system,
            html=format_html(
                "<p>{}.</p>",
                ", ".join(facts).capitalize() or "It stands on the board",
            ),
            address=build_absolute_site_address("board", *where),
            # On SQLite, the query returns times without a time zone.
            published=row.submitted_at.replace(
                tzinfo=row.submitted_at.tzinfo or dt.UTC
            ),
        )
        entries.append(entry)
    golds = Gold.objects.filter(task=phase.task_id, split=phase.split).order_by(
        "-number"
    )
    changes = build_absolute_site_address("gold-changes", *where)
    for gold in golds[:MAX_FEED_ENTRIES]:
        name, words = f"gold-{gold.pk}", f"Gold version {gold.number}"
        html = format_html("<p>{}.</p>", count_with_noun(gold.instances, "instance"))
        entries.append(
            FeedEntry(
                name=name,
                title=words,
                html=html,
                address=changes,
                published=gold.created_at,
            )
        )
    return _format_feed(
        title,
        build_absolute_site_address("board", *where),
        "board-feed",
        where,
        entries,
    )


def build_team_feed(team: PublicTeam) -> str:
    slug, title, entries = (
        team.team.slug,
        f"Results of {team.team}",
        map(_build_result_entry, team.results),
    )
    return _format_feed(
        title,
        build_absolute_site_address("team-results", slug),
        "team-feed",
        [slug],
        entries,
    )


def build_system_feed(
    team: PublicTeam, results: Iterable[PublicResultInPhase], name: str
) -> str:
    where, title = [team.team.slug, build_system_slug(name)], f"{name} of {team.team}"
    address, entries = (
        build_absolute_site_address("team-system", *where),
        map(_build_result_entry, results),
    )
    return _format_feed(title, address, "team-system-feed", where, entries)


def _iterate_phase_entries(season: Season, now: dt.datetime) -> Iterable[FeedEntry]:
    phases = Phase.objects.filter(task__season=season, task__is_reported_only=False)
    for phase in phases.select_related("task__season"):
        name, address = (
            f"{phase.task}, {phase}",
            build_absolute_site_address(
                "board", *list_season_task_and_phase_slugs(phase)
            ),
        )
        end = format_utc_minute(phase.closes)
        until = f"It takes runs until {end}." if phase.has_end else "It has no end."
        for event, title, words, at in (
            ("opened", f"{name} is open", until, phase.opens),
            ("closed", f"{name} is over", f"It closed at {end}.", phase.closes),
        ):
            if at <= now:
                entry, html = (
                    f"phase-{phase.pk}-{event}",
                    format_html("<p>{}</p>", words),
                )
                yield FeedEntry(
                    name=entry, title=title, html=html, address=address, published=at
                )


def _build_result_entry(result: PublicResultInPhase) -> FeedEntry:
    placing, where = result.placing, list_season_task_and_phase_slugs(result.phase)
    score = " ".join(filter(None, [placing.metric, placing.number]))
    return FeedEntry(
        name=f"run-{placing.submission}",
        title=f"{placing.system}: {placing.place or 'not ranked'}, {result.phase.task}, {result.phase}",
        html=format_html(
            "<p>{}</p>", ", ".join(filter(None, [score, str(result.season)]))
        ),
        address=build_absolute_site_address("board", *where),
        published=placing.submitted_at.replace(
            tzinfo=placing.submitted_at.tzinfo or dt.UTC
        ),
    )


def _format_feed(
    title: str,
    link: str,
    route: str,
    where: Iterable[str],
    entries: Iterable[FeedEntry],
) -> str:
    link_here = build_absolute_site_address(route, *where)
    feed = Atom1Feed(
        title=_remove_control_characters(title),
        link=link,
        description="",
        feed_url=link_here,
        feed_guid=link_here,
    )
    ordered = sorted(
        entries, key=lambda entry: entry.updated or entry.published, reverse=True
    )
    for entry in ordered[:MAX_FEED_ENTRIES]:
        feed.add_item(
            title=_remove_control_characters(entry.title),
            link=entry.address,
            description=_remove_control_characters(entry.html),
            unique_id=f"{link_here}#{entry.name}",
            pubdate=entry.published,
            updateddate=entry.updated or entry.published,
        )
    return feed.writeString("utf-8")


def _remove_control_characters(text: str) -> str:
    return _CONTROL_CHARACTERS_PATTERN.sub("", text)


ICALENDAR_CONTENT_TYPE = "text/calendar; charset=utf-8"
#: A calendar line of more than MAX_CALENDAR_LINE_OCTETS octets is split, and continues after a space.
MAX_CALENDAR_LINE_OCTETS = 75


class CalendarEvent(NamedTuple):
    """A date in the calendar of a season. ``name`` is an identifier of the date that
    stays the same when the date changes. ``key`` is the key of the date in the season
    file.
    """

    name: str
    key: str
    at: dt.datetime
    words: str
    address: str


def build_season_calendar(season: Season) -> bytes:
    moved, last = Counter[str](), dict[str, dt.datetime]()
    for entry in (
        find_history_of_place(season)
        .exclude(changes=[])
        .order_by("at", "pk")
        .only("at", "changes")
    ):
        for change in entry.changes:
            moved[change["key"]] += 1
            last[change["key"]] = entry.at
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Citeboard//Citeboard//EN"]
    lines += [f"X-WR-CALNAME:{_escape_calendar_text(season.title)}"]
    for event in sorted(_iterate_deadline_events(season), key=lambda event: event.at):
        lines += [
            "BEGIN:VEVENT",
            f"UID:{event.name}@{urlsplit(settings.BASE_URL).hostname}",
            f"DTSTAMP:{_format_utc_timestamp(last.get(event.key, season.created_at))}",
            f"SEQUENCE:{moved[event.key]}",
            f"DTSTART:{_format_utc_timestamp(event.at)}",
            f"SUMMARY:{_escape_calendar_text(event.words)}",
            f"URL:{event.address}",
            "END:VEVENT",
        ]
    return "".join(
        _fold_long_calendar_line(line) for line in [*lines, "END:VCALENDAR"]
    ).encode()


def _iterate_deadline_events(season: Season) -> Iterator[CalendarEvent]:
    for name, at in season.dates.items():
        words, address = (
            f"{season}: {Season.get_date_field_label(name)}",
            build_absolute_site_address("season", season.slug),
        )
        yield CalendarEvent(
            f"season-{season.pk}-{name}",
            f"{SEASON_KEY_PREFIX}.{name}",
            at,
            words,
            address,
        )
    said = {
        "inputs_from": _("%(season)s: inputs of %(task)s, %(phase)s, are released"),
        "opens": _("%(season)s: %(task)s, %(phase)s, opens"),
        "closes": _("%(season)s: %(task)s, %(phase)s, closes"),
    }
    for phase in Phase.objects.filter(task__season=season).select_related(
        "task__season"
    ):
        prefix, address = (
            make_phase_key_prefix(phase.task.slug, phase.slug),
            build_absolute_site_address(
                "board", *list_season_task_and_phase_slugs(phase)
            ),
        )
        for name, words in said.items():
            if (at := getattr(phase, name)) is not None and at < ENDLESS_PHASE_END:
                named = {"season": season, "task": phase.task, "phase": phase}
                yield CalendarEvent(
                    f"phase-{phase.pk}-{name}",
                    f"{prefix}.{name}",
                    at,
                    words % named,
                    address,
                )


def _format_utc_timestamp(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"


def _escape_calendar_text(text: str) -> str:
    for sign in ("\\", ";", ","):
        text = text.replace(sign, f"\\{sign}")
    return "\\n".join(
        "".join(filter(str.isprintable, line)) for line in text.splitlines()
    )


def _fold_long_calendar_line(line: str) -> str:
    folded, octets = "", 0
    for sign in line:
        size = len(sign.encode())
        if octets + size > MAX_CALENDAR_LINE_OCTETS:
            folded, octets = f"{folded}\r\n ", 1
        folded, octets = folded + sign, octets + size
    return f"{folded}\r\n"
