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

from tasks.types.base import MAX_SHOWN, TOP, Index
from tasks.types.files import Files, InputFile, reading_of
from tasks.types.jsonlines import (
    MAX_COUNTED,
    NOT_IN_SPLIT,
    AnswerForm,
    Record,
    named_lines,
    record_id,
)
from tasks.types.plain_lines import NotPlain, plain_blocks, plain_names
from tasks.types.problems import InputRefused, Problem, Problems, TooManyProblems
from tasks.types.ranking.lists import (
    NO_ROW,
    STEP,
    Choices,
    Lists,
    ListsBuilder,
    Numbered,
    Numbers,
    blocks,
)
from tasks.types.run_forms import FORMS
from tasks.types.text import (
    decoded,
    is_name,
    json_kind,
    json_lines,
    kind_found,
    nfc,
)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

EXAMPLE = '{"id": "2101.00001_0003", "ranked": ["W12", "W7"]}'
FORM = AnswerForm(example=EXAMPLE, noun="ranking")
SCORES = '{"id": "2101.00001_0003", "scores": {"W12": 0.9, "W7": 0.4}}'


def read_ranked_run(
    files: Files, index: Index, limits: RunLimits
) -> tuple[RankedRun, list[Problem]]:
    """Return the rankings in the files of a run, and all problems of the files."""
    problems = Problems(counts=MAX_COUNTED)
    choices = Choices(index, reading_of(files))
    readable = []
    for file in files:
        if not file.stem.lower().startswith("readme"):
            readable.append(file)
        else:
            problems.append(file.problem("ignored: not a run file", FORMS, fatal=False))
    if not readable:
        problems.append(
            Problem(message="the input holds no file that can be a run", expected=FORMS)
        )
    gathering = Gathering(choices)
    try:
        if len(readable) == 1 and (
            plain := read_plain_run(readable[0], choices, limits)
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
    return map(bool, run.lists.lengths[run.lists.present].tolist())


def _is_json(file: InputFile) -> bool:
    """Return True if the first line of the file begins with a brace or bracket, as JSON
    does. A line of a TREC run file begins with a query id, and thus never with a brace
    or bracket.
    """
    lines = (line.removeprefix(BYTE_ORDER_MARK).lstrip() for line in file.lines())
    return next(filter(None, lines), b"").startswith((b"{", b"["))


#: `Ranking` contains candidate numbers in ranked order, flags for ties, and scores.
#: The flag of a tie is True for a candidate with the score of the preceding one.
#: If a ranking has no scores, its list of flags for ties is None.
Ranking = tuple[Sequence[int], Sequence[bool] | None, Sequence[float]]


def read_json_run(
    file: InputFile, gathering: Gathering, limits: RunLimits, problems: Problems
) -> None:
    choices = gathering.choices
    form = limits.form
    for number, value, raw in json_lines(file, problems):
        name = record_id(value, form.id)
        row = choices.row_of(name) if name else None
        if row is not None:
            name = choices.instances[row]
        faults: list[Fault] = []
        if row is not None and not gathering.is_answered(row):
            candidates = choices.candidates(row)
            ranking = _parse_ranking(value, candidates, limits)
            declared = read_declared(value, candidates) if limits.declares else {}
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
        record = Record(file.shown, number, number, value, raw)
        for _, line in named_lines(
            [(name, record)], choices.rows, gathering, form, problems
        ):
            for fault in faults:
                line.wrong(*fault)


def read_plain_run(
    file: InputFile, choices: Choices, limits: RunLimits
) -> Gathering | None:
    """Read a run of JSON lines in blocks of lines, which is faster than reading line by
    line. Return None if the run must be read line by line.

    Reading in blocks requires that all instances share their candidates, and that each
    line contains a list of candidates without scores.
    """
    if choices.shared is None or limits.declares:
        return None
    # Names in another Unicode form need the slower reader, which reads line by line.
    # The slower reader detects candidates that are repeated in another Unicode form.
    gathering, number_of = Gathering(choices), dict(choices.shared).__getitem__
    longest = len(choices.shared) if limits.longest is None else limits.longest
    try:
        for block in plain_blocks(file, ("scores",)):
            rows = list(map(choices.row_of, plain_names(block, limits.form.id)))
            known = [
                row
                for row in rows
                if row is not None and not gathering.is_answered(row)
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
    except (NotPlain, KeyError, TypeError):
        return None
    return gathering


def _parse_ranking(
    record: Mapping[str, Any], candidates: Mapping[str, int], limits: RunLimits
) -> Ranking | list[Fault]:
    key, example = limits.key, limits.form.example
    ranked, scores = record.get(key), record.get("scores")
    if ranked is None and isinstance(scores, dict):
        return _rank_by_score(scores, candidates, limits)
    if not isinstance(ranked, list):
        return [
            (
                f"“{key}” is {kind_found(ranked)}",
                f"a list of candidates, best first: {example}",
            )
        ]
    try:
        numbers = list(map(candidates.__getitem__, ranked))
    except (KeyError, TypeError):
        if not all(map(is_name, ranked)):
            return [
                (
                    f"“{key}” holds something other than ids",
                    f"a list of candidates: {example}",
                )
            ]
        names = list(map(str, ranked))
        if unknown := unknown_candidates(names, candidates):
            return unknown
        numbers = [candidates[name] for name in names]
    if len(set(numbers)) < len(numbers):
        return list(duplicates(map(nfc, map(str, ranked))))
    if limits.longest is not None and len(numbers) > limits.longest:
        return [too_long(len(numbers), limits.longest)]
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
    scores: Mapping[str, Any], candidates: Mapping[str, int], limits: RunLimits
) -> Ranking | list[Fault]:
    """Return the candidates in a mapping from candidate to score, ordered by descending
    score. Candidates with equal scores are ordered by their numbers in the index.
    """
    if unknown := unknown_candidates(scores, candidates):
        return unknown
    wrong = next(
        (name for name, score in scores.items() if not _is_number(score)), None
    )
    if wrong is not None:
        return [
            (
                f"the score of “{wrong}” is {_describe_score_kind(scores[wrong])}",
                f"a finite number: {SCORES}",
            )
        ]
    if limits.longest is not None and len(scores) > limits.longest:
        return [too_long(len(scores), limits.longest)]
    ordered = sorted((-score, candidates[name]) for name, score in scores.items())
    if len({number for _, number in ordered}) < len(ordered):
        return list(duplicates(map(nfc, scores)))
    tied = [
        place > 0 and ordered[place - 1][0] == ordered[place][0]
        for place in range(len(ordered))
    ]
    return [number for _, number in ordered], tied, [-score for score, _ in ordered]


def _find_score_fault(scores: object, count: int) -> Fault | None:
    if not isinstance(scores, list):
        return (
            f"“scores” is {json_kind(scores)}",
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
    return "too large a number" if type(score) is int else json_kind(score)


def _is_number(value: object) -> bool:
    """Return True if the value is a number that a float can represent. JSON can contain
    integers that are too large for a float.
    """
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


LINE = "`query Q0 candidate rank score tag`, such as `2101.00001_0003 Q0 W12 1 0.93 our-run`"
FIELDS = 6


def read_trec_run(
    file: InputFile, gathering: Gathering, limits: RunLimits, problems: Problems
) -> None:
    columns = _TrecColumns(file, gathering, limits, problems)
    query = None
    for number, raw in ranked_lines(file):
        fields = decoded(raw).split()
        if len(fields) != FIELDS:
            if fields:
                columns.wrong(number, f"{len(fields)} fields", LINE, raw)
            continue
        if fields[0] != query:
            query = fields[0]
            columns.begin(query, number)
        columns.add(fields, number, raw)
    columns.close()


class _TrecColumns:
    """The columns of a TREC run file, stored as arrays of numbers. Consecutive lines of
    the file with the same query form a block.
    """

    def __init__(
        self,
        file: InputFile,
        gathering: Gathering,
        limits: RunLimits,
        problems: Problems,
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

    def begin(self, query: str, line: int) -> None:
        """Begin a block of consecutive lines of a TREC run file with the same query.
        ``line`` is the line number at which the block begins.
        """
        self._check_ranking_length(line - 1)
        choices = self._gathering.choices
        self._row = row = choices.row_of(query)
        if row is None:
            such = f", such as “{choices.instances[0]}”" if len(choices) else ""
            self.wrong(
                line,
                f"instance “{query}” {NOT_IN_SPLIT}",
                f"an id of the split{such}",
            )
            return
        if self._gathering.is_answered(row):
            message = f"instance “{query}” is answered in another file as well"
            self.wrong(line, message, "one ranking for each instance")
        self._candidates = choices.candidates(row)
        self._known = self._documents_of_earlier_blocks(row)
        self._block_rows.append(row)
        self._block_starts.append(len(self._documents))
        self._first[row] = self._first[row] or len(self._block_rows)

    def add(self, fields: list[str], line: int, raw: bytes) -> None:
        if self._row is None:
            return
        document = self._candidates.get(fields[2])
        if document is None and isinstance(self._candidates, Numbered):
            document = self._candidates.find(fields[2])
        try:
            rank, score = int(fields[3]), float(fields[4])
        except ValueError:
            self.wrong(
                line,
                f"rank “{fields[3]}” and score “{fields[4]}” are not two numbers",
                LINE,
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
                line, f"the score “{fields[4]}” is not a finite number", LINE, raw
            )
        elif not -(2**31) <= rank < 2**31:
            self.wrong(line, f"the rank “{fields[3]}” is out of range", LINE, raw)
        else:
            self._known.add(document)
            self._documents.append(document)
            self._ranks.append(rank)
            self._scores.append(score)

    def wrong(
        self, line: int | None, message: str, expected: str, raw: bytes = b""
    ) -> None:
        self._problems.note(
            lambda: self._file.problem(message, expected, line=line, raw=decoded(raw))
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
            begins = np.flatnonzero(np.diff(rows, prepend=NO_ROW))
            lengths = np.diff(begins, append=len(rows))
            tied = np.zeros(len(rows), dtype=bool)
            tied[1:] = (scores[1:] == scores[:-1]) & (rows[1:] == rows[:-1])
            self._gathering.ties += int(tied.sum())
            for begin, length in zip(begins[:MAX_SHOWN], lengths, strict=False):
                self._gathering.keep_scores(rows[begin], scores[begin : begin + length])
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
        ends = np.flatnonzero(np.diff(block_rows, prepend=NO_ROW, append=NO_ROW))
        for first, last in blocks(
            np.concatenate([[0], np.cumsum(lengths)])[ends], STEP
        ):
            chosen = slice(ends[first], ends[last])
            step = lengths[chosen]
            within = np.arange(step.sum()) - np.repeat(np.cumsum(step) - step, step)
            yield (
                np.repeat(block_rows[chosen], step),
                np.repeat(starts[chosen], step) + within,
            )

    def _documents_of_earlier_blocks(self, row: int) -> set[int]:
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
            message, expected = too_long(len(self._known), longest)
            self.wrong(
                line,
                f"{message} for “{self._gathering.choices.instances[self._row]}”",
                expected,
            )


START, END = b"# ir_metadata.start", b"# ir_metadata.end"
#: If the ir_metadata header has more than `MAX_HEADER` bytes, its content is ignored.
MAX_HEADER = 1 << 16


def ranked_lines(file: InputFile) -> Iterator[tuple[int, bytes]]:
    """Return the lines of a TREC run file with their line numbers, without the
    ir_metadata header.
    """
    lines = enumerate(file.lines(), start=1)
    first = next(lines, None)
    if first is None or first[1].strip() != START:
        return chain([] if first is None else [first], lines)
    for line in lines:
        if not line[1].startswith(b"#"):
            return chain([line], lines)
        if line[1].strip() == END:
            break
    return lines


def header_of(file: InputFile) -> bytes:
    """Return the YAML text in the ir_metadata header of a TREC run file. Return an
    empty text if the file has no such header, or a header that is too long or not
    closed.
    """
    lines = file.lines(longest=MAX_HEADER)
    if next(lines, b"").strip() != START:
        return b""
    header = b""
    for line in lines:
        if line.strip() == END:
            return header
        if not line.startswith(b"#") or len(header) + len(line) > MAX_HEADER:
            break
        header += line.removeprefix(b"#").removeprefix(b" ")
    return b""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
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
    form: AnswerForm = FORM


class Declared:
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

    def log_probabilities(self, gold: Lists, candidates: int) -> Floats:
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
        share = np.where(left > NOTHING, left, 0) / np.maximum(unnamed, 1)
        rest = np.log(share, out=np.full(len(gold), -np.inf), where=share > 0)
        row_of = np.repeat(np.arange(len(gold)), gold.lengths)
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

    lists: Lists
    ties: int
    declared: Declared = field(default_factory=Declared)
    #: `scores` maps row numbers to the scores of the first ranked candidates.
    #: To save memory, scores are stored only for the instances that web pages show.
    scores: Mapping[int, Sequence[float]] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return int((~self.lists.present).sum())

    @property
    def empty(self) -> int:
        return int((self.lists.present & (self.lists.lengths == 0)).sum())

    @property
    def notes(self) -> Mapping[str, int]:
        return {
            "missing_answers": self.missing,
            "empty_rankings": self.empty,
            "tied_scores": self.ties,
        }


class Gathering:
    """Collects the rankings in the files of a run, with the row number of each ranked
    instance.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.ties = 0
        self.declared = Declared()
        self.scores: dict[int, Sequence[float]] = {}
        self._rows, self._builder = array("i"), ListsBuilder()
        self._answered = bytearray(len(choices))

    def __contains__(self, name: object) -> bool:
        """Return True if a ranking of the instance has already been added."""
        row = self.choices.rows.get(name) if isinstance(name, str) else None
        return row is not None and self.is_answered(row)

    def is_answered(self, row: int) -> bool:
        return bool(self._answered[row])

    def add(
        self,
        row: int,
        numbers: Sequence[int],
        tied: Sequence[bool] | None,
        scores: Sequence[float],
    ) -> None:
        self.keep_scores(row, scores)
        self._answered[row] = True
        self._rows.append(row)
        self._builder.add(numbers, tied)
        self.ties += 0 if tied is None else sum(tied)

    def extend(
        self,
        rows: NDArray[np.intp],
        lengths: NDArray[np.int64],
        values: Numbers,
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

    def keep_scores(self, row: int, scores: Iterable[float]) -> None:
        if row < MAX_SHOWN and (
            first := [float(score) for score in islice(scores, TOP)]
        ):
            self.scores[int(row)] = first

    def run(self) -> RankedRun:
        """Return the collected rankings as a run, in the order of the gold instances."""
        places = np.full(len(self.choices), NO_ROW, dtype=np.intp)
        places[np.frombuffer(self._rows, dtype=np.int32) if self._rows else []] = (
            np.arange(len(self._rows))
        )
        return RankedRun(
            self._builder.build().take(places), self.ties, self.declared, self.scores
        )


#: `Fault` contains an error message and a description of the expected value.
Fault = tuple[str, str]
#: An error message lists at most `NAMED` unknown candidates of a ranking.
NAMED = 3


def unknown_candidates(
    names: Collection[str], candidates: Container[str]
) -> list[Fault]:
    """Return a fault that lists the unknown candidates of a ranking, or an empty list
    if all candidates are known.
    """
    unknown = [
        (position, name)
        for position, name in enumerate(names, start=1)
        if name not in candidates
    ]
    some = ", ".join(f"“{name}” at place {place}" for place, name in unknown[:NAMED])
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    message = f"{len(unknown)} of {len(names)} are no candidates: {some}{more}"
    return [(message, "ids of the candidates of this instance")] if unknown else []


def duplicates(names: Iterable[str]) -> Iterator[Fault]:
    """Yield a fault for each candidate that a ranking contains a second time."""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in first:
            yield (
                f"“{name}” stands at place {first[name]} and again at place {position}",
                "each candidate once",
            )
        first.setdefault(name, position)


def too_long(length: int, longest: int) -> Fault:
    return f"{length:,} candidates are ranked", f"at most {longest:,}"


FIELD, LOGS = "probabilities", "log_probabilities"
EXAMPLES = {FIELD: '{"W12": 0.6, "W7": 0.1}', LOGS: '{"W12": -0.51, "W7": -2.3}'}
#: The sum of a line's probabilities may exceed 1 by `TOLERANCE` because of rounding.
#: A remaining probability below `NOTHING` is set to 0 for all other candidates.
TOLERANCE, NOTHING = 0.001, 1e-9
Floats = NDArray[np.float64]


class DeclaredLists(Lists):
    """The rankings of a run that also states probabilities of candidates.
    ``candidates`` is the number of candidates that each ranking could contain.
    """

    def __init__(self, lists: Lists, declared: Declared, candidates: int) -> None:
        super().__init__(lists.values, lists.offsets, lists.present, lists.tied)
        self.declared, self.candidates = declared, candidates


def read_declared(
    record: Mapping[str, Any], candidates: Mapping[str, int]
) -> dict[int, float] | list[Fault]:
    """Return a mapping from candidate number to log probability for a line of a run, or
    a list of faults. Return an empty mapping if the line states no probabilities.
    """
    fields = [name for name in (FIELD, LOGS) if record.get(name) is not None]
    if not fields:
        return {}
    if len(fields) > 1:
        return [(f"the line has both “{FIELD}” and “{LOGS}”", "one of them")]
    [name] = fields
    values = record[name]
    if not isinstance(values, dict):
        return [
            (f"“{name}” is {json_kind(values)}", f"an object such as {EXAMPLES[name]}")
        ]
    faults = unknown_candidates(values, candidates)
    low, high = (0, 1) if name == FIELD else (-sys.float_info.max, 0)
    expected = (
        "a number from 0 to 1"
        if name == FIELD
        else "a natural logarithm, which is never above 0"
    )
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            faults.append(
                (f"the value of “{key}” in “{name}” is {json_kind(value)}", expected)
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
        if name == LOGS
        else {key: math.log(v) if v else -math.inf for key, v in values.items()}
    )
    if len({candidates[key] for key in logs}) < len(logs):
        return list(duplicates(map(nfc, logs)))
    declared = {candidates[key]: float(log) for key, log in logs.items()}
    total = math.fsum(map(math.exp, declared.values()))
    if total > 1 + TOLERANCE:
        return [
            (
                f"the probabilities in “{name}” sum to {total:.4g}",
                f"no more than 1, to {TOLERANCE}",
            )
        ]
    return declared
