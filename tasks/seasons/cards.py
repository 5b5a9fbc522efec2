"""A task type's card: what it says of itself, for participants and readers."""

import re
from dataclasses import dataclass
from functools import cache

from django.utils.safestring import SafeString

from citeboard.core.markdown import rendered
from tasks.models import Task
from tasks.types import task_types
from tasks.types.registry import card_text

#: The section that describes each rule set under a heading of its own, and the one of the format.
RULES, FORMAT = "Rules", "Format"


@dataclass(frozen=True)
class Card:
    """The whole card, and those parts of it that other pages quote."""

    text: str

    @property
    def html(self) -> SafeString:
        return rendered(self.text)

    @property
    def format(self) -> SafeString:
        return rendered(section(self.text, FORMAT), top=3)

    def rules(self, name: str) -> SafeString:
        return rendered(section(section(self.text, RULES), f"`{name}`", level=3))


def card(task: Task) -> Card:
    if task.declaration_id and (declared := task.task_type.declared):
        return Card(declared.files.get("card.md", ""))
    return card_of_type(task.type)


@cache
def card_of_type(task_type: str) -> Card:
    return Card(card_text(task_type) if task_type in task_types() else "")


def section(text: str, heading: str, level: int = 2) -> str:
    begin = re.search(rf"^{'#' * level} {re.escape(heading)}\s*$", text, flags=re.MULTILINE)
    if begin is None:
        return ""
    rest = text[begin.end() :]
    end = re.search(rf"^#{{1,{level}}} ", rest, flags=re.MULTILINE)
    return rest[: end.start()].strip() if end else rest.strip()
