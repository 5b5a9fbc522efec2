"""TextRank as the package summa 1.2.0 has it: sentences that share words with many others.

Mihalcea and Tarau 2004, TextRank: Bringing Order into Texts, EMNLP.
"""

from __future__ import annotations

from tasks.types.unavailable import Unavailable


def textrank(text: str) -> str:
    """A fifth of the sentences, in their order; empty of fewer than five. Raises Unavailable."""
    try:
        from summa.summarizer import summarize
    except ImportError as missing:
        raise Unavailable("TextRank needs the package summa; `make models` installs it") from missing
    return str(summarize(text)).replace("\n", " ")
