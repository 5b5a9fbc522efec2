import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop as _

from citeboard.core import legal_pages, markdown, middleware, words
from citeboard.core.instants import (
    MONTHS,
    is_no_end,
    written_instant,
    zone_name,
    zone_of,
)

#: Texts of scripts, by the keys that scripts use.
WORDS = (
    _("Copy"),
    _("Copied"),
    _("Not copied: select the text"),
    _("Or drop the file anywhere on this form."),
    _("The run did not reach the site. Nothing was stored or counted; try again."),
    _("Exact times"),
    _("Times from now"),
    _("Dark colours"),
    _("Light colours"),
    _("just now"),
    _("in less than a minute"),
    _("here"),
    _("What you typed here is back. It has not been sent."),
    _("Discard it"),
)

register = template.Library()
#: As a change in a history keeps one.
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


register.filter("markdown", markdown.rendered)
register.filter("thousands", words.thousands)
register.filter("setting", words.setting)
register.filter("file_size", words.file_size)
register.filter("duration", words.duration)
register.filter("zone", zone_name)


@register.filter
def counted(number: int, nouns: str) -> str:
    """`{{ 3|counted:"run" }}`; a plural of its own follows after a comma."""
    noun, _, plural = nouns.partition(",")
    return words.counted(number, noun, plural)


@register.simple_tag(takes_context=True)
def setting_of_then(context: Mapping[str, Any], value: object, key: str) -> str:
    """As a history keeps it: an instant on the clocks of the season that the page is of, and in UTC."""
    if (
        not isinstance(value, str)
        or not _INSTANT.fullmatch(value)
        or is_no_end(key, value)
    ):
        return words.setting(value, key)
    at, name = (
        dt.datetime.fromisoformat(value),
        getattr(context.get("season"), "time_zone", "UTC"),
    )
    in_utc = f"{written_instant(at, zone_of('UTC'))} UTC"
    return (
        in_utc
        if name == "UTC"
        else f"{written_instant(at, zone_of(name))} {zone_name(name)} ({in_utc})"
    )


@register.simple_tag
def stylesheet() -> str:
    try:
        return static("citeboard.css")
    except ValueError:
        return ""


@register.simple_tag
def moment(at: dt.datetime) -> SafeString:
    return _time(at, "relative")


@register.simple_tag
def countdown(at: dt.datetime, verb: str, zone: str) -> SafeString:
    return format_html(
        "<span hidden data-countdown>{} {}</span>", verb, _time(at, "relative", zone)
    )


@register.simple_tag(name="instant_in")
@register.simple_tag
def instant(at: dt.datetime, zone: str = "UTC") -> SafeString:
    """In the zone of its season or phase: one instant has one name on a page."""
    return _time(at, "instant", zone)


@register.simple_tag
def words_of_scripts() -> SafeString:
    if get_language() == middleware.ENGLISH:
        return SafeString("")
    return json_script({english: gettext(english) for english in WORDS}, "words")


@register.simple_tag
def english() -> SafeString:
    return SafeString("" if get_language() == middleware.ENGLISH else ' lang="en"')


@register.inclusion_tag("_foot.html")
def foot() -> dict[str, Any]:
    return {"notices": legal_pages.notices(), "languages": settings.LANGUAGES}


@register.simple_tag
def mail_is_printed() -> bool:
    return bool(settings.EMAIL_BACKEND.endswith(".console.EmailBackend"))


def _time(at: dt.datetime, shown: str, zone: str = "UTC") -> SafeString:
    named = zone_name(zone)
    if named == "UTC":
        return format_html(
            '<time datetime="{}" data-shown="{}">{}</time>', iso(at), shown, exact(at)
        )
    written = f"{_clock(at.astimezone(zone_of(zone)))} {named}"
    return format_html(
        '<time datetime="{}" data-shown="{}" title="{}">{}</time>',
        iso(at),
        shown,
        exact(at),
        written,
    )


def iso(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def exact(at: dt.datetime) -> str:
    return f"{_clock(at.astimezone(dt.UTC))} UTC"


def _clock(at: dt.datetime) -> str:
    parts = {
        "day": at.day,
        "month": MONTHS[at.month - 1],
        "year": at.year,
        "time": f"{at:%H:%M}",
    }
    return gettext("%(day)d %(month)s %(year)d, %(time)s") % parts
