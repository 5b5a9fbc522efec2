"""Text generation and short-answer tasks, in which an answer is a text that metrics
compare with reference texts.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tasks.types.base import (
    TEXTS,
    AnswerPart,
    HumanEvaluation,
    Index,
    Sources,
    is_official,
)
from tasks.types.files import Files
from tasks.types.forms.instances import (
    Content,
    Fault,
    Instance,
    InstanceTask,
    at_path,
)
from tasks.types.jsonlines import MAX_TEXT, Line, well_formed
from tasks.types.tables import Columns
from tasks.types.text import are_texts, in_nfc, kind_found


class References(tuple[str, ...]):
    """The reference texts of an instance, each of which is a right answer."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class TextTask(InstanceTask):
    """A text generation task, in which an answer has at most ``longest`` characters. An
    answer may be an empty text.
    """

    drawn_as: ClassVar[str] = TEXTS
    own_key: ClassVar[str] = "text"
    longest: int = MAX_TEXT

    @property
    def columns(self) -> Columns:
        return self._columns(may_be_empty=True)

    def pairs_of(
        self, content: Content, answers: list[Any], rules: str
    ) -> tuple[list[Any], list[Any]]:
        gold, answers = super().pairs_of(content, answers, rules)
        if content.reading > 1 and not is_official(rules):
            return in_nfc(gold), in_nfc(answers)
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

    def sources(self, files: Files) -> Mapping[str, Sources]:
        return {
            instance.id: tuple(
                (name, as_text(value))
                for name, value in self.public(instance).items()
                if name != self.id
            )
            for instance in self.inputs(files).instances
        }

    def gold_of(self, record: Mapping[str, Any], fault: Fault) -> Any:
        value = at_path(record, self.field)
        values = [value] if isinstance(value, str) else value
        if not values or not are_texts(values):
            found = "empty" if value == [] else kind_found(value)
            fault(f"“{self.field}” is {found}", "a text or a list of texts")
            return None
        return References(map(well_formed, values))

    def answer_of(self, line: Line, name: str, index: Index) -> Any:
        return line.text(
            self.answer_key, example=self.form.example, longest=self.longest
        )

    def gold_text(self, gold: Any) -> str:
        return "\n".join(gold)

    def answer_text(self, answer: Any) -> str:
        return str(answer)

    def gold_parts(self, content: Content, instance: Instance) -> Iterator[AnswerPart]:
        yield from map(AnswerPart, instance.gold)

    def answer_parts(
        self, content: Content, instance: Instance, answer: Any
    ) -> Iterator[AnswerPart]:
        if answer:
            yield AnswerPart(str(answer))


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
