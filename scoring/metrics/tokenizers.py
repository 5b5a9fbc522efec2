"""Tokenizers that a task names, as sacreBLEU has them, and whether a measure sees the words of a script."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version

from tasks.types.problems import Unavailable
from tasks.types.tokenizers import TOKENIZERS

Tokenize = Callable[[str], list[str]]


@lru_cache(maxsize=len(TOKENIZERS))
def tokenizer(name: str) -> Tokenize:
    """Return what parts a text into tokens. Raises Unavailable where its package is not installed."""
    chosen = TOKENIZERS[name]
    try:
        module = import_module(f"sacrebleu.tokenizers.{chosen.module}")
        tokenize = getattr(module, chosen.kind)()
    except (ImportError, RuntimeError) as missing:
        message = (
            f"the tokenizer {name} needs {chosen.packages}, which is not installed"
        )
        raise Unavailable(message) from missing
    return lambda text: tokenize(text.rstrip()).split()


def installed(name: str) -> tuple[str, str]:
    """Return place and version of a tokenizer that is there. Raises Unavailable."""
    tokenizer(name)
    return "", version("sacrebleu")


def words(tokens: Iterable[str]) -> list[str]:
    """Return the tokens that have a letter or digit."""
    return [token for token in tokens if letters(token)]


def letters(text: str) -> int:
    """Return how many letters, marks and numbers a text has (Unicode L, M and N)."""
    return sum(count for sign, count in Counter(text).items() if _is_letter(sign))


@lru_cache(maxsize=65_536)
def _is_letter(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LMN"


#: How the names of letters begin whose scripts put no space between words.
_UNSPACED = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "TIBETAN",
)


@lru_cache(maxsize=65_536)
def _is_unspaced(sign: str) -> bool:
    return unicodedata.name(sign, "").startswith(_UNSPACED)


def _unspaced(text: str) -> int:
    return sum(count for sign, count in Counter(text).items() if _is_unspaced(sign))


#: A text of more letters is more than one word.
LONGEST_WORD = 20


def unseen(tokenize: Tokenize, texts: Sequence[str]) -> str:
    """Return why a measure cannot see the words of these texts; empty where it can.

    Its tokens cover less than half of all letters, or it finds one word at most in a text of over 20 letters.
    A long word of a script with spaces between words is one word.
    """
    if all(map(str.isascii, texts)):
        # Every tokenizer here sees these letters.
        return ""
    seen = total = 0
    in_one_piece = 0
    for text in texts:
        count = letters(text)
        total += count
        if text.isascii():
            seen += count
            continue
        tokens = tokenize(text)
        seen += min(count, letters("".join(tokens)))
        if count > LONGEST_WORD:
            in_one_piece += _is_in_one_piece(text, count, tokens)
    if 2 * seen < total:
        return f"its tokens cover {100 * seen // total} % of the letters of the gold"
    if in_one_piece:
        of = f"{in_one_piece} texts" if in_one_piece > 1 else "a text"
        return f"it finds a single word in {of} of the gold with over {LONGEST_WORD} letters"
    return ""


def _is_in_one_piece(text: str, count: int, tokens: list[str]) -> bool:
    longest = max(map(_unspaced, tokens), default=0)
    if longest > LONGEST_WORD and 2 * longest >= count:
        return True
    return len(words(tokens)) < 2 and (len(text.split()) > 1 or _unspaced(text) > 0)
