"""Rows of JSON lines in gold and collections, and the validation of their fields."""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain, islice
from typing import Any, Self

import numpy as np

from tasks.types.base import (
    MAX_SHOWN,
    RIGHT,
    TOP,
    Index,
    Options,
    Pairs,
    ShownInstance,
    Split,
)
from tasks.types.columns import Classes, LabelNumbers, in_order
from tasks.types.files import BUILT_IN_FROM, Files, InputFile
from tasks.types.problems import InputRefused, Problem
from tasks.types.ranking.lists import Choices, Lists, ListsBuilder
from tasks.types.text import is_name, json_lines, kind_found, nfc

MAX_GRADE = 100
_MARK = re.compile(r"\{\{cite:[^{}]*\}\}")
#: Gold may have millions of rows, so the encoder is created once.
_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def canonical(content: object) -> bytes:
    """Return the canonical JSON of a value, from which digests are computed."""
    return _CANONICAL.encode(content).encode()


def digest_of(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def sorted_digest(digests: bytearray, *others: bytes) -> str:
    facts = np.frombuffer(digests, dtype="S32")
    facts.sort()
    digest = sha256(facts.data)
    digest.update(b"".join(others))
    return digest.hexdigest()


def shown_line(record: Mapping[str, Any], keys: Sequence[str]) -> bytes:
    """Return a line of a public file that contains only the given fields of a row.

    Citation marks that a corpus left in texts, such as `{{cite:…}}` in a heading, are
    removed, since the marks name the cited reference.
    """
    shown = {key: record[key] for key in keys if key in record}
    for key, value in shown.items():
        if isinstance(value, str) and _MARK.search(value):
            shown[key] = " ".join(_MARK.sub(" ", value).split())
    return canonical(shown) + b"\n"


def shown_lines(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> bytes:
    return b"".join(shown_line(record, keys) for record in rows)


def named(files: Files, name: str) -> list[InputFile]:
    """Return the input files with the given name in any folder."""
    return [file for file in files if file.base == name]


def the_file(files: Files, name: str, holds: str) -> InputFile:
    """Return the only input file with the given name. Raises InputRefused if no file or
    several files have the name.
    """
    matching = named(files, name)
    if len(matching) == 1:
        return matching[0]
    if not matching:
        raise InputRefused(
            [
                Problem(
                    message=f"there is no {name}",
                    expected=f"{name}, which holds {holds}",
                )
            ]
        )
    raise InputRefused(
        [
            file.problem(f"one of {len(matching)} files called {name}")
            for file in matching
        ]
    )


class Rows:
    """The rows of one file of gold or of a collection. Faults of the rows are added to
    ``problems``.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self.file, self.problems = file, problems
        self._line, self._raw = 0, ""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for line, record, raw in json_lines(self.file, self.problems):
            self._line, self._raw = line, raw
            yield record

    def wrong(self, message: str, expected: str = "") -> None:
        """Record a fault of the current row in the list of problems."""
        self.problems.append(
            self.file.problem(message, expected, line=self._line, raw=self._raw)
        )

    def name(self, record: Mapping[str, Any], key: str) -> str | None:
        """Return the required id of a row. If the id is missing, record a fault and
        return None.
        """
        value = record.get(key)
        if is_name(value) and str(value):
            return str(value)
        self.wrong(f"“{key}” is {kind_found(value)}", "a text")
        return None

    def names(self, record: Mapping[str, Any], key: str) -> list[str] | None:
        """Return the required id or list of ids of a row as a list. If the field is
        missing, record a fault and return None.
        """
        value = record.get(key)
        values = value if isinstance(value, list) else [value]
        if value != "" and values and all(map(is_name, values)):
            return list(dict.fromkeys(map(str, values)))
        self.wrong(
            f"“{key}” is {'empty' if value == [] else kind_found(value)}",
            "an id or a list of ids",
        )
        return None

    def cited(
        self,
        record: Mapping[str, Any],
        key: str,
        candidates: Mapping[str, int] | Sequence[str] | set[str],
    ) -> list[str] | None:
        """Return the ids in a field of a row, in the spelling of the candidates. The
        ids in the field may have another Unicode normalisation form.
        """
        names = self.names(record, key)
        is_early = self.file.reading < BUILT_IN_FROM
        if names is None or is_early or all(name.isascii() for name in names):
            return names
        if all(name in candidates for name in names):
            return names
        forms = {nfc(name): name for name in candidates}
        return list(dict.fromkeys(forms.get(nfc(name), name) for name in names))

    def grades(
        self, record: Mapping[str, Any], key: str, cited: Sequence[str]
    ) -> dict[str, int]:
        """Return the relevance grades, from 0, of all judged candidates of a row. The
        default relevance grade of cited candidates is 1.
        """
        graded = record.get(key, {})
        values = graded.values() if isinstance(graded, dict) else [None]
        if not all(type(value) is int and 0 <= value <= MAX_GRADE for value in values):
            self.wrong(
                f"“{key}” is no object of grades",
                '{"W12": 2, "W7": 0}, whole numbers from 0 to 100',
            )
            return {}
        return {**dict.fromkeys(cited, 1), **graded}


def label(record: Mapping[str, Any], key: str) -> str | None:
    """Return the optional class of a context in a row. Numbers in a class become texts.
    An empty text means that the row has no class.
    """
    value = record.get(key)
    return (
        None
        if value is None or value == "" or not isinstance(value, str | int | float)
        else str(value)
    )


SECTIONS = (
    "abstract",
    "introduction",
    "related work",
    "methods",
    "data",
    "results",
    "discussion",
    "conclusion",
    "appendix",
    "other",
)
#: `_WORDS` contains patterns of section classes, and the first match is the class.
#: For example, “Related work and methods” has the class `related work`.
_WORDS = {
    "abstract": r"^abstract$|^summary$",
    "introduction": r"introduc|motivation|overview",
    "related work": r"related|background|previous|prior|literature|state of the art|context",
    "appendix": r"^appendi|supplement",
    "conclusion": r"conclu|future|outlook|closing|perspectives",
    "discussion": r"discuss|limitation|implication|threats",
    "results": r"result|evaluat|experiment|finding|analys|comparison|simulation|performance",
    "data": r"\bdata|corpus|corpora|observation|sample|material",
    "methods": r"method|model|approach|algorithm|framework|setup|theor|implementation|architecture|procedure",
}
_PATTERNS = {section: re.compile(words) for section, words in _WORDS.items()}


def section_class(title: str | None) -> str | None:
    """Return the class of a section title, one of ``SECTIONS``, or None without a
    title.

    >>> section_class("2.1 Related Work")
    'related work'
    """
    if not title or not title.strip():
        return None
    lowered = re.sub(r"^[\d.\s]+", "", title.strip().lower())
    return next(
        (section for section, words in _PATTERNS.items() if words.search(lowered)),
        "other",
    )


CONTEXTS, REFERENCES = ("diagnostic.jsonl", "contexts.jsonl"), "references.jsonl"
#: `PARTS` lists the fields with the text of a context, in the order of the text.
PARTS = ("before", "sentence", "after")


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield each context with the cited papers and the first candidates of the ranking."""
    choices = Choices(split.index)
    names = list(islice(pairs.names or (), MAX_SHOWN))
    gold, answers = (
        [side[row] or () for row in range(len(names))]
        for side in (pairs.gold, pairs.answers)
    )
    pools = [choices.pool(choices.rows[name]) for name in names]
    sides = zip(pools * 2, [*gold, *answers], strict=True)
    wanted = {pool[number] for pool, numbers in sides for number in numbers[:TOP]}
    shown, contexts = set(names), dict[str, str]()
    for record in (
        record
        for name in CONTEXTS
        for file in named(files, name)
        for record in Rows(file, [])
    ):
        name = str(record.get("id", record.get("context_id")))
        if name in shown:
            texts = json.loads(shown_line(record, PARTS)).values()
            contexts[name] = " ".join(str(text) for text in texts if text)
    titles: dict[str, str] = {}
    for record in (
        record for file in named(files, REFERENCES) for record in Rows(file, [])
    ):
        name = str(record.get("ref_id"))
        if name in wanted:
            titles.setdefault(name, str(record.get("title") or record.get("raw") or ""))

    def called(name: str) -> str:
        return f"{name}: {titles[name]}" if titles.get(name) else name

    for name, pool, cited, ranked in zip(names, pools, gold, answers, strict=True):
        ranking = [
            f"{position}. {called(pool[number])}"
            for position, number in enumerate(ranked[:TOP], start=1)
        ]
        scores = zip(ranked, pairs.scores.get(choices.rows[name], ()), strict=False)
        later = [
            (position, own)
            for position, own in enumerate(ranked[TOP:], start=TOP + 1)
            if own in cited
        ]
        more = [f"and {len(ranked) - TOP} more"] if len(ranked) > TOP else []
        yield ShownInstance(
            name=name,
            given=contexts.get(name, ""),
            gold="\n".join(called(pool[number]) for number in cited),
            answer="\n".join([*ranking, *more]),
            judged=tuple(
                (RIGHT, f"{place}. {called(pool[number])}") for place, number in later
            ),
            beside=tuple((called(pool[number]), score) for number, score in scores),
            pool=len(pool),
        )


@dataclass(frozen=True, kw_only=True)
class Collection:
    """Contexts (texts around citations) in the order of their file. The attribute
    ``gold`` contains numbers of candidates.
    """

    ids: Sequence[str]
    gold: Lists
    papers: Classes
    classes: Mapping[str, Classes]

    def with_candidates(self, gold: Lists, index: Index) -> Self:
        return replace(self, gold=gold)


class ContextsBuilder:
    """Collects contexts (texts around citations) of the gold. ``dimensions`` maps each
    dimension to the order of its classes.

    A gold file may contain a million contexts. Only numbers, a name and a digest of
    each context are stored.
    """

    def __init__(self, dimensions: Mapping[str, Sequence[str]]) -> None:
        self.ids: list[str] = []
        #: `_facts` contains the concatenated digests of the contexts.
        self._facts = bytearray()
        self.gold = ListsBuilder()
        self._dimensions = dimensions
        self._papers, self.numbers = (
            LabelNumbers(),
            [LabelNumbers() for _ in dimensions],
        )
        #: `_paper_codes` and `_codes` contain class codes, one context after the other.
        #: `_paper_codes` is for citing papers, and `_codes` is for all dimensions.
        self._paper_codes, self._codes = array("i"), array("i")

    def add(
        self,
        names: Sequence[str],
        papers: Sequence[str],
        gold: Sequence[int],
        lengths: Sequence[int],
        codes: Iterable[list[int]],
        facts: Iterable[str],
    ) -> None:
        """Add contexts (texts around citations) to the collection.

        ``gold`` contains the cited candidates of all contexts. ``lengths`` contains the
        number of cited candidates for each context. ``codes`` contains the class codes
        of each dimension.
        """
        self.ids += names
        self._facts += b"".join([sha256(fact.encode()).digest() for fact in facts])
        self.gold.extend(
            np.array(lengths, dtype=np.int64), np.array(gold, dtype=np.int32)
        )
        self._paper_codes.fromlist(list(map(self._papers.__getitem__, papers)))
        self._codes.extend(chain.from_iterable(zip(*codes, strict=True)))

    def facts_digest(self, *others: bytes) -> str:
        return sorted_digest(self._facts, *others)

    def columns(self) -> dict[str, Any]:
        codes = np.asarray(self._codes).reshape(-1, len(self.numbers)).T
        classes = {
            name: in_order(numbers.labels, own, order)
            for (name, order), numbers, own in zip(
                self._dimensions.items(), self.numbers, codes, strict=True
            )
        }
        return {
            "ids": self.ids,
            "gold": self.gold.build(),
            "papers": in_order(self._papers.labels, np.asarray(self._paper_codes)),
            "classes": {
                name: column for name, column in classes.items() if not column.is_empty
            },
        }
