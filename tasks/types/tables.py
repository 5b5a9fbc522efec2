"""Read and write CSV and TSV tables of gold and runs, which have a header row.

CSV tables follow RFC 4180. In TSV, quotation marks are ordinary characters unless the
task declares otherwise, because texts in corpora contain quotation marks.
"""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tasks.types.files import Files, InputFile
from tasks.types.guarded.json_reader import read_json
from tasks.types.jsonlines import JSON_SUFFIXES, JsonRecord
from tasks.types.problems import InputRefused, Problem, ProblemList
from tasks.types.text import decode_utf8_or_windows_1252

CSV, TSV_FORMAT = "csv", "tsv"
TAB_DELIMITER = "\t"
#: `DEFAULT_DELIMITERS_BY_FORMAT` maps the formats CSV and TSV to their default delimiters.
DEFAULT_DELIMITERS_BY_FORMAT = {CSV: ",", TSV_FORMAT: TAB_DELIMITER}
DELIMITER_NAMES = {",": "comma", ";": "semicolon", TAB_DELIMITER: "tab"}
#: `TABLE_FORMATS_BY_SUFFIX` maps file extensions to the formats CSV and TSV.
TABLE_FORMATS_BY_SUFFIX = {".csv": CSV, ".tsv": TSV_FORMAT, ".tab": TSV_FORMAT}


@dataclass(frozen=True)
class TableFormat:
    """The format of a CSV or TSV file with gold or with a run. If ``delimiter`` is
    empty, the delimiter of a CSV file is determined from its content.
    """

    kind: str = CSV
    delimiter: str = ""
    #: `quotes` states whether cells may be quoted, or is None for the default.
    quotes: bool | None = None

    @property
    def has_quotes(self) -> bool:
        return self.kind == CSV if self.quotes is None else self.quotes

    def reader(self, text: str, delimiter: str) -> Any:
        return csv.reader(
            io.StringIO(text, newline=""),
            delimiter=delimiter,
            strict=True,
            quoting=csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE,
        )


@dataclass(frozen=True)
class TableRow:
    """The cells in a row of a CSV or TSV table, and the number of the line at which the
    row begins.
    """

    line: int
    cells: list[str]


class DelimiterAmbiguous(Exception):
    """The error for a CSV file whose delimiter is ambiguous, because several delimiters
    divide all rows into equally many cells.
    """


def detect_delimiter(text: str, form: TableFormat) -> str:
    """Return the delimiter that divides all rows of a CSV or TSV table into the same
    number of cells, which must be at least two.

    If no delimiter divides all rows in this way, return the delimiter that occurs most
    often in the header. Raises Unparted if several delimiters divide all rows in this
    way.
    """
    if form.delimiter or form.kind == TSV_FORMAT:
        return form.delimiter or TAB_DELIMITER
    fitting = [
        delimiter
        for delimiter in DELIMITER_NAMES
        if _has_equal_row_widths(text, form, delimiter)
    ]
    if len(fitting) > 1:
        raise DelimiterAmbiguous(
            " or ".join(DELIMITER_NAMES[delimiter] for delimiter in fitting)
        )
    head = text.partition("\n")[0]
    return fitting[0] if fitting else max(DELIMITER_NAMES, key=head.count)


def _has_equal_row_widths(text: str, form: TableFormat, delimiter: str) -> bool:
    width = 0
    with suppress(csv.Error):
        for row in form.reader(text, delimiter):
            width = width or len(row)
            if row and (len(row) != width or width == 1):
                return False
        return width > 1
    return False


def iterate_table_rows(
    file: InputFile, form: TableFormat, problems: ProblemList
) -> Iterator[TableRow]:
    """Yield the header of a CSV or TSV table, followed by the rows that have as many
    cells as the header. Rows with more or fewer cells than the header are recorded as
    problems.
    """
    text = decode_utf8_or_windows_1252(file.read())
    try:
        delimiter = detect_delimiter(text, form)
    except DelimiterAmbiguous as several:
        message = f"the columns are parted by {several}: all rows have as many cells by each of them"
        expected = 'the delimiter, such as delimiter = ";" in the declaration'
        problems.append(file.make_problem(message, expected, line=1))
        return
    rows = form.reader(text, delimiter)
    heads = list[str]()
    begin = 1
    try:
        for cells in rows:
            row, begin = TableRow(begin, cells), rows.line_num + 1
            if not cells:
                continue
            if not heads:
                heads = cells
                if fault := _find_repeated_column(heads):
                    problems.append(
                        file.make_problem(
                            *fault, line=row.line, raw=delimiter.join(cells)
                        )
                    )
                    return
            elif fault := _find_row_fault(row, heads, form, delimiter):
                problems.append(
                    file.make_problem(*fault, line=row.line, raw=delimiter.join(cells))
                )
                continue
            yield row
    except csv.Error as fault:
        problems.append(file.make_problem(*_describe_csv_error(fault), line=begin))


def _find_repeated_column(heads: Sequence[str]) -> tuple[str, str] | None:
    twice = next((name for name, count in Counter(heads).items() if count > 1), None)
    if twice is None:
        return None
    return f"the column “{twice[:100]}” is there twice", "a name for each column"


def _find_row_fault(
    row: TableRow, heads: Sequence[str], form: TableFormat, delimiter: str
) -> tuple[str, str] | None:
    if len(row.cells) != len(heads):
        name = DELIMITER_NAMES.get(delimiter, f"“{delimiter}”")
        return (
            f"{len(row.cells)} cells under {len(heads)} columns",
            f"a cell for each column, parted by {name}",
        )
    if form.kind == TSV_FORMAT:
        for name, cell in zip(heads, row.cells, strict=True):
            if "\n" in cell or "\r" in cell:
                return (
                    f"the field “{name[:100]}” has a line break",
                    "a table in TSV with one row on each line",
                )
    return None


def _describe_csv_error(fault: csv.Error) -> tuple[str, str]:
    if "unexpected end" in str(fault):
        return (
            "a quotation mark opens in this row and does not close",
            "a mark at both ends of a cell, and two for one inside (RFC 4180)",
        )
    return f"no table: {fault}", "a table by RFC 4180"


def format_table(
    rows: Iterable[Mapping[str, Any]], heads: Sequence[str], form: TableFormat
) -> str:
    """Return the text of a CSV or TSV table with the given rows and column names. If
    the format has no quotation marks, the cells must not contain tabs or line breaks.
    """
    text = io.StringIO(newline="")
    quoting: dict[str, Any] = (
        {} if form.has_quotes else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    )
    delimiter = form.delimiter or DEFAULT_DELIMITERS_BY_FORMAT[form.kind]
    writer = csv.DictWriter(
        text, [*dict.fromkeys(heads)], delimiter=delimiter, restval="", **quoting
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def iterate_table_records(
    file: InputFile, form: TableFormat, problems: ProblemList
) -> Iterator[JsonRecord]:
    """Yield a record for each row of a CSV or TSV table. A record does not contain the
    fields of empty cells.
    """
    if file.reading == 1:
        yield from _read_version_1_records(file, form, problems)
        return
    rows = iterate_table_rows(file, form, problems)
    heads = next(rows, TableRow(1, [])).cells
    for position, row in enumerate(rows, start=1):
        cells = {
            name: cell
            for name, cell in zip(heads, row.cells, strict=True)
            if cell != ""
        }
        raw = (form.delimiter or DEFAULT_DELIMITERS_BY_FORMAT[form.kind]).join(
            row.cells
        )
        yield JsonRecord(file.shown, row.line, position, cells, raw)


def _read_version_1_records(
    file: InputFile, form: TableFormat, problems: ProblemList
) -> Iterator[JsonRecord]:
    """Yield the records of a table by version 1 of the reading rules, under which TSV
    has quotation marks and CSV always has commas.
    """
    delimiter = form.delimiter or DEFAULT_DELIMITERS_BY_FORMAT[form.kind]
    rows = csv.reader(
        io.StringIO(decode_utf8_or_windows_1252(file.read()), newline=""),
        delimiter=delimiter,
        strict=True,
    )
    heads, place = list[str](), 0
    try:
        for row in rows:
            if not heads:
                heads = row
                if len(set(heads)) < len(heads):
                    problems.append(
                        file.make_problem(
                            "a name of a column stands there twice", line=1
                        )
                    )
                    return
            elif len(row) != len(heads):
                message = f"{len(row)} cells under {len(heads)} columns"
                problems.append(
                    file.make_problem(
                        message, "a cell for each column", line=rows.line_num
                    )
                )
            else:
                place += 1
                cells = {
                    name: cell
                    for name, cell in zip(heads, row, strict=True)
                    if cell != ""
                }
                yield JsonRecord(
                    file.shown, rows.line_num, place, cells, delimiter.join(row)
                )
    except csv.Error as fault:
        problems.append(file.make_problem(f"no table: {fault}", line=rows.line_num))


RANK_COLUMN, SCORE_COLUMN, DOCUMENT_COLUMN = "rank", "score", "document"


@dataclass(frozen=True, kw_only=True)
class RunTableColumns:
    """Describes the columns that runs of a task may have in CSV or TSV. The object also
    states which columns contain numbers or JSON.
    """

    id: str
    answer: str
    #: `others` lists the columns of a run in CSV or TSV that may be missing.
    others: tuple[str, ...] = ()
    #: The columns in `instead` may together replace the answer column of a run.
    instead: tuple[str, ...] = ()
    #: `numbers` lists columns with numbers, and `json` lists columns with JSON.
    numbers: frozenset[str] = frozenset()
    json: frozenset[str] = frozenset()
    #: `may_be_empty` is True if an empty answer cell is an empty text as answer.
    #: If `may_be_empty` is False, an empty answer cell is a missing answer.
    may_be_empty: bool = False
    #: In ranking tasks, the column `document` contains one document per row.
    #: The setting `document` is empty in tasks that are not ranking tasks.
    document: str = ""
    rank: str = RANK_COLUMN
    score: str = SCORE_COLUMN
    form: TableFormat = field(default_factory=TableFormat)

    @property
    def names(self) -> tuple[str, ...]:
        if self.document:
            return (self.id, self.document, self.rank, self.score)
        return (self.id, self.answer, *self.others)

    @property
    def description(self) -> str:
        if self.document:
            return (
                f"“{self.id}”, “{self.document}”, and “{self.rank}” or “{self.score}”"
            )
        return f"“{self.id}” and “{self.answer}”"


def is_run_table(file: InputFile, columns: RunTableColumns) -> bool:
    """Return True if the file is CSV or TSV according to the column names in its first
    line, or to its extension.

    A file whose first line begins as JSON is no table. A file of rankings whose first
    line has the number of fields of a TREC run is no table unless it names a column.
    """
    head = read_first_nonempty_line(file)
    if head.startswith(("{", "[")):
        return False
    if file.suffix in TABLE_FORMATS_BY_SUFFIX and not columns.document:
        return True
    names = set(columns.names) if columns.document else {columns.id}
    for delimiter in DELIMITER_NAMES:
        cells = {cell.strip().strip('"') for cell in head.split(delimiter)}
        if names & cells:
            return True
    # TREC run files may have any extension, so fields of the first line are counted.
    return (
        file.suffix in TABLE_FORMATS_BY_SUFFIX
        and len(head.split()) != TREC_LINE_FIELD_COUNT
    )


TREC_LINE_FIELD_COUNT = 6


def read_first_nonempty_line(file: InputFile) -> str:
    """Return the first line of a file that is not empty. Return an empty text if the
    file cannot be read.
    """
    with suppress(InputRefused):
        for line in replace(file, reading=1).lines():
            if head := decode_utf8_or_windows_1252(line).strip("\r\n \ufeff"):
                return head
    return ""


def detect_table_format(file: InputFile, columns: RunTableColumns) -> TableFormat:
    """Return the format of a CSV or TSV file of a run. The extension of the file name
    determines the format, or the first line of the file if the extension is unknown.

    The task's settings for delimiter and quotation marks apply if the gold is in the
    same format (CSV or TSV).
    """
    kind = TABLE_FORMATS_BY_SUFFIX.get(file.suffix, "")
    if not kind:
        kind = TSV_FORMAT if TAB_DELIMITER in read_first_nonempty_line(file) else CSV
    return columns.form if kind == columns.form.kind else TableFormat(kind)


def convert_table_to_json_lines(
    file: InputFile, columns: RunTableColumns, problems: ProblemList
) -> InputFile:
    """Return a file of JSON lines with the content of a run in CSV or TSV. Each JSON
    object is on the line at which the row begins in the table, so that error messages
    state the right line.
    """
    rows = iterate_table_rows(file, detect_table_format(file, columns), problems)
    heads = next(rows, TableRow(1, [])).cells
    content = b""
    if _has_needed_columns(file, heads, columns, problems):
        records = ((row.line, dict(zip(heads, row.cells, strict=True))) for row in rows)
        read = _iterate_row_rankings if columns.document else _iterate_row_answers
        content = _write_records_at_lines(read(file, records, columns, problems))
    # The JSON lines are UTF-8, so the new file has no setting for the encoding.
    return replace(
        file, name=f"{file.name}.jsonl", open=partial(io.BytesIO, content), encoding=""
    )


def _has_needed_columns(
    file: InputFile,
    heads: Sequence[str],
    columns: RunTableColumns,
    problems: ProblemList,
) -> bool:
    if not heads:
        if not problems.has_errors:
            problems.append(
                file.make_problem(
                    "the table is empty", _describe_expected_header(columns)
                )
            )
        return False
    needed = [columns.id, columns.document or columns.answer]
    if columns.instead and set(columns.instead) <= set(heads):
        needed = [columns.id]
    if columns.document and not {columns.rank, columns.score}.intersection(heads):
        needed.append(columns.rank)
    if missing := [name for name in needed if name not in heads]:
        named = " and ".join(f"“{name}”" for name in missing)
        found = ", ".join(f"“{head[:40]}”" for head in heads[:10])
        message = f"there is no column {named}; found {found}"
        problems.append(
            file.make_problem(message, _describe_expected_header(columns), line=1)
        )
        return False
    if unread := [head for head in heads if head not in columns.names]:
        named = ", ".join(f"“{head[:40]}”" for head in unread[:10])
        message = f"columns that are not read: {named}"
        expected = ", ".join(columns.names)
        problems.append(file.make_problem(message, expected, line=1, fatal=False))
    return True


def _describe_expected_header(columns: RunTableColumns) -> str:
    return f"a header row with the columns {columns.description}"


CellsByColumn = Mapping[str, str]
LineNumberAndRecord = tuple[int, dict[str, Any]]


def _iterate_row_answers(
    file: InputFile,
    rows: Iterable[tuple[int, CellsByColumn]],
    columns: RunTableColumns,
    problems: ProblemList,
) -> Iterator[LineNumberAndRecord]:
    for line, cells in rows:
        record: dict[str, Any] = {}
        for name in columns.names:
            cell = cells.get(name, "")
            if cell or (columns.may_be_empty and name == columns.answer):
                record[name] = _parse_cell_value(cell, name, columns)
        yield line, record


def _parse_cell_value(cell: str, name: str, columns: RunTableColumns) -> Any:
    if name in columns.numbers:
        number = _parse_finite_number(cell)
        return cell if number is None else number
    if name in columns.json and cell.lstrip().startswith(("[", "{")):
        with suppress(ValueError):
            return read_json(cell, is_unique=True)
    return cell


def _parse_finite_number(cell: str) -> float | None:
    with suppress(ValueError):
        number = float(cell)
        if math.isfinite(number) and "_" not in cell:
            return number
    return None


@dataclass
class _TableRanking:
    """The rows of a table with the same instance, each of which contains a document
    with a rank or score.
    """

    line: int
    documents: dict[str, int] = field(default_factory=dict)
    ranks: set[float] = field(default_factory=set)
    keys: list[tuple[float, float, str]] = field(default_factory=list)


def _iterate_row_rankings(
    file: InputFile,
    rows: Iterable[tuple[int, CellsByColumn]],
    columns: RunTableColumns,
    problems: ProblemList,
) -> Iterator[LineNumberAndRecord]:
    """Yield a ranking for each instance of a table, with the documents sorted by
    descending score and then by rank. If the table has scores but no ranks, documents
    with equal scores are later ordered by their numbers in the index.
    """
    by_id: dict[str, _TableRanking] = {}
    has_scores = has_ranks = False
    for line, cells in rows:
        name, document = cells.get(columns.id, ""), cells.get(columns.document, "")
        ranking = by_id.setdefault(name, _TableRanking(line))
        faults, key = _check_ranking_row(cells, document, ranking, columns)
        for message, expected in faults:
            raw = ", ".join(cells.values())
            problems.append(file.make_problem(message, expected, line=line, raw=raw))
        if not faults:
            has_scores = has_scores or columns.score in cells
            has_ranks = has_ranks or columns.rank in cells
            ranking.documents[document] = line
            ranking.ranks.add(key[1])
            ranking.keys.append((*key, document))
    for name, ranking in by_id.items():
        ordered = sorted(ranking.keys, key=lambda key: key[:2])
        record: dict[str, Any] = {columns.id: name} if name else {}
        if has_scores and not has_ranks:
            record["scores"] = {document: -score for score, _, document in ordered}
        else:
            record[columns.answer] = [document for _, _, document in ordered]
        if has_scores and has_ranks:
            record["scores"] = [-score for score, _, _ in ordered]
        yield ranking.line, record


def _check_ranking_row(
    cells: CellsByColumn,
    document: str,
    ranking: _TableRanking,
    columns: RunTableColumns,
) -> tuple[list[tuple[str, str]], tuple[float, float]]:
    faults = []
    if not document:
        faults.append((f"“{columns.document}” is missing", "the id of a candidate"))
    elif document in ranking.documents:
        first = ranking.documents[document]
        found = f"“{document[:100]}” stands in this ranking a second time, first in line {first}"
        faults.append((found, "each candidate once"))
    score_key, rank_key = columns.score, columns.rank
    places = {
        name: _parse_finite_number(cells[name])
        for name in (score_key, rank_key)
        if name in cells
    }
    for name, value in places.items():
        if value is None:
            shown = f"“{cells[name][:40]}”" if cells[name] else "missing"
            faults.append((f"“{name}” is {shown}", "a finite number"))
    score, rank = places.get(score_key) or 0.0, places.get(rank_key) or 0.0
    if score_key not in cells and rank in ranking.ranks:
        faults.append((f"rank {rank:g} is there twice", "each rank once"))
    return faults, (-score, rank)


def _write_records_at_lines(records: Iterable[LineNumberAndRecord]) -> bytes:
    parts: list[bytes] = []
    at = 1
    for line, record in records:
        parts.append(b"\n" * (line - at))
        parts.append(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        at = line + 1
    return b"".join(parts)


def convert_tables_among_files(
    files: Files, columns: RunTableColumns, problems: ProblemList
) -> list[InputFile]:
    """Return the files of a run, in which JSON lines replace CSV and TSV tables. If a
    table cannot be read, its faults are added to ``problems``.

    If a run contains a JSON file, its tables are not converted, and only its JSON files
    are read later.
    """
    named = (file for file in files if file.suffix in JSON_SUFFIXES)
    if any(not is_run_table(file, columns) for file in named):
        return list(files)
    read: list[InputFile] = []
    for file in files:
        try:
            has_rows = is_run_table(file, columns)
            read.append(
                convert_table_to_json_lines(file, columns, problems)
                if has_rows
                else file
            )
        except InputRefused as refused:
            problems.extend(refused.problems)
    return read


RunFilesReader = Callable[[Files], tuple[Any, list[Problem]]]


def read_run_with_tables(
    files: Files, columns: RunTableColumns, read: RunFilesReader
) -> tuple[Any, list[Problem]]:
    """Convert the CSV and TSV tables of a run to JSON lines, and read the run. Return
    the result of calling ``read`` with the converted files, including all problems.
    """
    problems = ProblemList()
    lines = convert_tables_among_files(files, columns, problems)
    if problems.has_errors:
        return None, problems
    run, found = read(lines)
    return run, [*problems, *found] if problems else found
