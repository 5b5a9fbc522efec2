"""The gold of a diagnostic split: contexts with their cited paper and classes, and the candidates."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from operator import getitem
from typing import Any

import numpy as np

from tasks.types.base import Index, Options, Pairs, Split
from tasks.types.citation_recommendation import CANDIDATES, CONTEXTS, DIMENSIONS, SAMPLED_FOR, cuts, longest
from tasks.types.columns import NO_CLASS, OUTSIDE
from tasks.types.files import Files, InputFile
from tasks.types.problems import Problem, refuse
from tasks.types.ranking import records
from tasks.types.ranking.lists import GradedLists, ListsBuilder, index_of
from tasks.types.ranking.runs import DeclaredLists, RankedRun, RunLimits, read_ranked_run
from tasks.types.run_forms import text_of_document, text_of_topic
from tasks.types.text import kind_found

#: Dimensions that are part of a gold's digest only where a context has a class of them.
LATER = frozenset({"h_index_group"})
#: What a context shows to participants; everything else about it is gold or follows from gold.
SHOWN = ("id", "sentence", "before", "after")
SHOWN_OF_CANDIDATE = (
    *("ref_id", "raw", "title", "abstract", "authors", "author_metadata"),
    *("year", "venue", "doi", "arxiv_ids"),
)


def read_gold(files: Files, options: Options) -> Split:
    """The contexts with their gold. Raises InputRefused with all that is wrong."""
    candidates = read_candidates(records.the_file(files, CANDIDATES, "the candidates"))
    reader = _Reader({name: number for number, name in enumerate(candidates)})
    problems: list[Problem] = []
    file = records.the_file(files, CONTEXTS, "the contexts")
    reader.read(records.Rows(file, problems))
    if not reader.ids and not problems:
        problems.append(Problem(file=file.shown, message="there are no contexts"))
    refuse(problems)
    return Split(
        content=reader.collection(),
        instances=len(reader.ids),
        index=index_of(reader.ids, [candidates]),
        digest=reader.facts_digest(records.canonical(candidates)),
    )


def read_candidates(file: InputFile) -> list[str]:
    """The distinct candidates in the order of their ids. Raises InputRefused with all that is wrong. The
    order of the file may be that of the papers that cite them, which participants are not to know.
    """
    problems: list[Problem] = []
    rows = records.Rows(file, problems)
    names = {rows.name(record, "ref_id") for record in rows}
    if not names and not problems:
        problems.append(Problem(file=file.shown, message="there are no candidates"))
    refuse(problems)
    return sorted(name for name in names if name is not None)


def read_inputs(files: Files, options: Options) -> Index:
    """The index, from the public inputs that participants have."""
    problems: list[Problem] = []
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), problems)
    names = dict.fromkeys(rows.name(record, "id") for record in rows)
    refuse(problems)
    candidates = read_candidates(records.the_file(files, CANDIDATES, "the candidates"))
    return index_of([name for name in names if name is not None], [candidates])


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """The contexts without gold and classes, and the candidates without the papers that cite them."""
    contexts = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    yield CONTEXTS, records.shown_lines(contexts, SHOWN)
    shown: dict[str, bytes] = {}
    for record in records.Rows(records.the_file(files, CANDIDATES, "the candidates"), []):
        shown.setdefault(str(record["ref_id"]), records.shown_line(record, SHOWN_OF_CANDIDATE))
    yield CANDIDATES, b"".join(shown[name] for name in sorted(shown))


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        cited = sorted(rows.names(record, "cited_id") or ())
        yield [record.get(name) for name in SHOWN[1:]], [cited, record.get("grades")]


def read_run(files: Files, index: Index, options: Options) -> tuple[RankedRun, list[Problem]]:
    """The rankings, as far as a cut-off reaches, and everything that is wrong with the files."""
    declares = options["perplexity"] == "yes"
    limits = RunLimits(longest=longest(options), kept=max(cuts(options)), declares=declares)
    return read_ranked_run(files, index, limits)


def pair(split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
    """One row a context. A citing paper is the unit that is resampled: its contexts share topic, style and
    reference list, so that resampling them one by one would make intervals too narrow.
    """
    lists, pool = run.lists, split.index["pools"][0]
    return Pairs(
        gold=split.content.gold,
        answers=DeclaredLists(lists, run.declared, len(pool)) if run.declared else lists,
        units=split.content.papers,
        features=split.content.classes,
        names=split.content.ids,
        notes=run.notes,
        scores=run.scores,
    )


class _Reader(records.ContextsBuilder):
    def __init__(self, candidates: Mapping[str, int]) -> None:
        super().__init__(DIMENSIONS)
        for dimension, numbers in zip(DIMENSIONS, self.numbers, strict=True):
            if dimension in LATER:
                numbers.update({None: OUTSIDE, "": OUTSIDE})
        #: By code how the digest's text has each dimension's class.
        self._written = [{NO_CLASS: f',"{dimension}":null', OUTSIDE: ""} for dimension in DIMENSIONS]
        self._candidates = candidates
        #: From the first context on that has grades.
        self._judged: ListsBuilder | None = None
        self._grades = array("i")

    def read(self, rows: records.Rows) -> None:
        seen: set[str] = set()
        for record in rows:
            name, cited = rows.name(record, "id"), rows.names(record, "cited_id")
            if name is None or cited is None:
                continue
            if name in seen:
                rows.wrong(f"context “{name}” stands here a second time")
            grades = rows.grades(record, "grades", cited)
            if not isinstance(record.get(SAMPLED_FOR) or [], list):
                rows.wrong(f"“{SAMPLED_FOR}” is {kind_found(record[SAMPLED_FOR])}", "a list of dimensions")
            if unknown := [reference for reference in (*cited, *grades) if reference not in self._candidates]:
                rows.wrong(f"“{unknown[0]}” is no candidate", f"a “ref_id” of {CANDIDATES}")
                continue
            seen.add(name)
            self._add(record, name, cited, grades)

    def _add(
        self, record: Mapping[str, Any], name: str, cited: Sequence[str], grades: Mapping[str, int]
    ) -> None:
        paper = records.label(record, "citing_id") or name
        values: list[object] = list(map(record.get, DIMENSIONS))
        if isinstance(sampled := record.get(SAMPLED_FOR), list):
            values = [record.get(dimension) if dimension in sampled else ... for dimension in DIMENSIONS]
        codes = self.codes(values)
        facts = [encode_basestring(name), encode_basestring(paper), records.canonical(cited).decode()]
        facts.append(f"{{{self._classes_written(codes)}}}")
        if grades and "grades" in record:
            facts.append(records.canonical(sorted(grades.items())).decode())
            if self._judged is None:
                self._begin_grades()
        if self._judged is not None:
            self._judged.add([self._candidates[reference] for reference in grades])
            self._grades.extend(grades.values())
        gold = [self._candidates[reference] for reference in cited]
        self.add(name, paper, gold, codes, f"[{','.join(facts)}]".encode())

    def _begin_grades(self) -> None:
        """Until now all that was judged is what is cited, with a grade of 1."""
        before = self.gold.build()
        self._judged, self._grades = ListsBuilder(), array("i", [1] * len(before.values))
        self._judged.extend(before.lengths, before.values)

    def _classes_written(self, codes: Sequence[int]) -> str:
        try:
            return "".join(map(getitem, self._written, codes))[1:]
        except KeyError:
            columns = zip(DIMENSIONS, self.numbers, self._written, codes, strict=True)
            for dimension, numbers, written, code in columns:
                if code not in written:
                    written[code] = f',"{dimension}":{encode_basestring(numbers.labels[code])}'
            return self._classes_written(codes)

    def collection(self) -> records.Collection:
        columns = self.columns()
        if self._judged is not None:
            grades = np.frombuffer(self._grades, dtype=np.int32)
            columns["gold"] = GradedLists(columns["gold"], self._judged.build(), grades)
        return records.Collection(**columns)


def topics(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.Rows(records.the_file(files, CONTEXTS, "the contexts"), []):
        yield str(record["id"]), text_of_topic(record)


def documents(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.Rows(records.the_file(files, CANDIDATES, "the candidates"), []):
        yield str(record["ref_id"]), text_of_document(record)


def qrels(files: Files) -> Iterator[tuple[str, str, int]]:
    """What is cited has its grade, 1 where none is given, and what else was graded has its own."""
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        grades = rows.grades(record, "grades", rows.names(record, "cited_id") or [])
        for name, grade in grades.items():
            yield str(record["id"]), name, grade
