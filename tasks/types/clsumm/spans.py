"""What task 1A compares.

The reference sentences that gold and answer name, and their text as the rules read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.types.base import CORRECTED
from tasks.types.clsumm.citances import Annotation
from tasks.types.clsumm.options import OFFICIAL_2014, OFFICIAL_2018
from tasks.types.clsumm.pairs import CitancePair
from tasks.types.clsumm.topics import Topic
from tasks.types.text import unescaped

Order = Callable[[Iterable[str]], list[str]]


@dataclass(frozen=True)
class CitedSpan:
    """The ids as listed, and one text for each sentence in the order in which ROUGE reads them.

    ``file`` counts the gold files of the topic, over which the official averages go.
    """

    sentences: tuple[str, ...]
    lines: tuple[str, ...]
    file: int

    def of_kind(self, kind: str | None) -> list[tuple[str, ...]]:
        """The one text as what an answer is compared with."""
        return [self.lines]


def python2_order(keys: Iterable[str]) -> list[str]:
    """The keys, each once, as a dict into which they were put in the given order gives them out."""
    table: Table = [None] * _SMALLEST_TABLE
    used = 0
    for key in keys:
        place = _place(table, key)
        if table[place] is not None:
            continue
        table[place] = key
        used += 1
        if used * 3 >= len(table) * 2:
            table = _grown(table, used)
    return [key for key in table if key is not None]


def cited_spans(
    pair: CitancePair, rules: str, *, order: Order = python2_order
) -> tuple[CitedSpan | None, CitedSpan | None]:
    """Gold and answer of a pair; ``order`` is that in which the official program joins quoted sentences.

    The text of an answer is the paper's; that of the gold what was annotated."""
    if rules in (CORRECTED, OFFICIAL_2014):
        in_order = rules == CORRECTED
        gold = pair.gold and annotated_lines(pair.gold, pair.topic, in_order=in_order)
        answer = pair.answer and paper_lines(pair.answer, pair.topic, in_order=in_order)
    else:
        gold = pair.gold and quoted_lines(pair.gold, pair.topic, rules, order)
        answer = pair.answer and quoted_lines(pair.answer, pair.topic, rules, order)
    return (
        None if pair.gold is None else CitedSpan(pair.gold.sentences, tuple(gold or ()), pair.file),
        None if pair.answer is None else CitedSpan(pair.answer.sentences, tuple(answer or ()), pair.file),
    )


def annotated_lines(annotation: Annotation, topic: Topic, *, in_order: bool) -> list[str]:
    """The sentences as the annotation quotes them, entities decoded; the paper's where it quotes none."""
    if not annotation.texts:
        return paper_lines(annotation, topic, in_order=in_order)
    ids = _arranged(annotation.texts, topic) if in_order else list(annotation.texts)
    return [unescaped(annotation.texts[sid]) for sid in ids]


def paper_lines(annotation: Annotation, topic: Topic, *, in_order: bool) -> list[str]:
    """The paper's own sentences; where the paper is not at hand, those that are quoted."""
    if not topic.sentences:
        return [unescaped(text) for text in annotation.texts.values()]
    ids = list(dict.fromkeys(annotation.sentences))
    ids = _arranged(ids, topic) if in_order else ids
    return [topic.sentences[topic.order[sid]].text for sid in ids if sid in topic.order]


def quoted_lines(annotation: Annotation, topic: Topic, rules: str, order: Order) -> list[str]:
    """The quoted sentences with their entities, in the order in which the official program joins them.

    The program of 2018 decodes `&amp;` alone, once. JSON lines quote nothing; the paper's own sentences stand
    in, put in by listed order.
    """
    texts = dict(annotation.texts)
    if rules == OFFICIAL_2018:
        texts = {sid: text.replace("&amp;", "&") for sid, text in texts.items()}
    texts = texts or dict(_own_texts(annotation.sentences, topic))
    return [texts[sid] for sid in order(texts)]


def _own_texts(ids: Sequence[str], topic: Topic) -> Iterator[tuple[str, str]]:
    for sid in ids:
        if sid in topic.order:
            yield sid, topic.sentences[topic.order[sid]].text


def _arranged(ids: Iterable[str], topic: Topic) -> list[str]:
    """In the document's order; ids that the paper does not have come last, as listed."""
    return sorted(ids, key=lambda sid: topic.order.get(sid, len(topic.order)))


_WORD = (1 << 64) - 1


_SMALLEST_TABLE = 8


_MANY_KEYS = 50_000


_PERTURB_SHIFT = 5


Table = list[str | None]


def python2_hash(text: str) -> int:
    """The hash of a byte string, as an unsigned number of 64 bits."""
    data = text.encode()
    if not data:
        return 0
    value = data[0] << 7
    for byte in data:
        value = (value * 1_000_003 & _WORD) ^ byte
    value ^= len(data)
    # -1 tells of an error in C, so that no hash has this value.
    return _WORD - 1 if value == _WORD else value


def _place(table: Table, key: str) -> int:
    """The slot that holds the key, or the free one that it gets."""
    mask = len(table) - 1
    perturb = python2_hash(key)
    slot = perturb & mask
    while table[slot & mask] not in (None, key):
        slot = (slot * 5 + perturb + 1) & _WORD
        perturb >>= _PERTURB_SHIFT
    return slot & mask


def _grown(table: Table, used: int) -> Table:
    wanted = used * (2 if used > _MANY_KEYS else 4)
    size = _SMALLEST_TABLE
    while size <= wanted:
        size *= 2
    grown: Table = [None] * size
    for key in table:
        if key is not None:
            grown[_place(grown, key)] = key
    return grown
