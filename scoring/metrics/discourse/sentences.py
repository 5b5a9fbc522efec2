"""The sentences that are tagged: where they end, and which of them count.

Two of the splitters do as CiteBench does. Its step for intents runs spaCy's rule-based sentencizer and glues
each piece that does not end in a full stop to the next, without a space; its step for CORWA runs NLTK's Punkt
and glues behind `et. al.`, `al.`, `e.g.` and `i.e.`, with one. The third are rules of our own for scholarly
prose, which need no data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from tasks.types.text import punkt_name, punkt_sentences
from tasks.types.unavailable import Unavailable

#: Sentences of so many tokens or fewer are dropped.
SHORT = 5
#: What the original takes for a citation mark: of one digit, so that `[10]` is none.
ONE_DIGIT_MARK = re.compile(r"\[\d\]")
_GLUED = (" et.", " al.", "al.", "e.g.", "i.e.")
_MAX_GLUED = max(map(len, _GLUED))
#: Of one ASCII sign that ends no sentence; where sentences end does not depend on how many are one token.
_LONG_RUN = re.compile(r"([\"#-'(-,/:->@\[-`{-~-])\1{15,}$")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

#: Named in every data sheet; raised when a rule changes.
RULES = "citeboard-sentences-1"

#: After these a full stop ends no sentence, whatever follows.
_NEVER_LAST = frozenset(
    (
        *("al", "et", "e.g", "i.e", "cf", "vs", "viz", "resp", "approx", "ca", "no", "nos", "vol", "pp"),
        *("fig", "figs", "tab", "eq", "eqs", "eqn", "sec", "secs", "sect", "ref", "refs", "ch", "chap"),
        *("thm", "lem", "prop", "cor", "def", "app", "ed", "eds"),
        *("dr", "prof", "mr", "mrs", "ms", "st", "jr", "dept", "univ"),
    )
)
#: After these it may end one, where the next word looks like a beginning.
_SELDOM_LAST = frozenset(("etc", "inc", "ltd", "co", "corp", "a.m", "p.m"))
_END = re.compile(r"(?<![.?!])[.?!]++[\"'”’)\]\ue000]*+(?=\s|$)")
_NEXT = re.compile(r"\s*+(\S)")
#: No longer word is looked at before a full stop.
_MAX_WORD = 64
_BEGINNING = re.compile(r"[\"'“‘(\[\s]*(?:[A-Z0-9À-ÖØ-ÞΑ-Ω]|\ue000|<|\\|\$|\{\{)")
_INITIAL = re.compile(r"(?:^|[\s(.\-])[A-ZÀ-Þ]$")

Splitter = Callable[[str], list[str]]


def by_rules(text: str) -> list[str]:
    """As the rules split that build diagnostic sets; a mark `[0]` is a word like others."""
    return [text[start:end] for start, end in sentence_spans(text)]


def by_sentencizer(text: str) -> list[str]:
    """As CiteBench splits for intents. Raises Unavailable where spaCy is not installed."""
    sentences: list[list[str]] = []
    is_open = False
    for found in _sentencizer()(text).sents:
        if not is_open:
            sentences.append([])
        sentences[-1].append(found.text)
        is_open = not found.text.endswith(".")
    return ["".join(pieces) for pieces in sentences]


def by_punkt(text: str) -> list[str]:
    """As CiteBench splits for CORWA: ASCII alone is left."""
    return [_NOT_ASCII.sub("", sentence) for sentence in glued(punkt_sentences(text))]


def glued(sentences: Sequence[str]) -> list[str]:
    """Sentences that end in an abbreviation, with the next one behind them."""
    found: list[list[str]] = []
    end = ""
    for sentence in sentences:
        if found and end.endswith(_GLUED):
            found[-1].append(sentence)
            end = f"{end} {sentence}"[-_MAX_GLUED:]
        else:
            found.append([sentence])
            end = sentence[-_MAX_GLUED:]
    return [" ".join(pieces) for pieces in found]


SPLITTERS: dict[str, Splitter] = {"rules": by_rules, "sentencizer": by_sentencizer, "punkt": by_punkt}


def splitter_name(option: str) -> str:
    """What a signature calls a splitter: our own rules by their number, others by their package."""
    if option == "rules":
        return RULES
    if option == "punkt":
        return punkt_name()
    try:
        return f"{option}-spacy-{version('spacy')}"
    except ModuleNotFoundError:
        return f"{option}-spacy-missing"


def counted_sentences(text: str, splitter: str, *, marked_only: bool = False) -> list[str]:
    """The sentences of more than five tokens; with ``marked_only`` those of them with a one-digit mark."""
    found = [sentence for sentence in SPLITTERS[splitter](text) if tokens(sentence) > SHORT]
    return [sentence for sentence in found if ONE_DIGIT_MARK.search(sentence)] if marked_only else found


def tokens(sentence: str) -> int:
    """How many tokens the Penn Treebank's conventions make of a sentence, as NLTK has them."""
    return len(_tokenizer().tokenize(sentence))


@cache
def _tokenizer() -> Any:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


@cache
def _sentencizer() -> Any:
    try:
        import spacy
    except ImportError as missing:
        raise Unavailable(
            "spaCy is not installed, which discourse_sentences=sentencizer needs; `make models` installs it"
        ) from missing
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    # No memory is taken for a text beyond what its words need, so that long ones may be split too.
    pipeline.max_length = 1 << 30
    # One token instead of one a sign, which spaCy takes off one by one at a cost of the square.
    tokenizer: Any = pipeline.tokenizer
    tokenizer.token_match = _LONG_RUN.match
    return pipeline


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, without the blanks around it.

    Citation marks are expected as the character U+E000; one directly behind a full stop, as in superscript
    styles, belongs to the sentence before it.
    """
    start = 0
    for mark in _END.finditer(text):
        if mark.end() == len(text) or _ends_here(text, start, mark):
            yield from _stripped(text, start, mark.end())
            start = mark.end()
    yield from _stripped(text, start, len(text))


def _ends_here(text: str, start: int, mark: re.Match[str]) -> bool:
    if not _BEGINNING.match(text, mark.end()):
        return False
    if not mark[0].startswith("."):
        return True
    before = text[max(start, mark.start() - _MAX_WORD) : mark.start()]
    word = re.split(r"[\s(\[]", before)[-1].rstrip("\"'”’")
    lowered = word.lower().strip("([{")
    if lowered in _NEVER_LAST or _INITIAL.search(before):
        return False
    # “etc. The” ends, “etc. (2” does not.
    following = _NEXT.match(text, mark.end())
    return lowered not in _SELDOM_LAST or bool(following and following[1].isupper())


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
