"""Base class for tasks in which a system gives one answer to each instance.

Subclasses define the format of answers, such as labels or rankings. This module parses
gold, inputs and runs, and finds the classes and resampling units of instances.
"""

import dataclasses
import json
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, ClassVar

from tasks.types import jsonlines
from tasks.types.base import (
    LINES_VIEW,
    MAX_STORED_INSTANCES,
    AnswerPart,
    Index,
    Options,
    Pairs,
    ShownInstance,
    Split,
)
from tasks.types.files import (
    CURRENT_PARSING_RULES_VERSION,
    GZIP_SUFFIX,
    IGNORED_FILE_NAMES,
    Files,
    InputFile,
    get_reading_version,
)
from tasks.types.forms.mapping import (
    LabelsBySpelling,
    replace_spelling_by_label,
    replace_value_at_path,
)
from tasks.types.forms.shapes import (
    ONE_INSTANCE_PER_ROW_LAYOUT,
    GoldFileLayout,
    QueriesById,
    has_file_name,
    read_records_of_keyed_object,
)
from tasks.types.problems import Problem, ProblemList, raise_if_any_problem_is_fatal
from tasks.types.ranking.records import compute_sha256_of_parts
from tasks.types.run_forms import RunFormatSignature
from tasks.types.tables import (
    DEFAULT_DELIMITERS_BY_FORMAT,
    RunTableColumns,
    TableFormat,
    format_table,
    iterate_table_records,
    read_run_with_tables,
)
from tasks.types.text import (
    decode_utf8_or_windows_1252,
    describe_json_type_or_missing,
    normalise_to_nfc,
)

INPUTS_FILE_NAME = "inputs.jsonl"
JSON_FILE_FORMATS, TREC = ("jsonl", "json"), "trec"
GOLD_FILE_FORMATS = (*JSON_FILE_FORMATS, *DEFAULT_DELIMITERS_BY_FORMAT, TREC)
#: `COUNT_UNANSWERED_AS_WRONG` counts unanswered instances as wrong, and `LEAVE_UNANSWERED_OUT` ignores them.
COUNT_UNANSWERED_AS_WRONG, LEAVE_UNANSWERED_OUT = "wrong", "left-out"

#: The readings in `COUNTING_READINGS` replace the value of a field by a count, such as of words.
COUNTING_READINGS = ("count", "words", "characters")

#: `Fault` functions record an error message and the value that was expected.
FaultRecorder = Callable[[str, str], None]


def get_value_at_path(record: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path such as `a.b` in nested objects, or None. If
    ``record`` has a key that is equal to the whole path, return the value of this key.
    """
    if path in record:
        return record[path]
    value: Any = record
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def remove_value_at_path(value: Any, path: str) -> Any:
    """Return a copy of nested objects without the value at a dotted path such as `a.b`."""
    if not isinstance(value, Mapping):
        return value
    head, _, rest = path.partition(".")
    if not rest or path in value:
        return {key: own for key, own in value.items() if key != path}
    return {
        key: remove_value_at_path(own, rest) if key == head else own
        for key, own in value.items()
    }


def are_paths_nested(path: str, other: str) -> bool:
    """Return True if two dotted paths are equal or one path is a prefix of the other."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """Divides instances into classes by the value of a field, for scores on each class.

    ``reading`` determines how a value becomes a class, and is empty or one of ``year``,
    ``before:DATE``, ``words``, ``characters`` and ``count``. ``cuts`` are the limits
    between the intervals into which numeric values are divided. Instances without a
    value belong to the class ``absent``, or to no class if ``absent`` is empty.
    ``joined`` maps names of other fields to values. An instance whose fields have the
    values in ``joined`` belongs to every class, such as negative instances in a
    breakdown of F1.
    """

    name: str
    field: str
    reading: str = ""
    cuts: tuple[float, ...] = ()
    absent: str = ""
    joined: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def features(self, records: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
        own = [self.classify_record(record) for record in records]
        if not self.joined:
            return own
        everywhere = sorted(
            {name for classes in own for name in classes} - {self.absent}
        )
        return [
            tuple(dict.fromkeys((*everywhere, *classes)))
            if all(
                str(get_value_at_path(record, path)) == value
                for path, value in self.joined.items()
            )
            else classes
            for record, classes in zip(records, own, strict=True)
        ]

    def classify_record(self, record: Mapping[str, Any]) -> tuple[str, ...]:
        value = get_value_at_path(record, self.field)
        if value is None or value in ("", []):
            return (self.absent,) if self.absent else ()
        if self.reading == "count":
            value = len(value) if isinstance(value, list | dict) else 1
        elif self.reading in ("words", "characters"):
            value = len(str(value).split() if self.reading == "words" else str(value))
        elif self.reading == "year":
            value = str(value)[:4]
        elif self.reading:
            date = self.reading.partition(":")[2]
            # If the value is a year or a month, the value is replaced by its first day.
            day = str(value) + {4: "-01-01", 7: "-01"}.get(len(str(value)), "")
            value = f"before {date}" if day < date else f"{date} or later"
        if self.cuts and isinstance(value, int | float):
            return (self._name_interval(value),)
        return tuple(
            dict.fromkeys(
                map(_format_class_name, value if isinstance(value, list) else [value])
            )
        )

    def steps(self) -> dict[str, str]:
        """Return each class that contains only one whole number, mapped to this number."""
        return {
            f"{low:g} to under {high:g}": f"{low:g}"
            for low, high in pairwise(self.cuts)
            if float(low).is_integer() and high == low + 1
        }

    def _name_interval(self, value: float) -> str:
        place = bisect_right(self.cuts, value)
        if place == 0:
            return f"under {self.cuts[0]:g}"
        if place == len(self.cuts):
            return f"{self.cuts[-1]:g} or more"
        return f"{self.cuts[place - 1]:g} to under {self.cuts[place]:g}"


def _format_class_name(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class TaskInstance:
    """An instance of a task. ``gold`` is the parsed reference answer, or None if the
    files contain only public inputs. ``record`` is the instance's record in the file,
    with all fields.
    """

    id: str
    gold: Any
    record: Mapping[str, Any]


@dataclass(frozen=True)
class InstancesAndPool:
    """The parsed files of gold, which are the instances in the order of the files, and
    the pool (documents or candidates) as a mapping from id to record.
    """

    instances: tuple[TaskInstance, ...]
    pool: Mapping[str, Mapping[str, Any]]
    reading: int = CURRENT_PARSING_RULES_VERSION
    #: `rows` counts the table rows, JSON objects or lines in files with instances.
    rows: int = 0


def _iterate_records_by_id(content: InstancesAndPool) -> Iterator[Mapping[str, Any]]:
    ordered = sorted(content.instances, key=lambda instance: instance.id)
    return (instance.record for instance in ordered)


def _encode_record_for_digest(record: Mapping[str, Any], is_table: bool) -> bytes:
    """Return the bytes of a record that contribute to the digest of the gold. If the
    record is a table row, line ends in the cells are normalised.
    """
    if is_table:
        record = {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in record.items()
        }
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"{text}\n".encode()


def _describe_equal_ids(name: str, other: str) -> tuple[str, str]:
    message = (
        f"the ids “{name}” ({_list_non_ascii_code_points(name)}) and “{other}” "
        f"({_list_non_ascii_code_points(other)}) are equal in NFC"
    )
    return message, "ids that differ in Unicode's form C"


def _list_non_ascii_code_points(name: str) -> str:
    return " ".join(f"U+{ord(sign):04X}" for sign in name if not sign.isascii())


def _find_equal_ids(names: Iterable[str], files: Files) -> Iterator[Problem]:
    forms: dict[str, str] = {}
    shown = files[0].shown if len(files) == 1 else ""
    for name in names:
        if (other := forms.setdefault(normalise_to_nfc(name), name)) != name:
            message, expected = _describe_equal_ids(name, other)
            yield Problem(file=shown, message=message, expected=expected)


@dataclass(frozen=True, kw_only=True)
class InstanceTask(ABC):
    """A task in which a system gives one answer to each instance. The gold (reference
    answers) consists of records in files, and a run is JSON lines or a JSON list.

    ``shown`` are the names of public fields, and ``hidden`` are dotted paths of secret
    parts within these fields. All fields of the gold that ``shown`` does not list are
    secret. Instances with the same value in the field ``unit`` form one resampling unit
    for confidence intervals. If ``unit`` is empty, each instance is a resampling unit.
    ``missing`` maps the name of each rule set to the treatment of instances without an
    answer.
    """

    id: str = "id"
    field: str
    answer_field: str = ""
    #: `answer_id` is the key under which runs state the id of an instance.
    #: If `answer_id` is empty, runs use the same key as the gold.
    answer_id: str = ""
    #: `values` maps spellings of answers in gold to labels or numbers of the task.
    #: `answer_values` maps spellings of answers in runs to labels or numbers.
    values: LabelsBySpelling = dataclasses.field(default_factory=dict)
    answer_values: LabelsBySpelling = dataclasses.field(default_factory=dict)
    #: `answer_names` maps fields such as `confidence` to the keys that runs use.
    answer_names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    unit: str = ""
    files: str = JSON_FILE_FORMATS[0]
    shape: GoldFileLayout = ONE_INSTANCE_PER_ROW_LAYOUT
    delimiter: str = ""
    #: `quotes` states whether table cells may be quoted, or is None by default.
    quotes: bool | None = None
    #: `pool_file` is the name of the file with the pool, such as documents to rank.
    #: `pool_id`, `pool_content` and `pool_shown` are names of fields in the pool file.
    pool_file: str = ""
    pool_id: str = "id"
    #: `pool_content` names the field with the text or sentences of a pool record.
    pool_content: str = ""
    pool_shown: tuple[str, ...] = ()
    #: `keeps_records` is True if metrics need whole records, not only answers.
    keeps_records: bool = False
    missing: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: `noun` is the word for an answer in error messages.
    noun: ClassVar[str] = "answer"
    pool_noun: ClassVar[str] = "document"
    drawn_as: ClassVar[str] = LINES_VIEW
    #: `own_key` is the key of the answer in runs, if different from that in gold.
    own_key: ClassVar[str] = ""

    # Subclasses override the following members for their format of answers.

    @abstractmethod
    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        """Return the parsed gold answer in a record, and record the faults of the gold
        answer.
        """

    @abstractmethod
    def parse_answer(self, line: jsonlines.AnswerLine, name: str, index: Index) -> Any:
        """Return the parsed answer on a line of a run. If the answer is invalid, record
        the fault and return None.
        """

    @property
    @abstractmethod
    def example(self) -> Any:
        """Return an example of a valid answer, for error messages."""

    def pairs_of(
        self, content: InstancesAndPool, answers: list[Any], rules: str
    ) -> tuple[list[Any], list[Any]]:
        """Return the gold answers and the answers of a run as metrics expect them, with
        one item per instance. An instance that the run does not answer has the answer
        None.
        """
        gold = [instance.gold for instance in content.instances]
        if self.missing.get(rules) == LEAVE_UNANSWERED_OUT:
            gold = [
                None if answer is None else own
                for own, answer in zip(gold, answers, strict=True)
            ]
        return gold, answers

    def get_record_with_canonical_gold(
        self, instance: TaskInstance
    ) -> Mapping[str, Any]:
        """Return the record of an instance with the gold answer as the task spells it."""
        return instance.record

    def find_pool_record_faults(
        self, record: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        """Yield an error message and the expected form for each fault in a record of
        the pool (documents or candidates). The caller of this method has already
        checked that the pool record has an id.
        """
        yield from ()

    def make_additional_index_entries(self, content: InstancesAndPool) -> Index:
        """Return the data that are needed to validate a run, besides the names of the
        instances. The returned data must not contain gold answers.
        """
        return {}

    def count_answer_notes(self, answers: Sequence[Any]) -> Mapping[str, int]:
        return {}

    @property
    def label_dimensions(self) -> tuple[str, ...]:
        """Return the names of dimensions (breakdowns of scores) whose classes are
        labels that runs predict.
        """
        return ()

    @property
    def class_names(self) -> Mapping[str, str]:
        """Return a short display name for each class of instances that contains only
        one whole number. For example, the class `2 to under 3` of a word count is
        displayed as `2`.

        A class is displayed under its full name if a dimension of measured values, not
        counts, has the same class.
        """
        names: dict[str, str] = {}
        measured: set[str] = set()
        for dimension in self.dimensions:
            steps = dimension.steps()
            if dimension.reading in COUNTING_READINGS:
                names |= steps
            else:
                measured |= steps.keys()
        return {label: name for label, name in names.items() if label not in measured}

    @property
    def dimensions_of_answer_classes(self) -> tuple[str, ...]:
        """Return the names of dimensions (breakdowns of scores) whose classes are the
        answers.
        """
        own = (
            dimension for dimension in self.dimensions if dimension.field == self.field
        )
        return tuple(
            one.name for one in own if not (one.reading or one.cuts or one.joined)
        )

    @property
    def shown_dimensions(self) -> tuple[str, ...]:
        """Return the names of dimensions (breakdowns of scores) that use only public
        fields.
        """
        return tuple(
            dimension.name
            for dimension in self.dimensions
            if all(map(self.is_public_path, (dimension.field, *dimension.joined)))
        )

    def is_public_path(self, path: str) -> bool:
        """Return True if all values at a dotted path such as `a.b` are public. A field
        is not public if a part of the field is hidden.
        """
        return (
            path.partition(".")[0] in (self.id, *self.shown)
            and not are_paths_nested(path, self.field)
            and not any(are_paths_nested(path, hidden) for hidden in self.hidden)
        )

    def classify_instances(
        self, dimension: Dimension, content: InstancesAndPool
    ) -> Any:
        """Return the classes to which each instance belongs in a dimension (a breakdown
        of scores).
        """
        return dimension.features(
            list(map(self.get_record_with_canonical_gold, content.instances))
        )

    def format_public_value(self, name: str, value: Any) -> str:
        """Return the value of a public field as a text for display on web pages."""
        return _format_class_name(value)

    def format_gold(self, gold: Any) -> str:
        return str(gold)

    def format_answer(self, answer: Any) -> str:
        return self.format_gold(answer)

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        """Yield the parts of a gold answer that metrics count, such as each label or
        each span.
        """
        yield AnswerPart(self.format_gold(instance.gold))

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        """Yield the parts of a run's answer that metrics count, such as each label or
        each span. The argument ``answer`` is the parsed answer to an instance, and must
        not be None.
        """
        yield AnswerPart(self.format_answer(answer))

    def get_numbers_besides_answer(self, answer: Any) -> Mapping[str, float]:
        """Return the numbers that a run states besides the answer, such as
        probabilities.
        """
        return {}

    def replace_mapped_values(
        self, record: Mapping[str, Any], path: str, values: LabelsBySpelling
    ) -> Mapping[str, Any]:
        """Return a copy of the record in which the value at ``path`` is replaced by the
        answer that ``values`` maps it to.
        """
        value = get_value_at_path(record, path)
        return (
            record
            if value is None
            else replace_value_at_path(
                record, path, replace_spelling_by_label(value, values)
            )
        )

    # Subclasses inherit the following members unchanged.

    @property
    def run_id_key(self) -> str:
        """Return the key under which runs state the id of an instance."""
        return self.answer_id or self.id

    def get_run_key_of_field(self, name: str) -> str:
        """Return the key under which runs state a field besides id and answer, such as
        a confidence.
        """
        return self.answer_names.get(name, name)

    def _apply_declared_names(self, line: jsonlines.AnswerLine) -> jsonlines.AnswerLine:
        value, key = line.value, self.run_answer_key
        if "." in key and (inner := get_value_at_path(value, key)) is not None:
            value = {**value, key: inner}
        for name, other in self.answer_names.items():
            if other in value:
                value = {**value, name: value[other]}
        if self.answer_values:
            value = self.replace_mapped_values(value, key, self.answer_values)
        line.value = value
        return line

    @property
    def run_answer_key(self) -> str:
        return self.answer_field or self.own_key or self.field

    @property
    def form(self) -> jsonlines.AnswerForm:
        example = json.dumps(
            {self.run_id_key: "s1", self.run_answer_key: self.example},
            ensure_ascii=False,
        )
        table = self.columns.description if self.columns else ""
        return jsonlines.AnswerForm(
            example=example, noun=self.noun, id=self.run_id_key, table=table
        )

    @property
    def columns(self) -> RunTableColumns | None:
        """Return the columns of a run in CSV or TSV, or None if runs cannot be tables."""
        return None

    def _make_run_table_columns(self, **facts: Any) -> RunTableColumns:
        form = TableFormat()
        if self.files in DEFAULT_DELIMITERS_BY_FORMAT:
            form = TableFormat(self.files, self.delimiter, self.quotes)
        return RunTableColumns(
            id=self.run_id_key, answer=self.run_answer_key, form=form, **facts
        )

    @property
    def run_form(self) -> RunFormatSignature:
        columns = frozenset(self.columns.names if self.columns else ())
        return RunFormatSignature(
            described=self.form.files,
            keys=(frozenset({self.run_answer_key}),),
            columns=columns,
        )

    def is_gold_file(self, name: str) -> bool:
        return (
            PurePosixPath(name).name == self.pool_file
            or has_file_name(name, self.shape.queries)
            or self.is_instances_file(name)
        )

    def is_instances_file(self, name: str) -> bool:
        path = PurePosixPath(name.removesuffix(GZIP_SUFFIX))
        if path.name == self.pool_file or IGNORED_FILE_NAMES.intersection(path.parts):
            return False
        if has_file_name(name, self.shape.queries):
            return False
        if self.files in JSON_FILE_FORMATS:
            return jsonlines.is_records_file(name)
        return path.suffix.lower() in {TREC: (".txt", ".qrels", ".trec")}.get(
            self.files, (f".{self.files}",)
        )

    def instance_names(
        self, file: InputFile, records: Sequence[jsonlines.JsonRecord]
    ) -> Iterator[str | None]:
        """Yield the instance id in each record, or None if the file contains pool
        records instead of instances.
        """
        is_pool = not self.is_instances_file(file.name)
        return (
            None if is_pool else self.shape.get_instance_id(record, self.id)
            for record in records
        )

    def read_gold(self, files: Files, options: Options) -> Split:
        """Parse the files with the gold (reference answers) of a task's split, such as
        the test set. Raises InputRefused with all problems of the files.
        """
        content = self.content(files, with_gold=True)
        digest = self._compute_gold_digest(content)
        first = self._compute_first_version_digest(content)
        return Split(
            content=content,
            instances=len(content.instances),
            rows=content.rows,
            index=self.index(content),
            digest=digest,
            earlier_digests={1: first} if first != digest else {},
        )

    def _compute_gold_digest(self, content: InstancesAndPool) -> str:
        is_table = self.files in DEFAULT_DELIMITERS_BY_FORMAT
        lines = [
            _encode_record_for_digest(record, is_table)
            for record in _iterate_records_by_id(content)
        ]
        if self.pool_file:
            is_table = self.pool_file.rpartition(".")[2] in DEFAULT_DELIMITERS_BY_FORMAT
            pool = self._iterate_public_pool_records(content.pool)
            lines += [
                b"pool\n",
                *sorted(_encode_record_for_digest(record, is_table) for record in pool),
            ]
        return compute_sha256_of_parts(*lines).hex()

    def _make_gold_table_form(self, kind: str) -> TableFormat:
        if kind != self.files:
            return TableFormat(kind)
        return TableFormat(kind, self.delimiter, self.quotes)

    def _compute_first_version_digest(self, content: InstancesAndPool) -> str:
        """Return the digest of the gold by the first version of the digest rules, under
        which pool order and line ends change the digest.
        """
        lines = (
            _encode_record_for_digest(record, is_table=False)
            for record in _iterate_records_by_id(content)
        )
        pools = sorted(self.iterate_public_pool_file(content))
        return compute_sha256_of_parts(*lines, *(data for _, data in pools)).hex()

    def read_inputs(self, files: Files, options: Options) -> Index:
        return self.index(self.inputs(files))

    def inputs(self, files: Files) -> InstancesAndPool:
        """Parse the files with the public inputs of a split, such as the test set. If
        the files also contain gold answers, ignore the gold answers.
        """
        names = [
            file for file in files if PurePosixPath(file.name).name == INPUTS_FILE_NAME
        ]
        # The public inputs are JSON lines even if the gold has another format.
        others = [file for file in files if file.base == self.pool_file]
        form = (
            replace(self, files=JSON_FILE_FORMATS[0], shape=ONE_INSTANCE_PER_ROW_LAYOUT)
            if names
            else self
        )
        return form.content([*names, *others] if names else files, with_gold=False)

    def public_files(
        self, files: Files, options: Options
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the public files, which contain the public fields of the instances, and
        the pool of documents or candidates.
        """
        content = self.content(files, with_gold=True)
        yield (
            INPUTS_FILE_NAME,
            jsonlines.format_as_json_lines(
                self.public(instance) for instance in content.instances
            ),
        )
        yield from self.iterate_public_pool_file(content)

    def read_pool_records(
        self, files: Files, problems: ProblemList
    ) -> Mapping[str, Mapping[str, Any]]:
        records: dict[str, Mapping[str, Any]] = {}
        forms: dict[str, str] = {}
        for file in files:
            kind = file.suffix.removeprefix(".")
            read = (
                iterate_table_records(file, self.make_pool_table_form(kind), problems)
                if kind in DEFAULT_DELIMITERS_BY_FORMAT
                else jsonlines.read_records(file, problems)
            )
            for record in read:
                name = jsonlines.get_record_id(record.value, self.pool_id)
                other = forms.setdefault(normalise_to_nfc(name or ""), name or "")
                if name and other != name and file.reading > 1:
                    problems.append(record.problem(*_describe_equal_ids(name, other)))
                elif not name or name in records:
                    found = f"{self.pool_noun} “{name}” is there twice"
                    fault = found if name else f"“{self.pool_id}” is missing"
                    problems.append(
                        record.problem(fault, f"an id for each {self.pool_noun}")
                    )
                elif faults := [*self.find_pool_record_faults(record.value)]:
                    problems += (record.problem(*fault) for fault in faults)
                else:
                    records[name] = record.value
        if self.pool_file and not records and not problems.has_errors:
            message = f"there is no {self.pool_file}, or nothing in it"
            problems.append(Problem(message=message, expected=f"{self.pool_noun}s"))
        return records

    @property
    def _public_pool_keys(self) -> tuple[str, ...]:
        return (self.pool_id, self.pool_content, *self.pool_shown)

    def _iterate_public_pool_records(
        self, pool: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        return (
            {key: record[key] for key in self._public_pool_keys if key in record}
            for record in pool.values()
        )

    def make_pool_table_form(self, kind: str) -> TableFormat:
        quotes = self.quotes if kind == self.files else None
        return TableFormat(kind, quotes=quotes)

    def iterate_public_pool_file(
        self, content: InstancesAndPool
    ) -> Iterator[tuple[str, bytes]]:
        """Yield a file with the public fields of the pool (documents or candidates), in
        the format of the original pool file.
        """
        keys = self._public_pool_keys
        rows = self._iterate_public_pool_records(content.pool)
        kind = self.pool_file.rpartition(".")[2]
        if kind not in DEFAULT_DELIMITERS_BY_FORMAT:
            data = jsonlines.format_as_json_lines(rows)
        else:
            form = self.make_pool_table_form(kind)
            if content.reading == 1:
                form = TableFormat(kind, quotes=True)
            data = format_table(rows, keys, form).encode()
        if self.pool_file:
            yield self.pool_file, data

    def contents(self, files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
        for instance in split.content.instances:
            shown = self.public(instance)
            del shown[self.id]
            yield shown, get_value_at_path(instance.record, self.field)

    def public(self, instance: TaskInstance) -> dict[str, Any]:
        record: Any = {self.id: instance.record.get(self.id, instance.id)}
        record |= {
            name: instance.record[name]
            for name in self.shown
            if name in instance.record
        }
        for path in self.hidden:
            record = remove_value_at_path(record, path)
        return dict(record)

    def read_run(
        self, files: Files, index: Index, options: Options
    ) -> tuple[Any, list[Problem]]:
        """Return the answers of a run as a mapping from instance id to answer, and a
        list of all problems in the files.
        """
        names = dict.fromkeys(index["instances"])

        def read(lines: Files) -> tuple[Any, list[Problem]]:
            return jsonlines.read_answers(
                lines,
                names,
                lambda name, line: self.parse_answer(
                    self._apply_declared_names(line), name, index
                ),
                self.form,
            )

        if (columns := self.columns) is None:
            return read(files)
        return read_run_with_tables(files, columns, read)

    def pair(self, split: Split, run: Any, rules: str, options: Options) -> Pairs:
        """Return the gold answers and the run's answers as metrics expect them, with
        one item per instance.
        """
        content: InstancesAndPool = split.content
        found = [run.get(instance.id) for instance in content.instances]
        gold, answers = self.pairs_of(content, found, rules)
        notes = {"missing_answers": found.count(None), **self.count_answer_notes(found)}
        return self.rows(content, gold, answers, notes)

    def rows(
        self,
        content: InstancesAndPool,
        gold: Sequence[Any],
        answers: Sequence[Any],
        notes: Mapping[str, int],
    ) -> Pairs:
        names = [instance.id for instance in content.instances]
        records = [
            self.get_record_with_canonical_gold(instance)
            for instance in content.instances
        ]
        return Pairs(
            gold=gold,
            answers=answers,
            units=[str(get_value_at_path(record, self.unit)) for record in records]
            if self.unit
            else names,
            features={
                dimension.name: self.classify_instances(dimension, content)
                for dimension in self.dimensions
            },
            names=names,
            notes=notes,
        )

    def show_instances(
        self, files: Files, split: Split, pairs: Pairs, options: Options
    ) -> Iterator[ShownInstance]:
        content: InstancesAndPool = split.content
        for instance, answer in zip(
            content.instances[:MAX_STORED_INSTANCES], pairs.answers, strict=False
        ):
            shown = {
                name: value
                for name, value in self.public(instance).items()
                if name != self.id
            }
            yield ShownInstance(
                name=instance.id,
                given="\n".join(
                    f"{name}: {self.format_public_value(name, value)}"
                    for name, value in shown.items()
                ),
                gold=self.format_gold(instance.gold),
                answer="" if answer is None else self.format_answer(answer),
                beside=tuple(self.get_numbers_besides_answer(answer).items()),
                fields=shown,
                gold_parts=tuple(self.gold_parts(content, instance)),
                answer_parts=()
                if answer is None
                else tuple(self.answer_parts(content, instance, answer)),
            )

    def index(self, content: InstancesAndPool) -> Index:
        return {
            "instances": [instance.id for instance in content.instances],
            **self.make_additional_index_entries(content),
        }

    def content(self, files: Files, *, with_gold: bool) -> InstancesAndPool:
        """Return the instances in the files of a split such as the test set, in the
        order of the files. Raises InputRefused with all problems.
        """
        problems = ProblemList()
        by_id: dict[str, TaskInstance] = {}
        fields: set[str] = set()
        rows = 0
        queries = self._open_queries(files, problems)
        for file in files:
            for row in (
                self.records(file, problems)
                if self.is_instances_file(file.name)
                else ()
            ):
                rows += 1
                record = queries.add_query_fields(row) if queries else row
                if instance := self._parse_instance(
                    record, by_id, problems, with_gold=with_gold
                ):
                    by_id[instance.id] = instance
                    fields |= instance.record.keys()
        pool = self.read_pool_records(
            [file for file in files if file.base == self.pool_file], problems
        )
        if not by_id and not problems.has_errors:
            kinds = {
                TREC: "a file of qrels",
                **dict.fromkeys(DEFAULT_DELIMITERS_BY_FORMAT, "a table"),
            }
            expected = kinds.get(self.files, "JSON lines")
            problems.append(Problem(message="no instances are here", expected=expected))
        for name in self.shown if by_id and not problems.has_errors else ():
            if name not in fields:
                problems.append(
                    Problem(
                        message=f"no instance has the field “{name}”, which is shown"
                    )
                )
        problems += (
            _find_equal_ids(by_id, files) if get_reading_version(files) > 1 else ()
        )
        raise_if_any_problem_is_fatal(problems)
        return InstancesAndPool(
            tuple(by_id.values()), pool, get_reading_version(files), rows
        )

    def _parse_instance(
        self,
        record: jsonlines.JsonRecord,
        seen: Mapping[str, TaskInstance],
        problems: ProblemList,
        *,
        with_gold: bool,
    ) -> TaskInstance | None:
        faults: list[tuple[str, str]] = []
        if self.values and with_gold:
            value = self.replace_mapped_values(record.value, self.field, self.values)
            record = replace(record, value=value)
        name = jsonlines.get_record_id(record.value, self.id)
        if not name:
            faults.append((f"“{self.id}” is missing", "a text or a whole number"))
        elif name in seen:
            faults.append(
                (f"instance “{name}” is there twice", "an id for each instance")
            )
        if self.unit and with_gold:
            value = get_value_at_path(record.value, self.unit)
            if value is None or value == "" or isinstance(value, bool | list | dict):
                faults.append(
                    (
                        f"“{self.unit}” is {describe_json_type_or_missing(value)}",
                        "a text",
                    )
                )
        gold = (
            self.gold_of(record.value, lambda *fault: faults.append(fault))
            if with_gold
            else None
        )
        problems += (record.problem(*fault) for fault in faults)
        return (
            None
            if faults or not name
            else TaskInstance(
                jsonlines.replace_unpaired_surrogates(name), gold, record.value
            )
        )

    def _open_queries(self, files: Files, problems: ProblemList) -> QueriesById | None:
        if not self.shape.queries or not files:
            return None
        return QueriesById(files, self.shape.queries, self.id, problems)

    def records(
        self, file: InputFile, problems: ProblemList
    ) -> Iterator[jsonlines.JsonRecord]:
        """Yield one record for each instance in a gold file. Several rows of the gold
        file may belong to one instance.
        """
        rows = self.iterate_file_rows(file, problems)
        if self.shape == ONE_INSTANCE_PER_ROW_LAYOUT:
            return rows
        is_table = self.files in DEFAULT_DELIMITERS_BY_FORMAT
        return self.shape.records(
            rows, self.id, self.field, problems, is_table=is_table
        )

    def iterate_file_rows(
        self, file: InputFile, problems: ProblemList
    ) -> Iterator[jsonlines.JsonRecord]:
        if self.shape.keyed:
            yield from read_records_of_keyed_object(file, problems, self.id, self.field)
        elif self.files in JSON_FILE_FORMATS:
            yield from jsonlines.read_records(file, problems)
        elif self.files == TREC:
            yield from self._read_qrels(file, problems)
        else:
            yield from iterate_table_records(
                file, self._make_gold_table_form(self.files), problems
            )

    def _read_qrels(
        self, file: InputFile, problems: ProblemList
    ) -> Iterator[jsonlines.JsonRecord]:
        """Yield one record for each topic in a file of qrels (relevance judgements).
        The gold answer of a topic is a mapping from document to relevance grade.
        """
        by_topic: dict[str, tuple[int, dict[str, int]]] = {}
        for number, raw in enumerate(file.lines(), start=1):
            parts = (line := decode_utf8_or_windows_1252(raw)).split()
            if parts and (
                len(parts) != 4 or not re.fullmatch(r"-?[0-9]{1,9}", parts[3])
            ):
                expected = "topic 0 document grade"
                problems.append(
                    file.make_problem(
                        "no line of qrels", expected, line=number, raw=line
                    )
                )
            elif parts:
                by_topic.setdefault(parts[0], (number, {}))[1][parts[2]] = max(
                    0, int(parts[3])
                )
        for topic, (first, grades) in by_topic.items():
            yield jsonlines.JsonRecord(
                file.shown, first, first, {self.id: topic, self.field: grades}
            )
