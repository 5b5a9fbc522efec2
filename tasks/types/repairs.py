"""Repair faulty runs if only one repair is possible. Examples of repairs are renamed
fields, labels in the right case, and conversion to UTF-8.

A repair is offered to the author only if the repaired file can be scored. If two
repairs of the same kind lead to files that can be scored, neither is offered.
"""

import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from io import BytesIO
from itertools import islice, permutations
from pathlib import PurePosixPath
from typing import Any

from tasks.types.base import Index, Options, TaskType
from tasks.types.files import CHUNK_BYTES, GZIP_SUFFIX, Files, InputFile
from tasks.types.forms.evidence import LABEL_KEY, EvidenceTask
from tasks.types.forms.instances import InstanceTask, get_value_at_path
from tasks.types.forms.labels import PROBABILITIES_FIELD
from tasks.types.guarded.encodings import find_first_non_utf8_line
from tasks.types.jsonlines import get_record_id, read_records
from tasks.types.problems import InputRefused, ProblemList, select_fatal_problems
from tasks.types.runs import read_run
from tasks.types.tables import (
    DelimiterAmbiguous,
    RunTableColumns,
    TableFormat,
    detect_delimiter,
    detect_table_format as form_of_table,
    format_table,
    iterate_table_rows,
    read_first_nonempty_line,
)
from tasks.types.text import (
    are_equal_except_case_and_space,
    decode_utf8_or_windows_1252,
)
from tasks.types.trivial import get_instance_task

#: Authors must correct faulty files of more than `MAX_BYTES_OF_REPAIRED_FILES` bytes themselves.
MAX_BYTES_OF_REPAIRED_FILES = 64 * CHUNK_BYTES
#: `MAX_FIELDS_TRIED` limits the existing fields that are tried for each missing field.
#: The task reads a faulty file with at most `MAX_REPAIRS_TRIED` different repairs.
MAX_FIELDS_TRIED, MAX_REPAIRS_TRIED = 8, 24
#: `MAX_FILES_REPAIRED` is the maximum number of faulty files that are repaired in an archive.
MAX_FILES_REPAIRED = 20
ARCHIVE_SUFFIX = ".zip"
#: Files that lack more than `MAX_MISSING_FIELDS` fields probably belong to another task.
MAX_MISSING_FIELDS = 2
#: `_INDEX_KEYS_OF_IDS` lists keys under which a task's index may contain ids of instances.
_INDEX_KEYS_OF_IDS = ("instances", "passages")
#: The description of a repair lists at most `MAX_CHANGES_DESCRIBED` changes.
MAX_CHANGES_DESCRIBED = 20
#: The description of a repair quotes at most `MAX_QUOTED_VALUE_CHARACTERS` characters of each value.
MAX_QUOTED_VALUE_CHARACTERS = 40


@dataclass(frozen=True, kw_only=True)
class RepairedRun:
    """A repaired run that can be scored, with the name and content of the file and a
    description of each change.
    """

    name: str
    content: bytes
    changes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _TriedRecords:
    """The records in a file of a run, while repairs of the file are tried. The file is
    CSV or TSV if ``table`` is set, otherwise JSON lines.
    """

    records: Sequence[Mapping[str, Any]]
    table: TableFormat | None = None
    heads: tuple[str, ...] = ()
    changes: tuple[str, ...] = field(default_factory=tuple)

    #: `renames` maps the old names of renamed fields to their new names.
    renames: Mapping[str, str] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        return ".jsonl" if self.table is None else f".{self.table.kind}"

    @property
    def is_constant(self) -> bool:
        """Return True if there are several records, and a field that the repair renamed
        has the same value in all records.
        """
        return len(self.records) > 1 and any(
            len({json.dumps(record[name]) for record in self.records}) == 1
            for name in self.renames.values()
        )

    def list_fields_of_all_records(self) -> list[str]:
        """Return the names of the fields that all records contain, in the order of the
        first record.
        """
        if not self.records:
            return []
        shared = set(self.records[0]).intersection(*self.records[1:])
        return [name for name in self.records[0] if name in shared]

    def rename_fields(self, names: Mapping[str, str]) -> "_TriedRecords":
        """Return a copy with fields renamed in all records according to a mapping from
        old to new names.
        """
        changes = (f"“{old}” is called “{new}”" for old, new in names.items())
        return replace(
            self,
            records=[
                {
                    names.get(key, key): value
                    for key, value in record.items()
                    if key in names or key not in names.values()
                }
                for record in self.records
            ],
            heads=tuple(names.get(head, head) for head in self.heads),
            changes=(*self.changes, *changes),
            renames=names,
        )

    def content(self) -> bytes:
        if self.table is not None:
            return format_table(self.records, self.heads, self.table).encode()
        lines = (json.dumps(record, ensure_ascii=False) for record in self.records)
        return "".join(f"{line}\n" for line in lines).encode()


def find_possible_encodings(files: Files) -> tuple[str, ...]:
    """Return the names of the encodings that can decode the whole file, or () if the
    file is UTF-8.
    """
    if len(files) != 1:
        return ()
    try:
        misfit = find_first_non_utf8_line(replace(files[0], reading=1).lines)
    except InputRefused:
        return ()
    return misfit.encodings if misfit else ()


def repair_run_if_unambiguous(
    task_type: TaskType, files: Files, index: Index, options: Options
) -> RepairedRun | None:
    """Return the repaired file of a run that was refused, or None if no repair or more
    than one repair is possible.

    If the user selected an encoding for the file, the repaired file contains the text
    in UTF-8. If the run has several files, the repaired files are returned as a zip
    archive.
    """
    try:
        if not files or _do_files_exceed_repair_size(files):
            return None
        if len(files) > 1:
            return _repair_archive(task_type, files, index, options)
        return _FileRepairer(task_type, files, 0, index, options).repair_file()
    except InputRefused:
        return None


def _do_files_exceed_repair_size(files: Files) -> bool:
    size = 0
    for file in files:
        for chunk in file.iterate_blocks_of_lines(CHUNK_BYTES):
            size += len(chunk)
            if size > MAX_BYTES_OF_REPAIRED_FILES:
                return True
    return False


def _repair_archive(
    task_type: TaskType, files: Files, index: Index, options: Options
) -> RepairedRun | None:
    """Repair each faulty file of a run with several files, and return a zip archive.
    Return None if a faulty file cannot be repaired, or if the repaired run would still
    be refused.
    """
    _, problems = read_run(task_type, files, index, options)
    wrong = {problem.file for problem in select_fatal_problems(problems)}
    places = [index for index, file in enumerate(files) if file.shown in wrong]
    if not 0 < len(places) == len(wrong) <= MAX_FILES_REPAIRED:
        return None
    whole, changes = [*files], []
    for place in places:
        file = whole[place]
        found = _FileRepairer(task_type, whole, place, index, options).repair_file()
        if found is None:
            return None
        name = _remove_packed_ending(file).with_suffix(PurePosixPath(found.name).suffix)
        whole[place] = replace(
            file, name=str(name), open=partial(BytesIO, found.content)
        )
        changes += [
            f"{_remove_packed_ending(file)}: {change}" for change in found.changes
        ]
    _, problems = read_run(task_type, whole, index, options)
    if select_fatal_problems(problems):
        return None
    stem = PurePosixPath(files[0].shown.partition("!")[0]).stem
    archive = f"{stem}-repaired{ARCHIVE_SUFFIX}"
    return RepairedRun(name=archive, content=_zip_files(whole), changes=tuple(changes))


def _remove_packed_ending(file: InputFile) -> PurePosixPath:
    return PurePosixPath(file.name.removesuffix(GZIP_SUFFIX))


def _zip_files(files: Files) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in files:
            entry = zipfile.ZipInfo(str(_remove_packed_ending(file)))
            archive.writestr(entry, file.read(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


class _FileRepairer:
    """Tries repairs of one faulty file of a run."""

    def __init__(
        self,
        task_type: TaskType,
        files: Files,
        place: int,
        index: Index,
        options: Options,
    ) -> None:
        self.task_type, self.files, self.place = task_type, files, place
        self.file = files[place]
        self.index, self.options = index, options
        self.form = get_instance_task(task_type)

    def repair_file(self) -> RepairedRun | None:
        if self.file.encoding and self._is_accepted_in_run(content := self.file.read()):
            return self._make_repair(content, "", ())
        rows = self._read_faulty_records()
        if rows is None:
            return None
        plain = self._correct_spelling(rows)
        if plain.changes and self._is_accepted_in_run(plain.content(), plain):
            return self._make_repair_of_records(plain)
        sound = [
            mended
            for trial in islice(self._iterate_field_renamings(rows), MAX_REPAIRS_TRIED)
            if self._is_accepted_in_run(
                (mended := self._correct_spelling(trial)).content(), mended
            )
        ]
        # A field with the same value in all records is rarely the answer.
        # If other repairs are possible, no constant field becomes the answer.
        varied = [trial for trial in sound if not trial.is_constant] or sound
        return self._make_repair_of_records(varied[0]) if len(varied) == 1 else None

    def _make_repair_of_records(self, rows: "_TriedRecords") -> RepairedRun:
        return self._make_repair(rows.content(), rows.suffix, rows.changes)

    def _make_repair(
        self, content: bytes, suffix: str, changes: Sequence[str]
    ) -> RepairedRun:
        if self.file.encoding:
            changes = (f"read as {self.file.encoding}, and saved in UTF-8", *changes)
        name = PurePosixPath(self.file.base.removesuffix(GZIP_SUFFIX) or "run")
        name = name.with_name(f"{name.stem}-repaired{suffix or name.suffix}")
        return RepairedRun(name=name.name, content=content, changes=tuple(changes))

    def _is_accepted_in_run(
        self, content: bytes, rows: "_TriedRecords | None" = None
    ) -> bool:
        """Return True if the run with the repaired content of this file causes no error
        in this file. Errors in the other files of the run are ignored.
        """
        name = f"run{rows.suffix}" if rows else self.file.name
        if rows and len(self.files) > 1:
            name = str(_remove_packed_ending(self.file).with_suffix(rows.suffix))
        plain = replace(
            self.file, name=name, open=partial(BytesIO, content), encoding=""
        )
        files = [*self.files[: self.place], plain, *self.files[self.place + 1 :]]
        _, problems = read_run(self.task_type, files, self.index, self.options)
        others = {file.shown for file in files} - {plain.shown}
        return all(
            problem.file in others for problem in select_fatal_problems(problems)
        )

    def _read_faulty_records(self) -> "_TriedRecords | None":
        """Return the records in the faulty file, or None if the file contains a line
        that is not a record.
        """
        problems = ProblemList()
        head = read_first_nonempty_line(self.file)
        if head.startswith(("{", "[")):
            records = [record.value for record in read_records(self.file, problems)]
            return None if problems else _TriedRecords(records=records)
        if self.columns is None or not head:
            return None
        form = form_of_table(self.file, self.columns)
        try:
            delimiter = detect_delimiter(
                decode_utf8_or_windows_1252(self.file.read()), form
            )
        except DelimiterAmbiguous:
            return None
        rows = list(iterate_table_rows(self.file, form, problems))
        if problems or len(rows) < 2:
            return None
        heads, answers = tuple(rows[0].cells), rows[1:]
        if self._instance_ids.intersection(heads):
            # A table whose first row contains an instance id has no header.
            # Without a header, the first row contains an answer like all other rows.
            heads = tuple(f"column {number}" for number in range(1, len(heads) + 1))
            answers = rows
        records = [dict(zip(heads, row.cells, strict=True)) for row in answers]
        return _TriedRecords(
            records=records, table=replace(form, delimiter=delimiter), heads=heads
        )

    # The following methods find repairs that rename fields.

    def _iterate_field_renamings(
        self, rows: "_TriedRecords"
    ) -> Iterator["_TriedRecords"]:
        """Yield copies of the records in which existing fields are renamed to fields
        that the task needs and the file lacks.
        """
        has, tried = (
            rows.list_fields_of_all_records(),
            set[frozenset[tuple[str, str]]](),
        )
        for keys in self._list_needed_fields(rows):
            missing = [key for key in keys if self._lacks_field(rows, key)]
            if not 0 < len(missing) <= MAX_MISSING_FIELDS:
                continue
            free = [name for name in has if self._is_unused_field(name, keys)][
                :MAX_FIELDS_TRIED
            ]
            for fields in permutations(free, len(missing)):
                names = dict(zip(fields, missing, strict=True))
                pairs = frozenset(names.items())
                if pairs not in tried and all(
                    self._has_instance_ids(rows, old)
                    for old, new in names.items()
                    if new == self._id_key
                ):
                    tried.add(pairs)
                    yield rows.rename_fields(names)

    @property
    def columns(self) -> RunTableColumns | None:
        """Return the columns that runs of the task can have in CSV or TSV, or None if
        runs cannot be tables.
        """
        if self.form is not None:
            return self.form.columns
        run_form = self.task_type.run_form
        return run_form.table if run_form else None

    @property
    def _id_key(self) -> str:
        return self.form.run_id_key if self.form else "id"

    def _list_needed_fields(self, rows: "_TriedRecords") -> list[tuple[str, ...]]:
        columns = self.columns
        if rows.table is not None and columns is not None:
            if not columns.document:
                return [(columns.id, columns.answer)]
            places = (columns.rank, columns.score)
            return [(columns.id, columns.document, place) for place in places]
        keys = self.task_type.run_form.keys if self.task_type.run_form else ()
        needed = [tuple(sorted(key)) for key in keys]
        if not any(name in self.index for name in _INDEX_KEYS_OF_IDS):
            return needed
        with_id = [tuple(dict.fromkeys((self._id_key, *own))) for own in needed]
        # Records of some built-in task types need no ids in JSON lists.
        return with_id if self.form else [*with_id, *needed]

    def _lacks_field(self, rows: "_TriedRecords", key: str) -> bool:
        if key == self._id_key and rows.table is None:
            return not any(get_record_id(record, key) for record in rows.records)
        return not any(key in record for record in rows.records)

    def _is_unused_field(self, name: str, keys: Sequence[str]) -> bool:
        """Return True if the task does not use the field name for an answer, a column
        or a public field.
        """
        if self.form is None:
            return name not in keys
        columns = self.form.columns.names if self.form.columns else ()
        return name not in (*keys, *columns, *self.form.shown)

    def _has_instance_ids(self, rows: "_TriedRecords", name: str) -> bool:
        known = self._instance_ids
        return all(str(record[name]) in known for record in rows.records)

    @cached_property
    def _instance_ids(self) -> frozenset[str]:
        return frozenset(
            one for name in _INDEX_KEYS_OF_IDS for one in self.index.get(name, ())
        )

    # The following methods correct the spelling of labels and ids.

    def _correct_spelling(self, rows: "_TriedRecords") -> "_TriedRecords":
        """Return a copy of the records in which the spelling of labels and ids is
        corrected. A label is corrected if it differs from exactly one label of the task
        only in case or white space, and white space around an id is removed.
        """
        changes: Counter[str] = Counter()
        records = [
            self._correct_label_spelling(
                self._correct_id_spelling(record, changes), changes
            )
            for record in rows.records
        ]
        told = [
            f"{words} ({count:,} ×)"
            for words, count in changes.most_common(MAX_CHANGES_DESCRIBED)
        ]
        if (more := len(changes) - MAX_CHANGES_DESCRIBED) > 0:
            told.append(f"{more:,} more spellings, changed likewise")
        return replace(rows, records=records, changes=(*rows.changes, *told))

    def _correct_id_spelling(
        self, record: Mapping[str, Any], changes: Counter[str]
    ) -> Mapping[str, Any]:
        value = record.get(self._id_key)
        if not isinstance(value, str) or value in self._instance_ids:
            return record
        bare = value.strip()
        if bare == value or bare not in self._instance_ids:
            return record
        changes["an id has no space around it"] += 1
        return {**record, self._id_key: bare}

    def _correct_label_spelling(
        self, record: Mapping[str, Any], changes: Counter[str]
    ) -> Mapping[str, Any]:
        form = self.form
        if form is None or not (labels := _list_allowed_labels(form)):
            return record
        key = form.run_answer_key
        meant = {}
        for text in _iterate_answer_texts(form, record, key):
            if text in labels or text in form.answer_values:
                continue
            close = [
                label
                for label in labels
                if are_equal_except_case_and_space(text, label)
            ]
            if len(close) == 1:
                meant[text] = close[0]
                changes[
                    f"“{text[:MAX_QUOTED_VALUE_CHARACTERS]}” becomes “{close[0]}”"
                ] += 1
        return form.replace_mapped_values(record, key, meant) if meant else record


def _list_allowed_labels(form: InstanceTask) -> tuple[str, ...]:
    abstain = getattr(form, "abstain", "")
    return (*getattr(form, "labels", ()), *([abstain] if abstain else ()))


def _iterate_answer_texts(
    form: InstanceTask, record: Mapping[str, Any], key: str
) -> Iterator[str]:
    places = [get_value_at_path(record, key)]
    if isinstance(form, EvidenceTask):
        yield from _iterate_nested_labels(places[0])
        places = [record.get(LABEL_KEY)]
    elif isinstance(shares := record.get(PROBABILITIES_FIELD), Mapping):
        places.append([*shares])
    yield from _iterate_nested_texts(places)


def _iterate_nested_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _iterate_nested_texts(one)


def _iterate_nested_labels(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _iterate_nested_labels(one)
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if name == LABEL_KEY and isinstance(one, str):
                yield one
            else:
                yield from _iterate_nested_labels(one)
