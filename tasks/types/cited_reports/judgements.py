"""Judgements of nuggets and citations, read from files.

Files with judgements have one of two forms. In the first form, each row is one
judgement with the digests or texts of the judged items. In the second form, each line
contains all assignments of a topic, as castorini's nuggetizer writes them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tasks.types.files import Files, open_input_files
from tasks.types.guarded.json_reader import read_json_line
from tasks.types.jsonlines import JsonRecord, read_records
from tasks.types.ledger import LEDGER_FILE_KEY
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import describe_json_type

ASSIGNS_KIND, SUPPORTS_KIND = "assigns", "supports"
#: `JUDGED_ITEMS_BY_KIND` lists the items that a judgement of each kind refers to, in order.
JUDGED_ITEMS_BY_KIND = {
    ASSIGNS_KIND: ("topic", "nugget", "report"),
    SUPPORTS_KIND: ("sentence", "document"),
}
#: `LABEL_CREDITS_BY_KIND` maps the labels of each kind of judgement to credits, best label first.
LABEL_CREDITS_BY_KIND: dict[str, dict[str, float]] = {
    ASSIGNS_KIND: {"support": 1.0, "partial_support": 0.5, "not_support": 0.0},
    SUPPORTS_KIND: {"full": 1.0, "partial": 0.5, "none": 0.0},
}
#: `NO_VALID_LABEL` marks an item for which the judge gave no valid answer in two attempts.
NO_VALID_LABEL = "no label"
#: The first line of a file from a ledger has at most this many bytes.
MAX_HEADER_LINE_BYTES = 10_000
_SHA256_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")
JUDGEMENT_EXAMPLES_BY_KIND = {
    ASSIGNS_KIND: '{"texts": {"topic": "…", "nugget": "…", "report": "…"}, "label": "support"}',
    SUPPORTS_KIND: '{"texts": {"sentence": "…", "document": "…"}, "label": "full"}',
}
JudgementKey = tuple[str, ...]


def compute_prefixed_text_digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


@dataclass
class JudgementsOfKind:
    """The judgements of one kind, such as support. Functions that read files add the
    labels of judges to ``given``. The method `settle` determines the final label of
    each judged item.
    """

    kind: str
    #: `given` contains the labels of each judged item.
    #: The key of a label is a person's name and the number of the repetition.
    #: The person's name is empty for the labels of a model.
    given: dict[JudgementKey, dict[tuple[str, int], str]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    judges: dict[tuple[str, str], str] = field(default_factory=dict)
    labels: dict[JudgementKey, str] = field(default_factory=dict)
    ties: int = 0
    #: `by_nugget` contains labels from castorini's nuggetizer, by run and topic.
    #: The name of the run in a key of `by_nugget` may be empty.
    #: `by_nugget` has each label under the nugget's id and under the nugget's text.
    by_nugget: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.labels or self.by_nugget)

    def determine_final_labels(self) -> None:
        """Determine the final label of each judged item."""
        for key, given in self.given.items():
            people = [label for (by, _), label in sorted(given.items()) if by and label]
            if people:
                self.labels[key], is_tie = choose_majority_label(
                    people, LABEL_CREDITS_BY_KIND[self.kind]
                )
                self.ties += is_tie
            else:
                usable = (label for _, label in sorted(given.items()) if label)
                self.labels[key] = next(usable, "") or NO_VALID_LABEL

    def facts(self) -> Iterator[dict[str, Any]]:
        """Yield the judgements as records, from which the digest of the gold is
        computed.
        """
        for key, label in self.labels.items():
            yield {"id": f"{self.kind} {' '.join(key)}", "label": label}
        for (run, topic), labels in self.by_nugget.items():
            yield {"id": f"{self.kind} of {topic} {run}", "labels": labels}


def choose_majority_label(
    labels: Iterable[str], labels_in_order: Iterable[str]
) -> tuple[str, bool]:
    """Return the most frequent label of an item, and True if several labels are tied.

    In a tie between labels, return the lowest of the tied labels. If the best and the
    worst label are tied, return the middle label.
    """
    counts = Counter(label for label in labels if label)
    if not counts:
        return NO_VALID_LABEL, False
    most = max(counts.values())
    ordered = list(labels_in_order)
    first = [label for label in ordered if counts[label] == most]
    if ordered[0] in first and ordered[-1] in first:
        return ordered[1], True
    return first[-1], len(first) > 1


class LabelWithKey(NamedTuple):
    """The label of a citation or a nugget, and the digests of the judged texts."""

    label: str
    key: JudgementKey


@dataclass(frozen=True)
class NuggetAndCitationJudgements:
    """All judgements of a task. If the rows of a kind of judgement are empty, the task
    has no judgements of this kind.
    """

    assigns: JudgementsOfKind
    supports: JudgementsOfKind
    #: `stored` contains the labels from the ledger of a site, by kind.
    #: The labels of a kind in `stored` replace the gold's judgements of this kind.
    #: The labels in `stored` are no part of the gold.
    stored: Mapping[str, JudgementsOfKind] = field(default_factory=dict)

    @property
    def nugget_judgements(self) -> JudgementsOfKind:
        """Return the judgements of nuggets that determine scores."""
        return self.stored.get(ASSIGNS_KIND, self.assigns)

    @property
    def citation_judgements(self) -> JudgementsOfKind:
        """Return the judgements of citations that determine scores."""
        return self.stored.get(SUPPORTS_KIND, self.supports)

    @property
    def has_citation_judgements(self) -> bool:
        """Return True if citations are judged, by the gold or by the ledger."""
        return SUPPORTS_KIND in self.stored or bool(self.supports)

    def with_judgements_of_kind(
        self, rows: JudgementsOfKind
    ) -> NuggetAndCitationJudgements:
        """Return a copy in which the rows of one kind determine scores."""
        kept = {kind: own for kind, own in self.stored.items() if kind != rows.kind}
        if rows.kind == SUPPORTS_KIND:
            return replace(self, supports=rows, stored=kept)
        return replace(self, assigns=rows, stored=kept)

    @property
    def facts(self) -> list[dict[str, Any]]:
        return [*self.assigns.facts(), *self.supports.facts()]

    def support(self, sentence: str, documents: Sequence[str]) -> LabelWithKey:
        """Return the label of a citation, and the digests of the judged texts. The
        label is empty if the citation was not judged. ``documents`` are the digests of
        one document in all forms that judges may have seen.
        """
        labels = self.citation_judgements.labels
        keys = [(sentence, document) for document in documents]
        key = next((key for key in keys if key in labels), keys[0])
        return LabelWithKey(labels.get(key, ""), key)


def read_judge_of_ledger_file(path: Path) -> str:
    """Return the judge of a file that a site wrote from its ledger, or an empty text
    for any other file.
    """
    with suppress(OSError, ValueError), path.open(encoding="utf-8") as file:
        head = read_json_line(file.readline(MAX_HEADER_LINE_BYTES))
        if isinstance(head, dict) and head.get(LEDGER_FILE_KEY) is True:
            return str(head.get("judge") or "")
    return ""


def read_judgements_of_option(kind: str, path: str, rows: JudgementsOfKind) -> None:
    problems, name = ProblemList(), Path(path).name
    try:
        files = open_input_files(Path(path), shown=name)
        read_judgement_files(files, {kind: rows}, problems, default=kind)
    except PermissionError as fault:
        message = "the file cannot be read by this process"
        problem = Problem(file=name, message=message, expected="judgements in the gold")
        raise InputRefused([problem]) from fault
    raise_if_any_problem_is_fatal(problems)


def read_judgement_files(
    files: Files,
    rows: Mapping[str, JudgementsOfKind],
    problems: ProblemList,
    *,
    default: str = "",
) -> None:
    """Read the judgements in the files into ``rows``. ``default`` is the kind of
    judgement in rows that do not state a kind.
    """
    for file in files:
        records = list(read_records(file, problems))
        headers = [record for record in records if not _is_judgement_row(record.value)]
        for record in headers[1:]:
            problems.append(
                record.problem(
                    "no judgement", JUDGEMENT_EXAMPLES_BY_KIND[SUPPORTS_KIND]
                )
            )
        common = {"kind": default} if default else {}
        for header in headers[:1]:
            common |= header.value
        for record in records:
            if isinstance(record.value.get("nuggets"), list):
                _add_nuggetizer_judgements(record, rows, problems)
            elif _is_judgement_row(record.value):
                _add_judgement(record, {**common, **record.value}, rows, problems)


def _is_judgement_row(value: Mapping[str, Any]) -> bool:
    """Return True if the line is a judgement, and False if the line contains only
    values that all judgements of the file share.
    """
    return any(key in value for key in ("items", "texts", "nuggets"))


def _add_judgement(
    record: JsonRecord,
    value: Mapping[str, Any],
    rows: Mapping[str, JudgementsOfKind],
    problems: ProblemList,
) -> None:
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in rows:
        expected = " or ".join(rows)
        problems.append(record.problem(f"“kind” is {_quote_value(kind)}", expected))
        return
    own = rows[kind]
    key, fault = _read_item_digests(value, JUDGED_ITEMS_BY_KIND[own.kind])
    label = value.get("label")
    if label == NO_VALID_LABEL or label is None or label == "":
        label = ""
    elif not isinstance(label, str) or label not in LABEL_CREDITS_BY_KIND[own.kind]:
        fault = fault or f"“label” is {_quote_value(label)}"
    if fault:
        problems.append(record.problem(fault, JUDGEMENT_EXAMPLES_BY_KIND[own.kind]))
        return
    by, repeat = str(value.get("by") or ""), value.get("repeat") or 0
    judge = str(value.get("judge") or ""), str(value.get("digest") or "")
    own.judges.setdefault(judge, f"{record.file}:{record.line}")
    if len(own.judges) > 1:
        message = f"a second judge, “{judge[0]}”"
        problems.append(record.problem(message, "the rows of one judge for each kind"))
    elif not isinstance(repeat, int):
        problems.append(
            record.problem(f"“repeat” is {_quote_value(repeat)}", "0, 1, …")
        )
    elif own.given[key].setdefault((by, repeat), str(label)) != label:
        message = "the judge has given another label of the same before"
        problems.append(record.problem(message, "one label for each item and repeat"))


def _quote_value(value: object) -> str:
    return f"“{value[:40]}”" if isinstance(value, str) else describe_json_type(value)


def _read_item_digests(
    value: Mapping[str, Any], names: Sequence[str]
) -> tuple[JudgementKey, str]:
    """Return the digests of the judged items in a row, or an error message."""
    where = "items" if "items" in value else "texts"
    given = value[where]
    if isinstance(given, dict):
        given = [given.get(name) for name in names]
    if not isinstance(given, list) or len(given) != len(names):
        return (), f"“{where}” are not {', '.join(names)}"
    if not all(isinstance(one, str) for one in given):
        return (), f"“{where}” are not all texts: {', '.join(names)}"
    if where == "texts":
        return tuple(map(compute_prefixed_text_digest, given)), ""
    if not all(map(_SHA256_PATTERN.fullmatch, given)):
        return (), "“items” are no digests such as sha256:…"
    return tuple(given), ""


def has_nugget_assignments(value: Mapping[str, Any]) -> bool:
    """Return True if the line has a list of nuggets (expected facts) with at least one
    assignment.
    """
    nuggets = value.get("nuggets")
    return isinstance(nuggets, list) and any(
        isinstance(nugget, dict) and "assignment" in nugget for nugget in nuggets
    )


def _add_nuggetizer_judgements(
    record: JsonRecord, rows: Mapping[str, JudgementsOfKind], problems: ProblemList
) -> None:
    """Add the judgements of a line that castorini's nuggetizer wrote."""
    value, own = record.value, rows.get(ASSIGNS_KIND)
    topic = value.get("qid", value.get("topic_id"))
    if own is None or not isinstance(topic, str | int) or isinstance(topic, bool):
        expected = '{"qid": "…", "nuggets": [{"text": "…", "assignment": "support"}]}'
        problems.append(record.problem("no judgement", expected))
        return
    labels: dict[str, str] = {}
    for nugget in value["nuggets"]:
        label = nugget.get("assignment") if isinstance(nugget, dict) else None
        name = nugget.get("nugget_id") if isinstance(nugget, dict) else None
        text = nugget.get("text") if isinstance(nugget, dict) else None
        if label not in (
            *LABEL_CREDITS_BY_KIND[ASSIGNS_KIND],
            NO_VALID_LABEL,
        ) or not isinstance(name or text, str):
            found = f"a nugget with “assignment” {_quote_value(label)}"
            problems.append(
                record.problem(found, ", ".join(LABEL_CREDITS_BY_KIND[ASSIGNS_KIND]))
            )
            continue
        if isinstance(name, str):
            labels[name] = label
        if isinstance(text, str):
            labels.setdefault(text, label)
    run = str(value.get("run_id") or "")
    if own.by_nugget.setdefault((run, str(topic)), labels) is not labels:
        message = f"topic “{topic}” is assigned a second time"
        problems.append(record.problem(message, "one line for each run and topic"))
