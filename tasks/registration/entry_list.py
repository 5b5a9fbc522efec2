"""The lines of a list that says who may enter: an address, or @ and a domain."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _


def entry_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Each once, in small letters. Raises ValidationError for every line that is neither."""
    found = dict.fromkeys(line.strip().lower() for line in lines if line.strip())
    refused = [line for line in found if not _is_address_or_domain(line)]
    if refused:
        words = _("“%(line)s” is neither an address nor @ and a domain")
        raise ValidationError([words % {"line": line} for line in refused])
    return tuple(found)


def _is_address_or_domain(line: str) -> bool:
    try:
        validate_email(f"somebody{line}" if line.startswith("@") else line)
    except ValidationError:
        return False
    return True
