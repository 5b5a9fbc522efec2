import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext, gettext_noop as _

from citeboard.core import glossary, legal_pages, markdown, middleware, words
from citeboard.core.instants import (
    format_day,
    format_day_and_time,
    format_utc_minute,
    format_zone_name,
    is_endless_phase_end,
    parse_time_zone,
)

#: The page's scripts look up the translation of a text in TRANSLATED_SCRIPT_TEXTS by the English text.
TRANSLATED_SCRIPT_TEXTS = (
    _("Copy"),
    _("Copied"),
    _("Not copied: select the text"),
    _("Or drop the file anywhere on this form."),
    _("The run did not reach the site. Nothing was stored or counted; try again."),
    _("Show exact times"),
    _("Show times from now"),
    _("Use dark colours"),
    _("Use light colours"),
    _("just now"),
    _("in less than a minute"),
    _("here"),
    _("What you typed here is back. It has not been sent."),
    _("Discard the text"),
)

register = template.Library()
#: The regular expression _UTC_TIMESTAMP_PATTERN matches a time in the format of the history.
_UTC_TIMESTAMP_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


register.filter("markdown", markdown.render_markdown)
register.filter("thousands", words.format_thousands)
register.filter("setting", words.format_setting)
register.filter("file_size", words.format_file_size)
register.filter("duration", words.format_duration)
register.filter("zone", format_zone_name)
register.filter("day", format_day)


@register.filter
def counted(number: int, nouns: str) -> str:
    """Return a number with its noun, as in `{{ 3|counted:"run" }}`.

    A noun with an irregular plural has the plural after a comma.
    """
    noun, _, plural = nouns.partition(",")
    return words.count_with_noun(number, noun, plural)


@register.filter
def sentence_case(label: str) -> str:
    """Return the label in sentence case, such as `Current password` for `Current
    Password`, but leave `ORCID iD` unchanged.
    """
    words_of_label = [
        word.lower() if word == word.capitalize() else word for word in label.split(" ")
    ]
    return capfirst(" ".join(words_of_label))


@register.simple_tag(takes_context=True)
def setting_of_then(context: Mapping[str, Any], value: object, key: str) -> str:
    """Format the value of a setting in a history entry for a page.

    The formatted times are both in the season's time zone and in UTC.
    """
    if (
        not isinstance(value, str)
        or not _UTC_TIMESTAMP_PATTERN.fullmatch(value)
        or is_endless_phase_end(key, value)
    ):
        return words.format_setting(value, key)
    at, name = (
        dt.datetime.fromisoformat(value),
        getattr(context.get("season"), "time_zone", "UTC"),
    )
    in_utc = format_utc_minute(at)
    return (
        in_utc
        if name == "UTC"
        else f"{format_day_and_time(at, parse_time_zone(name))} {format_zone_name(name)} ({in_utc})"
    )


@register.simple_tag
def stylesheet() -> str:
    try:
        return static("citeboard.css")
    except ValueError:
        return ""


@register.simple_tag
def moment(at: dt.datetime) -> SafeString:
    return _render_time_element(at, "relative")


@register.simple_tag
def countdown(at: dt.datetime, verb: str, zone: str) -> SafeString:
    return format_html(
        "<span hidden data-countdown>{} {}</span>",
        verb,
        _render_time_element(at, "relative", zone),
    )


@register.simple_tag(name="instant_in")
@register.simple_tag
def instant(at: dt.datetime, zone: str = "UTC") -> SafeString:
    """Render a time in a time zone, usually the zone of the season or phase."""
    return _render_time_element(at, "instant", zone)


@register.simple_tag
def words_of_scripts() -> SafeString:
    if get_language() == middleware.ENGLISH_LANGUAGE_CODE:
        return SafeString("")
    return json_script(
        {english: gettext(english) for english in TRANSLATED_SCRIPT_TEXTS},
        "script-texts",
    )


@register.simple_tag
def english() -> SafeString:
    return SafeString(
        "" if get_language() == middleware.ENGLISH_LANGUAGE_CODE else ' lang="en"'
    )


@register.inclusion_tag("_foot.html")
def foot() -> dict[str, Any]:
    return {
        "notices": legal_pages.list_legal_notices(),
        "languages": settings.LANGUAGES,
    }


@register.inclusion_tag("_words.html")
def words_of_the_field(*names: str) -> dict[str, Any]:
    """Return terms of the glossary with the explanations that a page shows.

    Without ``names``, the page explains all terms of `citeboard.core.glossary`.
    """
    return {
        "words": [
            glossary.GLOSSARY_TERMS[name] for name in names or glossary.GLOSSARY_TERMS
        ]
    }


@register.simple_tag
def mail_is_printed() -> bool:
    return bool(settings.EMAIL_BACKEND.endswith(".console.EmailBackend"))


def _render_time_element(at: dt.datetime, shown: str, zone: str = "UTC") -> SafeString:
    named = format_zone_name(zone)
    if named == "UTC":
        return format_html(
            '<time datetime="{}" data-shown="{}">{}</time>',
            format_iso_time(at),
            shown,
            format_utc_time(at),
        )
    written = f"{format_day_and_time(at, parse_time_zone(zone))} {named}"
    return format_html(
        '<time datetime="{}" data-shown="{}" title="{}">{}</time>',
        format_iso_time(at),
        shown,
        format_utc_time(at),
        written,
    )


def format_iso_time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_utc_time(at: dt.datetime) -> str:
    return f"{format_day_and_time(at)} UTC"
