import datetime as dt
import difflib
from collections.abc import Iterable, Sequence
from functools import cache

from django.utils.formats import get_format
from django.utils.translation import get_language, gettext, ngettext, pgettext

from citeboard.core.instants import is_endless_phase_end

THIN_SPACE = "\u2009"
#: Texts show at most MAX_SETTING_LENGTH characters of a setting's value on one line.
MAX_SETTING_LENGTH = 120


def format_thousands(number: int) -> str:
    return f"{number:,}".replace(",", THIN_SPACE)


def join_lines(text: object) -> str:
    """Join the lines of a text, such as a database's error message, for the log."""
    return " ".join(str(text).split())


def count_with_noun(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in the reader's language, such as `3 runs`."""
    many = plural or f"{noun}s"
    none, one, several = f"no {many}", f"%(number)s {noun}", f"%(number)s {many}"
    return (ngettext(one, several, number) if number else gettext(none)) % {
        "number": format_thousands(number)
    }


def localize_separators(number: str) -> str:
    return number.translate(_find_number_separators(get_language()))


@cache
def _find_number_separators(language: str | None) -> dict[int, str]:
    marks = {
        ".": get_format("DECIMAL_SEPARATOR", language),
        ",": get_format("THOUSAND_SEPARATOR", language),
    }
    return str.maketrans(marks)


def format_file_size(size: int) -> str:
    if size < 1000:
        return count_with_noun(size, "byte")
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    if size < 1_000_000_000:
        return localize_separators(f"{size / 1_000_000:.1f} MB")
    return localize_separators(f"{size / 1_000_000_000:.1f} GB")


def format_duration(seconds: float) -> str:
    if seconds < 1.5:
        return gettext("a second")
    if seconds < 90:
        return count_with_noun(round(seconds), "second")
    if seconds < 5400:
        return count_with_noun(round(seconds / 60), "minute")
    if seconds < 129_600:
        return count_with_noun(round(seconds / 3600), "hour")
    return count_with_noun(round(seconds / 86_400), "day")


def format_duration_with_all_units(lasted: dt.timedelta) -> str:
    seconds = int(lasted.total_seconds())
    if seconds < 1:
        return count_with_noun(
            max(1, lasted // dt.timedelta(milliseconds=1)), "millisecond"
        )
    parts = []
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(count_with_noun(number, unit))
    return join_names(parts)


def join_names(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return gettext("%(names)s and %(last)s") % {
        "names": ", ".join(names[:-1]),
        "last": names[-1],
    }


def format_as_sentence(clause: object) -> str:
    text = str(clause)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def format_setting(value: object, key: str = "") -> str:
    if is_endless_phase_end(key, value):
        return gettext("no end")
    if value is None:
        return pgettext("setting", "none")
    if isinstance(value, bool):
        return pgettext("setting", "true") if value else pgettext("setting", "false")
    if isinstance(value, list):
        return ", ".join(map(format_setting, value)) or pgettext("setting", "none")
    if isinstance(value, dict):
        return ", ".join(
            f"{key}={format_setting(one)}" for key, one in value.items()
        ) or pgettext("setting", "none")
    return truncate_text(" ".join(str(value).split()), MAX_SETTING_LENGTH) or pgettext(
        "setting", "empty"
    )


def truncate_text(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def find_most_similar_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to ``name``, or an empty text."""
    by_lower_case = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    return by_lower_case[close[0]] if close else ""
