"""Citation marks as papers print them: which style one has, and which are damaged."""

from __future__ import annotations

import re

from scoring.tools.builders.corpus import OTHER, PLACEHOLDER

#: A mark that the corpus itself put in the place of the printed one.
ANONYMOUS = "anonymous"
NUMERIC, ALPHABETIC, AUTHOR_YEAR = "numeric", "alphabetic", "author-year"
DAMAGED = "damaged"

_YEAR = r"(?:1[6-9]|20)\d\d[a-z]?"
_WORD = r"(?:(?:van|von|de|der|den|di|da|del|la|le|ten|ter)\s+){0,3}[A-ZÀ-Þ][\w'’\-]*"
#: Names and lists of names are bounded, so that text in capitals costs no more than other text.
_NAME = rf"{_WORD}(?:\s+{_WORD}){{0,4}}"
_AND = rf"(?:and|&)\s+{_NAME}"
_AUTHORS = rf"{_NAME}(?:,?\s+(?:et\s+al\.?,?|and\s+others|{_AND})|(?:,\s+{_NAME}){{1,20}},?\s+{_AND})?"
_STYLES = (
    (NUMERIC, re.compile(r"[\[(]?\s*\d{1,3}\s*[\])]?[.,]?")),
    (ALPHABETIC, re.compile(r"\[?\s*[A-Z][A-Za-z]{0,4}\+?\d\d[a-z]?\s*\]?")),
    (
        AUTHOR_YEAR,
        re.compile(
            rf"\(?\s*{_AUTHORS},?\s*\(?\s*{_YEAR}\s*\)?\s*\)?"
            rf"|\(?\s*(?:e\.g\.,?|see|cf\.?|see also)\s+{_AUTHORS},?\s*\(?{_YEAR}\)?\s*\)?"
            rf"|\(\s*{_YEAR}\s*\)|{_YEAR}"
        ),
    ),
    (ANONYMOUS, re.compile(r"\{\{cite:[^{}]*\}\}|\[?\s*(?:CITATION|REF|#REF)\s*\]?")),
)
#: Two years, or a bracket that opens inside another, are two marks that were read as one.
_TWO_AS_ONE = re.compile(rf"\([^()]*\(|\[[^\[\]]*\[|{_YEAR}\s*\(?[A-ZÀ-Þ][^()]*{_YEAR}")
#: What still looks like a citation once the marks of the corpus are taken out.
_UNMARKED = re.compile(
    rf"\[\s*\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*\s*\]|\(\s*{_AUTHORS},?\s+{_YEAR}\s*\)|{_NAME}\s+et\s+al\.?,?\s*\(\s*{_YEAR}\s*\)"
)


def style_of(mark: str) -> str:
    """The style of a printed mark; `damaged` for two that run into each other, “” for none that is known.

    >>> style_of("(Lee et al., 1997a)"), style_of("[12]"), style_of("(Lee et al., 1997a(Lee et al., 1997b)")
    ('author-year', 'numeric', 'damaged')
    """
    text = " ".join(mark.split())
    for style, pattern in _STYLES:
        if pattern.fullmatch(text):
            return style
    return DAMAGED if _TWO_AS_ONE.search(text) else ""


def has_unmarked_citation(text: str) -> bool:
    """Whether a sentence still prints a citation that the corpus did not mark."""
    return _UNMARKED.search(text) is not None


def without_unmarked(text: str) -> str:
    """The text with such citations replaced by the placeholder of other marks."""
    return _UNMARKED.sub(OTHER, text)


def with_placeholder(sentence: str, mark: str) -> str:
    """The sentence with this mark replaced, however the text spaces and hyphenates it.

    Where it is not found the placeholder stands at the end.
    """
    letters = [re.escape(character) for character in mark if character.isalnum()]
    if letters:
        # Digits next to the mark would make it another number.
        loose = re.compile(r"(?<!\d)[(\[]?" + r"[\W_]*".join(letters) + r"(?!\d)[)\]]?", re.IGNORECASE)
        replaced, count = loose.subn(PLACEHOLDER, sentence, count=1)
        if count:
            return replaced
    return f"{sentence} {PLACEHOLDER}"
