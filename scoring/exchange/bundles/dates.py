"""Parse the dates of competition bundles, which are month first or in ISO 8601, with or
without a time zone.

This module does not import Django.
"""

import datetime as dt
import re

_ISO_DATE_PATTERN = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(.*))?")
_MONTH_FIRST_DATE_PATTERN = re.compile(
    r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ]+(.*))?"
)
_TIME_PATTERN = re.compile(
    r"(\d{1,2})(?::(\d{2}))?(?::(\d{2})(?:\.\d+)?)?\s*"
    r"(am|pm)?\s*(Z|UTC|GMT|[+-]\d{2}:?(?:\d{2})?)?",
    re.IGNORECASE,
)
MONTHS_PER_YEAR, HOURS_PER_HALF_DAY = 12, 12


class InvalidBundleDate(ValueError):
    """An error about a text that is not a date, whose message contains the text."""


def parse_bundle_date(value: object) -> dt.datetime:
    """Parse a date in the description of a competition bundle. Dates without a time
    zone are in UTC. Raises InvalidBundleDate.
    """
    if isinstance(value, dt.datetime):
        return _convert_to_utc(value)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    text = str(value).strip()
    if match := _ISO_DATE_PATTERN.fullmatch(text):
        year, month, day = (int(match[group]) for group in (1, 2, 3))
    elif match := _MONTH_FIRST_DATE_PATTERN.fullmatch(text):
        month, day, year = (int(match[group]) for group in (1, 2, 3))
        if month > MONTHS_PER_YEAR >= day:
            message = f"“{text[:40]}” has no month {month}; dates have the month first"
            raise InvalidBundleDate(message)
    else:
        raise InvalidBundleDate(f"“{text[:40]}” is no date")
    try:
        date = dt.datetime(year, month, day, tzinfo=dt.UTC)
        return date if not match[4] else _add_time_of_day(date, match[4].strip())
    except (ValueError, OverflowError) as fault:
        raise InvalidBundleDate(f"“{text[:40]}” is no date: {fault}") from fault


def _add_time_of_day(date: dt.datetime, text: str) -> dt.datetime:
    match = _TIME_PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"“{text[:20]}” is no time")
    hour = int(match[1])
    if half := (match[4] or "").lower():
        hour = hour % HOURS_PER_HALF_DAY + (HOURS_PER_HALF_DAY if half == "pm" else 0)
    time = dt.time(hour, int(match[2] or 0), int(match[3] or 0))
    zone = _parse_utc_offset(match[5] or "")
    return _convert_to_utc(dt.datetime.combine(date, time, tzinfo=zone))


def _parse_utc_offset(text: str) -> dt.tzinfo:
    digits = re.sub(r"\D", "", text)
    if not digits:
        return dt.UTC
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return dt.timezone(dt.timedelta(minutes=-minutes if "-" in text else minutes))


def _convert_to_utc(value: dt.datetime) -> dt.datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    try:
        return value.astimezone(dt.UTC)
    except OverflowError as fault:
        raise InvalidBundleDate(f"“{value.isoformat()}” is no date: {fault}") from fault
