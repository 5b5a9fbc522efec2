"""Read the rows of leaderboards in JSON, trec_eval, ir_measures or TREC run format."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tasks.types.files import Files, InputFile
from tasks.types.jsonlines import JsonRecord, read_records, replace_unpaired_surrogates
from tasks.types.judge_leaderboards import (
    LEADERBOARD_FORM_DESCRIPTION,
    LEADERBOARD_ROW_EXAMPLE,
)
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    TooManyProblems,
    raise_if_any_problem_is_fatal,
)
from tasks.types.run_forms import UTF8_BYTE_ORDER_MARK, read_first_bytes
from tasks.types.text import (
    decode_utf8_or_windows_1252,
    describe_json_type,
    normalise_to_nfc,
)

#: Rows with the topic `all` contain the overall score of a system.
ALL_TOPICS = "all"
#: In trec_eval output, the value of the measure `runid` is the run's name.
RUN_NAME_MEASURE = "runid"
MAX_NAME_CHARACTERS, MAX_SCORE = 200, 1e15
#: `NAME_FIELDS` lists the fields of a leaderboard's JSON row that contain names.
NAME_FIELDS = ("run_id", "topic_id", "measure")
#: Without `runid`, the file name without extensions in `RUN_NAME_ENDINGS` is the run's name.
RUN_NAME_ENDINGS = (".gz", ".txt", ".tsv", ".eval")
MAX_MEASURES_LISTED = 12


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A row of a leaderboard, with the value of a measure for a system on a topic.
    ``line`` is the row's line number in the file, or None if the file is a JSON list.
    """

    line: int | None
    system: str
    topic: str
    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class LineCells:
    """The cells in one line of a leaderboard in text format."""

    line: int
    cells: list[str]


#: `Seen` contains system, topic and measure of each row that has been read.
SeenSystemTopicMeasures = set[tuple[str, str, str]]


def read_leaderboard_rows(
    files: Files, measure: str, problems: ProblemList
) -> list[LeaderboardRow]:
    """Return the rows in all files of a leaderboard. Faults in the files are added to
    ``problems``.

    ``measure`` is the name of the evaluation measure that the task's options select, or
    empty. In files with four columns, ``measure`` is needed to decide which column
    contains measures and which contains topics. Raises TooManyProblems.
    """
    rows: list[LeaderboardRow] = []
    seen: SeenSystemTopicMeasures = set()
    for file in files:
        try:
            if _begins_as_json(file):
                rows += _iterate_json_rows(file, seen, problems)
            else:
                rows += _iterate_text_rows(file, measure, seen, problems)
        except TooManyProblems:
            raise
        except InputRefused as refused:
            problems += refused.problems
    return rows


def _begins_as_json(file: InputFile) -> bool:
    begin = read_first_bytes(file).removeprefix(UTF8_BYTE_ORDER_MARK).lstrip()
    return begin.startswith((b"{", b"["))


def _iterate_json_rows(
    file: InputFile, seen: SeenSystemTopicMeasures, problems: ProblemList
) -> Iterator[LeaderboardRow]:
    for record in read_records(file, problems):
        faults = [*_find_json_row_faults(record)]
        for message, expected in faults:
            problems.append(record.problem(message, expected))
        if faults:
            continue
        system, topic, measure = (
            replace_unpaired_surrogates(str(record.value[name])) for name in NAME_FIELDS
        )
        value = float(record.value["value"])
        row = LeaderboardRow(record.line, system, topic, measure, value)
        if add_if_new(row, seen):
            yield row
        else:
            problems.append(
                record.problem(_format_duplicate_message(row), _EXPECTED_UNIQUE_VALUES)
            )


def _find_json_row_faults(record: JsonRecord) -> Iterator[tuple[str, str]]:
    """Yield an error message and the expected form for each faulty field in a JSON row
    of a leaderboard.
    """
    for name in NAME_FIELDS:
        value = record.value.get(name)
        if name not in record.value:
            yield f"“{name}” is missing", LEADERBOARD_ROW_EXAMPLE
        elif not isinstance(value, str | int) or isinstance(value, bool):
            yield f"“{name}” is {describe_json_type(value)}", "a text"
        elif not 0 < len(str(value)) <= MAX_NAME_CHARACTERS:
            yield f"“{name}” has {len(str(value)):,} characters", _EXPECTED_NAME_LENGTH
    value = record.value.get("value")
    if "value" not in record.value:
        yield "“value” is missing", LEADERBOARD_ROW_EXAMPLE
    elif not isinstance(value, int | float) or isinstance(value, bool):
        yield f"“value” is {describe_json_type(value)}", "a number"
    elif abs(value) > MAX_SCORE:
        yield "“value” is too large", _EXPECTED_NUMBER_SIZE


_EXPECTED_NAME_LENGTH = f"from 1 to {MAX_NAME_CHARACTERS} characters"
_EXPECTED_NUMBER_SIZE = f"a number of at most {MAX_SCORE:g}"
_EXPECTED_UNIQUE_VALUES = "each system once on a topic by a measure"


def add_if_new(row: LeaderboardRow, seen: SeenSystemTopicMeasures) -> bool:
    """Return True if no row in ``seen`` has the same system, topic and measure. Add the
    system, topic and measure of the row to ``seen``.
    """
    key = (normalise_to_nfc(row.system), normalise_to_nfc(row.topic), row.measure)
    if key in seen:
        return False
    seen.add(key)
    return True


def _format_duplicate_message(row: LeaderboardRow) -> str:
    return f"“{row.system}” has a second value of “{row.measure}” on “{row.topic}”"


def _iterate_text_rows(
    file: InputFile, measure: str, seen: SeenSystemTopicMeasures, problems: ProblemList
) -> Iterator[LeaderboardRow]:
    lines = [*_iterate_equal_width_lines(file, problems)]
    if not lines:
        return
    as_row = _choose_row_converter(file, lines, measure)
    for line in lines:
        (system, topic, own), text = as_row(line.cells)
        raw = " ".join(line.cells)
        if (value := _parse_bounded_number(text)) is None:
            message = f"“{text[:40]}” is no number"
            problems.append(
                file.make_problem(
                    message, _EXPECTED_NUMBER_SIZE, line=line.line, raw=raw
                )
            )
            continue
        row = LeaderboardRow(line.line, system, topic, own, value)
        if add_if_new(row, seen):
            yield row
        else:
            problem = file.make_problem(
                _format_duplicate_message(row),
                _EXPECTED_UNIQUE_VALUES,
                line=line.line,
                raw=raw,
            )
            problems.append(problem)


def _iterate_equal_width_lines(
    file: InputFile, problems: ProblemList
) -> Iterator[LineCells]:
    """Yield those lines of a file that have as many cells as the first line. Lines with
    another number of cells are recorded as problems.
    """
    count = 0
    for number, raw in enumerate(file.lines(), start=1):
        cells = decode_utf8_or_windows_1252(raw).split()
        if not cells:
            continue
        count = count or len(cells)
        longest = max(map(len, cells))
        if longest > MAX_NAME_CHARACTERS:
            message, expected = (
                f"a column has {longest:,} characters",
                _EXPECTED_NAME_LENGTH,
            )
        elif count not in SUPPORTED_COLUMN_COUNTS:
            message, expected = (
                f"a line of {len(cells)} columns",
                LEADERBOARD_FORM_DESCRIPTION,
            )
        elif len(cells) != count:
            message = f"a line of {len(cells)} columns"
            expected = f"{count} columns, as before"
        else:
            yield LineCells(number, cells)
            continue
        problems.append(
            file.make_problem(
                message, expected, line=number, raw=decode_utf8_or_windows_1252(raw)
            )
        )


#: `CellsToRowFunction` functions convert cells to (system, topic, measure) and a value's text.
CellsToRowFunction = Callable[[Sequence[str]], tuple[tuple[str, str, str], str]]
#: A text file with three columns is output of trec_eval for one system.
#: Output of ir_measures has four columns, as has trec_eval with run names.
#: The six columns of a TREC run file are topic, Q0, system, rank, score and tag.
TREC_EVAL_COLUMN_COUNT, IR_MEASURES_COLUMN_COUNT, TREC_RUN_COLUMN_COUNT = (
    SUPPORTED_COLUMN_COUNTS
) = (3, 4, 6)


def _choose_row_converter(
    file: InputFile, lines: list[LineCells], measure: str
) -> CellsToRowFunction:
    """Return a function that converts the cells of a line to a row of a leaderboard.
    Remove from ``lines`` each line in which trec_eval states the run's name.

    Raises InputRefused.
    """
    columns = len(lines[0].cells)
    if columns == TREC_RUN_COLUMN_COUNT:
        return lambda cells: ((cells[2], cells[0], cells[5]), cells[4])
    if columns == TREC_EVAL_COLUMN_COUNT:
        system = _remove_run_name_row(file, lines)
        return lambda cells: ((system, cells[1], cells[0]), cells[2])
    lines[:] = [
        line for line in lines if RUN_NAME_MEASURE not in (line.cells[1], line.cells[2])
    ]
    place = _find_measure_column(file, lines, measure)
    return lambda cells: ((cells[0], cells[3 - place], cells[place]), cells[3])


def _remove_run_name_row(file: InputFile, lines: list[LineCells]) -> str:
    names = {line.cells[2] for line in lines if line.cells[0] == RUN_NAME_MEASURE}
    lines[:] = [line for line in lines if line.cells[0] != RUN_NAME_MEASURE]
    if len(names) > 1:
        message = f"the file has {len(names)} runs (“{RUN_NAME_MEASURE}”)"
        raise_if_any_problem_is_fatal(
            [file.make_problem(message, "a file of trec_eval for each run")]
        )
    name = names.pop() if names else file.base
    for ending in RUN_NAME_ENDINGS:
        name = name.removesuffix(ending)
    return name or file.base


def _find_measure_column(
    file: InputFile, lines: Sequence[LineCells], measure: str
) -> int:
    """Return 1 or 2, the index of the column with the measure in a file with four
    columns. Of the columns 1 and 2, the column that is not returned contains the topic.

    The column with the measure is recognised because the other column contains the
    topic `all`, because the column contains the measure that the task selects, or
    because the column has fewer distinct values. Raises InputRefused if none of these
    conditions distinguishes the two columns.
    """
    values = [{line.cells[place] for line in lines} for place in (1, 2)]
    for is_measure in (
        [
            ALL_TOPICS not in own and ALL_TOPICS in other
            for own, other in (values, values[::-1])
        ],
        [measure in value for value in values],
        [len(own) < len(other) for own, other in (values, values[::-1])],
    ):
        if is_measure[0] != is_measure[1]:
            return 1 if is_measure[0] else 2
    if len(values[0]) <= 1:
        # With one topic and one measure, swapping both columns changes no score.
        return 2
    message = "columns 2 and 3 have as many different values: either may be the topic"
    expected = f"the topic “{ALL_TOPICS}” in a row, or rows of one measure"
    raise InputRefused([file.make_problem(message, expected)])


def _parse_bounded_number(text: str) -> float | None:
    """Return the number that a text contains, or None if the text is no number or the
    number is infinite or too large.
    """
    if "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= MAX_SCORE else None


def select_rows_of_measure(
    rows: Sequence[LeaderboardRow], named: str, option: str, shown: str
) -> list[LeaderboardRow]:
    """Return the rows with the measure ``named``, or all rows if ``named`` is empty and
    the rows have only one measure. Raises InputRefused.
    """
    measures = sorted({row.measure for row in rows})
    if named in measures or (len(measures) == 1 and not named):
        return [row for row in rows if row.measure == (named or measures[0])]
    listed = ", ".join(measures[:MAX_MEASURES_LISTED])
    listed += ", …" if len(measures) > MAX_MEASURES_LISTED else ""
    if named:
        message = f"no row has the measure “{named}”"
        expected = f"the measure that the task names (option {option}); found {listed or 'no row'}"
    else:
        message = f"the rows have {len(measures)} measures: {listed}"
        expected = f"one measure, or a task that names one (option {option})"
    raise InputRefused([Problem(file=shown, message=message, expected=expected)])
