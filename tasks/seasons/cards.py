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
#: A section "### `official`", and an item that begins with the rules or the option that it is for.
_OF_RULES_OR_OPTION = re.compile(
    r"^### (?P<rules>`[\w-]+`)\n(?:(?!#{1,3} ).*\n?)*"
    r"|^- (?:\*\*.+?\*\* \((?P<of>`[\w-]+`(?:, `[\w-]+`)*)\)"
    r"|With the option `(?P<option>\w+)=).*\n(?:  .*\n)*",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Card:
    text: str

    def html(self, task: Task) -> SafeString:
        """Without the rule sets that the task does not have, and the options that it does not set."""

        def part(found: re.Match[str]) -> str:
            rules = re.findall(r"`([\w-]+)`", found["rules"] or found["of"] or "")
            is_off = (
                found["option"] and str(task.options.get(found["option"], "no")) == "no"
            )
            return (
                ""
                if is_off or (rules and not set(rules) & set(task.rules))
                else found[0]
            )

        return rendered(_OF_RULES_OR_OPTION.sub(part, self.text))

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
    begin = re.search(
        rf"^{'#' * level} {re.escape(heading)}\s*$", text, flags=re.MULTILINE
    )
    if begin is None:
        return ""
    rest = text[begin.end() :]
    end = re.search(rf"^#{{1,{level}}} ", rest, flags=re.MULTILINE)
    return rest[: end.start()].strip() if end else rest.strip()
