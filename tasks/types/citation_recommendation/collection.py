"""The gold of a diagnostic split, which contains contexts, the paper that each context
cites, classes of contexts, and candidates.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from json.encoder import encode_basestring as _text
from typing import Any

import numpy as np

from tasks.types.base import Index, Options, Pairs, Split
from tasks.types.citation_recommendation import (
    CANDIDATES,
    CONTEXTS,
    DIMENSIONS,
    SAMPLED_FOR,
    cuts,
    longest,
)
from tasks.types.columns import NO_CLASS, OUTSIDE
from tasks.types.files import BUILT_IN_FROM, Files, InputFile
from tasks.types.plain_lines import NotPlain, plain_blocks, plain_names
from tasks.types.problems import Problem, refuse
from tasks.types.ranking import records
from tasks.types.ranking.lists import GradedLists, ListsBuilder, index_of
from tasks.types.ranking.runs import (
    DeclaredLists,
    RankedRun,
    RunLimits,
    read_ranked_run,
)
from tasks.types.run_forms import RANKED_TABLE, text_of_document, text_of_topic
from tasks.types.tables import read_with_tables
from tasks.types.text import kind_found

#: The gold's digest includes a dimension in LATER only if a context has a class in it.
LATER = frozenset({"h_index_group"})
#: `BLOCK` is the number of contexts (texts around citations) per stored block.
BLOCK = 100
#: Only the fields in `SHOWN` of a context are public.
SHOWN = ("id", "sentence", "before", "after")
SHOWN_OF_CANDIDATE = (
    "ref_id",
    "raw",
    "title",
    "abstract",
    "authors",
    "author_metadata",
    "year",
    "venue",
    "doi",
    "arxiv_ids",
)


def read_gold(files: Files, options: Options) -> Split:
    """Read the contexts (texts around citations) with their gold (cited papers). Raises
    InputRefused with all problems.
    """
    candidates = read_candidates(records.the_file(files, CANDIDATES, "the candidates"))
    numbers = {name: number for number, name in enumerate(candidates)}
    reader = _RecommendationContextsReader(numbers)
    problems: list[Problem] = []
    file = records.the_file(files, CONTEXTS, "the contexts")
    if not reader.read_plain(file):
        reader = _RecommendationContextsReader(numbers)
        reader.read(records.Rows(file, problems))
    if not reader.ids and not problems:
        problems.append(Problem(file=file.shown, message="there are no contexts"))
    refuse(problems)
    return Split(
        content=reader.collection(),
        instances=len(reader.ids),
        rows=len(reader.ids),
        index=index_of(reader.ids, [candidates]),
        digest=reader.facts_digest(records.canonical(sorted(candidates))),
    )


def read_candidates(file: InputFile) -> list[str]:
    """Return the distinct candidates in a file. Raises InputRefused with all problems
    of the file.

    The candidates have the order of the file. Participants must not know the order of
    the file, because the file may list candidates in the order of the citing papers.
    Versions 1 and 2 of the parsing rules sort the candidates by id instead.
    """
    problems: list[Problem] = []
    rows = records.Rows(file, problems)
    found = dict.fromkeys(rows.name(record, "ref_id") for record in rows)
    if not found and not problems:
        problems.append(Problem(file=file.shown, message="there are no candidates"))
    refuse(problems)
    names = [name for name in found if name is not None]
    return names if file.reading >= BUILT_IN_FROM else sorted(names)


def read_inputs(files: Files, options: Options) -> Index:
    """Build the index, which validates runs, from the public inputs."""
    problems: list[Problem] = []
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), problems)
    names = dict.fromkeys(rows.name(record, "id") for record in rows)
    refuse(problems)
    candidates = read_candidates(records.the_file(files, CANDIDATES, "the candidates"))
    return index_of([name for name in names if name is not None], [candidates])


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield two public files of the split. The file of contexts omits gold and classes,
    and the file of candidates omits the citing papers.
    """
    contexts = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    yield CONTEXTS, records.shown_lines(contexts, SHOWN)
    shown: dict[str, bytes] = {}
    for record in records.Rows(
        records.the_file(files, CANDIDATES, "the candidates"), []
    ):
        shown.setdefault(
            str(record["ref_id"]), records.shown_line(record, SHOWN_OF_CANDIDATE)
        )
    yield CANDIDATES, b"".join(shown[name] for name in sorted(shown))


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        cited = sorted(rows.names(record, "cited_id") or ())
        yield [record.get(name) for name in SHOWN[1:]], [cited, record.get("grades")]


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[RankedRun, list[Problem]]:
    """Return the rankings of a run up to the largest cut-off, and all problems of the
    run's files.
    """
    declares = options["perplexity"] == "yes"
    limits = RunLimits(
        longest=longest(options), kept=max(cuts(options)), declares=declares
    )
    return read_with_tables(
        files, RANKED_TABLE, lambda lines: read_ranked_run(lines, index, limits)
    )


def pair(split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
    """Return one row per context, with the citing paper as the resampling unit.

    The contexts of a citing paper share topic, style and reference list. Resampling
    single contexts would make confidence intervals too narrow.
    """
    lists, pool = run.lists, split.index["pools"][0]
    return Pairs(
        gold=split.content.gold,
        answers=DeclaredLists(lists, run.declared, len(pool))
        if run.declared
        else lists,
        units=split.content.papers,
        features=split.content.classes,
        names=split.content.ids,
        notes=run.notes,
        scores=run.scores,
    )


class _RecommendationContextsReader(records.ContextsBuilder):
    def __init__(self, candidates: Mapping[str, int]) -> None:
        super().__init__(DIMENSIONS)
        for dimension, numbers in zip(DIMENSIONS, self.numbers, strict=True):
            if dimension in LATER:
                numbers.update({None: OUTSIDE, "": OUTSIDE})
        #: `_written` contains, for each dimension, the JSON text of each class code.
        #: The digest of the gold is computed from JSON texts of classes.
        self._written = [
            {NO_CLASS: f',"{dimension}":null', OUTSIDE: ""} for dimension in DIMENSIONS
        ]
        self._candidates = candidates
        #: `_judged` contains grades, or is None before the first context with grades.
        self._judged: ListsBuilder | None = None
        self._grades = array("i")

    def read_plain(self, file: InputFile) -> bool:
        """Read the contexts in blocks, faster than line by line, and return True on
        success.

        Reading in blocks requires distinct ids. In each context, the id, the citing
        paper and the cited paper must be single texts. If the contexts could not be
        read in blocks, the caller must discard the reader.
        """
        try:
            for block in plain_blocks(file, ("grades", SAMPLED_FOR)):
                names, papers, cited = (
                    plain_names(block, key) for key in ("id", "citing_id", "cited_id")
                )
                nothing = [None] * len(names)
                columns = [block.get(dimension, nothing) for dimension in DIMENSIONS]
                self._add_contexts(names, papers, [[own] for own in cited], columns)
        except (NotPlain, KeyError, TypeError):
            return False
        hashes = np.fromiter(map(hash, self.ids), dtype=np.int64, count=len(self.ids))
        hashes.sort()
        return bool(self.ids) and bool(np.diff(hashes).all())

    def read(self, rows: records.Rows) -> None:
        seen: set[str] = set()
        waiting: list[tuple[Any, ...]] = []
        for record in rows:
            name = rows.name(record, "id")
            cited = rows.cited(record, "cited_id", self._candidates)
            if name is None or cited is None:
                continue
            if name in seen:
                rows.wrong(f"context “{name}” stands here a second time")
            grades = rows.grades(record, "grades", cited) if "grades" in record else {}
            if not isinstance(record.get(SAMPLED_FOR) or [], list):
                rows.wrong(
                    f"“{SAMPLED_FOR}” is {kind_found(record[SAMPLED_FOR])}",
                    "a list of dimensions",
                )
            if unknown := [
                reference
                for reference in (*cited, *grades)
                if reference not in self._candidates
            ]:
                rows.wrong(
                    f"“{unknown[0]}” is no candidate", f"a “ref_id” of {CANDIDATES}"
                )
                continue
            seen.add(name)
            paper = records.label(record, "citing_id") or name
            waiting.append((name, paper, cited, _read_classes(record), grades))
            if len(waiting) == BLOCK:
                self._flush_waiting_rows(waiting)
        self._flush_waiting_rows(waiting)

    def _flush_waiting_rows(self, waiting: list[tuple[Any, ...]]) -> None:
        if waiting:
            names, papers, cited, classes, grades = map(
                list, zip(*waiting, strict=True)
            )
            self._add_contexts(names, papers, cited, zip(*classes, strict=True), grades)
            waiting.clear()

    def _add_contexts(
        self, names: Any, papers: Any, cited: Any, columns: Any, grades: Any = ()
    ) -> None:
        """Add contexts (texts around citations) with classes in each dimension, and
        with grades if there are grades.
        """
        codes = [
            list(map(own.__getitem__, many))
            for own, many in zip(self.numbers, columns, strict=True)
        ]
        written = map(
            "".join,
            zip(*map(self._encode_class_fields, range(len(codes)), codes), strict=True),
        )
        facts = [
            f"[{_text(name)},{_text(paper)},[{','.join(map(_text, own))}],{{{classes[1:]}}}"
            for name, paper, own, classes in zip(
                names, papers, cited, written, strict=True
            )
        ]
        if any(grades):
            texts = [
                records.canonical(sorted(grade.items())).decode() if grade else ""
                for grade in grades
            ]
            facts = [
                f"{fact},{text}" if text else fact
                for fact, text in zip(facts, texts, strict=True)
            ]
            if self._judged is None:
                self._begin_reading_grades()
        if self._judged is not None:
            for own, graded in zip(cited, grades or repeat({}), strict=False):
                judged = graded or dict.fromkeys(own, 1)
                self._judged.add([self._candidates[reference] for reference in judged])
                self._grades.extend(judged.values())
        gold = [self._candidates[reference] for own in cited for reference in own]
        self.add(
            names,
            papers,
            gold,
            list(map(len, cited)),
            codes,
            [f"{fact}]" for fact in facts],
        )

    def _begin_reading_grades(self) -> None:
        before = self.gold.build()
        self._judged, self._grades = (
            ListsBuilder(),
            array("i", [1] * len(before.values)),
        )
        self._judged.extend(before.lengths, before.values)

    def _encode_class_fields(self, place: int, codes: Sequence[int]) -> list[str]:
        written = self._written[place]
        for code in set(codes).difference(written):
            written[code] = (
                f',"{list(DIMENSIONS)[place]}":{_text(self.numbers[place].labels[code])}'
            )
        return list(map(written.__getitem__, codes))

    def collection(self) -> records.Collection:
        columns = self.columns()
        if self._judged is not None:
            grades = np.frombuffer(self._grades, dtype=np.int32)
            columns["gold"] = GradedLists(columns["gold"], self._judged.build(), grades)
        return records.Collection(**columns)


def _read_classes(record: Mapping[str, Any]) -> list[Any]:
    """For each dimension, return the class of the context, or `...` if the context was
    not sampled for the dimension.
    """
    sampled = record.get(SAMPLED_FOR)
    within = sampled if isinstance(sampled, list) else DIMENSIONS
    classes = [
        record.get(dimension) if dimension in within else ...
        for dimension in DIMENSIONS
    ]
    return [None if isinstance(class_, list | dict) else class_ for class_ in classes]


def topics(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.Rows(records.the_file(files, CONTEXTS, "the contexts"), []):
        yield str(record["id"]), text_of_topic(record)


def documents(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.Rows(
        records.the_file(files, CANDIDATES, "the candidates"), []
    ):
        yield str(record["ref_id"]), text_of_document(record)


def qrels(files: Files) -> Iterator[tuple[str, str, int]]:
    """Yield the grades of cited papers (1 by default) and of other graded papers."""
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        for name, grade in rows.grades(
            record, "grades", rows.names(record, "cited_id") or []
        ).items():
            yield str(record["id"]), name, grade
