"""Rankings as TREC run files: `query Q0 document rank score tag`, a line for each ranked candidate.

The scores decide the order. The lines of a query may stand anywhere in the file. It may begin with the header
of `ir_metadata`, which says how the run was made and changes no score.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tasks.types.files import InputFile
from tasks.types.problems import Problem, Problems, quoted
from tasks.types.ranking.faults import too_long, unknown_instance
from tasks.types.ranking.gathering import Gathering, RunLimits
from tasks.types.ranking.header import ranked_lines
from tasks.types.ranking.lists import STEP
from tasks.types.text import decoded

LINE = "`query Q0 candidate rank score tag`, such as `2101.00001_0003 Q0 W12 1 0.93 our-run`"
FIELDS = 6


def read_trec_run(file: InputFile, gathering: Gathering, limits: RunLimits, problems: Problems) -> None:
    columns = _Columns(file, gathering, limits, problems)
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


class _Columns:
    """The file in columns of numbers: a block is a stretch of lines with one query."""

    def __init__(self, file: InputFile, gathering: Gathering, limits: RunLimits, problems: Problems) -> None:
        self._file, self._gathering, self._limits, self._problems = file, gathering, limits, problems
        self._documents, self._ranks, self._scores = array("i"), array("i"), array("d")
        self._block_rows, self._block_starts = array("i"), array("q")
        #: The first block of each row, from 1; of rows with several blocks, also the documents of all.
        self._first = array("i", bytes(4 * len(gathering.choices)))
        self._known_of: dict[int, set[int]] = {}
        self._candidates: Mapping[str, int] = {}
        self._known: set[int] = set()
        self._row: int | None = None

    def begin(self, query: str, line: int) -> None:
        """A line with another query than the line before."""
        self._check_length(line - 1)
        choices = self._gathering.choices
        self._row = row = choices.rows.get(query)
        if row is None:
            self.wrong(line, *unknown_instance(query, choices))
            return
        if self._gathering.is_answered(row):
            message = f"instance “{query}” is answered in another file as well"
            self.wrong(line, message, "one ranking for each instance")
        self._candidates = choices.candidates(row)
        self._known = self._known_before(row)
        self._block_rows.append(row)
        self._block_starts.append(len(self._documents))
        self._first[row] = self._first[row] or len(self._block_rows)

    def add(self, fields: list[str], line: int, raw: bytes) -> None:
        if self._row is None:
            return
        document = self._candidates.get(fields[2])
        try:
            rank, score = int(fields[3]), float(fields[4])
        except ValueError:
            self.wrong(line, f"rank “{fields[3]}” and score “{fields[4]}” are not two numbers", LINE, raw)
            return
        if document is None:
            self.wrong(line, f"“{fields[2]}” is no candidate of this instance", "the id of a candidate", raw)
        elif document in self._known:
            self.wrong(
                line, f"“{fields[2]}” stands in this ranking a second time", "each candidate once", raw
            )
        elif not math.isfinite(score):
            self.wrong(line, f"the score “{fields[4]}” is not a finite number", LINE, raw)
        elif not -(2**31) <= rank < 2**31:
            self.wrong(line, f"the rank “{fields[3]}” is out of range", LINE, raw)
        else:
            self._known.add(document)
            self._documents.append(document)
            self._ranks.append(rank)
            self._scores.append(score)

    def wrong(self, line: int, message: str, expected: str, raw: bytes = b"") -> None:
        self._problems.note(
            lambda: Problem(
                file=self._file.shown,
                line=line,
                message=message,
                expected=expected,
                quote=quoted(decoded(raw)),
            )
        )

    def close(self) -> None:
        """Hand over the rankings, each in the order of its scores."""
        self._check_length(None)
        self._block_starts.append(len(self._documents))
        if not self._block_rows:
            return
        documents, ranks = _whole(self._documents), _whole(self._ranks)
        scores = np.frombuffer(self._scores) if self._scores else np.empty(0)
        for rows, places in self._portions():
            second = documents[places] if self._limits.ties_by_candidate else ranks[places]
            ordered = places[np.lexsort((second, -scores[places], rows))]
            self._hand_over(rows, documents[ordered], scores[ordered])

    def _hand_over(
        self, rows: NDArray[np.int32], documents: NDArray[np.int32], scores: NDArray[np.float64]
    ) -> None:
        """Rankings of whole rows, in order."""
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        lengths = np.diff(begins, append=len(rows))
        tied = np.zeros(len(rows), dtype=bool)
        tied[1:] = (scores[1:] == scores[:-1]) & (rows[1:] == rows[:-1])
        self._gathering.ties += int(tied.sum())
        if self._limits.kept is not None:
            is_kept = np.arange(len(rows)) - np.repeat(begins, lengths) < self._limits.kept
            documents, tied, lengths = (
                documents[is_kept],
                tied[is_kept],
                np.minimum(lengths, self._limits.kept),
            )
        self._gathering.extend(rows[begins].astype(np.intp), lengths, documents, tied)

    def _portions(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """The lines of whole rows at a time: the row of each line, rising, and its place in the columns."""
        starts = np.frombuffer(self._block_starts, dtype=np.int64)
        order = np.argsort(_whole(self._block_rows), kind="stable")
        block_rows = _whole(self._block_rows)[order]
        starts, lengths = starts[:-1][order], np.diff(starts)[order]
        ends = np.cumsum(lengths)
        begin = 0
        while begin < len(order):
            done = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, done + STEP, side="right")), begin + 1)
            while end < len(order) and block_rows[end] == block_rows[end - 1]:
                end += 1
            step = lengths[begin:end]
            within = np.arange(step.sum()) - np.repeat(np.cumsum(step) - step, step)
            if step.any():
                yield np.repeat(block_rows[begin:end], step), np.repeat(starts[begin:end], step) + within
            begin = end

    def _known_before(self, row: int) -> set[int]:
        """The documents that earlier blocks of a row have; one set for all blocks behind the first."""
        block = self._first[row]
        if not block:
            return set()
        if row not in self._known_of:
            end = self._block_starts[block] if block < len(self._block_starts) else len(self._documents)
            self._known_of[row] = set(self._documents[self._block_starts[block - 1] : end])
        return self._known_of[row]

    def _check_length(self, line: int | None) -> None:
        longest = self._limits.longest
        if self._row is not None and longest is not None and len(self._known) > longest:
            message, expected = too_long(len(self._known), longest)
            self._problems.append(
                Problem(
                    file=self._file.shown,
                    line=line,
                    message=f"{message} for “{self._gathering.choices.instances[self._row]}”",
                    expected=expected,
                )
            )


def _whole(column: array[int]) -> NDArray[np.int32]:
    return np.frombuffer(column, dtype=np.int32) if column else np.empty(0, dtype=np.int32)
