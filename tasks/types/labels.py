"""What task types share that give each instance one label: gold, inputs, runs and pairing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.base import MAX_SHOWN, Index, Options, Pairs, ShownInstance, Split
from tasks.types.files import InputFile
from tasks.types.jsonlines import (
    AnswerForm,
    Line,
    Record,
    as_lines,
    content_digest,
    is_records_file,
    read_answers,
    read_records,
    well_formed,
)
from tasks.types.probabilities import LabelWithProbabilities, ProbabilitiesRefused, read_probabilities
from tasks.types.problems import InputRefused, Problem, Problems
from tasks.types.run_forms import RunForm
from tasks.types.text import json_kind

INPUTS = "inputs.jsonl"
LABEL = "label"


@dataclass(frozen=True)
class Labelled:
    """An instance. ``label`` is empty where only inputs are known; ``fields`` are what participants see."""

    id: str
    label: str
    fields: Mapping[str, str]

    def public(self) -> dict[str, str]:
        return {"id": self.id, **self.fields}

    def facts(self) -> dict[str, str]:
        return {**self.public(), LABEL: self.label}


@dataclass(frozen=True, kw_only=True)
class LabelTask:
    """One of ``labels`` for each instance, whose texts stand in ``fields``.

    Gold, inputs and runs are JSON lines, or a JSON list of the same objects: `id`, the fields and `label` in
    the gold, `id` and the fields in the inputs, `id` and `label` in a run, which may give `probabilities` by
    label too. The values of ``dimensions``,
    which are fields, are the classes of a breakdown. The field ``unit`` says what is resampled: instances
    that share it, or each instance by itself.
    """

    labels: tuple[str, ...]
    fields: tuple[str, ...]
    dimensions: tuple[str, ...] = ()
    unit: str = "id"

    @property
    def form(self) -> AnswerForm:
        return AnswerForm(example=f'{{"id": "s1", "label": "{self.labels[0]}"}}')

    @property
    def run_form(self) -> RunForm:
        return RunForm(described=self.form.files, keys=(frozenset({LABEL}),))

    def is_gold_file(self, name: str) -> bool:
        return is_records_file(name)

    def read_gold(self, files: Sequence[InputFile], options: Options) -> Split:
        """Raises InputRefused with everything that is wrong with the files."""
        instances = self.instances(files, with_labels=True)
        return Split(
            content=instances,
            instances=len(instances),
            index=_index(instances),
            digest=content_digest(instance.facts() for instance in instances),
        )

    def read_inputs(self, files: Sequence[InputFile], options: Options) -> Index:
        return _index(self.instances(files, with_labels=False))

    def public_files(self, files: Sequence[InputFile], options: Options) -> Iterator[tuple[str, bytes]]:
        """The instances without their labels."""
        instances = self.instances(files, with_labels=True)
        yield INPUTS, as_lines(instance.public() for instance in instances)

    def read_run(
        self, files: Sequence[InputFile], index: Index, options: Options
    ) -> tuple[dict[str, str], list[Problem]]:
        """The labels by instance, and everything that is wrong with the files."""
        names = dict.fromkeys(index["instances"])
        return read_answers(files, names, lambda _, line: self.label_of(line), self.form)

    def label_of(self, line: Line) -> str | None:
        """The label on a line; None, and noted, where there is none."""
        if fault := self._fault(line.value):
            line.wrong(*fault)
            return None
        label = str(line.value[LABEL])
        try:
            probabilities = read_probabilities(line.value, self.labels)
        except ProbabilitiesRefused as refused:
            line.wrong(refused.message, refused.expected)
            return None
        return LabelWithProbabilities(label, probabilities) if probabilities else label

    def pair(self, split: Split, run: Mapping[str, str], rules: str, options: Options) -> Pairs:
        """One row an instance; what has no answer is wrong."""
        instances: Sequence[Labelled] = split.content
        names = [instance.id for instance in instances]
        answers = [run.get(name) for name in names]
        return Pairs(
            gold=[instance.label for instance in instances],
            answers=answers,
            units=[instance.public()[self.unit] for instance in instances],
            features={name: [(one.fields[name],) for one in instances] for name in self.dimensions},
            names=names,
            notes={"missing_answers": answers.count(None)},
        )

    def show_instances(
        self, files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
    ) -> Iterator[ShownInstance]:
        rows = zip(split.content[:MAX_SHOWN], pairs.answers, strict=False)
        for instance, answer in rows:
            input_text = "\n".join(f"{name}: {text}" for name, text in instance.fields.items())
            yield ShownInstance(name=instance.id, given=input_text, gold=instance.label, answer=answer or "")

    def instances(self, files: Sequence[InputFile], *, with_labels: bool) -> tuple[Labelled, ...]:
        """In the order of the files. Raises InputRefused with everything that is wrong with them."""
        problems = Problems()
        by_id: dict[str, Labelled] = {}
        for file in files:
            for record in read_records(file, problems) if self.is_gold_file(file.name) else ():
                faults = list(self._faults(record, by_id, with_labels=with_labels))
                problems += [record.problem(*fault) for fault in faults]
                if not faults and record.id:
                    fields = {name: well_formed(str(record.value[name])) for name in self.fields}
                    label = str(record.value[LABEL]) if with_labels else ""
                    by_id[record.id] = Labelled(well_formed(record.id), label, fields)
        if not by_id and not problems.has_errors:
            problems.append(Problem(message="no instances are here", expected="JSON lines"))
        if problems.has_errors:
            raise InputRefused([*problems, *problems.rest()])
        return tuple(by_id.values())

    def _faults(
        self, record: Record, seen: Mapping[str, object], *, with_labels: bool
    ) -> Iterator[tuple[str, str]]:
        if not record.id:
            yield "“id” is missing", "a text or a whole number"
        elif record.id in seen:
            yield f"instance “{record.id}” is there twice", "an id for each instance"
        for name in self.fields:
            value = record.value.get(name)
            if not isinstance(value, str):
                yield f"“{name}” is {json_kind(value) if name in record.value else 'missing'}", "a text"
        if with_labels and (fault := self._fault(record.value)):
            yield fault

    def _fault(self, value: Mapping[str, Any]) -> tuple[str, str] | None:
        label, expected = value.get(LABEL), f"one of {', '.join(self.labels)}"
        if LABEL not in value:
            return f"“{LABEL}” is missing", expected
        if isinstance(label, bool) or not isinstance(label, str | int):
            return f"“{LABEL}” is {json_kind(label)}", expected
        return None if str(label) in self.labels else (f"“{str(label)[:100]}” is no label", expected)


def _index(instances: Sequence[Labelled]) -> Index:
    return {"instances": [instance.id for instance in instances]}
