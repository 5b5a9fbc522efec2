"""Text generation and short-answer tasks, in which an answer is a text that metrics
compare with reference texts.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tasks.types.base import (
    TEXTS_VIEW,
    AnswerPart,
    HeadingsAndTexts,
    HumanEvaluation,
    Index,
    is_official_rule_set,
)
from tasks.types.files import Files
from tasks.types.forms.instances import (
    FaultRecorder,
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.jsonlines import (
    MAX_TEXT_CHARACTERS,
    AnswerLine,
    replace_unpaired_surrogates,
)
from tasks.types.tables import RunTableColumns
from tasks.types.text import (
    describe_json_type_or_missing,
    is_list_of_texts,
    normalise_nested_texts_to_nfc,
)


class ReferenceTexts(tuple[str, ...]):
    """The reference texts of an instance, each of which is a right answer."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class TextTask(InstanceTask):
    """A text generation task, in which an answer has at most ``longest`` characters. An
    answer may be an empty text.
    """

    drawn_as: ClassVar[str] = TEXTS_VIEW
    own_key: ClassVar[str] = "text"
    longest: int = MAX_TEXT_CHARACTERS

    @property
    def columns(self) -> RunTableColumns:
        return self._make_run_table_columns(may_be_empty=True)

    def pairs_of(
        self, content: InstancesAndPool, answers: list[Any], rules: str
    ) -> tuple[list[Any], list[Any]]:
        gold, answers = super().pairs_of(content, answers, rules)
        if content.reading > 1 and not is_official_rule_set(rules):
            return normalise_nested_texts_to_nfc(gold), normalise_nested_texts_to_nfc(
                answers
            )
        return gold, answers

    @property
    def example(self) -> Any:
        return "A text."

    @property
    def human_evaluation(self) -> HumanEvaluation:
        """Return the texts and the public fields that human annotators need to judge
        the answers.
        """
        return HumanEvaluation(sources=self.sources, texts=dict)

    def sources(self, files: Files) -> Mapping[str, HeadingsAndTexts]:
        return {
            instance.id: tuple(
                (name, format_as_text(value))
                for name, value in self.public(instance).items()
                if name != self.id
            )
            for instance in self.inputs(files).instances
        }

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        value = get_value_at_path(record, self.field)
        values = [value] if isinstance(value, str) else value
        if not values or not is_list_of_texts(values):
            found = "empty" if value == [] else describe_json_type_or_missing(value)
            fault(f"“{self.field}” is {found}", "a text or a list of texts")
            return None
        return ReferenceTexts(map(replace_unpaired_surrogates, values))

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        return line.text(
            self.run_answer_key, example=self.form.example, longest=self.longest
        )

    def format_gold(self, gold: Any) -> str:
        return "\n".join(gold)

    def format_answer(self, answer: Any) -> str:
        return str(answer)

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        yield from map(AnswerPart, instance.gold)

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        if answer:
            yield AnswerPart(str(answer))


def format_as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
