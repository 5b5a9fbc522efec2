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
    ANSWERS,
    NOTHING,
    Rows,
    is_key,
    names_of,
    scalars,
    words,
)
from tasks.types.declared.recognised import (
    LIKELY,
    SURE,
    UNSURE,
    Guess,
    Reading,
    guess_answer,
    guess_id,
)
from tasks.types.declared.tag_proposals import bio_records, is_bio
from tasks.types.files import Files, InputFile
from tasks.types.forms.bio import BIO
from tasks.types.forms.instances import TREC
from tasks.types.forms.shapes import QUERY, GoldShape, label_text, query_records
from tasks.types.guarded.json_reader import read_json
from tasks.types.jsonlines import (
    LINES,
    Record,
    is_records_file,
    read_records,
    record_id,
)
from tasks.types.problems import InputRefused, Problem, Problems
from tasks.types.tables import TABLES, TableForm, table_records
from tasks.types.text import decoded

Values = dict[str, Any]
QRELS = (".txt", ".qrels", ".trec")
_QRELS_LINE = re.compile(r"\S+\s+\S+\s+\S+\s+-?\d{1,9}\s*")
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
MAX_WORDS, MAX_PAIRED = 10, 6


@dataclass(frozen=True)
class GoldFile:
    """A gold file (a file of reference answers) and its rows. ``keys`` are the settings
    that `task.toml` needs to read the file.
    """

    file: InputFile
    records: Sequence[Record]
    keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> Rows:
        return [record.value for record in self.records]


@dataclass(frozen=True)
class Recognised:
    """The gold instances that were recognised in files, and the settings for reading
    the files. One field of each instance contains the gold answer.

    ``keys`` are the settings of the table [task.gold] in `task.toml`. ``labels`` lists
    the label of each vector position if answers are vectors of 0 and 1. ``pool`` is the
    file of documents, and ``pool_key`` is the field with document ids. ``secret`` are
    the fields of instances that could reveal answers.
    """

    main: str
    rows: Rows
    keys: Values
    guesses: Sequence[Guess]
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
    files: Files, form: str, gold: Values, problems: Problems
) -> dict[str, GoldFile]:
    """Return a mapping from file name to gold file, without files that have no rows."""
    found: dict[str, GoldFile] = {}
    for file in files:
        name = file.name.rpartition("/")[2]
        if is_bio(file, form):
            found[name] = GoldFile(file, bio_records(file, problems), {"files": BIO})
        elif file.suffix.removeprefix(".") in TABLES:
            found[name] = GoldFile(
                file, [*_iterate_table_records(file, problems, form, gold)]
            )
        elif is_records_file(file.name):
            found[name] = _read_json_gold(file, form, problems)
        elif form == "ranking" and file.suffix in QRELS:
            found[name] = _read_qrels_file(file)
    return found


def table_form(file: InputFile, gold: Values) -> TableForm:
    kind = file.suffix.removeprefix(".")
    if gold.get("files", kind) != kind:
        return TableForm(kind)
    return TableForm(kind, gold.get("delimiter", ""), gold.get("quotes"))


def _iterate_table_records(
    file: InputFile, problems: Problems, form: str, gold: Values
) -> Iterator[Record]:
    records = table_records(file, table_form(file, gold), problems)
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


def _read_json_gold(file: InputFile, form: str, problems: Problems) -> GoldFile:
    if file.suffix in LINES or not (items := _read_instances_by_id(file)):
        return GoldFile(file, [*read_records(file, problems)])
    fields = {name for value in items.values() for name in _read_instance_fields(value)}
    names = ("id", "key", "instance_id", *(f"id_{n}" for n in range(len(fields))))
    key = next(name for name in names if name not in fields)
    records = [
        Record(file.shown, None, position, {**_read_instance_fields(value), key: name})
        if _read_instance_fields(value)
        else Record(file.shown, None, position, {ANSWERS[form][0]: value, key: name})
        for position, (name, value) in enumerate(items.items(), start=1)
    ]
    return GoldFile(file, records, {"files": "json", "keyed": True, "id": key})


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
        items = read_json(decoded(file.read()))
        if not isinstance(items, dict) or len(items) < 2:
            return None
        kinds = {type(value) for value in items.values()}
        if len(kinds) == 1 and not any(map(_FIELD_NAME_PATTERN.fullmatch, items)):
            return items
    return None


def _read_qrels_file(file: InputFile) -> GoldFile:
    """Read a file of qrels (relevance judgements), with a row per line."""
    lines = decoded(file.read()).splitlines()
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if filled and all(_QRELS_LINE.fullmatch(line) for _, line in filled):
        records = []
        for number, line in filled:
            topic, _, document, grade = line.split()
            row = {TOPIC: topic, DOCUMENT: document, GRADE: max(0, int(grade))}
            records.append(Record(file.shown, number, number, row, line))
        return GoldFile(file, records, {"files": TREC})
    return GoldFile(file, ())


TOPIC, DOCUMENT, GRADE = "id", "document", "grade"


def recognise(form: str, read: Mapping[str, GoldFile]) -> Recognised:
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
    source: GoldFile,
    *,
    also: Callable[[Reading], bool] | None = None,
) -> Recognised:
    rows = source.rows
    if source.keys.get("keyed"):
        keys: Values = {"id": source.keys["id"]}
        reason = "the file is an object with an instance under each id"
        guess = Guess("id", keys["id"], SURE, reason)
        without = [
            {name: own for name, own in row.items() if name != keys["id"]}
            for row in rows
        ]
        reading, answer = guess_answer(form, without, also=also)
    else:
        reading, answer = guess_answer(form, _remove_id_field(form, rows), also=also)
        keys, guess = guess_id(
            form, _remove_answer_fields(rows, reading), reading.field
        )
    gold = {**source.keys, **keys, **reading.keys, "field": reading.field}
    converted = [
        {**row, reading.field: value}
        for row, value in zip(_add_ids_to_rows(rows, keys), reading.values, strict=True)
    ]
    return Recognised(
        main=main,
        rows=_remove_column_fields(converted, reading),
        keys=gold,
        guesses=(guess, answer),
        labels=reading.labels,
    )


def _remove_id_field(form: str, rows: Rows) -> Rows:
    """Return the rows without the id field, because an id could be mistaken for an
    answer. Return the rows unchanged if no field is certain to be the id.
    """
    keys, guess = guess_id(form, rows, "")
    if guess.confidence != SURE or "ids" in keys or "numbered" in keys:
        return rows
    return [
        {name: value for name, value in row.items() if name != keys["id"]}
        for row in rows
    ]


def _remove_answer_fields(rows: Rows, reading: Reading) -> Rows:
    own = {reading.field, *reading.keys.get("columns", ())}
    return [{name: v for name, v in row.items() if name not in own} for row in rows]


def _remove_column_fields(rows: Rows, reading: Reading) -> Rows:
    own = set(reading.keys.get("columns", ()))
    return [{name: v for name, v in row.items() if name not in own} for row in rows]


def _add_ids_to_rows(rows: Rows, keys: Values) -> Rows:
    """Return the rows of gold, each with an id. If the rows have no id field, the id is
    composed of several fields or is the row number.
    """
    shape = GoldShape(
        ids=tuple(keys.get("ids", ())), numbered=keys.get("numbered", False)
    )
    if not (shape.ids or shape.numbered):
        return rows
    names = (
        shape.name_of(Record("", None, position, row), keys["id"])
        for position, row in enumerate(rows, start=1)
    )
    return [{**row, keys["id"]: name} for row, name in zip(rows, names, strict=True)]


# The following functions recognise gold of ranking tasks and of evidence tasks.


@dataclass(frozen=True)
class _DocumentPool:
    name: str
    key: str
    ids: frozenset[str]


def _find_possible_pools(read: Mapping[str, GoldFile]) -> list[_DocumentPool]:
    return [
        _DocumentPool(name, key, frozenset(str(row[key]) for row in source.rows))
        for name, source in read.items()
        if source.records and not source.keys
        for key in names_of(source.rows)
        if is_key(source.rows, key)
    ]


def ids_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(str, value)
    elif isinstance(value, list):
        for own in value:
            yield from ids_in(own) if isinstance(own, list) else [str(own)]
    elif value not in (None, ""):
        yield str(value)


def _recognise_ranking(
    form: str, read: Mapping[str, GoldFile], main: str
) -> Recognised:
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
            if found.guesses[1].confidence != UNSURE:
                return found
    return _recognise_rows(form, main, read[main])


def _recognise_ids_of_pool(
    form: str, name: str, source: GoldFile, pool: _DocumentPool
) -> Recognised | None:
    """Return the gold instances of a file if all answers are ids of documents in the
    pool (list of candidates), otherwise None.
    """

    def is_known(reading: Reading) -> bool:
        named = {
            part.partition(":")[0] if form == "evidence" else part
            for value in reading.values
            for part in ids_in(value)
        }
        return bool(named) and named <= pool.ids

    if not source.records:
        return None
    try:
        found = _recognise_rows(form, name, source, also=is_known)
    except InputRefused:
        return None
    values = [row.get(found.answer) for row in found.rows]
    if not is_known(Reading(found.answer, values, "")):
        return None
    reason = f"“{pool.key}” of {pool.name} has every id of “{found.answer}”"
    guess = Guess("pool", pool.name, SURE, reason)
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
    source: GoldFile, pools: Sequence[_DocumentPool]
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
        for name in names_of(rows)
        if _PAIR_ID_FIELD_PATTERN.search(name)
        and len(scalars(rows, name) or ()) == len(rows)
    ][:MAX_PAIRED]
    for query, document in permutations(plain, 2):
        pairs = {(str(row[query]), str(row[document])) for row in rows}
        documents = {document for _, document in pairs}
        is_repeated = len({query for query, _ in pairs}) < len(rows) == len(pairs)
        pool = next((pool for pool in pools if documents <= pool.ids), None)
        if is_repeated and pool and words(rows, query) <= 2:
            return _QueryDocumentPair(query, document, pool)
    return None


def _recognise_pairs(
    read: Mapping[str, GoldFile],
    name: str,
    pair: _QueryDocumentPair,
    pools: Sequence[_DocumentPool],
) -> Recognised:
    source, query, document, pool = read[name], pair.query, pair.document, pair.pool
    grades = _find_grade_settings(source.rows, query, document)
    answer = grades.name
    keys = {"id": query, "field": answer, "document": document, **grades.keys}
    shape = GoldShape(document=document, relevant=tuple(keys.get("relevant", ())))
    grouped = shape.records(source.records, query, answer, Problems(), is_table=False)
    rows = [dict(record.value) for record in grouped]
    reason = f"“{query}” stands in several rows, each with another “{document}”"
    has = f"“{pool.key}” of {pool.name} has every “{document}”"
    guesses = [
        Guess("id", query, SURE, reason),
        grades.guess,
        Guess("pool", pool.name, SURE, has),
    ]
    recognised = Recognised(
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
    guess: Guess
    keys: Values = field(default_factory=dict)


def _find_grade_settings(rows: Rows, query: str, document: str) -> _GradeSettings:
    """Return the field with the relevance grades of documents, and the settings for
    reading the grades.
    """
    for name in names_of(rows):
        if name in (query, document) or not _GRADE_FIELD_PATTERN.search(name):
            continue
        texts = [label_text(row[name]) for row in rows if row.get(name) not in NOTHING]
        if len(texts) < len(rows):
            continue
        if all(text.isdecimal() for text in texts):
            reason = f"“{name}” has whole numbers, which are grades"
            return _GradeSettings(name, Guess("answer", name, LIKELY, reason))
        distinct = [*dict.fromkeys(texts)]
        counting = [
            own for own in distinct if not _IRRELEVANT_LABEL_PATTERN.fullmatch(own)
        ]
        if counting and len(distinct) <= MAX_WORDS:
            reason = f"“{name}” has {len(distinct)} words, and {len(counting)} of them seem to mean relevant"
            guess = Guess("answer", name, UNSURE, reason)
            return _GradeSettings(name, guess, {"relevant": counting})
    reason = f"each row has a relevant “{document}”; no field has grades"
    return _GradeSettings(document, Guess("answer", document, LIKELY, reason))


def _list_document_fields(rows: Rows, query: str, document: str) -> list[str]:
    """Return the names of fields that may describe the document instead of the query.

    A field is taken to describe the query if rows with the same document have different
    values in the field. A field whose name begins like the name of the query id field
    also describes the query.
    """
    stem = re.split(r"[_\W]|(?=Id|ID)", query)[0].lower()
    found = []
    for name in names_of(rows):
        values: dict[str, set[str]] = {}
        for row in rows:
            values.setdefault(str(row[document]), set()).add(str(row.get(name)))
        is_own = stem and name.lower().startswith(stem)
        if all(len(value) == 1 for value in values.values()) and not is_own:
            found.append(name)
    return found


def _recognise_qrels(
    read: Mapping[str, GoldFile], name: str, pools: Sequence[_DocumentPool]
) -> Recognised:
    grades: dict[str, dict[str, int]] = {}
    for row in read[name].rows:
        grades.setdefault(row[TOPIC], {})[row[DOCUMENT]] = row[GRADE]
    documents = {document for grade in grades.values() for document in grade}
    pool = next((pool for pool in pools if documents <= pool.ids), None)
    rows = [{TOPIC: topic, "relevant": grade} for topic, grade in grades.items()]
    reason = "the lines are qrels: topic, a number, document, grade"
    has = "each topic of the qrels is an instance"
    guesses = [Guess("id", TOPIC, SURE, has), Guess("answer", name, SURE, reason)]
    if pool:
        has = f"“{pool.key}” of {pool.name} has every document of the qrels"
        guesses.append(Guess("pool", pool.name, SURE, has))
    recognised = Recognised(
        main=name,
        rows=rows,
        keys={"files": TREC, "id": TOPIC, "field": "relevant"},
        guesses=guesses,
        pool=pool.name if pool else "",
        pool_key=pool.key if pool else "",
    )
    return _add_query_fields(read, recognised, pools)


def _add_query_fields(
    read: Mapping[str, GoldFile], recognised: Recognised, pools: Sequence[_DocumentPool]
) -> Recognised:
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
            source.records if own else [*query_records(source.file, key, Problems())]
        )
        fields = {record_id(record.value, key): record.value for record in records}
        if not topics <= fields.keys() or (
            "document" in recognised.keys and key != recognised.key
        ):
            continue
        header = (
            "" if own else f"; it has no header, so its fields are {key} and {QUERY}"
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
            guesses=[*recognised.guesses, Guess("queries", name, SURE, reason)],
        )
    return recognised


def query_rows(source: GoldFile, key: str) -> Rows:
    """Return the queries in a file, which may have a header line."""
    return [record.value for record in query_records(source.file, key, Problems())]


def without_candidates(found: Recognised, fields: Sequence[str]) -> Problem:
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
