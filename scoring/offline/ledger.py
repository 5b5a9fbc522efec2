"""Read files of judgements with one JSON object per line, using little memory per row.

A row has the format of the judgement ledger, or the format of the entailment labels
that `python -m scoring decide` writes. A first line without judged items sets values
for all rows of the file.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from scoring.metrics import entailment
from tasks.types.files import open_input_files
from tasks.types.ledger import (
    ENTAILED_LABEL,
    ENTAILS_KIND,
    JUDGEMENT_KINDS_BY_NAME,
    LEDGER_FILE_KEY,
    MAX_JUDGE_NAME_CHARACTERS,
    MAX_PERSON_NAME_CHARACTERS,
    MAX_RATIONALE_CHARACTERS,
    MAX_REPETITION_NUMBER,
    NO_VALID_LABEL,
    NOT_ENTAILED_LABEL,
    ORGANISERS_PSEUDONYM,
    Judgement,
    compute_text_digest,
    format_item_digests,
)
from tasks.types.problems import InputRefused, Problem, ProblemList
from tasks.types.text import describe_json_type, iterate_json_objects

EXAMPLE_JUDGEMENT_LINE = (
    '{"kind": "supports", "items": ["sha256:…", "sha256:…"], "label": "full", '
    '"judge": "NAME"}'
)
JUDGEMENT_FIELDS = frozenset(
    (
        "kind",
        "items",
        "texts",
        "judge",
        "digest",
        "by",
        "repeat",
        "label",
        "score",
        "rationale",
        "at",
        "cost",
    )
)
_SHA256_PATTERN = re.compile("sha256:[0-9a-f]{64}")
_SHA1_PATTERN = re.compile("sha1:[0-9a-f]{40}")
#: Some databases and time zones cannot represent times outside the range ALLOWED_YEARS.
ALLOWED_YEARS = (1900, 2999)
#: The digest of a row, which detects duplicates, has _ROW_DIGEST_BYTES bytes.
_ROW_DIGEST_BYTES = 16


class NumberedJudgement(NamedTuple):
    """A judgement and its line number in the file of judgements."""

    line: int
    row: Judgement


class _RowFault(Exception):
    """An error about a row of a judgement file, with a message and the expected form."""

    def __init__(self, message: str, expected: str = EXAMPLE_JUDGEMENT_LINE) -> None:
        self.message, self.expected = message, expected
        super().__init__(message)


@dataclass
class JudgementFileSummary:
    """The number of rows in a file of judgements, and the values that all rows share."""

    kind: str = ""
    judge: str = ""
    digest: str = ""
    rows: int = 0
    has_sha1: bool = False
    problems: list[Problem] = field(default_factory=list)


def read_judgements(
    path: Path, shown: str, out: IO[str], *, is_joined: bool = False
) -> JudgementFileSummary:
    """Write the distinct rows of a file of judgements to ``out``, in the format that
    `iterate_numbered_judgements` reads.

    The returned summary contains all problems of the file. If ``is_joined`` is True,
    the file is a concatenation of several files that each have a header line.
    """
    reading, problems = _LedgerReader(is_joined=is_joined), ProblemList()
    try:
        for file in open_input_files(path, shown=shown):
            reading.begin_file()
            for line, record, raw in iterate_json_objects(file, problems):
                try:
                    row = reading.row(record)
                except _RowFault as fault:
                    problems.append(
                        file.make_problem(
                            fault.message, fault.expected, line=line, raw=raw
                        )
                    )
                    continue
                if row is not None and not problems:
                    out.write(f"{json.dumps([line, *row])}\n")
        reading.summary.problems = [*problems]
    except InputRefused as refused:
        reading.summary.problems = [*refused.problems]
    return reading.summary


def iterate_numbered_judgements(
    lines: Iterable[str | bytes],
) -> Iterator[NumberedJudgement]:
    """Yield the rows of judgements that `read_judgements` wrote."""
    for text in lines:
        line, *values = json.loads(text)
        yield NumberedJudgement(line, Judgement(*values))


class _LedgerReader:
    def __init__(self, *, is_joined: bool) -> None:
        self.summary = JudgementFileSummary()
        self._is_joined = is_joined
        self._common: Mapping[str, Any] = {}
        self._is_first = True
        #: ``_labels`` maps a short digest of items, person and repetition to the label.
        self._labels: dict[bytes, str] = {}

    def begin_file(self) -> None:
        """Forget the values that all rows of the previous file shared, before reading a
        file.
        """
        self._common, self._is_first = {}, True

    def row(self, record: Mapping[str, Any]) -> Judgement | None:
        """Return the judgement on a line of the file, or None for a header line and for
        a duplicate row.
        """
        is_first, self._is_first = self._is_first or self._is_joined, False
        keys = record.keys() - {LEDGER_FILE_KEY}
        if keys == {"model"} or (
            is_first and "items" not in record and keys <= JUDGEMENT_FIELDS - {"texts"}
        ):
            self._common = self._read_header_values(record)
            return None
        if "items" in record or "texts" in record:
            row = parse_ledger_row({**self._common, **record})
        else:
            row = convert_entailment_label(record, str(self._common.get("judge", "")))
        return row if self._is_new_judgement(row) else None

    def _read_header_values(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values in a header line, which all rows of the file share. The
        header of a file of entailment labels names the model.
        """
        if "model" not in record:
            return {
                name: value for name, value in record.items() if name != LEDGER_FILE_KEY
            }
        if not isinstance(record["model"], str):
            raise _RowFault(
                f"“model” is {describe_json_type(record['model'])}", "a text"
            )
        if not self.summary.rows:
            self.summary.kind = self.summary.kind or ENTAILS_KIND
            self.summary.judge = record["model"]
        return {"judge": record["model"], "kind": ENTAILS_KIND}

    def _is_new_judgement(self, row: Judgement) -> bool:
        summary = self.summary
        if not summary.rows:
            summary.kind, summary.judge = row.kind, row.judge
            summary.digest = row.digest
        self._refuse_second_judge(row)
        key = hashlib.blake2b(
            f"{row.items}\0{row.by}\0{row.repeat}".encode(),
            digest_size=_ROW_DIGEST_BYTES,
        ).digest()
        # Sharing the label strings reduces memory to about a hundred bytes per row.
        if (
            before := self._labels.setdefault(key, _LABEL_OBJECT_BY_LABEL[row.label])
        ) != row.label:
            if row.kind == ENTAILS_KIND:
                raise _RowFault(
                    "an earlier line decides this pair otherwise",
                    "one label for each pair",
                )
            raise _RowFault(
                f"an earlier line says “{before}” of the same",
                "one label for each person and repeat",
            )
        is_new = len(self._labels) > summary.rows
        summary.rows += is_new
        summary.has_sha1 = summary.has_sha1 or row.items.find(" ") == 40
        return is_new

    def _refuse_second_judge(self, row: Judgement) -> None:
        summary = self.summary
        if row.kind != summary.kind:
            raise _RowFault(
                f"a judgement of kind {row.kind}, before of kind {summary.kind}",
                "a file for each kind",
            )
        if row.judge == summary.judge and row.digest == summary.digest:
            return
        if row.kind == ENTAILS_KIND and row.judge != summary.judge:
            raise _RowFault(
                f"labels of “{row.judge}”, before of “{summary.judge}”",
                "a file for each model",
            )
        found, before = (
            " ".join((f"“{one.judge}”", one.digest)).strip() for one in (row, summary)
        )
        raise _RowFault(
            f"judgements of {found}, before of {before}", "a file for each judge"
        )


_LABEL_OBJECT_BY_LABEL = {NO_VALID_LABEL: NO_VALID_LABEL} | {
    label: label for kind in JUDGEMENT_KINDS_BY_NAME.values() for label in kind.labels
}


def convert_entailment_label(record: Mapping[str, Any], model: str) -> Judgement:
    """Convert a label of an entailment model to a row of the judgement ledger. Raises
    _RowFault for the first fault of the row.
    """
    for message, expected in entailment.find_label_record_faults(record):
        raise _RowFault(message, expected)
    (premise, hypothesis), entailed = entailment.parse_label_record(record)
    return Judgement(
        kind=ENTAILS_KIND,
        judge=str(record.get("model") or model),
        digest="",
        items=f"{premise} {hypothesis}",
        by="",
        repeat=0,
        label=ENTAILED_LABEL if entailed else NOT_ENTAILED_LABEL,
    )


def parse_ledger_row(value: Mapping[str, Any]) -> Judgement:
    """Validate and parse a row in the format of the judgement ledger. Raises _RowFault for
    the first fault of the row.
    """
    if unknown := value.keys() - JUDGEMENT_FIELDS:
        raise _RowFault(
            f"“{min(unknown)[:40]}” is no field of a judgement",
            ", ".join(sorted(JUDGEMENT_FIELDS)),
        )
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in JUDGEMENT_KINDS_BY_NAME:
        raise _RowFault(
            f"“kind” is {_format_short_value(kind)}",
            " or ".join(JUDGEMENT_KINDS_BY_NAME),
        )
    label = value.get("label")
    if label is None or label == "":
        label = NO_VALID_LABEL
    if label not in (*JUDGEMENT_KINDS_BY_NAME[kind].labels, NO_VALID_LABEL):
        raise _RowFault(
            f"“label” is {_format_short_value(label)}",
            " or ".join(JUDGEMENT_KINDS_BY_NAME[kind].labels),
        )
    by = _parse_text(value, "by", MAX_PERSON_NAME_CHARACTERS)
    if by == ORGANISERS_PSEUDONYM and label != NO_VALID_LABEL:
        raise _RowFault(f"“by” is “{ORGANISERS_PSEUDONYM}”", "a row without a label")
    return Judgement(
        kind=kind,
        judge=_parse_text(value, "judge", MAX_JUDGE_NAME_CHARACTERS),
        digest=_parse_text(value, "digest", MAX_JUDGE_NAME_CHARACTERS),
        items=_parse_items(kind, value),
        by=by,
        repeat=_parse_repeat_number(value.get("repeat")),
        label=_LABEL_OBJECT_BY_LABEL[label],
        score=_parse_number(value, "score", "a number", lambda number: True),
        rationale=_parse_text(
            value, "rationale", MAX_RATIONALE_CHARACTERS, is_line=False
        ),
        at=_parse_instant(value.get("at")),
        cost=_parse_number(
            value, "cost", "a number from 0 on", lambda number: number >= 0
        ),
    )


def _parse_items(kind: str, value: Mapping[str, Any]) -> str:
    names = JUDGEMENT_KINDS_BY_NAME[kind].items
    if ("items" in value) == ("texts" in value):
        raise _RowFault("“items” and “texts”", f"one of both: {', '.join(names)}")
    where = "items" if "items" in value else "texts"
    given = value[where]
    if isinstance(given, dict) and given.keys() <= {*names}:
        given = [given.get(name) for name in names]
    if not isinstance(given, list):
        raise _RowFault(f"“{where}” is {describe_json_type(given)}", ", ".join(names))
    if len(given) != len(names):
        raise _RowFault(f"“{where}” has {len(given)} parts", ", ".join(names))
    digests = []
    for name, one in zip(names, given, strict=True):
        if not isinstance(one, str):
            raise _RowFault(f"“{name}” is {describe_json_type(one)}", "a text")
        digests.append(
            compute_text_digest(one)
            if where == "texts"
            else _parse_item_digest(name, one)
        )
    return " ".join(digests)


def _parse_item_digest(name: str, given: str) -> str:
    is_older = name == "premise" and _SHA1_PATTERN.fullmatch(given)
    if not is_older and not _SHA256_PATTERN.fullmatch(given):
        raise _RowFault(
            f"“{name}” is no digest: {_format_short_value(given)}", "sha256:…"
        )
    return given.partition(":")[2]


def _parse_text(
    value: Mapping[str, Any], name: str, most: int, *, is_line: bool = True
) -> str:
    given = value.get(name)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise _RowFault(f"“{name}” is {describe_json_type(given)}", "a text")
    is_kept = given.isprintable() and given == given.strip() if is_line else True
    if len(given) > most or not is_kept or "\0" in given:
        raise _RowFault(
            f"“{name}” cannot be kept: {_format_short_value(given)}",
            f"at most {most} {'printable ' if is_line else ''}characters",
        )
    return given


def _parse_repeat_number(given: object) -> int:
    if given is None:
        return 0
    if type(given) is not int or not 0 <= given <= MAX_REPETITION_NUMBER:
        raise _RowFault(
            f"“repeat” is {_format_short_value(given)}",
            f"0, 1, … {MAX_REPETITION_NUMBER}",
        )
    return given


def _parse_number(
    value: Mapping[str, Any], name: str, expected: str, fits: Callable[[float], bool]
) -> float | None:
    given = value.get(name)
    if given is None:
        return None
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or abs(given) > 1e300 or not math.isfinite(given):
        raise _RowFault(f"“{name}” is {_format_short_value(given)}", expected)
    if not fits(given):
        raise _RowFault(f"“{name}” is {given}", expected)
    return float(given)


def _parse_instant(given: object) -> str | None:
    if given is None:
        return None
    try:
        instant = dt.datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        instant = None
    is_kept = (
        instant is not None and ALLOWED_YEARS[0] <= instant.year <= ALLOWED_YEARS[1]
    )
    if instant is None or instant.tzinfo is None or not is_kept:
        raise _RowFault(
            f"“at” is {_format_short_value(given)}", "2026-05-01T12:00:00+00:00"
        )
    return instant.isoformat()


def _format_short_value(value: object) -> str:
    if isinstance(value, str):
        return f"“{value[:40]}”"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)[:40]
    return describe_json_type(value)


def format_header_line(kind: str, judge: str, digest: str) -> str:
    """Return the header line of a file of judgements, with the values that all rows
    share.
    """
    common = {"kind": kind, "judge": judge} | ({"digest": digest} if digest else {})
    return f"{json.dumps(common, ensure_ascii=False)}\n"


def format_row_line(row: Judgement, **more: str) -> str:
    """Return a row of judgements as a JSON line of a file with a header. Empty values
    are omitted.
    """
    value: dict[str, Any] = {
        "items": format_item_digests(row.items),
        "label": row.label,
    }
    optional = {
        "by": row.by,
        "repeat": row.repeat,
        "rationale": row.rationale,
        "at": row.at,
        **more,
    }
    numbers = {"score": row.score, "cost": row.cost}
    value |= {name: given for name, given in optional.items() if given}
    value |= {name: number for name, number in numbers.items() if number is not None}
    return f"{json.dumps(value, ensure_ascii=False)}\n"
