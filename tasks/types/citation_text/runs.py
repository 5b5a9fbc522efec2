"""Runs: a citation text for each instance, as JSON lines with ids or as the original list in gold's order.

Whatever else a line says counts for nothing. The `target` that the original list carries is never compared
with gold either, since the answer would tell what gold says.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tasks.types.base import (
    MAX_SHOWN,
    HumanEvaluation,
    Index,
    Options,
    Pairs,
    Scale,
    ShownInstance,
    Sources,
    Split,
)
from tasks.types.citation_text.instances import (
    ABSTRACT,
    AFTER,
    BEFORE,
    INTENT,
    Instance,
    Labels,
    label_faults,
    marks,
    read_instances,
    read_labels,
    without_marks,
    without_tags,
)
from tasks.types.files import InputFile
from tasks.types.jsonlines import SUFFIXES, AnswerForm, Line, Record, Records, read_answers, well_formed
from tasks.types.problems import Problem, Problems
from tasks.types.run_forms import RunForm
from tasks.types.text import length_class

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
    """The texts, only meant where nothing is fatal, and everything that is wrong with the files."""
    datasets: Mapping[str, Mapping[str, int]] = index["datasets"]
    cited = {name: count for one in datasets.values() for name, count in one.items()}
    is_alone = len(datasets) == 1 or sum(file.suffix in SUFFIXES for file in files) == 1

    def read(name: str, line: Line) -> Prediction | None:
        text = line.text("prediction", example=EXAMPLE)
        for fault in label_faults(line.value.get("labels")):
            line.wrong(*fault)
        if text is None or not line.is_sound:
            return None
        if not text.strip():
            line.doubt("the text is empty and scores 0")
        in_text = marks(text)
        if in_text.damaged:
            line.doubt(f"{_some(in_text.damaged)}: digits right behind a mark", "marks such as [0]")
        unknown = [f"[{paper}]" for paper in dict.fromkeys(in_text.papers) if paper >= cited[name]]
        if unknown:
            line.doubt(f"{_some(unknown)} stand for no cited paper", f"marks from [0] to [{cited[name] - 1}]")
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
    """The original form: the n-th item is the text for the n-th instance of the data set, or of all.

    The file is named for its data set: `lu.json`, or `lu/predictions.json`.
    """
    folders = PurePosixPath(file.name).parent.parts[::-1]
    dataset = next((name for name in (file.stem, *folders) if name in datasets), None)
    if dataset is None and not is_alone:
        message = "a list without ids in a file that is not named for a data set"
        files_named = ", ".join(f"{name}.json" for name in datasets)
        problems.append(file.problem(message, f"one of {files_named}"))
        return
    names = [name for one in ([dataset] if dataset is not None else datasets) for name in datasets[one]]
    if len(records) != len(names):
        owner = f"data set {dataset}" if dataset else "split"
        message = f"a list of {len(records):,} predictions without ids"
        expected = f"{len(names):,}, one for each instance of the {owner} in its order"
        problems.append(file.problem(message, expected))
        return
    yield from zip(names, records, strict=True)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")


DIMENSIONS = ("dataset", "cited_papers", "target_length", "empty_abstracts", "unseen_words", "target_intent")
#: What is counted beside the scores, since the scores do not show it.
NOTES = (
    "missing_predictions",
    "empty_predictions",
    "missing_marks",
    "unknown_marks",
    "damaged_marks",
)
_MAX_COUNTED = 5
#: What an input can tell or withhold: numbers, and words of four letters or more.
_TELLING = re.compile(r"[^\W\d_]{4,}|\d+")
_UNSEEN = ((0.25, "under a quarter"), (0.5, "a quarter to half"), (0.75, "half to three quarters"))


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """An instance without a prediction counts as one with an empty text, under either rule set."""
    instances: tuple[Instance, ...] = split.content
    answers = [run.predictions.get(instance.id) for instance in instances]
    names = [instance.id for instance in instances]
    notes = Counter(dict.fromkeys(NOTES, 0))
    for instance, answer in zip(instances, answers, strict=True):
        cited, in_text = len(instance.cited), marks(answer.text if answer else "")
        notes["missing_predictions"] += answer is None
        notes["empty_predictions"] += answer is not None and not answer.text.strip()
        notes["missing_marks"] += in_text.missing(cited)
        notes["unknown_marks"] += in_text.unknown(cited)
        notes["damaged_marks"] += len(in_text.damaged)
    classes = [_classes(instance) for instance in instances]
    return Pairs(
        gold=instances,
        answers=answers,
        units=names,
        features={name: [one[name] for one in classes] for name in DIMENSIONS},
        names=names,
        notes=notes,
    )


def _classes(instance: Instance) -> dict[str, tuple[str, ...]]:
    cited = instance.cited
    empty = sum(not abstract.strip() for abstract in cited)
    return {
        "dataset": (instance.dataset,),
        "cited_papers": (str(len(cited)) if len(cited) < _MAX_COUNTED else f"{_MAX_COUNTED} or more",),
        "target_length": (length_class(len(instance.target.split())),),
        "empty_abstracts": ("none" if not empty else "all" if empty == len(cited) else "some",),
        "unseen_words": (unseen_class(instance),),
        "target_intent": tuple(dict.fromkeys(instance.labels.get(INTENT, ()))),
    }


def unseen_class(instance: Instance) -> str:
    """How much of what the text says is missing from all that a system is given, by its distinct words.

    Capitals do not count, nor do marks. A text without such words misses nothing.
    """
    answered, shown = (
        set(_TELLING.findall(text.lower()))
        for text in (without_marks(instance.target), " ".join(map(without_tags, instance.inputs)))
    )
    share = len(answered - shown) / len(answered) if answered else 0
    return next((name for limit, name in _UNSEEN if share < limit), "three quarters or more")


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """What is given, a paragraph for each item; the text of the authors, and the run's."""
    for instance, answer in zip(pairs.gold[:MAX_SHOWN], pairs.answers, strict=False):
        yield ShownInstance(
            name=instance.id,
            given="\n\n".join(instance.inputs),
            gold=instance.target,
            answer=answer.text if answer else "",
        )


_HEADINGS = {
    ABSTRACT: "Abstract of the citing paper",
    BEFORE: "Before the citation text",
    AFTER: "After the citation text",
}


def sources(files: Sequence[InputFile]) -> Mapping[str, Sources]:
    """By instance what stands around the text, and the cited abstracts under their marks."""
    by_instance = {}
    for instance in read_instances(files, with_targets=False):
        shown: list[tuple[str, str]] = []
        cited = itertools.count()
        for item in instance.inputs:
            tag = next((tag for tag in _HEADINGS if item.lstrip().startswith(f"<{tag}>")), None)
            heading = f"Cited paper [{next(cited)}]" if tag is None else _HEADINGS[tag]
            shown.append((heading, without_tags(item).strip() or "(empty)"))
        by_instance[instance.id] = tuple(shown)
    return by_instance


def texts(run: Run) -> Mapping[str, str]:
    return {name: prediction.text for name, prediction in run.predictions.items()}


def references(files: Sequence[InputFile]) -> Mapping[str, str]:
    """By instance the text of the paper itself, from the gold."""
    return {instance.id: instance.text for instance in read_instances(files, with_targets=True)}


#: CiteBench (Funkquist et al. 2023) asks for readability, and for consistency with the gold text, on five
#: levels; what each level means is in our words.
READABILITY = Scale(
    "How well does the text read, whatever it says?",
    (
        "cannot be understood: broken sentences, or words without an order",
        "hard to follow: many faults, or the same said again and again",
        "can be followed with some effort: faults or jumps in several places",
        "reads well: a fault here or there that does not stop the reader",
        "reads as a careful author would have written it",
    ),
)
CONSISTENCY = Scale(
    "How far does the text say what the gold text says of the cited papers?",
    (
        "it says something else, or contradicts the gold text",
        "it shares the topic alone, or most of what it says is wrong by the gold text",
        "it says part of it, and leaves out or adds what matters",
        "it says nearly all of it, with small gaps or additions",
        "it says the same, in whatever words",
    ),
)
HUMAN_EVALUATION = HumanEvaluation(
    sources=sources,
    texts=texts,
    scales={"readability": READABILITY},
    references=references,
    reference_scales={"consistency": CONSISTENCY},
)
