"""Read the answers to instances from files of a competition bundle.

A file of answers contains one value or one vector of numbers per line, or a table. The
module runs in a sandboxed process and does not import Django.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from scoring.exchange.bundles.files import BundleFiles
from tasks.types import InputRefused
from tasks.types.declared.fields import MAX_LABELS_OF_FIELD
from tasks.types.files import InputFile
from tasks.types.forms.shapes import ID_FIELDS_SEPARATOR, convert_label_to_text
from tasks.types.jsonlines import format_as_json_lines

TABLE_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
#: Files whose names match _NON_ANSWER_FILE_NAME_PATTERN, such as programs and images, contain no answers.
_NON_ANSWER_FILE_NAME_PATTERN = re.compile(
    r"\.(?:py|pyc|md|html?|ya?ml|png|jpe?g|gif|pdf|ipynb|npy|npz|pkl|zip|gz|exe|jar|sh|"
    r"info|name|log|docx?)$|(?:^|/)(?:readme|metadata|licen[sc]e)[^/]*$",
    re.IGNORECASE,
)
_SAMPLE_FILE_NAME_PATTERN = re.compile(
    r"predict|submission|answer|result|output|sample", re.IGNORECASE
)
MAX_ANSWER_ROWS, MAX_ANSWER_FILE_BYTES, MAX_VALUES_PER_ROW = 2_000_000, 1 << 28, 100
ID_FIELD, LABEL_FIELD, SCORE_FIELD, TEXT_FIELD, ROW_FIELD, INPUT_FIELD = (
    "id",
    "label",
    "score",
    "text",
    "row",
    "input",
)
#: ANSWER_FIELDS_BY_FORM maps each task form to the field name of the answer in imported files.
ANSWER_FIELDS_BY_FORM = {
    "labels": LABEL_FIELD,
    "numbers": SCORE_FIELD,
    "text": TEXT_FIELD,
}
JsonRecord = dict[str, Any]


@dataclass(frozen=True)
class AnswerLines:
    """A file of answers with one value or one vector of numbers per line.

    ``ids`` are the instance ids, which are the values of the first column if that
    column numbers the lines, and otherwise the line numbers.
    """

    file: InputFile
    values: tuple[tuple[str, ...], ...] = field(repr=False)
    ids: tuple[str, ...] = field(default=(), repr=False)

    @property
    def width(self) -> int:
        return len(self.values[0])

    @property
    def names(self) -> list[str]:
        return list(self.ids or map(str, range(1, len(self.values) + 1)))

    def fits(self, other: "AnswerLines") -> bool:
        return len(self.values) == len(other.values) and self.width == other.width


@dataclass(frozen=True)
class AnswerTable:
    """A file of answers with named fields, such as a table with a header or JSON lines."""

    file: InputFile


AnswerLinesOrTable = AnswerLines | AnswerTable


def is_answer_file(file: InputFile) -> bool:
    return not _NON_ANSWER_FILE_NAME_PATTERN.search(file.name)


def read_answers(file: InputFile) -> AnswerLinesOrTable | None:
    """Return the answers in a file of a bundle, or None if the file contains no
    answers.
    """
    lines = read_answer_lines(file)
    if lines is not None:
        return lines
    return AnswerTable(file) if file.suffix in TABLE_SUFFIXES else None


def read_answer_lines(file: InputFile) -> AnswerLines | None:
    """Return the values of a file with one value or one vector per line, or None for
    another file, such as a table with a header.
    """
    if file.suffix in (".json", ".jsonl", ".ndjson"):
        return None
    try:
        rows = _read_limited_rows(file)
    except InputRefused:
        return None
    if not rows:
        return None
    cells = [tuple(re.split(r"[,;\s]+", row)) for row in rows]
    widths = {len(own) for own in cells}
    has_numbers = all(parse_number(cell) is not None for own in cells for cell in own)
    if len(widths) == 1 and has_numbers:
        is_counted = file.suffix in (".csv", ".tsv") and widths != {1}
        if is_counted and _is_line_numbering([own[0] for own in cells]):
            values = tuple(own[1:] for own in cells)
            return AnswerLines(file, values, tuple(own[0] for own in cells))
        return (
            AnswerLines(file, tuple(cells))
            if max(widths) <= MAX_VALUES_PER_ROW
            else None
        )
    # Another function parses CSV and TSV files, which are tables with a header.
    if file.suffix in (".csv", ".tsv"):
        return None
    return AnswerLines(file, tuple((row,) for row in rows))


def _read_limited_rows(file: InputFile) -> list[str]:
    rows: list[str] = []
    size = 0
    for line in file.lines():
        size += len(line)
        if (
            len(rows) >= MAX_ANSWER_ROWS
            or size > MAX_ANSWER_FILE_BYTES
            or b"\0" in line
        ):
            return []
        rows.append(line.decode("utf-8-sig").strip())
    while rows and not rows[-1]:
        rows.pop()
    return rows if all(rows) else []


def _is_line_numbering(cells: Sequence[str]) -> bool:
    begins = cells[0] in ("0", "1")
    first = int(cells[0]) if begins else 0
    return begins and list(cells) == [str(first + place) for place in range(len(cells))]


def parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def guess_task_form(answers: AnswerLines) -> str:
    """Guess the task form (such as labels or numbers) from the values of the gold, if
    no scoring program is recognised.
    """
    values = {own[0] for own in answers.values}
    numbers = [parse_number(value) for value in values]
    is_whole = all(number is not None and number.is_integer() for number in numbers)
    few = len(values) <= min(MAX_LABELS_OF_FIELD, max(2, len(answers.values) // 2))
    has_numbers = all(number is not None for number in numbers)
    if answers.width == 1 and few and (is_whole or not has_numbers):
        return "labels"
    return "numbers" if has_numbers else "text"


def is_one_hot_encoded(answers: AnswerLines) -> bool:
    return answers.width > 1 and all(
        sorted(map(float, own))[-2:] == [0, 1] and sum(map(float, own)) == 1
        for own in answers.values
    )


def answers_as_records(answers: AnswerLines, form: str) -> list[JsonRecord] | None:
    """Return the lines of an answer file as JSON records of a gold file or run file, or
    None if the task form does not allow such answers.
    """
    field_name = ANSWER_FIELDS_BY_FORM.get(form)
    if field_name is None or (form == "text" and answers.width > 1):
        return None
    if form == "numbers":
        return list(_iterate_numeric_records(answers))
    if form == "labels" and answers.width > 1:
        if not is_one_hot_encoded(answers):
            return None
        labels = [str(list(map(float, own)).index(1) + 1) for own in answers.values]
    elif form == "labels":
        labels = [_convert_label_to_number(own[0]) for own in answers.values]
    else:
        labels = [own[0] for own in answers.values]
    return [
        {ID_FIELD: name, field_name: label}
        for name, label in zip(answers.names, labels, strict=True)
    ]


def _convert_label_to_number(text: str) -> str:
    number = parse_number(text)
    return text if number is None else convert_label_to_text(number)


def _iterate_numeric_records(answers: AnswerLines) -> Iterator[JsonRecord]:
    for name, own in zip(answers.names, answers.values, strict=True):
        for place, cell in enumerate(own, start=1):
            number = parse_number(cell)
            if answers.width == 1:
                yield {ID_FIELD: name, SCORE_FIELD: number}
            else:
                yield {
                    ID_FIELD: f"{name}{ID_FIELDS_SEPARATOR}{place}",
                    ROW_FIELD: name,
                    SCORE_FIELD: number,
                }


def answers_as_run_file(answers: AnswerLines, form: str) -> bytes | None:
    """Return the answers as the bytes of a JSON Lines run file, or None if the task
    form does not allow such answers.
    """
    rows = answers_as_records(answers, form)
    if rows is None:
        return None
    field_name = ANSWER_FIELDS_BY_FORM[form]
    return format_as_json_lines(
        {ID_FIELD: row[ID_FIELD], field_name: row[field_name]} for row in rows
    )


def find_answer_files(
    files: Iterable[InputFile], words: frozenset[str]
) -> list[AnswerLinesOrTable]:
    """Return the answers of each file of a competition bundle that contains answers.

    If several files have answers, the function prefers files whose names occur in
    ``words``, the strings of the scoring program.
    """
    found = [
        (file, answers)
        for file in files
        if is_answer_file(file) and (answers := read_answers(file)) is not None
    ]
    if len(found) > 1:
        named = [one for one in found if any(one[0].base in word for word in words)]
        found = named or found
    return [answers for _, answers in found]


def count_common_prefix_characters(first: str, second: str) -> int:
    """Return the number of characters in the common prefix of two file names."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def find_file_named_most_like_gold(
    found: Sequence[AnswerLines], gold: AnswerLines
) -> AnswerLines | None:
    """Return the file whose name shares the longest prefix with the name of the gold
    file, or None if two files share equally long prefixes.
    """
    ordered = sorted(
        found,
        key=lambda own: -count_common_prefix_characters(own.file.base, gold.file.base),
    )
    if len(ordered) > 1:
        first, second = (
            count_common_prefix_characters(own.file.base, gold.file.base)
            for own in ordered[:2]
        )
        if first == second:
            return None
    return ordered[0] if ordered else None


def find_input_file(
    gold: AnswerLines, public: Iterable[InputFile]
) -> AnswerLines | None:
    """Return the public file that has one input per line for the instances of the gold,
    or None unless exactly one file matches.
    """
    found = []
    for file in public:
        if not is_answer_file(file) or _SAMPLE_FILE_NAME_PATTERN.search(file.name):
            continue
        lines = read_unsplit_lines(file)
        is_other = (
            lines is not None
            and lines.values != replace_values_by_unsplit_lines(gold).values
        )
        if lines is not None and is_other and len(lines.values) == len(gold.values):
            found.append(lines)
    return find_file_named_most_like_gold(found, gold)


def read_unsplit_lines(file: InputFile) -> AnswerLines | None:
    """Return the lines of a file of a bundle without splitting a line into values."""
    try:
        rows = _read_limited_rows(file)
    except InputRefused:
        return None
    return AnswerLines(file, tuple((row,) for row in rows)) if rows else None


def replace_values_by_unsplit_lines(answers: AnswerLines) -> AnswerLines:
    return read_unsplit_lines(answers.file) or answers


def find_sample_answers(
    files: Iterable[InputFile], gold: AnswerLines, *, is_sample: bool = True
) -> AnswerLines | None:
    """Return the answers in a sample file that has the same instances as the gold.

    If ``is_sample`` is False, the function considers only files with names such as
    `sample` or `predictions`.
    """
    found = []
    for file in files:
        if not is_answer_file(file):
            continue
        if not is_sample and not _SAMPLE_FILE_NAME_PATTERN.search(file.name):
            continue
        lines = read_answer_lines(file)
        if lines is not None and lines.fits(gold):
            found.append(lines)
    if len(found) > 1:
        stem = PurePosixPath(gold.file.base).stem
        same = [own for own in found if own.file.base.startswith(stem)]
        found = same or found
    return find_file_named_most_like_gold(found, gold) or (found[0] if found else None)


def find_sample_submissions(
    bundle: BundleFiles, kit: Iterable[InputFile], gold: AnswerLines
) -> Iterator[tuple[str, AnswerLines]]:
    """Yield the sample submissions of a competition bundle, which are files and
    archives with names such as `sample` or `submission`.

    Files and archives in the starting ``kit`` of participants may have any name.
    """
    given = [(f"starting kit: {file.name}", file) for file in kit]
    for name, file in (*bundle.by_name.items(), *given):
        if not _SAMPLE_FILE_NAME_PATTERN.search(name) or file.name == gold.file.name:
            continue
        try:
            inner = bundle.unpack_archive_or_return_file(file)
        except InputRefused:
            continue
        named = [(f"{name}/{own.name}" if own is not file else name) for own in inner]
        for shown, own in zip(named, inner, strict=True):
            lines = read_answer_lines(own) if is_answer_file(own) else None
            if lines is not None and lines.fits(gold):
                yield shown, lines
