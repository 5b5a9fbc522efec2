"""Labels that were made before, one JSON object a line.

    {"premise_sha256": "9f86…", "hypothesis": "It rains", "entailed": 1, "model": "true@9d3f"}

`premise` may stand for its digest, `hypothesis_sha256` for the hypothesis. What evaluation logs say is read
as well: `claim` for the hypothesis, `result` for the label and the premise's SHA-1. A line with nothing
but `model` names the model of those that name none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.metrics.entailment.verdicts import Pair, sha256
from tasks.types.files import open_input
from tasks.types.positional_citations.options import ENTAILMENT, LABELS, STORE
from tasks.types.positional_citations.parsing import file_digest
from tasks.types.problems import InputRefused, Problem, quoted
from tasks.types.text import json_kind, json_lines
from tasks.types.unavailable import Unavailable

EXAMPLE = '{"premise_sha256": "9f86…", "hypothesis": "It rains", "entailed": 1, "model": "NAME"}'
#: Digest of the premise, in either form, and SHA-256 of the hypothesis.
Key = tuple[str, str]
#: Of the digest of a run's labels, as signatures have it.
DIGEST_LENGTH = 12
_DIGESTS = {"premise_sha256": re.compile("[0-9a-f]{64}"), "premise_sha1": re.compile("[0-9a-f]{40}")}


class EntailmentLabels:
    """A model's labels. Those of an unnamed model are named by the digest of their file."""

    def __init__(self, entailed: Mapping[Key, bool], model: str) -> None:
        self._entailed = entailed
        self.name = self.model = model
        self._has_sha1 = any(len(premise) == 40 for premise, _ in entailed)

    def __len__(self) -> int:
        return len(self._entailed)

    def __contains__(self, pair: Pair) -> bool:
        return self.decide([pair])[0] is not None

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        labels = [self._entailed.get(pair.key) for pair in pairs]
        if self._has_sha1:
            for place in (place for place, label in enumerate(labels) if label is None):
                older = hashlib.sha1(pairs[place].premise.encode(), usedforsecurity=False).hexdigest()
                labels[place] = self._entailed.get((older, pairs[place].key[1]))
        return labels


def stored_labels(path: Path) -> EntailmentLabels:
    """Raises Unavailable where there is no such file, InputRefused with every line that is no label."""
    try:
        return _read(path, file_digest(path))
    except OSError:
        raise Unavailable(f"there is no file of labels {path}") from None


def labels_digest(labels: Mapping[Key, bool]) -> str:
    """A short digest of these labels alone, whatever else their file holds; “none” where there are none."""
    lines = [
        f"{premise} {hypothesis} {entailed:d}\n" for (premise, hypothesis), entailed in sorted(labels.items())
    ]
    return sha256("".join(lines))[:DIGEST_LENGTH] if lines else "none"


def label_line(pair: Pair, *, entailed: bool, model: str) -> dict[str, str | int]:
    """A label as its file has it."""
    return {
        "premise_sha256": sha256(pair.premise),
        "hypothesis": pair.hypothesis,
        "entailed": int(entailed),
        "model": model,
    }


@dataclass(frozen=True)
class LabelFile:
    """What a file decides, and where it says so. ``model`` is empty where it names none."""

    model: str
    entailed: dict[Key, bool] = field(default_factory=dict)
    places: dict[Key, tuple[str, int]] = field(default_factory=dict)


def read_entailment_labels(path: Path, *, shown: str | None = None) -> LabelFile:
    """Raises InputRefused with every line that is no label, or contradicts one before it.

    ``shown`` is what problems call the file.
    """
    problems: list[Problem] = []
    found = LabelFile("")
    models: dict[str, tuple[str, int]] = {}
    for file in open_input(path, shown=shown):
        default = ""
        for line, record, raw in json_lines(file, problems):
            if record.keys() == {"model"} and isinstance(record["model"], str):
                default = record["model"]
                continue
            faults = [*_faults(record)]
            if not faults:
                models.setdefault(str(record.get("model") or default), (file.shown, line))
                premise = next((record[key] for key in _DIGESTS if key in record), None)
                hypothesis, value = _hypothesis(record), bool(_value(record))
                key = (
                    premise or sha256(record["premise"]),
                    record["hypothesis_sha256"] if hypothesis is None else sha256(hypothesis),
                )
                if found.entailed.setdefault(key, value) != value:
                    faults.append(("an earlier line decides this pair otherwise", "one label for each pair"))
                found.places.setdefault(key, (file.shown, line))
            problems += [
                Problem(file=file.shown, line=line, message=message, expected=expected, quote=quoted(raw))
                for message, expected in faults
            ]
        if default and not models:
            models[default] = (file.shown, 1)
    if len(models) > 1:
        (first, _), (second, (name, line)), *_ = models.items()
        message = f"labels of “{second}”, before of “{first}”"
        problems.append(Problem(file=name, line=line, message=message, expected="a file for each model"))
    if problems:
        raise InputRefused(problems)
    return LabelFile(next(iter(models), ""), found.entailed, found.places)


@lru_cache(maxsize=4)
def _read(path: Path, digest: str) -> EntailmentLabels:
    found = read_entailment_labels(path)
    return EntailmentLabels(found.entailed, found.model or f"labels-{digest}")


def _faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    digests = [key for key in _DIGESTS if key in record]
    for key in digests:
        if not isinstance(record[key], str) or not _DIGESTS[key].fullmatch(record[key]):
            yield f"“{key}” is no such digest", "lower-case hexadecimal digits"
    if not digests and not isinstance(record.get("premise"), str):
        yield "the premise is missing", EXAMPLE
    if not isinstance(_hypothesis(record), str):
        digest = record.get("hypothesis_sha256")
        if digest is None:
            yield "the hypothesis is missing", EXAMPLE
        elif not isinstance(digest, str) or not _DIGESTS["premise_sha256"].fullmatch(digest):
            yield "“hypothesis_sha256” is no such digest", "lower-case hexadecimal digits"
    value = _value(record)
    if value not in (0, 1):
        found = (
            "missing" if value is None else json_kind(value) if not isinstance(value, int | float) else value
        )
        yield f"the label is {found}", "“entailed”: 1 or 0"
    if record.get("model") is not None and not isinstance(record["model"], str):
        yield f"“model” is {json_kind(record['model'])}", "a text"


def _hypothesis(record: Mapping[str, Any]) -> Any:
    return record.get("hypothesis", record.get("claim"))


def _value(record: Mapping[str, Any]) -> Any:
    return record.get("entailed", record.get("result"))


def stored_model(options: Mapping[str, str]) -> str | None:
    """The model whose kept labels the options ask for; None where they ask for none."""
    source, _, model = options.get(ENTAILMENT.name, "").partition(":")
    return model if source == STORE and model else None


def with_labels(options: Mapping[str, str], path: Path | str) -> dict[str, str]:
    """The options with a file in place of the store, as the offline scorer takes them."""
    return {**options, ENTAILMENT.name: f"{LABELS}:{path}"} if stored_model(options) else dict(options)
