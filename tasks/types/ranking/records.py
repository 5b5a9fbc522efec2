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
    MAX_STORED_CANDIDATES,
    MAX_STORED_INSTANCES,
    RIGHT_OUTCOME,
    Index,
    Options,
    Pairs,
    ShownInstance,
    Split,
)
from tasks.types.columns import (
    ClassCodesByLabel,
    ClassColumn,
    make_column_with_sorted_labels,
)
from tasks.types.files import FIRST_VERSION_ORDERING_BUILT_IN, Files, InputFile
from tasks.types.problems import InputRefused, Problem
from tasks.types.ranking.lists import (
    InstanceAndCandidateLookup,
    ListColumn,
    ListColumnBuilder,
)
from tasks.types.text import (
    describe_json_type_or_missing,
    is_text_or_integer,
    iterate_json_objects,
    normalise_to_nfc,
)

MAX_RELEVANCE_GRADE = 100
_CITATION_MARK_PATTERN = re.compile(r"\{\{cite:[^{}]*\}\}")
#: The JSON encoder is created only once, because it encodes millions of rows.
_CANONICAL_JSON_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode_canonical_json(content: object) -> bytes:
    """Return the JSON text of a value in a canonical format, from which digests are
    computed.
    """
    return _CANONICAL_JSON_ENCODER.encode(content).encode()


def compute_sha256_of_parts(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def compute_digest_of_sorted_digests(digests: bytearray, *others: bytes) -> str:
    facts = np.frombuffer(digests, dtype="S32")
    facts.sort()
    digest = sha256(facts.data)
    digest.update(b"".join(others))
    return digest.hexdigest()


def format_public_line(record: Mapping[str, Any], keys: Sequence[str]) -> bytes:
    """Return a JSON line for a public file that contains only the fields ``keys`` of a
    record.

    Citation marks that a corpus left in texts, such as `{{cite:…}}` in a heading, are
    removed, since the marks name the cited reference.
    """
    shown = {key: record[key] for key in keys if key in record}
    for key, value in shown.items():
        if isinstance(value, str) and _CITATION_MARK_PATTERN.search(value):
            shown[key] = " ".join(_CITATION_MARK_PATTERN.sub(" ", value).split())
    return encode_canonical_json(shown) + b"\n"


def format_public_lines(
    rows: Iterable[Mapping[str, Any]], keys: Sequence[str]
) -> bytes:
    return b"".join(format_public_line(record, keys) for record in rows)


def select_files_named(files: Files, name: str) -> list[InputFile]:
    """Return those input files that have the given file name, in any folder."""
    return [file for file in files if file.base == name]


def get_single_file_named(files: Files, name: str, holds: str) -> InputFile:
    """Return the single input file that has the given file name. Raises InputRefused
    unless exactly one input file has the name.
    """
    matching = select_files_named(files, name)
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
            file.make_problem(f"one of {len(matching)} files called {name}")
            for file in matching
        ]
    )


class ValidatedRecords:
    """An iterable of the records in a file of JSON lines, with methods that validate
    fields. Faults in the records are added to the list ``problems``.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self.file, self.problems = file, problems
        self._line, self._raw = 0, ""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for line, record, raw in iterate_json_objects(self.file, self.problems):
            self._line, self._raw = line, raw
            yield record

    def wrong(self, message: str, expected: str = "") -> None:
        """Add a problem to the list of problems, with the line of the record that was
        read last.
        """
        self.problems.append(
            self.file.make_problem(message, expected, line=self._line, raw=self._raw)
        )

    def name(self, record: Mapping[str, Any], key: str) -> str | None:
        """Return the id that the record contains under ``key``. If there is no id under
        the key, record a problem and return None.
        """
        value = record.get(key)
        if is_text_or_integer(value) and str(value):
            return str(value)
        self.wrong(f"“{key}” is {describe_json_type_or_missing(value)}", "a text")
        return None

    def names(self, record: Mapping[str, Any], key: str) -> list[str] | None:
        """Return the ids that the record contains under ``key``, as a single id or as a
        list. If there are no ids under the key, record a problem and return None.
        """
        value = record.get(key)
        values = value if isinstance(value, list) else [value]
        if value != "" and values and all(map(is_text_or_integer, values)):
            return list(dict.fromkeys(map(str, values)))
        self.wrong(
            f"“{key}” is {'empty' if value == [] else describe_json_type_or_missing(value)}",
            "an id or a list of ids",
        )
        return None

    def read_cited_ids(
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
        is_early = self.file.reading < FIRST_VERSION_ORDERING_BUILT_IN
        if names is None or is_early or all(name.isascii() for name in names):
            return names
        if all(name in candidates for name in names):
            return names
        forms = {normalise_to_nfc(name): name for name in candidates}
        return list(
            dict.fromkeys(forms.get(normalise_to_nfc(name), name) for name in names)
        )

    def grades(
        self, record: Mapping[str, Any], key: str, cited: Sequence[str]
    ) -> dict[str, int]:
        """Return a mapping from each judged candidate of the record to its relevance
        grade. A cited candidate without an explicit grade has the relevance grade 1.
        """
        graded = record.get(key, {})
        values = graded.values() if isinstance(graded, dict) else [None]
        if not all(
            type(value) is int and 0 <= value <= MAX_RELEVANCE_GRADE for value in values
        ):
            self.wrong(
                f"“{key}” is no object of grades",
                '{"W12": 2, "W7": 0}, whole numbers from 0 to 100',
            )
            return {}
        return {**dict.fromkeys(cited, 1), **graded}


def convert_class_to_text(record: Mapping[str, Any], key: str) -> str | None:
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


SECTION_CLASSES = (
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


def classify_section_title(title: str | None) -> str | None:
    """Return the class of a section title, such as `methods`, or None if the title is
    empty.

    >>> classify_section_title("2.1 Related Work")
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


CONTEXTS_FILE_NAMES, REFERENCES_FILE_NAME = (
    ("diagnostic.jsonl", "contexts.jsonl"),
    "references.jsonl",
)
#: `CONTEXT_TEXT_FIELDS` lists the fields with a citing sentence and with the text around it.
CONTEXT_TEXT_FIELDS = ("before", "sentence", "after")


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield each citation context with the cited papers and the first candidates in the
    run's ranking, for display on web pages.
    """
    choices = InstanceAndCandidateLookup(split.index)
    names = list(islice(pairs.names or (), MAX_STORED_INSTANCES))
    gold, answers = (
        [side[row] or () for row in range(len(names))]
        for side in (pairs.gold, pairs.answers)
    )
    pools = [choices.pool(choices.rows[name]) for name in names]
    sides = zip(pools * 2, [*gold, *answers], strict=True)
    wanted = {
        pool[number]
        for pool, numbers in sides
        for number in numbers[:MAX_STORED_CANDIDATES]
    }
    shown, contexts = set(names), dict[str, str]()
    for record in (
        record
        for name in CONTEXTS_FILE_NAMES
        for file in select_files_named(files, name)
        for record in ValidatedRecords(file, [])
    ):
        name = str(record.get("id", record.get("context_id")))
        if name in shown:
            texts = json.loads(format_public_line(record, CONTEXT_TEXT_FIELDS)).values()
            contexts[name] = " ".join(str(text) for text in texts if text)
    titles: dict[str, str] = {}
    for record in (
        record
        for file in select_files_named(files, REFERENCES_FILE_NAME)
        for record in ValidatedRecords(file, [])
    ):
        name = str(record.get("ref_id"))
        if name in wanted:
            titles.setdefault(name, str(record.get("title") or record.get("raw") or ""))

    def format_candidate_name(name: str) -> str:
        return f"{name}: {titles[name]}" if titles.get(name) else name

    for name, pool, cited, ranked in zip(names, pools, gold, answers, strict=True):
        ranking = [
            f"{position}. {format_candidate_name(pool[number])}"
            for position, number in enumerate(ranked[:MAX_STORED_CANDIDATES], start=1)
        ]
        scores = zip(ranked, pairs.scores.get(choices.rows[name], ()), strict=False)
        later = [
            (position, own)
            for position, own in enumerate(
                ranked[MAX_STORED_CANDIDATES:], start=MAX_STORED_CANDIDATES + 1
            )
            if own in cited
        ]
        more = (
            [f"and {len(ranked) - MAX_STORED_CANDIDATES} more"]
            if len(ranked) > MAX_STORED_CANDIDATES
            else []
        )
        yield ShownInstance(
            name=name,
            given=contexts.get(name, ""),
            gold="\n".join(format_candidate_name(pool[number]) for number in cited),
            answer="\n".join([*ranking, *more]),
            judged=tuple(
                (RIGHT_OUTCOME, f"{place}. {format_candidate_name(pool[number])}")
                for place, number in later
            ),
            beside=tuple(
                (format_candidate_name(pool[number]), score) for number, score in scores
            ),
            pool=len(pool),
        )


@dataclass(frozen=True, kw_only=True)
class CitationContextCollection:
    """The citation contexts (texts around citations) of a gold file, in the order of
    the file. ``gold`` contains the numbers of the cited candidates for each context.
    """

    ids: Sequence[str]
    gold: ListColumn
    papers: ClassColumn
    classes: Mapping[str, ClassColumn]

    def with_reordered_candidates(self, gold: ListColumn, index: Index) -> Self:
        return replace(self, gold=gold)


class CitationContextsBuilder:
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
        self.gold = ListColumnBuilder()
        self._dimensions = dimensions
        self._papers, self.numbers = (
            ClassCodesByLabel(),
            [ClassCodesByLabel() for _ in dimensions],
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

    def compute_contexts_digest(self, *others: bytes) -> str:
        return compute_digest_of_sorted_digests(self._facts, *others)

    def columns(self) -> dict[str, Any]:
        codes = np.asarray(self._codes).reshape(-1, len(self.numbers)).T
        classes = {
            name: make_column_with_sorted_labels(numbers.labels, own, order)
            for (name, order), numbers, own in zip(
                self._dimensions.items(), self.numbers, codes, strict=True
            )
        }
        return {
            "ids": self.ids,
            "gold": self.gold.build(),
            "papers": make_column_with_sorted_labels(
                self._papers.labels, np.asarray(self._paper_codes)
            ),
            "classes": {
                name: column for name, column in classes.items() if not column.is_empty
            },
        }
