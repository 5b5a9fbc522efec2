"""Read the files of gold (reference answers), and determine which of the files contain
answers, queries and documents.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

from tasks.types.declared.fields import (
    ANSWER_FIELD_NAMES_BY_FORM,
    EMPTY_VALUES,
    RecordRows,
    compute_mean_word_count,
    has_unique_values,
    list_nonempty_fields,
    list_scalar_values_as_texts,
)
from tasks.types.declared.recognised import (
    LIKELY_CONFIDENCE,
    SURE_CONFIDENCE,
    UNSURE_CONFIDENCE,
    AnswerFieldReading,
    SettingGuess,
    guess_answer_field,
    guess_id_settings,
)
from tasks.types.declared.tag_proposals import is_bio_file_of_tag_task, read_bio_records
from tasks.types.files import Files, InputFile
from tasks.types.forms.bio import BIO
from tasks.types.forms.instances import TREC
from tasks.types.forms.shapes import (
    DEFAULT_QUERY_COLUMN,
    GoldFileLayout,
    convert_label_to_text,
    read_query_records,
)
from tasks.types.guarded.json_reader import read_json
from tasks.types.jsonlines import (
    JSON_LINES_SUFFIXES,
    JsonRecord,
    get_record_id,
    is_records_file,
    read_records,
)
from tasks.types.problems import InputRefused, Problem, ProblemList
from tasks.types.tables import (
    DEFAULT_DELIMITERS_BY_FORMAT,
    TableFormat,
    iterate_table_records,
)
from tasks.types.text import decode_utf8_or_windows_1252

TomlValues = dict[str, Any]
QRELS_SUFFIXES = (".txt", ".qrels", ".trec")
_QRELS_LINE_PATTERN = re.compile(r"\S+\s+\S+\s+\S+\s+-?\d{1,9}\s*")
#: `_FIELD_NAME_PATTERN` matches typical names of an instance's fields, such as `text`.
#: Objects with a key that `_FIELD_NAME_PATTERN` matches do not map ids to instances.
_FIELD_NAME_PATTERN = re.compile(
    r"id|text|label|labels|gold|answer|answers|title|query|data|claim", re.IGNORECASE
)
_PAIR_ID_FIELD_PATTERN = re.compile(
    r"(^|[_\W])(id|key)s?$|[a-z](Id|ID)$|[a-z]id$|doc|corpus|query|claim|topic",
    re.IGNORECASE,
)
_GRADE_FIELD_PATTERN = re.compile(
    r"score|grade|relevan|label|annotation|judg", re.IGNORECASE
)
#: `_IRRELEVANT_LABEL_PATTERN` matches labels of documents that are not relevant to the query.
_IRRELEVANT_LABEL_PATTERN = re.compile(
    r"(no|not|non|irrelevant|un|nei|neutral|false|negative)([ _-].*)?", re.IGNORECASE
)
MAX_DISTINCT_GRADE_LABELS, MAX_FIELDS_TRIED_IN_PAIR = 10, 6


@dataclass(frozen=True)
class GoldFileWithRows:
    """A gold file (a file of reference answers) and its rows. ``keys`` are the settings
    that `task.toml` needs to read the file.
    """

    file: InputFile
    records: Sequence[JsonRecord]
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> RecordRows:
        return [record.value for record in self.records]


@dataclass(frozen=True)
class RecognisedGold:
    """The gold instances that were recognised in files, and the settings for reading
    the files. One field of each instance contains the gold answer.

    ``keys`` are the settings of the table [task.gold] in `task.toml`. ``labels`` lists
    the label of each vector position if answers are vectors of 0 and 1. ``pool`` is the
    file of documents, and ``pool_key`` is the field with document ids. ``secret`` are
    the fields of instances that could reveal answers.
    """

    main: str
    rows: RecordRows
    keys: TomlValues
    guesses: Sequence[SettingGuess]
    labels: Sequence[str] = ()
    pool: str = ""
    pool_key: str = ""
    queries: str = ""
    secret: Sequence[str] = ()

    @property
    def key(self) -> str:
        return str(self.keys["id"])

    @property
    def answer(self) -> str:
        return str(self.keys["field"])


def read_gold_files(
    files: Files, form: str, gold: TomlValues, problems: ProblemList
) -> dict[str, GoldFileWithRows]:
    """Return a mapping from file name to gold file, without files that have no rows."""
    found: dict[str, GoldFileWithRows] = {}
    for file in files:
        name = file.name.rpartition("/")[2]
        if is_bio_file_of_tag_task(file, form):
            found[name] = GoldFileWithRows(
                file, read_bio_records(file, problems), {"files": BIO}
            )
        elif file.suffix.removeprefix(".") in DEFAULT_DELIMITERS_BY_FORMAT:
            found[name] = GoldFileWithRows(
                file, [*_iterate_table_records(file, problems, form, gold)]
            )
        elif is_records_file(file.name):
            found[name] = _read_json_gold(file, form, problems)
        elif form == "ranking" and file.suffix in QRELS_SUFFIXES:
            found[name] = _read_qrels_file(file)
    return found


def choose_table_form(file: InputFile, gold: TomlValues) -> TableFormat:
    kind = file.suffix.removeprefix(".")
    if gold.get("files", kind) != kind:
        return TableFormat(kind)
    return TableFormat(kind, gold.get("delimiter", ""), gold.get("quotes"))


def _iterate_table_records(
    file: InputFile, problems: ProblemList, form: str, gold: TomlValues
) -> Iterator[JsonRecord]:
    records = iterate_table_records(file, choose_table_form(file, gold), problems)
    if form != "numbers":
        return records
    # Table cells are read as text, so numeric cells are converted to numbers.
    return (
        replace(
            record,
            value={k: _convert_numeric_cell(cell) for k, cell in record.value.items()},
        )
        for record in records
    )


def _convert_numeric_cell(cell: Any) -> Any:
    for kind in (int, float):
        with suppress(ValueError):
            if math.isfinite(number := kind(cell)):
                return number
    return cell


def _read_json_gold(
    file: InputFile, form: str, problems: ProblemList
) -> GoldFileWithRows:
    if file.suffix in JSON_LINES_SUFFIXES or not (items := _read_instances_by_id(file)):
        return GoldFileWithRows(file, [*read_records(file, problems)])
    fields = {name for value in items.values() for name in _read_instance_fields(value)}
    names = ("id", "key", "instance_id", *(f"id_{n}" for n in range(len(fields))))
    key = next(name for name in names if name not in fields)
    records = [
        JsonRecord(
            file.shown, None, position, {**_read_instance_fields(value), key: name}
        )
        if _read_instance_fields(value)
        else JsonRecord(
            file.shown,
            None,
            position,
            {ANSWER_FIELD_NAMES_BY_FORM[form][0]: value, key: name},
        )
        for position, (name, value) in enumerate(items.items(), start=1)
    ]
    return GoldFileWithRows(file, records, {"files": "json", "keyed": True, "id": key})


def _read_instance_fields(value: Any) -> Mapping[str, Any]:
    """Return the fields of an instance that a JSON object stores under the instance's
    id. Return an empty mapping if ``value`` is an answer, such as the grades of
    documents, and not an object with fields.
    """
    if isinstance(value, dict) and not all(type(own) is int for own in value.values()):
        return value
    return {}


def _read_instances_by_id(file: InputFile) -> Mapping[str, Any] | None:
    """Return a file's JSON object that maps ids to instances, or None for other JSON."""
    with suppress(ValueError, InputRefused):
        items = read_json(decode_utf8_or_windows_1252(file.read()))
        if not isinstance(items, dict) or len(items) < 2:
            return None
        kinds = {type(value) for value in items.values()}
        if len(kinds) == 1 and not any(map(_FIELD_NAME_PATTERN.fullmatch, items)):
            return items
    return None


def _read_qrels_file(file: InputFile) -> GoldFileWithRows:
    """Read a file of qrels (relevance judgements), with a row per line."""
    lines = decode_utf8_or_windows_1252(file.read()).splitlines()
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if filled and all(_QRELS_LINE_PATTERN.fullmatch(line) for _, line in filled):
        records = []
        for number, line in filled:
            topic, _, document, grade = line.split()
            row = {
                QRELS_TOPIC_FIELD: topic,
                QRELS_DOCUMENT_FIELD: document,
                QRELS_GRADE_FIELD: max(0, int(grade)),
            }
            records.append(JsonRecord(file.shown, number, number, row, line))
        return GoldFileWithRows(file, records, {"files": TREC})
    return GoldFileWithRows(file, ())


QRELS_TOPIC_FIELD, QRELS_DOCUMENT_FIELD, QRELS_GRADE_FIELD = "id", "document", "grade"


def recognise_gold(form: str, read: Mapping[str, GoldFileWithRows]) -> RecognisedGold:
    """Determine which gold files contain the answers, the queries and the documents.
    Raises InputRefused if the files cannot be gold for the form of task.
    """
    filled = [name for name, own in read.items() if own.records]
    main = next((name for name in filled if name.startswith("gold")), filled[0])
    if form in ("ranking", "evidence"):
        return _recognise_ranking(form, read, main)
    return _recognise_rows(form, main, read[main])


def _recognise_rows(
    form: str,
    main: str,
    source: GoldFileWithRows,
    *,
    also: Callable[[AnswerFieldReading], bool] | None = None,
) -> RecognisedGold:
    rows = source.rows
    if source.keys.get("keyed"):
        keys: TomlValues = {"id": source.keys["id"]}
        reason = "the file is an object with an instance under each id"
        guess = SettingGuess("id", keys["id"], SURE_CONFIDENCE, reason)
        without = [
            {name: own for name, own in row.items() if name != keys["id"]}
            for row in rows
        ]
        reading, answer = guess_answer_field(form, without, also=also)
    else:
        reading, answer = guess_answer_field(
            form, _remove_id_field(form, rows), also=also
        )
        keys, guess = guess_id_settings(
            form, _remove_answer_fields(rows, reading), reading.field
        )
    gold = {**source.keys, **keys, **reading.keys, "field": reading.field}
    converted = [
        {**row, reading.field: value}
        for row, value in zip(_add_ids_to_rows(rows, keys), reading.values, strict=True)
    ]
    return RecognisedGold(
        main=main,
        rows=_remove_column_fields(converted, reading),
        keys=gold,
        guesses=(guess, answer),
        labels=reading.labels,
    )


def _remove_id_field(form: str, rows: RecordRows) -> RecordRows:
    """Return the rows without the id field, because an id could be mistaken for an
    answer. Return the rows unchanged if no field is certain to be the id.
    """
    keys, guess = guess_id_settings(form, rows, "")
    if guess.confidence != SURE_CONFIDENCE or "ids" in keys or "numbered" in keys:
        return rows
    return [
        {name: value for name, value in row.items() if name != keys["id"]}
        for row in rows
    ]


def _remove_answer_fields(rows: RecordRows, reading: AnswerFieldReading) -> RecordRows:
    own = {reading.field, *reading.keys.get("columns", ())}
    return [{name: v for name, v in row.items() if name not in own} for row in rows]


def _remove_column_fields(rows: RecordRows, reading: AnswerFieldReading) -> RecordRows:
    own = set(reading.keys.get("columns", ()))
    return [{name: v for name, v in row.items() if name not in own} for row in rows]


def _add_ids_to_rows(rows: RecordRows, keys: TomlValues) -> RecordRows:
    """Return the rows of gold, each with an id. If the rows have no id field, the id is
    composed of several fields or is the row number.
    """
    shape = GoldFileLayout(
        ids=tuple(keys.get("ids", ())), numbered=keys.get("numbered", False)
    )
    if not (shape.ids or shape.numbered):
        return rows
    names = (
        shape.get_instance_id(JsonRecord("", None, position, row), keys["id"])
        for position, row in enumerate(rows, start=1)
    )
    return [{**row, keys["id"]: name} for row, name in zip(rows, names, strict=True)]


# The following functions recognise gold of ranking tasks and of evidence tasks.


@dataclass(frozen=True)
class _DocumentPool:
    name: str
    key: str
    ids: frozenset[str]


def _find_possible_pools(read: Mapping[str, GoldFileWithRows]) -> list[_DocumentPool]:
    return [
        _DocumentPool(name, key, frozenset(str(row[key]) for row in source.rows))
        for name, source in read.items()
        if source.records and not source.keys
        for key in list_nonempty_fields(source.rows)
        if has_unique_values(source.rows, key)
    ]


def iterate_ids_in_value(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(str, value)
    elif isinstance(value, list):
        for own in value:
            yield from (
                iterate_ids_in_value(own) if isinstance(own, list) else [str(own)]
            )
    elif value not in (None, ""):
        yield str(value)


def _recognise_ranking(
    form: str, read: Mapping[str, GoldFileWithRows], main: str
) -> RecognisedGold:
    pools = _find_possible_pools(read)
    if form == "ranking":
        qrels = [name for name, own in read.items() if own.keys.get("files") == TREC]
        if qrels:
            return _recognise_qrels(read, qrels[0], pools)
        for name, source in read.items():
            if pair := _find_query_document_pair(
                source, [pool for pool in pools if pool.name != name]
            ):
                return _recognise_pairs(read, name, pair, pools)
    for pool in pools:
        for name, source in read.items():
            if name != pool.name and (
                found := _recognise_ids_of_pool(form, name, source, pool)
            ):
                return found
    for name in read:
        with suppress(InputRefused):
            found = _recognise_rows(form, name, read[name])
            if found.guesses[1].confidence != UNSURE_CONFIDENCE:
                return found
    return _recognise_rows(form, main, read[main])


def _recognise_ids_of_pool(
    form: str, name: str, source: GoldFileWithRows, pool: _DocumentPool
) -> RecognisedGold | None:
    """Return the gold instances of a file if all answers are ids of documents in the
    pool (list of candidates), otherwise None.
    """

    def is_known(reading: AnswerFieldReading) -> bool:
        named = {
            part.partition(":")[0] if form == "evidence" else part
            for value in reading.values
            for part in iterate_ids_in_value(value)
        }
        return bool(named) and named <= pool.ids

    if not source.records:
        return None
    try:
        found = _recognise_rows(form, name, source, also=is_known)
    except InputRefused:
        return None
    values = [row.get(found.answer) for row in found.rows]
    if not is_known(AnswerFieldReading(found.answer, values, "")):
        return None
    reason = f"“{pool.key}” of {pool.name} has every id of “{found.answer}”"
    guess = SettingGuess("pool", pool.name, SURE_CONFIDENCE, reason)
    return replace(
        found, pool=pool.name, pool_key=pool.key, guesses=[*found.guesses, guess]
    )


@dataclass(frozen=True)
class _QueryDocumentPair:
    """The field names of query id and document id in a file of query-document pairs,
    and the pool of documents that systems rank.
    """

    query: str
    document: str
    pool: _DocumentPool


def _find_query_document_pair(
    source: GoldFileWithRows, pools: Sequence[_DocumentPool]
) -> _QueryDocumentPair | None:
    """Return the names of the fields with the query id and with the document id, and
    the pool of documents. Return None if the rows of the file are not pairs of a query
    and a document.
    """
    rows = source.rows
    if source.keys or len(rows) < 2:
        return None
    plain = [
        name
        for name in list_nonempty_fields(rows)
        if _PAIR_ID_FIELD_PATTERN.search(name)
        and len(list_scalar_values_as_texts(rows, name) or ()) == len(rows)
    ][:MAX_FIELDS_TRIED_IN_PAIR]
    for query, document in permutations(plain, 2):
        pairs = {(str(row[query]), str(row[document])) for row in rows}
        documents = {document for _, document in pairs}
        is_repeated = len({query for query, _ in pairs}) < len(rows) == len(pairs)
        pool = next((pool for pool in pools if documents <= pool.ids), None)
        if is_repeated and pool and compute_mean_word_count(rows, query) <= 2:
            return _QueryDocumentPair(query, document, pool)
    return None


def _recognise_pairs(
    read: Mapping[str, GoldFileWithRows],
    name: str,
    pair: _QueryDocumentPair,
    pools: Sequence[_DocumentPool],
) -> RecognisedGold:
    source, query, document, pool = read[name], pair.query, pair.document, pair.pool
    grades = _find_grade_settings(source.rows, query, document)
    answer = grades.name
    keys = {"id": query, "field": answer, "document": document, **grades.keys}
    shape = GoldFileLayout(document=document, relevant=tuple(keys.get("relevant", ())))
    grouped = shape.records(
        source.records, query, answer, ProblemList(), is_table=False
    )
    rows = [dict(record.value) for record in grouped]
    reason = f"“{query}” stands in several rows, each with another “{document}”"
    has = f"“{pool.key}” of {pool.name} has every “{document}”"
    guesses = [
        SettingGuess("id", query, SURE_CONFIDENCE, reason),
        grades.guess,
        SettingGuess("pool", pool.name, SURE_CONFIDENCE, has),
    ]
    recognised = RecognisedGold(
        main=name,
        rows=rows,
        keys=keys,
        guesses=guesses,
        pool=pool.name,
        pool_key=pool.key,
        secret=_list_document_fields(source.rows, query, document),
    )
    return _add_query_fields(
        read, recognised, [pool for pool in pools if pool.key == query]
    )


@dataclass(frozen=True)
class _GradeSettings:
    """The field with the relevance grade of a document, and the [task.gold] settings
    for this field.
    """

    name: str
    guess: SettingGuess
    keys: TomlValues = field(default_factory=dict)


def _find_grade_settings(rows: RecordRows, query: str, document: str) -> _GradeSettings:
    """Return the field with the relevance grades of documents, and the settings for
    reading the grades.
    """
    for name in list_nonempty_fields(rows):
        if name in (query, document) or not _GRADE_FIELD_PATTERN.search(name):
            continue
        texts = [
            convert_label_to_text(row[name])
            for row in rows
            if row.get(name) not in EMPTY_VALUES
        ]
        if len(texts) < len(rows):
            continue
        if all(text.isdecimal() for text in texts):
            reason = f"“{name}” has whole numbers, which are grades"
            return _GradeSettings(
                name, SettingGuess("answer", name, LIKELY_CONFIDENCE, reason)
            )
        distinct = [*dict.fromkeys(texts)]
        counting = [
            own for own in distinct if not _IRRELEVANT_LABEL_PATTERN.fullmatch(own)
        ]
        if counting and len(distinct) <= MAX_DISTINCT_GRADE_LABELS:
            reason = f"“{name}” has {len(distinct)} words, and {len(counting)} of them seem to mean relevant"
            guess = SettingGuess("answer", name, UNSURE_CONFIDENCE, reason)
            return _GradeSettings(name, guess, {"relevant": counting})
    reason = f"each row has a relevant “{document}”; no field has grades"
    return _GradeSettings(
        document, SettingGuess("answer", document, LIKELY_CONFIDENCE, reason)
    )


def _list_document_fields(rows: RecordRows, query: str, document: str) -> list[str]:
    """Return the names of fields that may describe the document instead of the query.

    A field is taken to describe the query if rows with the same document have different
    values in the field. A field whose name begins like the name of the query id field
    also describes the query.
    """
    stem = re.split(r"[_\W]|(?=Id|ID)", query)[0].lower()
    found = []
    for name in list_nonempty_fields(rows):
        values: dict[str, set[str]] = {}
        for row in rows:
            values.setdefault(str(row[document]), set()).add(str(row.get(name)))
        is_own = stem and name.lower().startswith(stem)
        if all(len(value) == 1 for value in values.values()) and not is_own:
            found.append(name)
    return found


def _recognise_qrels(
    read: Mapping[str, GoldFileWithRows], name: str, pools: Sequence[_DocumentPool]
) -> RecognisedGold:
    grades: dict[str, dict[str, int]] = {}
    for row in read[name].rows:
        grades.setdefault(row[QRELS_TOPIC_FIELD], {})[row[QRELS_DOCUMENT_FIELD]] = row[
            QRELS_GRADE_FIELD
        ]
    documents = {document for grade in grades.values() for document in grade}
    pool = next((pool for pool in pools if documents <= pool.ids), None)
    rows = [
        {QRELS_TOPIC_FIELD: topic, "relevant": grade} for topic, grade in grades.items()
    ]
    reason = "the lines are qrels: topic, a number, document, grade"
    has = "each topic of the qrels is an instance"
    guesses = [
        SettingGuess("id", QRELS_TOPIC_FIELD, SURE_CONFIDENCE, has),
        SettingGuess("answer", name, SURE_CONFIDENCE, reason),
    ]
    if pool:
        has = f"“{pool.key}” of {pool.name} has every document of the qrels"
        guesses.append(SettingGuess("pool", pool.name, SURE_CONFIDENCE, has))
    recognised = RecognisedGold(
        main=name,
        rows=rows,
        keys={"files": TREC, "id": QRELS_TOPIC_FIELD, "field": "relevant"},
        guesses=guesses,
        pool=pool.name if pool else "",
        pool_key=pool.key if pool else "",
    )
    return _add_query_fields(read, recognised, pools)


def _add_query_fields(
    read: Mapping[str, GoldFileWithRows],
    recognised: RecognisedGold,
    pools: Sequence[_DocumentPool],
) -> RecognisedGold:
    """Add the fields in the query file to the gold instances, if the gold includes a
    query file.
    """
    topics = {str(row[recognised.key]) for row in recognised.rows}
    for name, source in read.items():
        if name in (recognised.main, recognised.pool):
            continue
        own = [pool for pool in pools if pool.name == name and topics <= pool.ids]
        key = own[0].key if own else recognised.key
        records = (
            source.records
            if own
            else [*read_query_records(source.file, key, ProblemList())]
        )
        fields = {get_record_id(record.value, key): record.value for record in records}
        if not topics <= fields.keys():
            continue
        header = (
            ""
            if own
            else f"; it has no header, so its fields are {key} and {DEFAULT_QUERY_COLUMN}"
        )
        reason = f"{name} has every query of the gold{header}"
        rows = [
            {
                **fields[str(row[recognised.key])],
                **{
                    head: value for head, value in row.items() if head != recognised.key
                },
                key: row[recognised.key],
            }
            for row in recognised.rows
        ]
        return replace(
            recognised,
            rows=rows,
            keys={**recognised.keys, "id": key, "queries": name},
            queries=name,
            guesses=[
                *recognised.guesses,
                SettingGuess("queries", name, SURE_CONFIDENCE, reason),
            ],
        )
    return recognised


def read_query_rows(source: GoldFileWithRows, key: str) -> RecordRows:
    """Return the queries in a file, which may have a header line."""
    return [
        record.value for record in read_query_records(source.file, key, ProblemList())
    ]


def make_missing_documents_problem(
    found: RecognisedGold, fields: Sequence[str]
) -> Problem:
    """Return the problem that a ranking task has no documents for systems to rank."""
    message = "there is nothing to rank: no file has all documents that the gold names"
    if fields:
        shown = ", ".join(f"“{name}”" for name in fields)
        expected = f"“Field with the candidates”: {shown} holds every answer and more; it would be shown"
        return Problem(message=message, expected=expected)
    expected = (
        f"a zip of {found.main} and a file with an id and a text for each document"
    )
    return Problem(message=message, expected=expected)
