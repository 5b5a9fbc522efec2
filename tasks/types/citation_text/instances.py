"""Instances of citation text generation: what a system is given, and the text that the authors wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tasks.types.base import Index, Options, Split
from tasks.types.files import InputFile
from tasks.types.jsonlines import (
    Record,
    as_lines,
    content_digest,
    is_records_file,
    read_records,
    refuse_faulty,
    well_formed,
)
from tasks.types.problems import Problem
from tasks.types.text import json_kind

INPUTS, FAULTS = "inputs.jsonl", "known-faults.md"
#: File names that say nothing of a data set; the ids of their instances may.
_NAMELESS = frozenset({"gold", "inputs", "instances", "sample", "test", "targets"})
_NUMBERED = re.compile(r"(.+)-[0-9]+")
Faults = Iterator[tuple[str, str]]


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


def contents(files: Sequence[InputFile], split: Split) -> Iterator[tuple[Any, Any]]:
    for instance in split.content:
        yield instance.inputs, [instance.target, instance.labels]


def index_of(instances: Sequence[Instance]) -> Index:
    """What checks a run: by data set the instances in their order, each with its number of cited papers."""
    datasets: dict[str, dict[str, int]] = {}
    for instance in instances:
        datasets.setdefault(instance.dataset, {})[instance.id] = len(instance.cited)
    return {"datasets": datasets}


def read_instances(files: Sequence[InputFile], *, with_targets: bool) -> tuple[Instance, ...]:
    """The instances of all files, data set by data set. Raises InputRefused."""
    problems: list[Problem] = []
    instances: dict[str, Instance] = {}
    for file in (member for member in files if is_records_file(member.name)):
        records = list(read_records(file, problems))
        name_of = _Names(file, records)
        for record in records:
            value = record.value
            faults = [record.problem(*fault) for fault in _faults(record, with_targets=with_targets)]
            dataset, name = name_of(record)
            if name in instances:
                faults.append(record.problem(f"instance “{name}” is there twice", "an id for each instance"))
            problems += faults
            if not faults:
                instances[name] = Instance(
                    id=name,
                    dataset=dataset,
                    inputs=tuple(map(well_formed, value["input"])),
                    target=well_formed(value.get("target") or ""),
                    labels=read_labels(value.get("labels")),
                )
    expected = "JSON objects with “input” and “target”, a file for each data set"
    refuse_faulty(files, problems, instances, "instances", expected)
    # Data sets stand together, in the order of their first instances.
    order = {
        name: place for place, name in enumerate(dict.fromkeys(one.dataset for one in instances.values()))
    }
    return tuple(sorted(instances.values(), key=lambda instance: order[instance.dataset]))


def instance_names(file: InputFile, records: Sequence[Record]) -> Iterator[str]:
    name_of = _Names(file, records)
    return (name_of(record)[1] for record in records)


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
        name = record.value.get("dataset")
        dataset = well_formed(name) if isinstance(name, str) and name else self._dataset
        return dataset, well_formed(record.id or f"{dataset}-{record.item - 1:0{self._width}d}")


def _faults(record: Record, *, with_targets: bool) -> Faults:
    value = record.value
    items = value.get("input")
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        fault = "missing" if "input" not in value else f"{json_kind(items)}, not all of it texts"
        yield f"“input” is {fault}", "a list of texts"
    elif not cited_abstracts(items):
        yield "“input” has no abstract of a cited paper", "at least one item without a tag"
    if with_targets and not isinstance(value.get("target"), str):
        yield f"“target” is {json_kind(value['target']) if 'target' in value else 'missing'}", "a text"
    name = value.get("dataset")
    if name is not None and not isinstance(name, str):
        yield f"“dataset” is {json_kind(name)}", "the name of a data set"
    yield from label_faults(value.get("labels"))


@dataclass(frozen=True)
class Instance:
    """``inputs`` as in the benchmark, tags and all; ``target`` is empty where only the inputs are known."""

    id: str
    dataset: str
    inputs: tuple[str, ...]
    target: str = ""
    labels: Labels = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What an answer is compared with."""
        return self.target

    @property
    def cited(self) -> list[str]:
        """The abstracts of the cited papers, in the order in which marks count them."""
        return cited_abstracts(self.inputs)

    def public(self) -> dict[str, Any]:
        return {"id": self.id, "dataset": self.dataset, "input": list(self.inputs)}

    def canonical(self) -> dict[str, Any]:
        """All of it as JSON; the labels only where there are some."""
        labels = {"labels": {kind: list(group) for kind, group in self.labels.items()}} if self.labels else {}
        return {**self.public(), "target": self.target, **labels}


#: What cannot be seen in the data, by the name of the data set.
_OF_DATASET = {
    "xing": "the benchmark gives the citing paper's abstract as the cited one and the cited one as `<abs>`",
}


def known_faults(instances: Sequence[Instance]) -> Iterator[str]:
    """A sentence for each fault of each data set; what is wrong in targets is counted, never quoted."""
    return _known_faults(instances, with_targets=True)


def faults_of_inputs(instances: Sequence[Instance]) -> Iterator[str]:
    """Those that whoever has the inputs alone may know."""
    return _known_faults(instances, with_targets=False)


def _known_faults(instances: Sequence[Instance], *, with_targets: bool) -> Iterator[str]:
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        part = list(group)
        damaged = [len(marks(instance.target).damaged) for instance in part if with_targets]
        if any(damaged):
            having = sum(count > 0 for count in damaged)
            yield f"{dataset}: {sum(damaged)} damaged marks such as `[2]9` in {having} of {len(part)} targets"
        empty = [sum(not abstract.strip() for abstract in instance.cited) for instance in part]
        if any(empty):
            having = sum(count > 0 for count in empty)
            yield f"{dataset}: {sum(empty)} empty cited abstracts in {having} of {len(part)} instances"
        if dataset in _OF_DATASET:
            yield f"{dataset}: {_OF_DATASET[dataset]}"


INTENT, CORWA = "intent", "corwa"
KINDS = (INTENT, CORWA)
MAX_LABEL, MAX_LABELS = 100, 10_000

#: By kind one label for each sentence; a kind that is not given is not there.
Labels = Mapping[str, tuple[str, ...]]


def read_labels(value: Any) -> Labels:
    """What stands under ``labels`` and has no faults."""
    return {kind: tuple(map(well_formed, group)) for kind, group in (value or {}).items()}


def label_faults(value: Any) -> Iterator[tuple[str, str]]:
    """What was found and what was expected, for each fault of what stands under ``labels``."""
    if value is None:
        return
    expected = f"an object with lists of texts under {' and '.join(f'“{kind}”' for kind in KINDS)}"
    if not isinstance(value, dict):
        yield f"“labels” is {json_kind(value)}", expected
        return
    for kind, labels in value.items():
        if kind not in KINDS:
            yield f"“labels” has “{kind[:MAX_LABEL]}”", expected
        elif not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            yield f"the {kind} labels are {json_kind(labels)}, not all of it texts", expected
        elif len(labels) > MAX_LABELS:
            yield f"{len(labels):,} {kind} labels", f"at most {MAX_LABELS:,}"
        elif any(len(label) > MAX_LABEL for label in labels):
            yield f"a {kind} label of more than {MAX_LABEL} characters", "short names"


#: A mark, and the digits right behind it that a careless replacement of `@cite_1` in `@cite_19` leaves.
_MARK = re.compile(r"\[([0-9]{1,6})\]([0-9]*)")


@dataclass(frozen=True)
class Marks:
    """The papers that whole marks name, in the order of the text, and the marks that are damaged: `[2]9`."""

    papers: tuple[int, ...]
    damaged: tuple[str, ...]

    def missing(self, cited: int) -> int:
        """How many of the cited papers no whole mark names."""
        return cited - len({paper for paper in self.papers if paper < cited})

    def unknown(self, cited: int) -> int:
        """How many whole marks name a paper that is not among the cited ones."""
        return sum(paper >= cited for paper in self.papers)


def marks(text: str) -> Marks:
    matches = list(_MARK.finditer(text))
    return Marks(
        papers=tuple(int(match[1]) for match in matches if not match[2]),
        damaged=tuple(match[0] for match in matches if match[2]),
    )


def without_marks(text: str) -> str:
    """A space in place of each mark and of the digits that a damaged one leaves."""
    return _MARK.sub(" ", text)


ABSTRACT, BEFORE, AFTER = "abs", "ctx_b", "ctx_a"
_TAGS = (ABSTRACT, BEFORE, AFTER)
_TAGGED = re.compile(rf"\s*<({'|'.join(_TAGS)})>")
#: What the released program removes before it looks at a text: the tags of abstracts and contexts.
_ANY_TAG = re.compile(rf"</?(?:{'|'.join(_TAGS)})>")


def is_cited(item: str) -> bool:
    """Whether this item of an input is the abstract of a cited paper."""
    return _TAGGED.match(item) is None


def cited_abstracts(items: Sequence[str]) -> list[str]:
    return [item for item in items if is_cited(item)]


def without_tags(text: str) -> str:
    return _ANY_TAG.sub("", text)


#: Looked for in lower case, anywhere in the text. The last is the program's; it holds the first.
SELF_REFERENCES = (
    "our work",
    "in this paper",
    "we present",
    "we introduce",
    "the main objective of our work",
)
#: Those that the paper prints.
PRINTED = SELF_REFERENCES[:4]


def refers_to_itself(text: str, phrases: tuple[str, ...] = SELF_REFERENCES) -> bool:
    lowered = text.lower()
    return any(phrase in lowered for phrase in phrases)


#: How much the paper's models can read and write.
MAX_INPUT, MAX_OUTPUT = 4096, 1024
ALL = "all"
#: Gold with more data sets than this is described over all alone.
MAX_DATA_SETS = 100

Count = Callable[[str], int]


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Means are over instances; ``self_references`` counts texts with any phrase, ``phrases`` by phrase.

    ``printed_self_references`` counts those with one of the four phrases that the paper prints.
    """

    name: str
    instances: int
    cited_papers: int
    input_words: float
    output_words: float
    long_inputs: int
    long_outputs: int
    printed_self_references: int
    self_references: int
    phrases: Mapping[str, int]


def data_sets(instances: Sequence[Instance], count: Count | None = None) -> list[DataSet]:
    """A line for each data set in its order, and one for all where there are several.

    ``count`` says how many tokens a text has, by default its words between white space. The input is all of
    an instance's items without their tags.
    """
    groups: dict[str, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.dataset, []).append(instance)
    sets = [_data_set(name, group, count or _words) for name, group in groups.items()]
    return [*sets, _data_set(ALL, instances, count or _words)] if len(sets) > 1 else sets


def statistics(split: Split) -> list[dict[str, Any]]:
    """By data set what its inputs tell, and apart from it what only the gold does, as JSON.

    The name of the last is null where it is that of all of them.
    """
    sets = data_sets(split.content)
    total = sets[-1] if len(sets) > 1 else None
    shown = sets if len(sets) <= MAX_DATA_SETS + 1 else sets[-1:]
    return [
        {
            # Databases keep no null characters.
            "name": None if one is total else one.name.replace("\0", " "),
            "inputs": {
                "instances": one.instances,
                "cited_papers": one.cited_papers,
                "input_words": one.input_words,
                "long_inputs": one.long_inputs,
            },
            "gold": {
                "output_words": one.output_words,
                "long_outputs": one.long_outputs,
                "printed_self_references": one.printed_self_references,
                "self_references": one.self_references,
                "phrases": list(one.phrases.values()),
            },
        }
        for one in shown
    ]


def _data_set(name: str, members: Sequence[Instance], count: Count) -> DataSet:
    inputs = [" ".join(without_tags(item).strip() for item in instance.inputs) for instance in members]
    targets = [instance.target for instance in members]
    return DataSet(
        name=name,
        instances=len(members),
        cited_papers=sum(len(instance.cited) for instance in members),
        input_words=sum(map(_words, inputs)) / len(members),
        output_words=sum(map(_words, targets)) / len(members),
        long_inputs=sum(count(text) > MAX_INPUT for text in inputs),
        long_outputs=sum(count(text) > MAX_OUTPUT for text in targets),
        printed_self_references=sum(refers_to_itself(text, PRINTED) for text in targets),
        self_references=sum(map(refers_to_itself, targets)),
        phrases={phrase: sum(phrase in text.lower() for text in targets) for phrase in SELF_REFERENCES},
    )


def _words(text: str) -> int:
    return len(text.split())
