"""Country names in the user's language, by the two-letter codes of ISO 3166-1."""

import csv
import unicodedata
from functools import cache
from pathlib import Path

from django.utils.translation import get_language


def _country_sort_key(name: str) -> str:
    return "".join(
        letter for letter in unicodedata.normalize("NFD", name) if letter.isalpha()
    ).casefold()


def countries() -> list[tuple[str, str]]:
    return _list_countries_in_language((get_language() or "en").partition("-")[0])


@cache
def _list_countries_in_language(language: str) -> list[tuple[str, str]]:
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(lines[1:], dialect="excel-tab")
    named = [(row["code"], row.get(language) or row["en"]) for row in rows]
    return sorted(named, key=lambda country: _country_sort_key(country[1]))
