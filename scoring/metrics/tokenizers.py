"""The tokenizers of sacreBLEU that a task can select, and a check that a metric's
tokenizer recognises the words of a script.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version

from tasks.types.problems import SoftwareUnavailable
from tasks.types.tokenizers import TOKENIZERS_BY_NAME

TokenizeFunction = Callable[[str], list[str]]


@lru_cache(maxsize=len(TOKENIZERS_BY_NAME))
def load_tokenizer(name: str) -> TokenizeFunction:
    """Return the tokenizer with this name, a function that splits a text into tokens.
    Raises Unavailable if the tokenizer's package is missing.
    """
    chosen = TOKENIZERS_BY_NAME[name]
    try:
        module = import_module(f"sacrebleu.tokenizers.{chosen.module}")
        tokenize = getattr(module, chosen.kind)()
    except (ImportError, RuntimeError) as missing:
        message = (
            f"the tokenizer {name} needs {chosen.packages}, which is not installed"
        )
        raise SoftwareUnavailable(message) from missing
    return lambda text: tokenize(text.rstrip()).split()


def find_tokenizer_version(name: str) -> tuple[str, str]:
    """Return an empty text and the version of the package that contains the tokenizer.
    Raises Unavailable.
    """
    load_tokenizer(name)
    return "", version("sacrebleu")


def select_word_tokens(tokens: Iterable[str]) -> list[str]:
    """Return the tokens that contain a letter or a digit."""
    return [token for token in tokens if count_letters(token)]


def count_letters(text: str) -> int:
    """Return the number of letters, marks and digits in a text (Unicode categories L, M
    and N).
    """
    return sum(count for sign, count in Counter(text).items() if _is_letter(sign))


@lru_cache(maxsize=65_536)
def _is_letter(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LMN"


#: Prefixes of Unicode character names in scripts without spaces between words.
_UNSPACED_SCRIPT_PREFIXES = (
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
def _is_of_unspaced_script(sign: str) -> bool:
    return unicodedata.name(sign, "").startswith(_UNSPACED_SCRIPT_PREFIXES)


def _count_unspaced_letters(text: str) -> int:
    return sum(
        count for sign, count in Counter(text).items() if _is_of_unspaced_script(sign)
    )


#: Maximum number of letters in a word of scripts without spaces.
MAX_UNSPACED_WORD_LETTERS = 20


def explain_unsuitable_tokenizer(
    tokenize: TokenizeFunction, texts: Sequence[str]
) -> str:
    """Return the reason why a tokenizer is unsuitable for the texts, or else an empty
    text.

    A tokenizer is unsuitable if its tokens cover less than half of all letters, or if
    it does not split long texts in scripts without spaces.
    """
    if all(map(str.isascii, texts)):
        # All tokenizers recognise ASCII letters.
        return ""
    seen = total = 0
    in_one_piece = 0
    for text in texts:
        count = count_letters(text)
        total += count
        if text.isascii():
            seen += count
            continue
        tokens = tokenize(text)
        seen += min(count, count_letters("".join(tokens)))
        if count > MAX_UNSPACED_WORD_LETTERS:
            in_one_piece += _is_text_unsplit(text, count, tokens)
    if 2 * seen < total:
        return f"its tokens cover {100 * seen // total} % of the letters of the gold"
    if in_one_piece:
        of = f"{in_one_piece} texts" if in_one_piece > 1 else "a text"
        return f"it finds a single word in {of} of the gold with over {MAX_UNSPACED_WORD_LETTERS} letters"
    return ""


def _is_text_unsplit(text: str, count: int, tokens: list[str]) -> bool:
    longest = max(map(_count_unspaced_letters, tokens), default=0)
    if longest > MAX_UNSPACED_WORD_LETTERS and 2 * longest >= count:
        return True
    return len(select_word_tokens(tokens)) < 2 and (
        len(text.split()) > 1 or _count_unspaced_letters(text) > 0
    )
