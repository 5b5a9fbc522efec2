"""Read and validate the rows of JSON lines in gold files and in files of citation
contexts.
"""

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
_CITATION_MARK_PATTERN = re.compile(r"\{\{cite:[^{}]*\}\}")
#: The JSON encoder is created only once, because it encodes millions of rows.
_CANONICAL_JSON_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def canonical(content: object) -> bytes:
    """Return the JSON text of a value in a canonical format, from which digests are
    computed.
    """
    return _CANONICAL_JSON_ENCODER.encode(content).encode()


def digest_of(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def sorted_digest(digests: bytearray, *others: bytes) -> str:
    facts = np.frombuffer(digests, dtype="S32")
    facts.sort()
    digest = sha256(facts.data)
    digest.update(b"".join(others))
    return digest.hexdigest()


def shown_line(record: Mapping[str, Any], keys: Sequence[str]) -> bytes:
    """Return a JSON line for a public file that contains only the fields ``keys`` of a
    record.

    Citation marks that a corpus left in texts, such as `{{cite:…}}` in a heading, are
    removed, since the marks name the cited reference.
    """
    shown = {key: record[key] for key in keys if key in record}
    for key, value in shown.items():
        if isinstance(value, str) and _CITATION_MARK_PATTERN.search(value):
            shown[key] = " ".join(_CITATION_MARK_PATTERN.sub(" ", value).split())
    return canonical(shown) + b"\n"


def shown_lines(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> bytes:
    return b"".join(shown_line(record, keys) for record in rows)


def named(files: Files, name: str) -> list[InputFile]:
    """Return those input files that have the given file name, in any folder."""
    return [file for file in files if file.base == name]


def the_file(files: Files, name: str, holds: str) -> InputFile:
    """Return the single input file that has the given file name. Raises InputRefused
    unless exactly one input file has the name.
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
    """An iterable of the records in a file of JSON lines, with methods that validate
    fields. Faults in the records are added to the list ``problems``.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self.file, self.problems = file, problems
        self._line, self._raw = 0, ""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for line, record, raw in json_lines(self.file, self.problems):
            self._line, self._raw = line, raw
            yield record

    def wrong(self, message: str, expected: str = "") -> None:
        """Add a problem to the list of problems, with the line of the record that was
        read last.
        """
        self.problems.append(
            self.file.problem(message, expected, line=self._line, raw=self._raw)
        )

    def name(self, record: Mapping[str, Any], key: str) -> str | None:
        """Return the id that the record contains under ``key``. If there is no id under
        the key, record a problem and return None.
        """
        value = record.get(key)
        if is_name(value) and str(value):
            return str(value)
        self.wrong(f"“{key}” is {kind_found(value)}", "a text")
        return None

    def names(self, record: Mapping[str, Any], key: str) -> list[str] | None:
        """Return the ids that the record contains under ``key``, as a single id or as a
        list. If there are no ids under the key, record a problem and return None.
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
        """Return the ids of the cited candidates in a record, in the spelling of
        ``candidates``. A cited id in the record may be in another Unicode normalisation
        form than the candidate's id.
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
        """Return a mapping from each judged candidate of the record to its relevance
        grade. A cited candidate without an explicit grade has the relevance grade 1.
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
    """Return the class of a citation context that a field of the record states, or
    None. If the field contains a number as class, the number is converted to a text.
    The class of the context is None if the field is missing or contains an empty text.
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
#: `_SECTION_TITLE_WORDS` maps section classes to patterns of titles, and the first match counts.
#: For example, the title “Related work and methods” has the class `related work`.
_SECTION_TITLE_WORDS = {
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
_SECTION_TITLE_PATTERNS = {
    section: re.compile(words) for section, words in _SECTION_TITLE_WORDS.items()
}


def section_class(title: str | None) -> str | None:
    """Return the class of a section title, such as `methods`, or None if the title is
    empty.

    >>> section_class("2.1 Related Work")
    'related work'
    """
    if not title or not title.strip():
        return None
    lowered = re.sub(r"^[\d.\s]+", "", title.strip().lower())
    return next(
        (
            section
            for section, words in _SECTION_TITLE_PATTERNS.items()
            if words.search(lowered)
        ),
        "other",
    )


CONTEXTS, REFERENCES = ("diagnostic.jsonl", "contexts.jsonl"), "references.jsonl"
#: `PARTS` lists the fields with a citing sentence and with the text around it.
PARTS = ("before", "sentence", "after")


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield each citation context with the cited papers and the first candidates in the
    run's ranking, for display on web pages.
    """
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
    """The citation contexts (texts around citations) of a gold file, in the order of
    the file. ``gold`` contains the numbers of the cited candidates for each context.
    """

    ids: Sequence[str]
    gold: Lists
    papers: Classes
    classes: Mapping[str, Classes]

    def with_candidates(self, gold: Lists, index: Index) -> Self:
        return replace(self, gold=gold)


class ContextsBuilder:
    """Collects the citation contexts (texts around citations) while a gold file is
    read. ``dimensions`` maps each dimension (breakdown of scores) to its classes in
    display order.

    A gold file may contain a million citation contexts, so memory is limited. For each
    citation context, only the id, a digest and some numbers are stored.
    """

    def __init__(self, dimensions: Mapping[str, Sequence[str]]) -> None:
        self.ids: list[str] = []
        #: `_facts` contains the SHA-256 of each citation context, one after the other.
        self._facts = bytearray()
        self.gold = ListsBuilder()
        self._dimensions = dimensions
        self._papers, self.numbers = (
            LabelNumbers(),
            [LabelNumbers() for _ in dimensions],
        )
        #: `_paper_codes` contains the class number of each context's citing paper.
        #: `_codes` contains each context's class numbers in all dimensions.
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
        """Add the data of several citation contexts (texts around citations).

        ``gold`` contains the numbers of the cited candidates of all contexts, one
        context after the other. ``lengths`` contains the number of cited candidates of
        each context. ``codes`` contains, for each dimension, the numbers of the classes
        of the contexts.
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
