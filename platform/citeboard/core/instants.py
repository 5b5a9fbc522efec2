"""Parsing and formatting of times. A time without a zone is in the time zone of the
season.
"""

import datetime as dt
import re
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _, pgettext_lazy as in_context

#: Anywhere on Earth (AoE), a day ends when the westernmost time zone ends the day.
ANYWHERE_ON_EARTH = "AoE"
_ANYWHERE_ON_EARTH_ZONE = "Etc/GMT+12"
_TIME_FORMATS = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%d %b %Y, %H:%M",
    "%d %b %Y %H:%M",
)
#: _STORED_TIME_PATTERN matches a time such as 2026-05-01 23:59 in a fact of the history.
_STORED_TIME_PATTERN = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b")
_TIME_AND_ZONE_PATTERN = re.compile(
    r"(?P<clock>.*?)\s*(?P<zone>Z|[A-Za-z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*)?", re.DOTALL
)
MONTH_ABBREVIATIONS = (
    in_context("month", "Jan"),
    in_context("month", "Feb"),
    in_context("month", "Mar"),
    in_context("month", "Apr"),
    in_context("month", "May"),
    in_context("month", "Jun"),
    in_context("month", "Jul"),
    in_context("month", "Aug"),
    in_context("month", "Sep"),
    in_context("month", "Oct"),
    in_context("month", "Nov"),
    in_context("month", "Dec"),
)
MAX_TIME_LENGTH = 80
#: A phase that closes in 2099 or later has no end, and pages do not show the time.
_ENDLESS_YEAR = "2099"
#: The history adds the suffix ENDLESS_TIME_SUFFIX to facts about a phase without an end.
ENDLESS_TIME_SUFFIX = " without an end"
ENDLESS_PHASE_END = dt.datetime(2099, 12, 31, 23, 59, 59, tzinfo=dt.UTC)


class InvalidTimeText(ValueError):
    pass


def parse_time_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(
            _ANYWHERE_ON_EARTH_ZONE
            if name.lower() == ANYWHERE_ON_EARTH.lower()
            else name
        )
    except (KeyError, ValueError, OSError) as unknown:
        message = _("“%(name)s” is not a time zone such as Europe/Rome, UTC or AoE")
        raise ValueError(message % {"name": name}) from unknown


def format_zone_name(name: str) -> str:
    return (
        ANYWHERE_ON_EARTH
        if name in (ANYWHERE_ON_EARTH, _ANYWHERE_ON_EARTH_ZONE)
        or name.lower() == ANYWHERE_ON_EARTH.lower()
        else name
    )


def parse_time(text: str | dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """Parse a time and return it in UTC. Raises InvalidTimeText if the text is not a time.

    ``zone`` is the time zone of a text that names neither a zone nor an offset.

    >>> str(parse_time("2026-05-01 23:59 AoE", ZoneInfo("UTC")))
    '2026-05-02 11:59:00+00:00'
    """
    if isinstance(text, dt.datetime):
        return convert_to_utc(text) if text.tzinfo else local_time_to_utc(text, zone)
    if _means_no_end(text):
        raise InvalidTimeText(_invalid_time_message(text))
    written = _TIME_AND_ZONE_PATTERN.fullmatch(text.strip()[:MAX_TIME_LENGTH])
    assert written, "every text has this form"
    clock, named = written["clock"], written["zone"]
    if named and not clock:
        raise InvalidTimeText(_invalid_time_message(text))
    if named:
        try:
            zone = parse_time_zone("UTC" if named == "Z" else named)
        except ValueError as unknown:
            raise InvalidTimeText(str(unknown)) from unknown
    at = _parse_date_and_time(clock)
    if at.tzinfo is None:
        return local_time_to_utc(at, zone)
    if named:
        raise InvalidTimeText(
            _("“%(text)s” names both an offset and a zone") % {"text": text}
        )
    return convert_to_utc(at)


def parse_phase_end(text: str | dt.datetime, zone: ZoneInfo) -> dt.datetime:
    at = ENDLESS_PHASE_END if _means_no_end(text) else parse_time(text, zone)
    return ENDLESS_PHASE_END if is_endless_phase_end("closes", at) else at


def _means_no_end(text: object) -> bool:
    return str(text).strip().casefold() in ("no end", _("no end").casefold())


def is_endless_phase_end(key: str, value: object) -> bool:
    """Return True if a setting is the end of a phase and the value means that the phase
    never ends. ``value`` has the format of the history, the season file or the API.
    """
    return key.rpartition(".")[2] == "closes" and (
        value is None or str(value) >= _ENDLESS_YEAR
    )


def convert_setting_for_api(key: str, value: Any) -> Any:
    """Return a setting's value for the API, which is None if the setting is the end of
    a phase that never ends.
    """
    return None if is_endless_phase_end(key, value) else value


def convert_to_utc(at: dt.datetime) -> dt.datetime:
    try:
        return at.astimezone(dt.UTC)
    except OverflowError as beyond:
        raise InvalidTimeText(
            _("%(instant)s is beyond the calendar") % {"instant": at}
        ) from beyond


def local_time_to_utc(at: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    first, second = (
        convert_to_utc(at.replace(tzinfo=zone, fold=fold)) for fold in (0, 1)
    )
    if first.astimezone(zone).replace(tzinfo=None) != at:
        message = _("the clocks of %(zone)s skip %(instant)s")
        raise InvalidTimeText(
            message % {"zone": format_zone_name(zone.key), "instant": at}
        )
    if first != second:
        message = _(
            "%(instant)s comes twice in %(zone)s; write its offset, such as +02:00"
        )
        raise InvalidTimeText(
            message % {"instant": at, "zone": format_zone_name(zone.key)}
        )
    return first


def format_phase_end(at: dt.datetime, zone: ZoneInfo) -> str:
    return _("no end") if at >= ENDLESS_PHASE_END else format_parsable_time(at, zone)


def format_parsable_time(at: dt.datetime, zone: ZoneInfo) -> str:
    """Format a time for a form field or a file, so that `parse_time` can parse the
    text.
    """
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S}" if local.second else f"{local:%Y-%m-%d %H:%M}"


# -- Functions that format dates on pages, in e-mails and in messages


def format_day(at: dt.datetime) -> str:
    """Format a date in the reader's language, such as `28 Nov 2026`."""
    parts = {"day": at.day, "month": MONTH_ABBREVIATIONS[at.month - 1], "year": at.year}
    return _("%(day)d %(month)s %(year)d") % parts


def format_day_and_time(at: dt.datetime, zone: dt.tzinfo = dt.UTC) -> str:
    """Format a time in a time zone, without the name of the zone."""
    local = at.astimezone(zone)
    parts = {
        "day": local.day,
        "month": MONTH_ABBREVIATIONS[local.month - 1],
        "year": local.year,
        "time": f"{local:%H:%M}",
    }
    return _("%(day)d %(month)s %(year)d, %(time)s") % parts


def format_utc_minute(at: dt.datetime) -> str:
    return _("no end") if at >= ENDLESS_PHASE_END else f"{format_day_and_time(at)} UTC"


def format_history_time(at: dt.datetime) -> str:
    """Format a time for a fact of a history entry in the database.

    `localize_times_in_history_value` formats the stored time for readers.
    """
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M}"


def localize_times_in_history_value(fact: str) -> str:
    """Return a fact of a history entry, with stored times replaced by times in the
    reader's format.

    >>> localize_times_in_history_value("2026-05-01 23:59 UTC")
    '1 May 2026, 23:59 UTC'
    """

    def format_stored_time(stored: re.Match[str]) -> str:
        return format_day_and_time(dt.datetime.fromisoformat(f"{stored[0]}Z"))

    opens, endless, _after = fact.partition(ENDLESS_TIME_SUFFIX)
    words = _STORED_TIME_PATTERN.sub(format_stored_time, opens)
    return _("%(opens)s without an end") % {"opens": words} if endless else words


def _parse_date_and_time(text: str) -> dt.datetime:
    try:
        return (
            dt.datetime.fromisoformat(text)
            if len(text) > len("2026-05-01")
            else _parse_alternative_time_format(text)
        )
    except ValueError:
        return _parse_alternative_time_format(text)


def _parse_alternative_time_format(text: str) -> dt.datetime:
    for form in _TIME_FORMATS:
        try:
            return dt.datetime.strptime(text, form)  # noqa: DTZ007  (the caller adds the zone)
        except ValueError:
            continue
    raise InvalidTimeText(_invalid_time_message(text))


def _invalid_time_message(text: str) -> str:
    message = _("“%(text)s” is not a date and time such as %(one)s, or %(other)s")
    return message % {
        "text": text,
        "one": "2026-05-01 23:59",
        "other": "2026-05-01 23:59 AoE",
    }
