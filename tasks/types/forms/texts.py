"""A text for each instance, held against one or more references: generation and short answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tasks.types.base import TEXTS, Index, is_official
from tasks.types.forms.instances import Content, Fault, InstanceTask, at_path
from tasks.types.jsonlines import MAX_TEXT, Line, well_formed
from tasks.types.tables import Columns
from tasks.types.text import are_texts, in_nfc, kind_found


class References(tuple[str, ...]):
    """The texts of which any may be met, one at least."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class TextTask(InstanceTask):
    """A text of at most ``longest`` characters; it may be empty."""

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
