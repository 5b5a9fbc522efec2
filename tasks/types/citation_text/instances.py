"""Instances of citation text generation: what a system is given, and the text that the authors wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tasks.types.base import Index, Options, Split
from tasks.types.citation_text.faults import faults_of_inputs, known_faults
from tasks.types.citation_text.inputs import cited_abstracts
from tasks.types.citation_text.instance import Instance
from tasks.types.citation_text.labels import label_faults, read_labels
from tasks.types.files import CLUTTER, InputFile
from tasks.types.jsonlines import as_lines, content_digest
from tasks.types.problems import InputRefused, Problem, fatal
from tasks.types.records import SUFFIXES, Record, read_records, well_formed
from tasks.types.text import json_kind

INPUTS, FAULTS = "inputs.jsonl", "known-faults.md"
#: File names that say nothing of a data set; the ids of their instances may.
_NAMELESS = frozenset({"gold", "inputs", "instances", "sample", "test", "targets"})
_NUMBERED = re.compile(r"(.+)-[0-9]+")
Faults = Iterator[tuple[str, str]]


def is_gold_file(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES and not CLUTTER.intersection(path.parts)


def read_gold(files: Sequence[InputFile], options: Options) -> Split:
    """The instances of one file or of several data sets, the faults of the data among the notes.

    Raises InputRefused with everything that is wrong with the files.
    """
    instances = read_instances(files, with_targets=True)
    return Split(
        content=instances,
        instances=len(instances),
        index=index_of(instances),
        digest=content_digest([instance.canonical() for instance in instances]),
        notes=tuple(known_faults(instances)),
    )


def read_inputs(files: Sequence[InputFile], options: Options) -> Index:
    return index_of(read_instances(files, with_targets=False))


def public_files(files: Sequence[InputFile], options: Options) -> Iterator[tuple[str, bytes]]:
    """Every instance with its data set and inputs, neither targets nor labels; and the faults of inputs."""
    instances = read_instances(files, with_targets=True)
    yield INPUTS, as_lines(instance.public() for instance in instances)
    if faults := list(faults_of_inputs(instances)):
        yield FAULTS, "".join(f"- {fault}\n" for fault in faults).encode()


def index_of(instances: Sequence[Instance]) -> Index:
    """What checks a run: by data set the instances in their order, each with its number of cited papers."""
    datasets: dict[str, dict[str, int]] = {}
    for instance in instances:
        datasets.setdefault(instance.dataset, {})[instance.id] = len(instance.cited)
    return {"datasets": datasets}


def read_instances(files: Sequence[InputFile], *, with_targets: bool) -> tuple[Instance, ...]:
    """The instances of all files, data set by data set. Raises InputRefused."""
    problems: list[Problem] = []
    found: dict[str, Instance] = {}
    for file in (member for member in files if is_gold_file(member.name)):
        records = list(read_records(file, problems))
        name_of = _Names(file, records)
        for record in records:
            faults = [record.problem(*fault) for fault in _faults(record, with_targets=with_targets)]
            dataset, name = name_of(record)
            if name in found:
                faults.append(record.problem(f"instance “{name}” is there twice", "an id for each instance"))
            problems += faults
            if not faults:
                found[name] = _instance(name, dataset, record.value)
    if not found and not fatal(problems):
        shown = files[0].shown if len(files) == 1 else ""
        expected = "JSON objects with “input” and “target”, a file for each data set"
        problems.append(Problem(file=shown, message="no instances are here", expected=expected))
    if fatal(problems):
        raise InputRefused(problems)
    # Data sets stand together, in the order of their first instances.
    datasets = list(dict.fromkeys(instance.dataset for instance in found.values()))
    return tuple(
        instance for dataset in datasets for instance in found.values() if instance.dataset == dataset
    )


class _Names:
    """Which data set a record is of, and the name of its instance.

    A record may say `dataset` itself. Otherwise the file's name is the data set's, unless it says nothing and
    the ids do: `lu-00` and `lu-02` are of `lu`. Where there is no id, the place in the file makes one.
    """

    def __init__(self, file: InputFile, records: Sequence[Record]) -> None:
        self._width = max(2, len(str(len(records) - 1)))
        self._dataset = file.stem
        if file.stem.lower() in _NAMELESS:
            prefixes = {
                match and match[1] for match in (_NUMBERED.fullmatch(record.id or "") for record in records)
            }
            first = next(iter(prefixes), None)
            self._dataset = first if first and len(prefixes) == 1 else file.stem

    def __call__(self, record: Record) -> tuple[str, str]:
        said = record.value.get("dataset")
        dataset = well_formed(said) if isinstance(said, str) and said else self._dataset
        return dataset, well_formed(record.id or f"{dataset}-{record.item - 1:0{self._width}d}")


def _instance(name: str, dataset: str, value: Mapping[str, Any]) -> Instance:
    return Instance(
        id=name,
        dataset=dataset,
        inputs=tuple(map(well_formed, value["input"])),
        target=well_formed(value.get("target") or ""),
        labels=read_labels(value.get("labels")),
    )


def _faults(record: Record, *, with_targets: bool) -> Faults:
    value = record.value
    items = value.get("input")
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        found = "missing" if "input" not in value else f"{json_kind(items)}, not all of it texts"
        yield f"“input” is {found}", "a list of texts"
    elif not cited_abstracts(items):
        yield "“input” has no abstract of a cited paper", "at least one item without a tag"
    if with_targets and not isinstance(value.get("target"), str):
        yield f"“target” is {json_kind(value['target']) if 'target' in value else 'missing'}", "a text"
    said = value.get("dataset")
    if said is not None and not isinstance(said, str):
        yield f"“dataset” is {json_kind(said)}", "the name of a data set"
    yield from label_faults(value.get("labels"))
