"""Tasks in which answers are spans of a text, such as citations or named entities."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from tasks.types.base import MARKED_TEXT_VIEW, AnswerPart, Index
from tasks.types.forms.instances import (
    FaultRecorder,
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.forms.mapping import (
    LabelsBySpelling,
    replace_spelling_by_label,
    replace_value_at_path,
)
from tasks.types.jsonlines import AnswerLine
from tasks.types.text import describe_json_type_or_missing, make_unknown_label_message

#: `Span` contains start and exclusive end in code points, and a label.
LabelledSpan = tuple[int, int, str]


class SpansOfAnswer(tuple[LabelledSpan, ...]):  # noqa: SLOT001  (it has an attribute)
    """The spans in an answer, in the order in which the text contains them. ``text`` is
    the text to which the span offsets refer, and exists only for gold answers.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class SpanTask(InstanceTask):
    """A task in which an answer is a list of spans in the field ``text`` of the
    instance. If ``labels`` is not empty, each span has one of these labels.

    A span contains at least one character. Two spans in an answer may overlap only if
    ``overlap`` is True.
    """

    drawn_as: ClassVar[str] = MARKED_TEXT_VIEW
    text: str = "text"
    labels: tuple[str, ...] = ()
    overlap: bool = False

    @property
    def example(self) -> Any:
        return [[4, 9, *self.labels[:1]]]

    def replace_mapped_values(
        self, record: Mapping[str, Any], path: str, values: LabelsBySpelling
    ) -> Mapping[str, Any]:
        """Replace the label of each span by the label of the task that ``values``
        assigns to it.
        """
        spans = get_value_at_path(record, path)
        if not isinstance(spans, list):
            return record
        labelled = [
            [
                *span[:2],
                *(replace_spelling_by_label(label, values) for label in span[2:]),
            ]
            if isinstance(span, list)
            else span
            for span in spans
        ]
        return replace_value_at_path(record, path, labelled)

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        text = get_value_at_path(record, self.text)
        if not isinstance(text, str):
            fault(f"“{self.text}” is {describe_json_type_or_missing(text)}", "a text")
            return None
        spans = self._parse_spans(
            get_value_at_path(record, self.field), self.field, len(text), fault
        )
        if spans is not None:
            spans.text = text
        return spans

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        # The index contains no text length for instances that are not in the split.
        given, length = line.value.get(self.run_answer_key), index["lengths"].get(name)
        return (
            None
            if length is None
            else self._parse_spans(given, self.run_answer_key, length, line.wrong)
        )

    def make_additional_index_entries(self, content: InstancesAndPool) -> Index:
        texts = {
            instance.id: get_value_at_path(instance.record, self.text)
            for instance in content.instances
        }
        return {
            "lengths": {
                name: len(text) if isinstance(text, str) else 0
                for name, text in texts.items()
            }
        }

    def format_gold(self, gold: Any) -> str:
        return "\n".join(
            f"{start}-{end} {label}".rstrip() for start, end, label in gold
        )

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        return self.answer_parts(content, instance, instance.gold)

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        text = str(get_value_at_path(instance.record, self.text) or "")
        for start, end, label in answer:
            yield AnswerPart(
                f"{start + 1}–{end}", text[start:end], label, start=start, end=end
            )

    def _suggest_label(self, label: object) -> str:
        said = (
            make_unknown_label_message(label, self.labels)
            if isinstance(label, str)
            else ""
        )
        return f": {said}" if said else ""

    def _parse_spans(
        self, value: Any, key: str, length: int, fault: FaultRecorder
    ) -> SpansOfAnswer | None:
        size = 3 if self.labels else 2
        expected = (
            "a list of [start, end, label]" if self.labels else "a list of [start, end]"
        )
        if not isinstance(value, list):
            fault(f"“{key}” is {describe_json_type_or_missing(value)}", expected)
            return None
        spans: list[LabelledSpan] = []
        for position, own in enumerate(value, start=1):
            if (
                not isinstance(own, list)
                or len(own) != size
                or any(type(at) is not int for at in own[:2])
            ):
                fault(f"span {position} of “{key}” is no span", expected)
            elif not 0 <= own[0] < own[1] <= length:
                message = f"span {position} of “{key}” goes from {own[0]} to {own[1]}"
                fault(
                    message,
                    f"a start before the end, from 0 to {length}, where the text ends",
                )
            elif self.labels and own[2] not in self.labels:
                fault(
                    f"span {position} of “{key}” has no label of these{self._suggest_label(own[2])}",
                    f"one of {', '.join(self.labels)}",
                )
            else:
                spans.append((own[0], own[1], own[2] if self.labels else ""))
        if len(spans) < len(value):
            return None
        ordered = sorted(spans)
        for (start, end, label), (later, to, other) in pairwise(ordered):
            if (start, end, label) == (later, to, other):
                fault(f"“{key}” has the span {start} to {end} twice", "each span once")
                return None
            if later < end and not self.overlap:
                fault(
                    f"spans {start} to {end} and {later} to {to} of “{key}” overlap",
                    "spans side by side",
                )
                return None
        return SpansOfAnswer(ordered)
