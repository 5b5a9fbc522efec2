"""Create a sheet on which people check a sample of a diagnostic split, with one line
per question.

Maharjan (2024) also inspected a sample of the diagnostic sets by hand. For each sampled
context, the sheet asks if the context is one whole sentence, if it cites only this
paper at the placeholder, and if each class of the context is right. The sheet does not
ask about classes that the text does not show, such as the number of citations of a
paper.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import finite_or_none
from scoring.stats.jackknife import compute_ratio_interval
from scoring.stats.people_and_labels import compute_krippendorff_alpha
from scoring.tools.builders.classes import draw_seeded_number
from scoring.tools.builders.reading import make_refusal
from tasks.types.citation_recommendation import (
    CANDIDATES_FILE_NAME,
    CONTEXTS_FILE_NAME,
    DIMENSIONS,
    SAMPLED_DIMENSIONS_FIELD,
)
from tasks.types.files import InputFile
from tasks.types.problems import (
    InputRefused,
    Problem,
    raise_if_any_problem_is_fatal,
    shorten_quoted_line,
)
from tasks.types.ranking.records import ValidatedRecords, get_single_file_named
from tasks.types.text import decode_utf8_or_windows_1252, describe_json_type

#: The two questions about a whole context.
SENTENCE_QUESTION, CITATION_QUESTION = "sentence", "citation"
UNASKED_DIMENSIONS = ("citation_group", "h_index_group")
SHEET_COLUMNS = (
    "id",
    "asked",
    "class",
    "before",
    "sentence",
    "after",
    "mark",
    "cited",
    "answer",
    "note",
)
TRUTH_BY_ANSWER: Mapping[str, bool] = {"yes": True, "y": True, "no": False, "n": False}
#: A cell that begins with one of these texts would be a formula in a spreadsheet.
_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")

#: A question, as the id of a context, the question's name, and a class or “”.
ContextQuestion = tuple[str, str, str]
#: The rows of a sheet with their line numbers.
NumberedRows = Sequence[tuple[int, Mapping[str, str]]]


def sample_contexts(
    files: Sequence[InputFile], contexts: int, seed: int
) -> list[Mapping[str, Any]]:
    """Return a random sample of citation contexts from the gold. Raises InputRefused.

    The sample and its order depend only on the seed and the contexts, and not on the
    order of the contexts in the gold.
    """
    return nsmallest(
        contexts,
        _iterate_valid_contexts(files),
        key=lambda row: (draw_seeded_number(seed, str(row["id"])), str(row["id"])),
    )


def collect_known_questions(
    files: Sequence[InputFile], tables: Iterable[NumberedRows]
) -> set[ContextQuestion]:
    wanted = {row["id"] for table in tables for _, row in table}
    rows = (
        row
        for row in _iterate_valid_contexts(files)
        if _escape_formula(str(row["id"])) in wanted
    )
    return {
        (_escape_formula(name), field, _escape_formula(value))
        for row in rows
        for name, field, value in _iterate_questions(row)
    }


def write_question_sheet(
    path: Path, contexts: Iterable[Mapping[str, Any]], titles: Mapping[str, str]
) -> int:
    count = 0
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(
            file,
            delimiter="\t" if path.suffix == ".tsv" else ",",
            lineterminator="\r\n",
        )
        writer.writerow(SHEET_COLUMNS)
        for context in contexts:
            shown = [
                str(context.get(key, ""))
                for key in ("before", "sentence", "after", "marker")
            ]
            cited = "; ".join(
                titles.get(name, name)
                for name in _list_cited_names(context["cited_id"])
            )
            for cells in _iterate_questions(context):
                writer.writerow(
                    [*map(_escape_formula, (*cells, *shown, cited)), "", ""]
                )
                count += 1
    return count


def read_candidate_titles(
    files: Sequence[InputFile], contexts: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    wanted = {
        name for context in contexts for name in _list_cited_names(context["cited_id"])
    }
    names: dict[str, str] = {}
    problems: list[Problem] = []
    rows = ValidatedRecords(
        get_single_file_named(files, CANDIDATES_FILE_NAME, "the candidates"), problems
    )
    for row in rows:
        if (name := rows.name(row, "ref_id")) in wanted and name not in names:
            names[name] = str(row.get("raw") or row.get("title") or name)
    raise_if_any_problem_is_fatal(problems)
    return names


def parse_sheet_answers(
    path: Path, table: NumberedRows, may_be: set[ContextQuestion]
) -> dict[ContextQuestion, bool]:
    problems: list[Problem] = []
    checks: dict[ContextQuestion, bool] = {}
    for number, row in table:
        check = (row["id"], row["asked"], row["class"])
        answer = row["answer"].strip().casefold()
        if check not in may_be:
            message = f"the gold has no context “{row['id']}” with {row['asked']} “{row['class']}”"
            fault = (message, "a line of this gold's own sheet", row["id"])
        elif answer and answer not in TRUTH_BY_ANSWER:
            fault = (
                f"the answer is “{row['answer'][:100]}”",
                "yes, no, or nothing",
                row["answer"],
            )
        elif check in checks:
            fault = (
                "this was answered on an earlier line",
                "each line once",
                row["id"],
            )
        else:
            if answer:
                checks[check] = TRUTH_BY_ANSWER[answer]
            continue
        message, expected, quote = fault[0], fault[1], shorten_quoted_line(fault[2])
        problems.append(
            Problem(
                file=str(path),
                line=number,
                message=message,
                expected=expected,
                quote=quote,
            )
        )
    if not checks and not problems:
        raise make_refusal("nothing is answered", path, "yes or no in “answer”")
    raise_if_any_problem_is_fatal(problems)
    return checks


def read_filled_sheet(path: Path) -> NumberedRows:
    """Return the rows of a filled-in sheet with their line numbers. The function
    detects the delimiter of the sheet. Raises InputRefused.
    """
    try:
        text = decode_utf8_or_windows_1252(path.read_bytes())
    except OSError as fault:
        raise make_refusal(
            f"the sheet cannot be read: {fault.strerror}", path
        ) from fault
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    wanted = ("id", "asked", "class", "answer")
    table = []
    try:
        names = next(reader, [])
        if missing := [name for name in wanted if name not in names]:
            message = (
                f"the sheet has no column {', '.join(f'“{name}”' for name in missing)}"
            )
            expected = f"the columns {', '.join(SHEET_COLUMNS)}"
            raise InputRefused(
                [Problem(file=str(path), line=1, message=message, expected=expected)]
            )
        for cells in reader:
            if any(cells):
                row = dict(zip(names, [*cells, *[""] * len(names)], strict=False))
                table.append((reader.line_num, {name: row[name] for name in wanted}))
    except csv.Error as fault:
        message = f"not a table: {fault}"
        raise InputRefused(
            [Problem(file=str(path), line=reader.line_num, message=message)]
        ) from fault
    return table


def _iterate_valid_contexts(files: Sequence[InputFile]) -> Iterator[Mapping[str, Any]]:
    problems: list[Problem] = []
    rows = ValidatedRecords(
        get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), problems
    )
    for row in rows:
        counts_in = row.get(SAMPLED_DIMENSIONS_FIELD, [])
        if not isinstance(counts_in, list):
            rows.wrong(
                f"“{SAMPLED_DIMENSIONS_FIELD}” is {describe_json_type(counts_in)}",
                "a list of names of classes",
            )
        elif (
            rows.name(row, "id") is not None and rows.names(row, "cited_id") is not None
        ):
            yield row
    raise_if_any_problem_is_fatal(problems)


def _iterate_questions(context: Mapping[str, Any]) -> Iterator[ContextQuestion]:
    name = str(context["id"])
    yield name, SENTENCE_QUESTION, ""
    yield name, CITATION_QUESTION, ""
    counts_in = context.get(SAMPLED_DIMENSIONS_FIELD, DIMENSIONS)
    for dimension in DIMENSIONS:
        value = context.get(dimension)
        if (
            dimension in counts_in
            and value not in (None, "")
            and dimension not in UNASKED_DIMENSIONS
        ):
            yield name, dimension, str(value)


def _list_cited_names(cited: object) -> list[str]:
    return [str(name) for name in cited] if isinstance(cited, list) else [str(cited)]


def _escape_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA_PREFIXES) else cell


@dataclass(frozen=True, kw_only=True)
class ShareWithInterval:
    part: int
    of: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float:
        return self.part / self.of if self.of else math.nan

    def as_dict(self) -> dict[str, Any]:
        return {
            "value": finite_or_none(self.value),
            "low": self.low,
            "high": self.high,
            "n": self.of,
        }

    def __str__(self) -> str:
        value = "-" if math.isnan(self.value) else f"{self.value:.1%}"
        ends = (
            ""
            if self.low is None or self.high is None
            else f"{self.low:.1%} - {self.high:.1%}"
        )
        return f"{value:>8} {ends:>16}"


@dataclass(frozen=True, kw_only=True)
class QuestionResult:
    """The results of one question that people answered about contexts.

    ``right`` is the fraction of answers according to which the context is right.
    ``agreeing`` is the fraction of equal answers among the pairs of answers by two
    people to the same question. ``alpha`` is Krippendorff's alpha, which measures the
    agreement of the answers.
    """

    asked: str
    contexts: int
    right: ShareWithInterval
    agreeing: ShareWithInterval
    alpha: float

    def as_dict(self) -> dict[str, Any]:
        shares = {"right": self.right.as_dict(), "agreeing": self.agreeing.as_dict()}
        return {**vars(self), **shares, "alpha": finite_or_none(self.alpha)}


def summarise_answers(
    sheets: Sequence[Mapping[ContextQuestion, bool]],
) -> Iterator[QuestionResult]:
    answers: dict[ContextQuestion, list[bool]] = defaultdict(list)
    for sheet in sheets:
        for check, answer in sheet.items():
            answers[check].append(answer)
    for name in (SENTENCE_QUESTION, CITATION_QUESTION, *DIMENSIONS):
        if checks := {
            check: right for check, right in answers.items() if check[1] == name
        }:
            yield _summarise_question(name, checks)
    yield _summarise_question("all", answers)


def _summarise_question(
    name: str, answers: Mapping[ContextQuestion, Sequence[bool]]
) -> QuestionResult:
    right: dict[str, list[bool]] = defaultdict(list)
    agreeing: dict[str, list[bool]] = defaultdict(list)
    for (context, *_), marks in answers.items():
        right[context] += marks
        agreeing[context] += [one == other for one, other in combinations(marks, 2)]
    shares = {
        "right": _compute_share(right.values()),
        "agreeing": _compute_share(agreeing.values()),
    }
    return QuestionResult(
        asked=name,
        contexts=len(right),
        **shares,
        alpha=compute_krippendorff_alpha(list(answers.values()), "nominal"),
    )


def _compute_share(contexts: Iterable[Sequence[bool]]) -> ShareWithInterval:
    units = [(sum(marks), len(marks)) for marks in contexts if marks]
    part, of = (sum(unit[place] for unit in units) for place in (0, 1))
    low, high = compute_ratio_interval(
        np.array(units, dtype=np.float64), (0.0, 1.0)
    ) or (
        None,
        None,
    )
    return ShareWithInterval(part=part, of=of, low=low, high=high)
