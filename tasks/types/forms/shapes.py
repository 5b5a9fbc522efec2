"""Convert the rows of a gold file to one record per instance, with the answer in a
single field.

The id of an instance may consist of several fields, or be the number of the row. An
answer may consist of several columns or rows, or be a vector, a separated text or a
list of records.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from tasks.types.files import Files, InputFile
from tasks.types.guarded.json_reader import read_json
from tasks.types.jsonlines import JsonRecord, get_record_id, read_records
from tasks.types.problems import ProblemList
from tasks.types.tables import (
    TABLE_FORMATS_BY_SUFFIX,
    TSV_FORMAT,
    TableFormat,
    TableRow,
    iterate_table_rows,
)
from tasks.types.text import (
    decode_utf8_or_windows_1252,
    describe_json_type,
    describe_json_type_or_missing,
    make_json_error_message,
)

#: `ID_FIELDS_SEPARATOR` joins several field values to the id of an instance.
ID_FIELDS_SEPARATOR = ":"
#: The separator `WHITE_SPACE_SEPARATOR` divides a text at every sequence of white space.
WHITE_SPACE_SEPARATOR = " "
#: `DEFAULT_QUERY_COLUMN` is the name of the second column if a file of queries has no header.
DEFAULT_QUERY_COLUMN = "query"
MAX_RELEVANCE_GRADE = 100
_TRUE_SPELLINGS, _FALSE_SPELLINGS = (
    ("1", "1.0", "true", "True"),
    ("0", "0.0", "false", "False"),
)
ZERO_OR_ONE_DESCRIPTION = "0 or 1"


@dataclass(frozen=True, kw_only=True)
class GoldFileLayout:
    """Describes how a gold file arranges ids and answers in rows and columns. By
    default, each row contains an instance and its answer.

    If ``ids`` is not empty, the fields in ``ids`` together form the id of an instance.
    If ``numbered`` is True, the id of an instance is its row number. If ``keyed`` is
    True, the file is a JSON object that maps ids to instances. An answer may be divided
    between ``columns``, or be a ``vector`` of 0 and 1, a text with a ``separator``, or
    a list of records with the key ``item``. If ``document`` is set, a row contains only
    one of an instance's documents, in the field ``document``. If ``relevant`` is set,
    documents whose rows have one of these labels have the relevance grade 1, and all
    others 0. ``queries`` is the name of a file with further fields of the instances.
    """

    ids: tuple[str, ...] = ()
    numbered: bool = False
    keyed: bool = False
    columns: tuple[str, ...] = ()
    vector: bool = False
    separator: str = ""
    item: str = ""
    document: str = ""
    relevant: tuple[str, ...] = ()
    queries: str = ""

    @property
    def has_binary_vectors(self) -> bool:
        return self.vector or bool(self.columns)

    def get_instance_id(self, record: JsonRecord, key: str) -> str | None:
        """Return the id of the instance to which a row of the gold file belongs."""
        if self.numbered:
            return str(record.item)
        if self.ids:
            parts = [get_record_id(record.value, field) for field in self.ids]
            return ID_FIELDS_SEPARATOR.join(map(str, parts)) if all(parts) else None
        return get_record_id(record.value, key)

    def records(
        self,
        rows: Iterable[JsonRecord],
        key: str,
        field: str,
        problems: ProblemList,
        *,
        is_table: bool,
    ) -> Iterator[JsonRecord]:
        """Yield a record for each instance in rows of a gold file, with the id under
        the key ``key`` and the answer under the key ``field``.
        """
        if self.document:
            yield from _combine_rows_of_instances(self, rows, key, field, problems)
            return
        has_own_ids = self.numbered or bool(self.ids)
        for row in rows:
            value = dict(row.value)
            if has_own_ids:
                if key in value:
                    problems.append(row.problem(*_describe_id_name_conflict(key)))
                    continue
                name = self.get_instance_id(row, key)
                if name is None:
                    missing = next(
                        own for own in self.ids if not get_record_id(value, own)
                    )
                    expected = f"a part of the id: {', '.join(self.ids)}"
                    problems.append(row.problem(f"“{missing}” is missing", expected))
                    continue
                value[key] = name
            if self.columns:
                value[field] = [value.pop(column, None) for column in self.columns]
            elif self.separator and is_table:
                # An empty cell in the answer column stands for an empty list.
                value.setdefault(field, "")
            yield replace(row, value=value)

    def parts(self, value: Any) -> Any:
        """Return the list that a value in the gold file encodes, for example as a text
        with separators. Return the value unchanged if the value encodes no list.
        """
        if isinstance(value, str):
            if (text := value.strip()).startswith("["):
                return parse_json_list_or_keep(text)
            if self.separator:
                return split_at_separator(text, self.separator)
        if self.item and isinstance(value, dict) and self.item in value:
            value = [value]
        if self.item and isinstance(value, list):
            return [
                own.get(self.item) if isinstance(own, dict) else own for own in value
            ]
        return value


ONE_INSTANCE_PER_ROW_LAYOUT = GoldFileLayout()


def _describe_id_name_conflict(key: str) -> tuple[str, str]:
    message = f"“{key}” is a field of the gold, and the name of the id that is made"
    return message, "another name under “id” of the declaration"


def split_at_separator(text: str, separator: str) -> list[str]:
    """Divide a text at each separator, and return the non-empty parts without
    surrounding white space.
    """
    if separator == WHITE_SPACE_SEPARATOR:
        return text.split()
    return [part for own in text.split(separator) if (part := own.strip())]


def parse_json_list_or_keep(text: str) -> Any:
    """Return the list that a text such as `["a", "b"]` or `['a', 'b']` encodes. Return
    the text unchanged if the text encodes no list.
    """
    for spelt in (text, text.replace("'", '"')):
        with suppress(ValueError):
            value = read_json(spelt)
            return value if isinstance(value, list) else text
    return text


def parse_binary_cell(value: Any) -> bool | None:
    """Return True for a cell with 1 or true, False for a cell with 0 or false, and None
    for other values.
    """
    if isinstance(value, int | float | str):
        text = str(value).strip()
        if text in _TRUE_SPELLINGS or text in _FALSE_SPELLINGS:
            return text in _TRUE_SPELLINGS
    return None


def _combine_rows_of_instances(
    shape: GoldFileLayout,
    rows: Iterable[JsonRecord],
    key: str,
    field: str,
    problems: ProblemList,
) -> Iterator[JsonRecord]:
    """Combine all rows with the same instance id to one record of the instance. The
    record contains the relevance grades of the documents, and those fields that have
    the same value in all rows.
    """
    first: dict[str, JsonRecord] = {}
    grades: dict[str, dict[str, int]] = {}
    varying = {shape.document, field}
    for row in rows:
        name, document = (
            get_record_id(row.value, key),
            get_record_id(row.value, shape.document),
        )
        if not name or not document:
            missing = shape.document if name else key
            problems.append(row.problem(f"“{missing}” is missing", "an id"))
            continue
        grade = _read_relevance_grade(shape, row.value.get(field), field)
        own = grades.setdefault(name, {})
        if grade is None:
            found = row.value.get(field)
            shown = (
                f"“{found[:40]}”"
                if isinstance(found, str)
                else describe_json_type_or_missing(found)
            )
            expected = f"a grade from 0 to {MAX_RELEVANCE_GRADE}, or “relevant” in the declaration"
            problems.append(row.problem(f"“{field}” is {shown}", expected))
        elif document in own:
            message = f"“{document[:100]}” stands twice under instance “{name[:100]}”"
            problems.append(row.problem(message, "each document once"))
        else:
            own[document] = grade
            before = first.setdefault(name, row).value
            varying |= {
                head
                for head in before.keys() | row.value.keys()
                if before.get(head) != row.value.get(head)
            }
    for name, row in first.items():
        same = {head: own for head, own in row.value.items() if head not in varying}
        yield replace(row, value={**same, key: name, field: grades[name]})


def _read_relevance_grade(shape: GoldFileLayout, value: Any, field: str) -> int | None:
    """Return the relevance grade of the document in a row of the gold file. If the rows
    have no field for grades, the grade is 1.
    """
    if field == shape.document:
        return 1
    if shape.relevant:
        return (
            None
            if value is None
            else int(convert_label_to_text(value) in shape.relevant)
        )
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_RELEVANCE_GRADE else None


def convert_label_to_text(value: Any) -> str:
    """Return a label, which may be a text, a number or a truth value in JSON, as a
    text. Whole floating-point numbers such as 1.0 are converted like integers.

    >>> [convert_label_to_text(value) for value in (True, 1, 1.0, 0.5, "a")]
    ['true', '1', '1', '0.5', 'a']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def read_records_of_keyed_object(
    file: InputFile, problems: ProblemList, key: str, field: str
) -> Iterator[JsonRecord]:
    """Yield a record for each instance in a file with a JSON object that maps ids to
    instances.
    """
    expected = "an object with an instance under each id"
    try:
        items = read_json(
            decode_utf8_or_windows_1252(file.read()), is_unique=file.reading > 1
        )
    except ValueError as fault:
        problems.append(file.make_problem(make_json_error_message(fault), expected))
        return
    if not isinstance(items, dict):
        problems.append(
            file.make_problem(f"found {describe_json_type(items)}", expected)
        )
        return
    for position, (name, value) in enumerate(items.items(), start=1):
        fields = value if isinstance(value, dict) and field in value else {field: value}
        row = JsonRecord(file.shown, None, position, {**fields, key: name})
        if key in fields:
            problems.append(row.problem(*_describe_id_name_conflict(key)))
        else:
            yield row


def convert_records_to_keyed_object(
    records: Iterable[Mapping[str, Any]], key: str, field: str
) -> dict[str, Any]:
    """Return a JSON object that maps the id of each record to the other fields of the
    record. The function `read_records_of_keyed_object` reads the records back from a file with this
    object.
    """
    found = {}
    for record in records:
        fields = {name: value for name, value in record.items() if name != key}
        found[str(record[key])] = fields if fields.keys() != {field} else fields[field]
    return found


def read_query_records(
    file: InputFile, key: str, problems: ProblemList
) -> Iterator[JsonRecord]:
    """Yield the records in a file of queries. If the first row of a table does not
    contain the name ``key``, the table is read as a file without a header.
    """
    if file.suffix in (".json", ".jsonl", ".ndjson"):
        yield from read_records(file, problems)
        return
    rows = list(
        iterate_table_rows(
            file,
            TableFormat(TABLE_FORMATS_BY_SUFFIX.get(file.suffix, TSV_FORMAT)),
            problems,
        )
    )
    heads: Sequence[str] = (key, DEFAULT_QUERY_COLUMN)
    if rows and key in rows[0].cells:
        heads, rows = rows[0].cells, rows[1:]
    for position, row in enumerate(rows, start=1):
        if len(row.cells) != len(heads):
            expected = f"a header row with “{key}”, or an id and a query in each row"
            found = f"a row of {len(row.cells)} cells, and no column “{key}”"
            problems.append(file.make_problem(found, expected, line=row.line))
            return
        yield _make_query_record(file, row, position, heads)


def _make_query_record(
    file: InputFile, row: TableRow, place: int, heads: Sequence[str]
) -> JsonRecord:
    cells = dict(zip(heads, row.cells, strict=True))
    return JsonRecord(file.shown, row.line, place, cells)


class QueriesById:
    """The queries of a ranking task that are in a separate file, as a mapping from
    instance id to record.
    """

    def __init__(
        self, files: Files, name: str, key: str, problems: ProblemList
    ) -> None:
        self._name, self._key, self._problems = name, key, problems
        self._fields: dict[str, Mapping[str, Any]] = {}
        own = [file for file in files if file.base == name]
        for file in own:
            for record in read_query_records(file, key, problems):
                if query := get_record_id(record.value, key):
                    self._fields.setdefault(query, record.value)
        if not own and not problems.has_errors:
            problems.append(
                files[0].make_problem(f"there is no file {name}", "the queries")
            )

    def add_query_fields(self, record: JsonRecord) -> JsonRecord:
        """Return the record of an instance with the fields of the instance's query
        added.
        """
        name = get_record_id(record.value, self._key)
        query = self._fields.get(name or "")
        if query is None and not self._problems.has_errors:
            message = f"instance “{name}” has no query in {self._name}"
            self._problems.append(record.problem(message, "a query for each"))
        return replace(record, value={**(query or {}), **record.value})


def has_file_name(name: str, base: str) -> bool:
    """Return True if the path ``name`` ends with the file name ``base``, and ``base``
    is not empty.
    """
    return bool(base) and PurePosixPath(name).name == base
