"""Classification tasks have one or several labels for each instance."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tasks.types.base import LABELS_VIEW, AnswerPart, Index
from tasks.types.forms.instances import (
    COUNT_UNANSWERED_AS_WRONG,
    LEAVE_UNANSWERED_OUT,
    FaultRecorder,
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.forms.mapping import LabelsBySpelling, replace_spellings_in_keys
from tasks.types.forms.shapes import (
    ZERO_OR_ONE_DESCRIPTION,
    convert_label_to_text,
    parse_binary_cell,
)
from tasks.types.jsonlines import AnswerLine
from tasks.types.probabilities import (
    InvalidProbabilities,
    LabelWithProbabilities,
    parse_label_probabilities,
)
from tasks.types.tables import RunTableColumns
from tasks.types.text import (
    describe_json_type,
    describe_json_type_or_missing,
    find_label_equal_in_nfc,
    make_unknown_label_message,
)

LABEL_FIELD, NO_VALUE = "label", object()
#: Classification runs may state `PROBABILITIES_FIELD` of labels and a `CONFIDENCE_FIELD`.
PROBABILITIES_FIELD, CONFIDENCE_FIELD = "probabilities", "confidence"
NONE, OPTIONAL_PROBABILITIES, REQUIRED_PROBABILITIES = "none", "optional", "needed"
#: `DEFAULT_CONFIDENCE` is used as the confidence of an answer that states no confidence.
DEFAULT_CONFIDENCE = 0.5


@dataclass(frozen=True)
class SubstituteLabel:
    """A label that replaces the missing answer to an instance.

    A substitute label with a confidence is treated like an answer of the run by all
    metrics. A substitute label without a confidence does not count as an answer of the
    run.
    """

    label: str
    confidence: float | None = None


#: `Treatment` of unanswered instances is `wrong`, `left-out`, or a substitute label.
UnansweredTreatment = str | SubstituteLabel


class LabelsOfAnswer(tuple[str, ...]):
    """The set of labels in an answer, in the order in which the task lists its labels."""

    __slots__ = ()


class GoldLabel(str):
    """A gold label (reference answer) that also contains the complete record of the
    instance. Two gold labels with different records are equal if their texts are equal.
    """

    __slots__ = ("record",)
    record: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class LabelTask(InstanceTask):
    """A classification task, in which an answer is one of ``labels``, or a set of them
    if ``several`` is True.

    If ``any_of`` is True, the gold of an instance is a list of labels, and each label
    in the list is a right answer. If ``any_of`` is True, metrics compare a right answer
    with the equal gold label, and a wrong answer with the first gold label. ``abstain``
    is the label with which a system abstains from an answer. ``abstained`` and
    ``missing`` map the name of each rule set to the treatment of abstentions and of
    missing answers. ``probabilities`` and ``confidence`` state whether these numbers in
    runs are forbidden (none), optional or needed.
    """

    drawn_as: ClassVar[str] = LABELS_VIEW
    labels: tuple[str, ...]
    field: str = LABEL_FIELD
    several: bool = False
    any_of: bool = False
    #: `positive` is the default label of the metrics precision, recall and F1.
    positive: str = ""
    abstain: str = ""
    probabilities: str = OPTIONAL_PROBABILITIES
    confidence: str = NONE
    abstained: Mapping[str, UnansweredTreatment] = dataclasses.field(
        default_factory=dict
    )

    @property
    def example(self) -> Any:
        return [self.labels[0]] if self.several else self.labels[0]

    @property
    def columns(self) -> RunTableColumns:
        probabilities, confidence = map(
            self.get_run_key_of_field, (PROBABILITIES_FIELD, CONFIDENCE_FIELD)
        )
        others = (
            *([probabilities] if self.probabilities != NONE else []),
            *([confidence] if self.confidence != NONE else []),
        )
        lists = {probabilities, *([self.run_answer_key] if self.several else [])}
        return self._make_run_table_columns(
            others=(*others, *self.shape.columns),
            instead=self.shape.columns,
            numbers=frozenset({confidence}),
            json=frozenset(lists),
        )

    def replace_mapped_values(
        self, record: Mapping[str, Any], path: str, values: LabelsBySpelling
    ) -> Mapping[str, Any]:
        record = super().replace_mapped_values(record, path, values)
        if PROBABILITIES_FIELD not in record:
            return record
        shares = replace_spellings_in_keys(record[PROBABILITIES_FIELD], values)
        return {**record, PROBABILITIES_FIELD: shares}

    @property
    def label_dimensions(self) -> tuple[str, ...]:
        return self.dimensions_of_answer_classes

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        value = get_value_at_path(record, self.field)
        is_list = self.several or self.any_of
        value = NO_VALUE if value is None else value
        labels = self._parse_labels(
            value, fault, self.field, self.labels, is_list=is_list
        )
        if labels is None or is_list:
            return labels
        label = GoldLabel(labels[0])
        label.record = record if self.keeps_records else {}
        return label

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        key, probabilities = self.run_answer_key, None
        allowed = (*self.labels, *([self.abstain] if self.abstain else []))
        value = line.value.get(key, NO_VALUE)
        own = self.shape.columns
        if value is NO_VALUE and own and not line.value.keys().isdisjoint(own):
            value = [line.value.get(column) for column in own]
        labels = self._parse_labels(
            value, line.wrong, key, allowed, is_list=self.several
        )
        if labels is None or self.several:
            return labels
        try:
            if self.probabilities != NONE:
                probabilities = parse_label_probabilities(line.value, self.labels)
        except InvalidProbabilities as refused:
            return line.wrong(refused.message, refused.expected)
        if self.probabilities == REQUIRED_PROBABILITIES and probabilities is None:
            return line.wrong(
                "“probabilities” is missing", "a probability for each label"
            )
        confidence = self._read_confidence(line)
        if not line.is_sound:
            return None
        if probabilities or confidence is not None or self.keeps_records:
            record = line.value if self.keeps_records else None
            return LabelWithProbabilities(
                labels[0], probabilities, confidence=confidence, record=record
            )
        return labels[0]

    def get_record_with_canonical_gold(
        self, instance: TaskInstance
    ) -> Mapping[str, Any]:
        """Return the instance's record with the gold labels in the spelling that the
        task declares.
        """
        value = get_value_at_path(instance.record, self.field)
        is_spelt = isinstance(value, str) and value.lstrip().startswith("[")
        has_parts = self.shape.has_binary_vectors or bool(self.shape.separator)
        if not (has_parts or is_spelt or isinstance(value, float)):
            return instance.record
        gold = instance.gold
        labels = [*gold] if isinstance(gold, tuple) else str(gold)
        return {**instance.record, self.field: labels}

    def pairs_of(
        self, content: InstancesAndPool, answers: list[Any], rules: str
    ) -> tuple[list[Any], list[Any]]:
        missing, abstained = (
            self.missing.get(rules, COUNT_UNANSWERED_AS_WRONG),
            self.abstained.get(rules, COUNT_UNANSWERED_AS_WRONG),
        )

        def apply_treatment_of_rules(
            answer: LabelWithProbabilities | str | None,
        ) -> Any:
            if answer is not None and not (self.abstain and answer == self.abstain):
                return answer
            return _apply_treatment(missing if answer is None else abstained, answer)

        answers = list(map(apply_treatment_of_rules, answers))
        gold = [instance.gold for instance in content.instances]
        if self.any_of:
            sides = zip(gold, answers, strict=True)
            gold = [
                answer if answer in labels else labels[0] for labels, answer in sides
            ]
        return gold, answers

    def count_answer_notes(self, answers: Sequence[Any]) -> Mapping[str, int]:
        return (
            {"abstained": sum(answer == self.abstain for answer in answers)}
            if self.abstain
            else {}
        )

    def get_numbers_besides_answer(self, answer: Any) -> Mapping[str, float]:
        sure = getattr(answer, "confidence", None)
        return getattr(answer, "probabilities", None) or (
            {} if sure is None else {str(answer): sure}
        )

    def format_gold(self, gold: Any) -> str:
        return ", ".join(gold) if isinstance(gold, tuple) else str(gold)

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        yield from _iterate_label_parts(instance.gold)

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        if getattr(answer, "is_answer", True):
            yield from _iterate_label_parts(answer)

    def _parse_label_list(self, value: Any, fault: FaultRecorder, key: str) -> Any:
        """Return the list of labels that a value in a file encodes, for example as JSON
        text or as a vector of 0 and 1. If the value is an invalid vector of 0 and 1,
        record the fault and return None.
        """
        parts = self.shape.parts(value)
        if self.shape.has_binary_vectors and isinstance(parts, list):
            return self._read_label_vector(parts, fault, key)
        return parts

    def _read_label_vector(
        self, value: Sequence[Any], fault: FaultRecorder, key: str
    ) -> list[str] | None:
        """Return the labels of the positions at which a vector contains 1. If the
        vector is invalid, record the fault and return None.

        A run may contain a list of labels instead of the vector, and the list may be
        empty.
        """
        if all(isinstance(own, str) and own in self.labels for own in value):
            return [*value]
        expected = f"{ZERO_OR_ONE_DESCRIPTION} for each of {', '.join(self.labels)}"
        if len(value) != len(self.labels):
            fault(f"“{key}” has {len(value)} values", expected)
            return None
        signs = [parse_binary_cell(own) for own in value]
        if None in signs:
            own = self.shape.columns
            name = own[signs.index(None)] if own else key
            fault(f"“{name}” is not {ZERO_OR_ONE_DESCRIPTION}", expected)
            return None
        return [label for label, on in zip(self.labels, signs, strict=True) if on]

    def _read_confidence(self, line: AnswerLine) -> float | None:
        if self.confidence == NONE:
            return None
        value = line.value.get("confidence")
        if value is None and self.confidence == OPTIONAL_PROBABILITIES:
            return DEFAULT_CONFIDENCE
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 <= value <= 1
        ):
            found = (
                f"{value:g}"
                if type(value) in (int, float)
                else describe_json_type_or_missing(value)
            )
            line.wrong(f"“confidence” is {found}", "a number from 0 to 1")
            return None
        return float(value)

    def _parse_labels(
        self,
        value: Any,
        fault: FaultRecorder,
        key: str,
        allowed: Sequence[str],
        *,
        is_list: bool,
    ) -> LabelsOfAnswer | None:
        """Return the labels that a value in the gold or in a run encodes. If the task
        has one label per instance, the value must contain exactly one label. If the
        value is invalid, record the fault and return None.
        """
        expected = f"one of {', '.join(allowed)}"
        if value is NO_VALUE:
            fault(f"“{key}” is missing", expected)
            return None
        if is_list and value not in allowed:
            value = self._parse_label_list(value, fault, key)
            if value is None:
                return None
        # A table cell may contain a single label instead of a list of labels.
        values = value if is_list and isinstance(value, list) else [value]
        if is_list and (
            not isinstance(value, list | str) or not (values or self.several)
        ):
            found = "empty" if value == [] else describe_json_type(value)
            fault(f"“{key}” is {found}", f"a list of labels, each {expected}")
            return None
        read = []
        for own in values:
            label = (
                find_label_equal_in_nfc(convert_label_to_text(own), allowed)
                if isinstance(own, str | int | float)
                else None
            )
            if label is None:
                fault(*_describe_non_label(own, key, allowed, is_list=is_list))
                return None
            read.append(label)
        given = Counter(read)
        if twice := [label for label, count in given.items() if count > 1]:
            fault(f"“{key}” names {twice[0]} twice", "each label once")
            return None
        return LabelsOfAnswer(
            given if self.any_of else (label for label in allowed if label in given)
        )


def _iterate_label_parts(labels: Any) -> Iterator[AnswerPart]:
    for label in labels if isinstance(labels, tuple) else (str(labels),):
        if label:
            yield AnswerPart(label)


def _describe_non_label(
    value: Any, key: str, allowed: Sequence[str], *, is_list: bool
) -> tuple[str, str]:
    """Return an error message and the expected form for a value that is not a label."""
    expected = f"one of {', '.join(allowed)}"
    if type(value) in (str, int):
        return make_unknown_label_message(str(value), allowed), expected
    return (
        f"“{key}” {'holds' if is_list else 'is'} {describe_json_type(value)}",
        expected,
    )


def _apply_treatment(
    treatment: UnansweredTreatment, answer: LabelWithProbabilities | str | None
) -> Any:
    """Return the answer that replaces a missing answer or an abstention under the
    ``treatment`` of a rule set. The argument ``answer`` is None for a missing answer,
    and a label for an abstention.
    """
    is_answer = answer is not None
    if isinstance(treatment, SubstituteLabel):
        is_answer = is_answer or treatment.confidence is not None
        return LabelWithProbabilities(
            treatment.label, confidence=treatment.confidence, is_answer=is_answer
        )
    if treatment == LEAVE_UNANSWERED_OUT:
        return LabelWithProbabilities(
            answer or "", is_left_out=True, is_answer=is_answer
        )
    return answer
