"""Runs: a citation text for each instance, as JSON lines with ids or as the original list in gold's order.

Whatever else a line says counts for nothing. The `target` that the original list carries is never compared
with gold either, since the answer would tell what gold says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tasks.types.base import Index, Options
from tasks.types.citation_text.labels import Labels, label_faults, read_labels
from tasks.types.citation_text.marks import Marks, marks
from tasks.types.files import InputFile
from tasks.types.jsonlines import AnswerForm, Line, read_answers
from tasks.types.problems import Problem, Problems
from tasks.types.records import SUFFIXES, Record, Records, well_formed
from tasks.types.run_forms import RunForm

EXAMPLE = '{"id": "lu-00", "prediction": "Early work [0] uses rules."}'
FORM = AnswerForm(example=EXAMPLE, noun="prediction", later_counts=True)
RUN_FORM = RunForm(described=FORM.files, keys=(frozenset({"prediction"}),))


@dataclass(frozen=True)
class Prediction:
    """A system's text for one instance, with labels of its sentences where the run brings them."""

    text: str
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A team's texts by instance; an instance that the run does not mention is not among them."""

    predictions: Mapping[str, Prediction]


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """The texts, and everything that is wrong with the files.

    The run is only meant where nothing is fatal.
    """
    datasets: Mapping[str, Mapping[str, int]] = index["datasets"]
    cited = {name: count for own in datasets.values() for name, count in own.items()}
    is_alone = sum(file.suffix in SUFFIXES for file in files) == 1

    def read(name: str, line: Line) -> Prediction | None:
        text = line.text("prediction", example=EXAMPLE)
        for fault in label_faults(line.value.get("labels")):
            line.wrong(*fault)
        if text is None or not line.is_sound:
            return None
        _note_doubts(line, text, cited[name])
        return Prediction(text, read_labels(line.value.get("labels")))

    def named(file: InputFile, problems: Problems) -> Iterator[tuple[str | None, Record]]:
        records = Records(file, problems)
        if records.are_by_place:
            return _by_place(file, records, datasets, problems, is_alone=is_alone)
        return ((None if record.id is None else well_formed(record.id), record) for record in records)

    predictions, problems = read_answers(files, cited, read, FORM, named=named)
    return Run(predictions), problems


def _by_place(
    file: InputFile,
    records: Records,
    datasets: Mapping[str, Mapping[str, int]],
    problems: Problems,
    *,
    is_alone: bool,
) -> Iterator[tuple[str | None, Record]]:
    """The original form: the n-th item is the text for the n-th instance of the data set, or of all."""
    dataset = _dataset_of(file, datasets)
    if dataset is None and (is_alone or len(datasets) == 1):
        names = [name for own in datasets.values() for name in own]
    elif dataset is not None:
        names = list(datasets[dataset])
    else:
        known = ", ".join(f"{name}.json" for name in datasets)
        message = "a list without ids in a file that is not named for a data set"
        problems.append(Problem(file=file.shown, message=message, expected=f"one of {known}"))
        return
    if len(records) != len(names):
        owner = f"data set {dataset}" if dataset else "split"
        problems.append(
            Problem(
                file=file.shown,
                message=f"a list of {len(records):,} predictions without ids",
                expected=f"{len(names):,}, one for each instance of the {owner} in its order",
            )
        )
        return
    yield from zip(names, records, strict=True)


def _dataset_of(file: InputFile, datasets: Mapping[str, object]) -> str | None:
    """The data set that a file is named for: `lu.json`, or `lu/predictions.json`."""
    folders = PurePosixPath(file.name).parent.parts[::-1]
    return next((name for name in (file.stem, *folders) if name in datasets), None)


def _note_doubts(line: Line, text: str, cited: int) -> None:
    if not text.strip():
        line.doubt("the text is empty and scores 0")
    own: Marks = marks(text)
    if own.damaged:
        line.doubt(f"{_some(own.damaged)}: digits right behind a mark", "marks such as [0]")
    unknown = [f"[{paper}]" for paper in dict.fromkeys(own.papers) if paper >= cited]
    if unknown:
        line.doubt(f"{_some(unknown)} stand for no cited paper", f"marks from [0] to [{cited - 1}]")


def _some(found: Sequence[str]) -> str:
    return ", ".join(found[:5]) + (" and others" if len(found) > 5 else "")
