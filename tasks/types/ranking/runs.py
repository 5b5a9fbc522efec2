"""Read runs of ranking tasks, which are JSON lines or TREC run files. Each line of a
run is validated, and then stored as numbers to save memory.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types.base import MAX_STORED_CANDIDATES, MAX_STORED_INSTANCES, Index
from tasks.types.files import Files, InputFile, get_reading_version
from tasks.types.jsonlines import (
    MAX_UNLISTED_ERRORS,
    UNKNOWN_INSTANCE_MESSAGE_END,
    AnswerForm,
    JsonRecord,
    get_record_id,
    iterate_valid_answer_lines,
)
from tasks.types.plain_lines import (
    LineByLineParsingNeeded,
    get_text_column,
    iterate_columns_of_blocks,
)
from tasks.types.problems import InputRefused, Problem, ProblemList, TooManyProblems
from tasks.types.ranking.lists import (
    ITEMS_PER_BLOCK,
    NO_ROW_NUMBER,
    InstanceAndCandidateLookup,
    Int32Array,
    ListColumn,
    ListColumnBuilder,
    NumberByCandidate,
    divide_rows_into_blocks,
)
from tasks.types.run_forms import RANKED_RUN_FORMS_DESCRIPTION
from tasks.types.text import (
    decode_utf8_or_windows_1252,
    describe_json_type,
    describe_json_type_or_missing,
    is_text_or_integer,
    iterate_json_objects,
    normalise_to_nfc,
)

UTF8_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

RANKED_LINE_EXAMPLE = '{"id": "2101.00001_0003", "ranked": ["W12", "W7"]}'
RANKING_ANSWER_FORM = AnswerForm(example=RANKED_LINE_EXAMPLE, noun="ranking")
SCORED_LINE_EXAMPLE = '{"id": "2101.00001_0003", "scores": {"W12": 0.9, "W7": 0.4}}'


def read_ranked_run(
    files: Files, index: Index, limits: RankingReadingSettings
) -> tuple[RankedRun, list[Problem]]:
    """Return the rankings in the files of a run, and all problems of the files."""
    problems = ProblemList(counts=MAX_UNLISTED_ERRORS)
    choices = InstanceAndCandidateLookup(index, get_reading_version(files))
    readable = []
    for file in files:
        if not file.stem.lower().startswith("readme"):
            readable.append(file)
        else:
            problems.append(
                file.make_problem(
                    "ignored: not a run file", RANKED_RUN_FORMS_DESCRIPTION, fatal=False
                )
            )
    if not readable:
        problems.append(
            Problem(
                message="the input holds no file that can be a run",
                expected=RANKED_RUN_FORMS_DESCRIPTION,
            )
        )
    gathering = RankingCollector(choices)
    try:
        if len(readable) == 1 and (
            plain := read_json_run_in_blocks(readable[0], choices, limits)
        ):
            gathering, readable = plain, []
        for file in readable:
            read = read_json_run if _is_json(file) else read_trec_run
            read(file, gathering, limits, problems)
    except TooManyProblems:
        raise
    except InputRefused as refused:
        problems.extend(refused.problems)
    run = gathering.run()
    if 0 < run.missing < len(choices) and not problems.has_errors:
        first = choices.instances[int(np.flatnonzero(~run.lists.present)[0])]
        message = (
            f"{run.missing:,} of {len(choices):,} instances have no answer and score 0"
        )
        problems.append(
            Problem(message=f"{message}, the first is “{first}”", fatal=False)
        )
    return run, problems


def filled(run: RankedRun, index: Index) -> Iterable[bool]:
    """Return True for each answered instance whose ranking contains at least one
    candidate, and False for each other answered instance.
    """
    return map(bool, run.lists.list_lengths[run.lists.present].tolist())


def _is_json(file: InputFile) -> bool:
    """Return True if the first line of the file begins with a brace or bracket, as JSON
    does. A line of a TREC run file begins with a query id, and thus never with a brace
    or bracket.
    """
    lines = (line.removeprefix(UTF8_BYTE_ORDER_MARK).lstrip() for line in file.lines())
    return next(filter(None, lines), b"").startswith((b"{", b"["))


#: `Ranking` contains candidate numbers in ranked order, flags for ties, and scores.
#: The flag of a tie is True for a candidate with the score of the preceding one.
#: If a ranking has no scores, its list of flags for ties is None.
RankedNumbersTiesAndScores = tuple[
    Sequence[int], Sequence[bool] | None, Sequence[float]
]


def read_json_run(
    file: InputFile,
    gathering: RankingCollector,
    limits: RankingReadingSettings,
    problems: ProblemList,
) -> None:
    choices = gathering.choices
    form = limits.form
    for number, value, raw in iterate_json_objects(file, problems):
        name = get_record_id(value, form.id)
        row = choices.find_row_of_instance(name) if name else None
        if row is not None:
            name = choices.instances[row]
        faults: list[MessageAndExpected] = []
        if row is not None and not gathering.is_row_answered(row):
            candidates = choices.candidates(row)
            ranking = _parse_ranking(value, candidates, limits)
            declared = (
                parse_candidate_log_probabilities(value, candidates)
                if limits.declares
                else {}
            )
            if isinstance(ranking, tuple) and isinstance(declared, dict):
                gathering.declared.add(row, declared)
                numbers, tied, scores = ranking
                kept = limits.kept
                gathering.add(
                    row, numbers[:kept], None if tied is None else tied[:kept], scores
                )
                continue
            faults = [
                fault
                for found in (ranking, declared)
                if isinstance(found, list)
                for fault in found
            ]
        record = JsonRecord(file.shown, number, number, value, raw)
        for _, line in iterate_valid_answer_lines(
            [(name, record)], choices.rows, gathering, form, problems
        ):
            for fault in faults:
                line.wrong(*fault)


def read_json_run_in_blocks(
    file: InputFile, choices: InstanceAndCandidateLookup, limits: RankingReadingSettings
) -> RankingCollector | None:
    """Read a run of JSON lines in blocks of lines, which is faster than reading line by
    line. Return None if the run must be read line by line.

    Reading in blocks requires that all instances share their candidates, and that each
    line contains a list of candidates without scores.
    """
    if choices.shared is None or limits.declares:
        return None
    # Names in another Unicode form need the slower reader, which reads line by line.
    # The slower reader detects candidates that are repeated in another Unicode form.
    gathering, number_of = RankingCollector(choices), dict(choices.shared).__getitem__
    longest = len(choices.shared) if limits.longest is None else limits.longest
    try:
        for block in iterate_columns_of_blocks(file, ("scores",)):
            rows = list(
                map(
                    choices.find_row_of_instance, get_text_column(block, limits.form.id)
                )
            )
            known = [
                row
                for row in rows
                if row is not None and not gathering.is_row_answered(row)
            ]
            ranked: Sequence[list[str]] = block[limits.key]
            if len(set(known)) < len(rows) or set(map(type, ranked)) != {list}:
                return None
            numbers = np.fromiter(
                map(number_of, chain.from_iterable(ranked)), dtype=np.int32
            )
            lengths = list(map(len, ranked))
            if max(lengths) > longest or list(map(len, map(set, ranked))) != lengths:
                return None
            gathering.extend(
                np.array(known), np.array(lengths), numbers, kept=limits.kept
            )
    except (LineByLineParsingNeeded, KeyError, TypeError):
        return None
    return gathering


def _parse_ranking(
    record: Mapping[str, Any],
    candidates: Mapping[str, int],
    limits: RankingReadingSettings,
) -> RankedNumbersTiesAndScores | list[MessageAndExpected]:
    key, example = limits.key, limits.form.example
    ranked, scores = record.get(key), record.get("scores")
    if ranked is None and isinstance(scores, dict):
        return _rank_by_score(scores, candidates, limits)
    if not isinstance(ranked, list):
        return [
            (
                f"“{key}” is {describe_json_type_or_missing(ranked)}",
                f"a list of candidates, best first: {example}",
            )
        ]
    try:
        numbers = list(map(candidates.__getitem__, ranked))
    except (KeyError, TypeError):
        if not all(map(is_text_or_integer, ranked)):
            return [
                (
                    f"“{key}” holds something other than ids",
                    f"a list of candidates: {example}",
                )
            ]
        names = list(map(str, ranked))
        if unknown := find_unknown_candidates_fault(names, candidates):
            return unknown
        numbers = [candidates[name] for name in names]
    if len(set(numbers)) < len(numbers):
        return list(
            find_duplicate_candidate_faults(map(normalise_to_nfc, map(str, ranked)))
        )
    if limits.longest is not None and len(numbers) > limits.longest:
        return [make_too_long_ranking_fault(len(numbers), limits.longest)]
    if scores is None:
        return numbers, None, ()
    if fault := _find_score_fault(scores, len(numbers)):
        return [fault]
    return (
        numbers,
        [
            index > 0 and scores[index - 1] == score
            for index, score in enumerate(scores)
        ],
        scores,
    )


def _rank_by_score(
    scores: Mapping[str, Any],
    candidates: Mapping[str, int],
    limits: RankingReadingSettings,
) -> RankedNumbersTiesAndScores | list[MessageAndExpected]:
    """Return the candidates in a mapping from candidate to score, ordered by descending
    score. Candidates with equal scores are ordered by their numbers in the index.
    """
    if unknown := find_unknown_candidates_fault(scores, candidates):
        return unknown
    wrong = next(
        (name for name, score in scores.items() if not _is_number(score)), None
    )
    if wrong is not None:
        return [
            (
                f"the score of “{wrong}” is {_describe_score_kind(scores[wrong])}",
                f"a finite number: {SCORED_LINE_EXAMPLE}",
            )
        ]
    if limits.longest is not None and len(scores) > limits.longest:
        return [make_too_long_ranking_fault(len(scores), limits.longest)]
    ordered = sorted((-score, candidates[name]) for name, score in scores.items())
    if len({number for _, number in ordered}) < len(ordered):
        return list(find_duplicate_candidate_faults(map(normalise_to_nfc, scores)))
    tied = [
        place > 0 and ordered[place - 1][0] == ordered[place][0]
        for place in range(len(ordered))
    ]
    return [number for _, number in ordered], tied, [-score for score, _ in ordered]


def _find_score_fault(scores: object, count: int) -> MessageAndExpected | None:
    if not isinstance(scores, list):
        return (
            f"“scores” is {describe_json_type(scores)}",
            "a list with one number for each member of “ranked”",
        )
    if wrong := next(
        (position for position, score in enumerate(scores, 1) if not _is_number(score)),
        None,
    ):
        return (
            f"the score at place {wrong} is {_describe_score_kind(scores[wrong - 1])}",
            "a finite number",
        )
    if len(scores) != count:
        return (
            f"{len(scores)} scores for {count} candidates",
            "one number for each member of “ranked”",
        )
    if place := next((p for p in range(1, count) if scores[p] > scores[p - 1]), None):
        return (
            f"the score at place {place + 1} is higher than the one before it",
            "the best candidate first",
        )
    return None


def _describe_score_kind(score: object) -> str:
    return "too large a number" if type(score) is int else describe_json_type(score)


def _is_number(value: object) -> bool:
    """Return True if the value is a number that a float can represent. JSON can contain
    integers that are too large for a float.
    """
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


TREC_LINE_DESCRIPTION = "`query Q0 candidate rank score tag`, such as `2101.00001_0003 Q0 W12 1 0.93 our-run`"
TREC_LINE_FIELD_COUNT = 6


def read_trec_run(
    file: InputFile,
    gathering: RankingCollector,
    limits: RankingReadingSettings,
    problems: ProblemList,
) -> None:
    columns = _TrecRunColumns(file, gathering, limits, problems)
    query = None
    for number, raw in iterate_lines_after_metadata(file):
        fields = decode_utf8_or_windows_1252(raw).split()
        if len(fields) != TREC_LINE_FIELD_COUNT:
            if fields:
                columns.wrong(
                    number, f"{len(fields)} fields", TREC_LINE_DESCRIPTION, raw
                )
            continue
        if fields[0] != query:
            query = fields[0]
            columns.begin_query_block(query, number)
        columns.add(fields, number, raw)
    columns.close()


class _TrecRunColumns:
    """The columns of a TREC run file, stored as arrays of numbers. Consecutive lines of
    the file with the same query form a block.
    """

    def __init__(
        self,
        file: InputFile,
        gathering: RankingCollector,
        limits: RankingReadingSettings,
        problems: ProblemList,
    ) -> None:
        self._file, self._gathering, self._limits, self._problems = (
            file,
            gathering,
            limits,
            problems,
        )
        self._documents, self._ranks, self._scores = array("i"), array("i"), array("d")
        self._block_rows, self._block_starts = array("i"), array("q")
        #: `_first` contains the number of each instance's first block, from 1.
        #: `_known_of` maps instances with several blocks to the ranked documents.
        self._first = array("i", bytes(4 * len(gathering.choices)))
        self._known_of: dict[int, set[int]] = {}
        self._candidates: Mapping[str, int] = {}
        self._known: set[int] = set()
        self._row: int | None = None

    def begin_query_block(self, query: str, line: int) -> None:
        """Begin a block of consecutive lines of a TREC run file with the same query.
        ``line`` is the line number at which the block begins.
        """
        self._check_ranking_length(line - 1)
        choices = self._gathering.choices
        self._row = row = choices.find_row_of_instance(query)
        if row is None:
            such = f", such as “{choices.instances[0]}”" if len(choices) else ""
            self.wrong(
                line,
                f"instance “{query}” {UNKNOWN_INSTANCE_MESSAGE_END}",
                f"an id of the split{such}",
            )
            return
        if self._gathering.is_row_answered(row):
            message = f"instance “{query}” is answered in another file as well"
            self.wrong(line, message, "one ranking for each instance")
        self._candidates = choices.candidates(row)
        self._known = self._find_documents_of_earlier_blocks(row)
        self._block_rows.append(row)
        self._block_starts.append(len(self._documents))
        self._first[row] = self._first[row] or len(self._block_rows)

    def add(self, fields: list[str], line: int, raw: bytes) -> None:
        if self._row is None:
            return
        document = self._candidates.get(fields[2])
        if document is None and isinstance(self._candidates, NumberByCandidate):
            document = self._candidates.find(fields[2])
        try:
            rank, score = int(fields[3]), float(fields[4])
        except ValueError:
            self.wrong(
                line,
                f"rank “{fields[3]}” and score “{fields[4]}” are not two numbers",
                TREC_LINE_DESCRIPTION,
                raw,
            )
            return
        if document is None:
            self.wrong(
                line,
                f"“{fields[2]}” is no candidate of this instance",
                "the id of a candidate",
                raw,
            )
        elif document in self._known:
            again = f"“{fields[2]}” stands in this ranking a second time"
            self.wrong(line, again, "each candidate once", raw)
        elif not math.isfinite(score):
            self.wrong(
                line,
                f"the score “{fields[4]}” is not a finite number",
                TREC_LINE_DESCRIPTION,
                raw,
            )
        elif not -(2**31) <= rank < 2**31:
            self.wrong(
                line,
                f"the rank “{fields[3]}” is out of range",
                TREC_LINE_DESCRIPTION,
                raw,
            )
        else:
            self._known.add(document)
            self._documents.append(document)
            self._ranks.append(rank)
            self._scores.append(score)

    def wrong(
        self, line: int | None, message: str, expected: str, raw: bytes = b""
    ) -> None:
        self._problems.note(
            lambda: self._file.make_problem(
                message, expected, line=line, raw=decode_utf8_or_windows_1252(raw)
            )
        )

    def close(self) -> None:
        """Pass the rankings in the file to the object that collects rankings. The
        candidates of each ranking are sorted by descending score.
        """
        self._check_ranking_length(None)
        self._block_starts.append(len(self._documents))
        if not self._block_rows:
            return
        all_documents, ranks = np.asarray(self._documents), np.asarray(self._ranks)
        all_scores = np.asarray(self._scores)
        for rows, places in self._iterate_sorted_blocks():
            second = (
                all_documents[places]
                if self._limits.ties_by_candidate
                else ranks[places]
            )
            ordered = places[np.lexsort((second, -all_scores[places], rows))]
            documents, scores = all_documents[ordered], all_scores[ordered]
            begins = np.flatnonzero(np.diff(rows, prepend=NO_ROW_NUMBER))
            lengths = np.diff(begins, append=len(rows))
            tied = np.zeros(len(rows), dtype=bool)
            tied[1:] = (scores[1:] == scores[:-1]) & (rows[1:] == rows[:-1])
            self._gathering.ties += int(tied.sum())
            for begin, length in zip(
                begins[:MAX_STORED_INSTANCES], lengths, strict=False
            ):
                self._gathering.store_first_scores(
                    rows[begin], scores[begin : begin + length]
                )
            kept = self._limits.kept
            self._gathering.extend(
                rows[begins].astype(np.intp), lengths, documents, tied, kept=kept
            )

    def _iterate_sorted_blocks(
        self,
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        starts = np.frombuffer(self._block_starts, dtype=np.int64)
        order = np.argsort(np.asarray(self._block_rows), kind="stable")
        block_rows, lengths = (
            np.asarray(self._block_rows)[order],
            np.diff(starts)[order],
        )
        starts = starts[:-1][order]
        # All lines of an instance are sorted together, even in several blocks.
        ends = np.flatnonzero(
            np.diff(block_rows, prepend=NO_ROW_NUMBER, append=NO_ROW_NUMBER)
        )
        for first, last in divide_rows_into_blocks(
            np.concatenate([[0], np.cumsum(lengths)])[ends], ITEMS_PER_BLOCK
        ):
            chosen = slice(ends[first], ends[last])
            step = lengths[chosen]
            within = np.arange(step.sum()) - np.repeat(np.cumsum(step) - step, step)
            yield (
                np.repeat(block_rows[chosen], step),
                np.repeat(starts[chosen], step) + within,
            )

    def _find_documents_of_earlier_blocks(self, row: int) -> set[int]:
        block = self._first[row]
        if not block:
            return set()
        if row not in self._known_of:
            end = (
                self._block_starts[block]
                if block < len(self._block_starts)
                else len(self._documents)
            )
            self._known_of[row] = set(
                self._documents[self._block_starts[block - 1] : end]
            )
        return self._known_of[row]

    def _check_ranking_length(self, line: int | None) -> None:
        longest = self._limits.longest
        if self._row is not None and longest is not None and len(self._known) > longest:
            message, expected = make_too_long_ranking_fault(len(self._known), longest)
            self.wrong(
                line,
                f"{message} for “{self._gathering.choices.instances[self._row]}”",
                expected,
            )


METADATA_START_LINE, METADATA_END_LINE = b"# ir_metadata.start", b"# ir_metadata.end"
#: If the ir_metadata header has more than `MAX_METADATA_HEADER_BYTES` bytes, its content is ignored.
MAX_METADATA_HEADER_BYTES = 1 << 16


def iterate_lines_after_metadata(file: InputFile) -> Iterator[tuple[int, bytes]]:
    """Return the lines of a TREC run file with their line numbers, without the
    ir_metadata header.
    """
    lines = enumerate(file.lines(), start=1)
    first = next(lines, None)
    if first is None or first[1].strip() != METADATA_START_LINE:
        return chain([] if first is None else [first], lines)
    for line in lines:
        if not line[1].startswith(b"#"):
            return chain([line], lines)
        if line[1].strip() == METADATA_END_LINE:
            break
    return lines


def read_metadata_header(file: InputFile) -> bytes:
    """Return the YAML text in the ir_metadata header of a TREC run file. Return an
    empty text if the file has no such header, or a header that is too long or not
    closed.
    """
    lines = file.lines(longest=MAX_METADATA_HEADER_BYTES)
    if next(lines, b"").strip() != METADATA_START_LINE:
        return b""
    header = b""
    for line in lines:
        if line.strip() == METADATA_END_LINE:
            return header
        if (
            not line.startswith(b"#")
            or len(header) + len(line) > MAX_METADATA_HEADER_BYTES
        ):
            break
        header += line.removeprefix(b"#").removeprefix(b" ")
    return b""


@dataclass(frozen=True, kw_only=True)
class RankingReadingSettings:
    """Settings for reading the rankings of a run.

    ``longest`` is the maximum number of candidates in a ranking, or None if a ranking
    may contain all candidates. Only the first ``kept`` candidates of each ranking are
    stored, because later candidates cannot change a score. Candidates with equal scores
    are ordered by their ranks in the run, or by their numbers in the index if
    ``ties_by_candidate`` is True. If ``declares`` is True, probabilities of candidates
    in the run are read as well.
    """

    longest: int | None = None
    kept: int | None = None
    ties_by_candidate: bool = False
    declares: bool = False
    #: `key` is the JSON key of rankings, and `form` describes runs in messages.
    key: str = "ranked"
    form: AnswerForm = RANKING_ANSWER_FORM


class StatedCandidateProbabilities:
    """The probabilities of candidates that a run states, in the order of the run. For
    each probability, the object stores the row number of the instance, the number of
    the candidate, and the logarithm of the probability.
    """

    def __init__(self) -> None:
        self._rows, self._numbers, self._logs = array("i"), array("i"), array("d")

    def add(self, row: int, logs: Mapping[int, float]) -> None:
        self._rows.extend([row] * len(logs))
        self._numbers.extend(logs)
        self._logs.extend(logs.values())

    def __bool__(self) -> bool:
        return bool(self._rows)

    def log_probabilities(self, gold: ListColumn, candidates: int) -> Float64Array:
        """Return the log probability that the run assigns to each candidate in
        ``gold``. ``candidates`` is the number of candidates of an instance, between
        which the remaining probability is divided.

        If a candidate has the probability 0, the result is minus infinity.
        """
        rows, logs = np.array(self._rows, dtype=np.int64), np.array(self._logs)
        keys = rows * candidates + np.array(self._numbers, dtype=np.int64)
        order = np.argsort(keys)
        keys, ordered = keys[order], logs[order]
        left = 1 - np.bincount(rows, np.exp(logs), minlength=len(gold))
        unnamed = candidates - np.bincount(rows, minlength=len(gold))
        share = np.where(left > MIN_REMAINING_PROBABILITY, left, 0) / np.maximum(
            unnamed, 1
        )
        rest = np.log(share, out=np.full(len(gold), -np.inf), where=share > 0)
        row_of = np.repeat(np.arange(len(gold)), gold.list_lengths)
        wanted = row_of * candidates + gold.values
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[places] == wanted, ordered[places], rest[row_of])


@dataclass(frozen=True)
class RankedRun:
    """The rankings of a run, with a list of candidates or None for each instance of the
    split. The ranking is None if the run does not answer the instance.

    ``ties`` is the number of ranked candidates with the same score as the preceding
    candidate.
    """

    lists: ListColumn
    ties: int
    declared: StatedCandidateProbabilities = field(
        default_factory=StatedCandidateProbabilities
    )
    #: `scores` maps row numbers to the scores of the first ranked candidates.
    #: To save memory, scores are stored only for the instances that web pages show.
    scores: Mapping[int, Sequence[float]] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return int((~self.lists.present).sum())

    @property
    def empty(self) -> int:
        return int((self.lists.present & (self.lists.list_lengths == 0)).sum())

    @property
    def notes(self) -> Mapping[str, int]:
        return {
            "missing_answers": self.missing,
            "empty_rankings": self.empty,
            "tied_scores": self.ties,
        }


class RankingCollector:
    """Collects the rankings in the files of a run, with the row number of each ranked
    instance.
    """

    def __init__(self, choices: InstanceAndCandidateLookup) -> None:
        self.choices = choices
        self.ties = 0
        self.declared = StatedCandidateProbabilities()
        self.scores: dict[int, Sequence[float]] = {}
        self._rows, self._builder = array("i"), ListColumnBuilder()
        self._answered = bytearray(len(choices))

    def __contains__(self, name: object) -> bool:
        """Return True if a ranking of the instance has already been added."""
        row = self.choices.rows.get(name) if isinstance(name, str) else None
        return row is not None and self.is_row_answered(row)

    def is_row_answered(self, row: int) -> bool:
        return bool(self._answered[row])

    def add(
        self,
        row: int,
        numbers: Sequence[int],
        tied: Sequence[bool] | None,
        scores: Sequence[float],
    ) -> None:
        self.store_first_scores(row, scores)
        self._answered[row] = True
        self._rows.append(row)
        self._builder.add(numbers, tied)
        self.ties += 0 if tied is None else sum(tied)

    def extend(
        self,
        rows: NDArray[np.intp],
        lengths: NDArray[np.int64],
        values: Int32Array,
        tied: NDArray[np.bool_] | None = None,
        *,
        kept: int | None = None,
    ) -> None:
        """Add the rankings of many instances at once. ``lengths`` contains the number
        of candidates in each ranking.
        """
        if kept is not None:
            is_kept = (
                np.arange(len(values))
                - np.repeat(np.cumsum(lengths) - lengths, lengths)
                < kept
            )
            values, tied = values[is_kept], None if tied is None else tied[is_kept]
            lengths = np.minimum(lengths, kept)
        np.frombuffer(self._answered, dtype=np.uint8)[rows] = True
        self._rows.frombytes(rows.astype(np.int32).tobytes())
        self._builder.extend(lengths, values, tied)

    def store_first_scores(self, row: int, scores: Iterable[float]) -> None:
        if row < MAX_STORED_INSTANCES and (
            first := [float(score) for score in islice(scores, MAX_STORED_CANDIDATES)]
        ):
            self.scores[int(row)] = first

    def run(self) -> RankedRun:
        """Return the collected rankings as a run, in the order of the gold instances."""
        places = np.full(len(self.choices), NO_ROW_NUMBER, dtype=np.intp)
        places[np.frombuffer(self._rows, dtype=np.int32) if self._rows else []] = (
            np.arange(len(self._rows))
        )
        return RankedRun(
            self._builder.build().select_rows(places),
            self.ties,
            self.declared,
            self.scores,
        )


#: `Fault` contains an error message and a description of the expected value.
MessageAndExpected = tuple[str, str]
#: An error message lists at most `MAX_UNKNOWN_CANDIDATES_NAMED` unknown candidates of a ranking.
MAX_UNKNOWN_CANDIDATES_NAMED = 3


def find_unknown_candidates_fault(
    names: Collection[str], candidates: Container[str]
) -> list[MessageAndExpected]:
    """Return a fault that lists the unknown candidates of a ranking, or an empty list
    if all candidates are known.
    """
    unknown = [
        (position, name)
        for position, name in enumerate(names, start=1)
        if name not in candidates
    ]
    some = ", ".join(
        f"“{name}” at place {place}"
        for place, name in unknown[:MAX_UNKNOWN_CANDIDATES_NAMED]
    )
    more = (
        f" and {len(unknown) - MAX_UNKNOWN_CANDIDATES_NAMED} more"
        if len(unknown) > MAX_UNKNOWN_CANDIDATES_NAMED
        else ""
    )
    message = f"{len(unknown)} of {len(names)} are no candidates: {some}{more}"
    return [(message, "ids of the candidates of this instance")] if unknown else []


def find_duplicate_candidate_faults(
    names: Iterable[str],
) -> Iterator[MessageAndExpected]:
    """Yield a fault for each candidate that a ranking contains a second time."""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in first:
            yield (
                f"“{name}” stands at place {first[name]} and again at place {position}",
                "each candidate once",
            )
        first.setdefault(name, position)


def make_too_long_ranking_fault(length: int, longest: int) -> MessageAndExpected:
    return f"{length:,} candidates are ranked", f"at most {longest:,}"


PROBABILITIES_FIELD, LOG_PROBABILITIES_FIELD = "probabilities", "log_probabilities"
PROBABILITIES_EXAMPLES = {
    PROBABILITIES_FIELD: '{"W12": 0.6, "W7": 0.1}',
    LOG_PROBABILITIES_FIELD: '{"W12": -0.51, "W7": -2.3}',
}
#: The sum of a line's probabilities may exceed 1 by `SUM_TOLERANCE` because of rounding.
#: A remaining probability below `MIN_REMAINING_PROBABILITY` is set to 0 for all other candidates.
SUM_TOLERANCE, MIN_REMAINING_PROBABILITY = 0.001, 1e-9
Float64Array = NDArray[np.float64]


class RankingsWithProbabilities(ListColumn):
    """The rankings of a run that also states probabilities of candidates.
    ``candidates`` is the number of candidates that each ranking could contain.
    """

    def __init__(
        self, lists: ListColumn, declared: StatedCandidateProbabilities, candidates: int
    ) -> None:
        super().__init__(lists.values, lists.offsets, lists.present, lists.tied)
        self.declared, self.candidates = declared, candidates


def parse_candidate_log_probabilities(
    record: Mapping[str, Any], candidates: Mapping[str, int]
) -> dict[int, float] | list[MessageAndExpected]:
    """Return a mapping from candidate number to log probability for a line of a run, or
    a list of faults. Return an empty mapping if the line states no probabilities.
    """
    fields = [
        name
        for name in (PROBABILITIES_FIELD, LOG_PROBABILITIES_FIELD)
        if record.get(name) is not None
    ]
    if not fields:
        return {}
    if len(fields) > 1:
        return [
            (
                f"the line has both “{PROBABILITIES_FIELD}” and “{LOG_PROBABILITIES_FIELD}”",
                "one of them",
            )
        ]
    [name] = fields
    values = record[name]
    if not isinstance(values, dict):
        return [
            (
                f"“{name}” is {describe_json_type(values)}",
                f"an object such as {PROBABILITIES_EXAMPLES[name]}",
            )
        ]
    faults = find_unknown_candidates_fault(values, candidates)
    low, high = (0, 1) if name == PROBABILITIES_FIELD else (-sys.float_info.max, 0)
    expected = (
        "a number from 0 to 1"
        if name == PROBABILITIES_FIELD
        else "a natural logarithm, which is never above 0"
    )
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            faults.append(
                (
                    f"the value of “{key}” in “{name}” is {describe_json_type(value)}",
                    expected,
                )
            )
        elif not low <= value <= high:
            faults.append(
                (f"the value of “{key}” in “{name}” is out of range", expected)
            )
        else:
            continue
        break
    if faults:
        return faults
    logs = (
        values
        if name == LOG_PROBABILITIES_FIELD
        else {key: math.log(v) if v else -math.inf for key, v in values.items()}
    )
    if len({candidates[key] for key in logs}) < len(logs):
        return list(find_duplicate_candidate_faults(map(normalise_to_nfc, logs)))
    declared = {candidates[key]: float(log) for key, log in logs.items()}
    total = math.fsum(map(math.exp, declared.values()))
    if total > 1 + SUM_TOLERANCE:
        return [
            (
                f"the probabilities in “{name}” sum to {total:.4g}",
                f"no more than 1, to {SUM_TOLERANCE}",
            )
        ]
    return declared
