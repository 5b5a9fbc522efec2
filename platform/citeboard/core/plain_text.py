"""Cleaning and validation of the texts that users write about runs and teams."""

import re
import unicodedata
from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.translation import gettext as _

from citeboard.core.words import localize_separators

MAX_DESCRIPTION_LENGTH = 4000
MAX_LINKS = 5
MAX_LINK_LENGTH = 200

_validate_http_link = URLValidator(schemes=["http", "https"])
_validate_http_link.max_length = MAX_LINK_LENGTH

# Direction characters in a name could change the order of the text beside the name.
_BIDI_CONTROL_CHARACTERS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def remove_control_characters(text: str, keep: str = "") -> str:
    text = unicodedata.normalize(
        "NFC", _BIDI_CONTROL_CHARACTERS.sub("", text.replace("\r\n", "\n"))
    )
    return "".join(
        " "
        if unicodedata.category(character) in ("Cc", "Cs") and character not in keep
        else character
        for character in text
    )


def clean_single_line_text(text: str) -> str:
    return " ".join(remove_control_characters(text).split())


def clean_multiline_text(text: str) -> str:
    return remove_control_characters(text, keep="\n\t").strip()


def find_length_error(text: str, most: int, words: str) -> str:
    """Return an error message if ``text`` is too long, or else an empty text.

    ``words`` is the template of the message, with placeholders for the length ``found``
    and the maximum ``most``.
    """
    sizes = {
        "found": localize_separators(f"{len(text):,}"),
        "most": localize_separators(f"{most:,}"),
    }
    return words % {**sizes, "characters": sizes["found"]} if len(text) > most else ""


def check_length(field: str, text: str, most: int, words: str) -> None:
    if fault := find_length_error(text, most, words):
        raise ValidationError({field: fault})


def clean_description(text: str) -> str:
    plain = clean_multiline_text(text)
    message = _(
        "the description has %(found)s characters; at most %(most)s are allowed"
    )
    check_length("description", plain, MAX_DESCRIPTION_LENGTH, message)
    return plain


def clean_links(links: Iterable[str]) -> list[str]:
    lines = list(dict.fromkeys(filter(None, map(clean_single_line_text, links))))
    if len(lines) > MAX_LINKS:
        message = _("there are %(found)s links; at most %(most)s are allowed")
        raise ValidationError(
            {"links": message % {"found": len(lines), "most": MAX_LINKS}}
        )
    try:
        for link in lines:
            validate_link(link)
    except ValueError as refused:
        raise ValidationError({"links": str(refused)}) from None
    return lines


def validate_link(link: str) -> str:
    try:
        _validate_http_link(link)
    except ValidationError:
        message = _("“%(link)s” is no address that begins with https://")
        raise ValueError(message % {"link": link[:60]}) from None
    return link


#: Spreadsheet programs read a text that begins with a sign in FORMULA_PREFIXES as a formula.
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")


def format_spreadsheet_cell(value: object) -> object:
    """Return a value for a cell of a spreadsheet.

    A text that looks like a formula gets a leading apostrophe, and None becomes an
    empty text.
    """
    if isinstance(value, str) and value.startswith(FORMULA_PREFIXES):
        return f"'{value}"
    return "" if value is None else value
