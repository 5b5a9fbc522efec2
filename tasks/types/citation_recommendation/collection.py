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
    CANDIDATES_FILE_NAME,
    CONTEXTS_FILE_NAME,
    DIMENSIONS,
    SAMPLED_DIMENSIONS_FIELD,
    list_cutoffs,
    parse_max_ranking_length,
)
from tasks.types.columns import NO_CLASS_CODE, NOT_APPLICABLE_CODE
from tasks.types.files import FIRST_VERSION_ORDERING_BUILT_IN, Files, InputFile
from tasks.types.plain_lines import (
    LineByLineParsingNeeded,
    get_text_column,
    iterate_columns_of_blocks,
)
from tasks.types.problems import Problem, raise_if_any_problem_is_fatal
from tasks.types.ranking import records
from tasks.types.ranking.lists import (
    GradedListColumn,
    ListColumnBuilder,
    build_ranking_index,
)
from tasks.types.ranking.runs import (
    RankedRun,
    RankingReadingSettings,
    RankingsWithProbabilities,
    read_ranked_run,
)
from tasks.types.run_forms import RANKED_RUN_COLUMNS, get_document_text, get_topic_text
from tasks.types.tables import read_run_with_tables
from tasks.types.text import describe_json_type_or_missing

#: The gold's digest includes a dimension in DIMENSIONS_ADDED_LATER only if a context has a class in it.
DIMENSIONS_ADDED_LATER = frozenset({"h_index_group"})
#: `CONTEXTS_PER_BLOCK` is the number of contexts (texts around citations) per stored block.
CONTEXTS_PER_BLOCK = 100
#: Only the fields in `PUBLIC_CONTEXT_FIELDS` of a context are public.
PUBLIC_CONTEXT_FIELDS = ("id", "sentence", "before", "after")
PUBLIC_CANDIDATE_FIELDS = (
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
    candidates = read_candidate_ids(
        records.get_single_file_named(files, CANDIDATES_FILE_NAME, "the candidates")
    )
    numbers = {name: number for number, name in enumerate(candidates)}
    reader = _RecommendationContextsReader(numbers)
    problems: list[Problem] = []
    file = records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts")
    if not reader.read_contexts_in_blocks(file):
        reader = _RecommendationContextsReader(numbers)
        reader.read(records.ValidatedRecords(file, problems))
    if not reader.ids and not problems:
        problems.append(Problem(file=file.shown, message="there are no contexts"))
    raise_if_any_problem_is_fatal(problems)
    return Split(
        content=reader.build_collection(),
        instances=len(reader.ids),
        rows=len(reader.ids),
        index=build_ranking_index(reader.ids, [candidates]),
        digest=reader.compute_contexts_digest(
            records.encode_canonical_json(sorted(candidates))
        ),
    )


def read_candidate_ids(file: InputFile) -> list[str]:
    """Return the distinct candidates in a file. Raises InputRefused with all problems
    of the file.

    The candidates have the order of the file. Participants must not know the order of
    the file, because the file may list candidates in the order of the citing papers.
    Versions 1 and 2 of the parsing rules sort the candidates by id instead.
    """
    problems: list[Problem] = []
    rows = records.ValidatedRecords(file, problems)
    found = dict.fromkeys(rows.name(record, "ref_id") for record in rows)
    if not found and not problems:
        problems.append(Problem(file=file.shown, message="there are no candidates"))
    raise_if_any_problem_is_fatal(problems)
    names = [name for name in found if name is not None]
    return names if file.reading >= FIRST_VERSION_ORDERING_BUILT_IN else sorted(names)


def read_inputs(files: Files, options: Options) -> Index:
    """Build the index, which validates runs, from the public inputs."""
    problems: list[Problem] = []
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"),
        problems,
    )
    names = dict.fromkeys(rows.name(record, "id") for record in rows)
    raise_if_any_problem_is_fatal(problems)
    candidates = read_candidate_ids(
        records.get_single_file_named(files, CANDIDATES_FILE_NAME, "the candidates")
    )
    return build_ranking_index(
        [name for name in names if name is not None], [candidates]
    )


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield two public files of the split. The file of contexts omits gold and classes,
    and the file of candidates omits the citing papers.
    """
    contexts = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )
    yield (
        CONTEXTS_FILE_NAME,
        records.format_public_lines(contexts, PUBLIC_CONTEXT_FIELDS),
    )
    shown: dict[str, bytes] = {}
    for record in records.ValidatedRecords(
        records.get_single_file_named(files, CANDIDATES_FILE_NAME, "the candidates"), []
    ):
        shown.setdefault(
            str(record["ref_id"]),
            records.format_public_line(record, PUBLIC_CANDIDATE_FIELDS),
        )
    yield CANDIDATES_FILE_NAME, b"".join(shown[name] for name in sorted(shown))


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )
    for record in rows:
        cited = sorted(rows.names(record, "cited_id") or ())
        yield (
            [record.get(name) for name in PUBLIC_CONTEXT_FIELDS[1:]],
            [cited, record.get("grades")],
        )


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[RankedRun, list[Problem]]:
    """Return the rankings of a run up to the largest cut-off, and all problems of the
    run's files.
    """
    declares = options["perplexity"] == "yes"
    limits = RankingReadingSettings(
        longest=parse_max_ranking_length(options),
        kept=max(list_cutoffs(options)),
        declares=declares,
    )
    return read_run_with_tables(
        files, RANKED_RUN_COLUMNS, lambda lines: read_ranked_run(lines, index, limits)
    )


def pair(split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
    """Return one row per context, with the citing paper as the resampling unit.

    The contexts of a citing paper share topic, style and reference list. Resampling
    single contexts would make confidence intervals too narrow.
    """
    lists, pool = run.lists, split.index["pools"][0]
    return Pairs(
        gold=split.content.gold,
        answers=RankingsWithProbabilities(lists, run.declared, len(pool))
        if run.declared
        else lists,
        units=split.content.papers,
        features=split.content.classes,
        names=split.content.ids,
        notes=run.notes,
        scores=run.scores,
    )


class _RecommendationContextsReader(records.CitationContextsBuilder):
    def __init__(self, candidates: Mapping[str, int]) -> None:
        super().__init__(DIMENSIONS)
        for dimension, numbers in zip(DIMENSIONS, self.numbers, strict=True):
            if dimension in DIMENSIONS_ADDED_LATER:
                numbers.update({None: NOT_APPLICABLE_CODE, "": NOT_APPLICABLE_CODE})
        #: `_written` contains, for each dimension, the JSON text of each class code.
        #: The digest of the gold is computed from JSON texts of classes.
        self._written = [
            {NO_CLASS_CODE: f',"{dimension}":null', NOT_APPLICABLE_CODE: ""}
            for dimension in DIMENSIONS
        ]
        self._candidates = candidates
        #: `_judged` contains grades, or is None before the first context with grades.
        self._judged: ListColumnBuilder | None = None
        self._grades = array("i")

    def read_contexts_in_blocks(self, file: InputFile) -> bool:
        """Read the contexts in blocks, faster than line by line, and return True on
        success.

        Reading in blocks requires distinct ids. In each context, the id, the citing
        paper and the cited paper must be single texts. If the contexts could not be
        read in blocks, the caller must discard the reader.
        """
        try:
            for block in iterate_columns_of_blocks(
                file, ("grades", SAMPLED_DIMENSIONS_FIELD)
            ):
                names, papers, cited = (
                    get_text_column(block, key)
                    for key in ("id", "citing_id", "cited_id")
                )
                nothing = [None] * len(names)
                columns = [block.get(dimension, nothing) for dimension in DIMENSIONS]
                self._add_contexts(names, papers, [[own] for own in cited], columns)
        except (LineByLineParsingNeeded, KeyError, TypeError):
            return False
        hashes = np.fromiter(map(hash, self.ids), dtype=np.int64, count=len(self.ids))
        hashes.sort()
        return bool(self.ids) and bool(np.diff(hashes).all())

    def read(self, rows: records.ValidatedRecords) -> None:
        seen: set[str] = set()
        waiting: list[tuple[Any, ...]] = []
        for record in rows:
            name = rows.name(record, "id")
            cited = rows.read_cited_ids(record, "cited_id", self._candidates)
            if name is None or cited is None:
                continue
            if name in seen:
                rows.wrong(f"context “{name}” stands here a second time")
            grades = rows.grades(record, "grades", cited) if "grades" in record else {}
            if not isinstance(record.get(SAMPLED_DIMENSIONS_FIELD) or [], list):
                rows.wrong(
                    f"“{SAMPLED_DIMENSIONS_FIELD}” is "
                    f"{describe_json_type_or_missing(record[SAMPLED_DIMENSIONS_FIELD])}",
                    "a list of dimensions",
                )
            if unknown := [
                reference
                for reference in (*cited, *grades)
                if reference not in self._candidates
            ]:
                rows.wrong(
                    f"“{unknown[0]}” is no candidate",
                    f"a “ref_id” of {CANDIDATES_FILE_NAME}",
                )
                continue
            seen.add(name)
            paper = records.convert_class_to_text(record, "citing_id") or name
            waiting.append((name, paper, cited, _read_context_classes(record), grades))
            if len(waiting) == CONTEXTS_PER_BLOCK:
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
                records.encode_canonical_json(sorted(grade.items())).decode()
                if grade
                else ""
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
            ListColumnBuilder(),
            array("i", [1] * len(before.values)),
        )
        self._judged.extend(before.list_lengths, before.values)

    def _encode_class_fields(self, place: int, codes: Sequence[int]) -> list[str]:
        written = self._written[place]
        for code in set(codes).difference(written):
            written[code] = (
                f',"{list(DIMENSIONS)[place]}":{_text(self.numbers[place].labels[code])}'
            )
        return list(map(written.__getitem__, codes))

    def build_collection(self) -> records.CitationContextCollection:
        columns = self.columns()
        if self._judged is not None:
            grades = np.frombuffer(self._grades, dtype=np.int32)
            columns["gold"] = GradedListColumn(
                columns["gold"], self._judged.build(), grades
            )
        return records.CitationContextCollection(**columns)


def _read_context_classes(record: Mapping[str, Any]) -> list[Any]:
    """For each dimension, return the class of the context, or `...` if the context was
    not sampled for the dimension.
    """
    sampled = record.get(SAMPLED_DIMENSIONS_FIELD)
    within = sampled if isinstance(sampled, list) else DIMENSIONS
    classes = [
        record.get(dimension) if dimension in within else ...
        for dimension in DIMENSIONS
    ]
    return [None if isinstance(class_, list | dict) else class_ for class_ in classes]


def topics(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    ):
        yield str(record["id"]), get_topic_text(record)


def documents(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.ValidatedRecords(
        records.get_single_file_named(files, CANDIDATES_FILE_NAME, "the candidates"), []
    ):
        yield str(record["ref_id"]), get_document_text(record)


def qrels(files: Files) -> Iterator[tuple[str, str, int]]:
    """Yield the grades of cited papers (1 by default) and of other graded papers."""
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )
    for record in rows:
        for name, grade in rows.grades(
            record, "grades", rows.names(record, "cited_id") or []
        ).items():
            yield str(record["id"]), name, grade
