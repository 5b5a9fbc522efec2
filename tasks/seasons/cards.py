"""A task card describes a task type for participants and readers."""

import re
from dataclasses import dataclass
from functools import cache

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from citeboard.core.markdown import render_markdown
from tasks.models import Task
from tasks.types import task_types
from tasks.types.registry import read_card_text

#: RULES_HEADING and FORMAT_HEADING are headings in task cards, and RULES_HEADING has a section per rule set.
RULES_HEADING, FORMAT_HEADING = "Rules", "Format"
DESCRIPTIONS_BY_TASK_TYPE = {
    "citation-recommendation": _(
        "Which paper of a collection does this sentence cite?"
    ),
    "citation-resolution": _(
        "Which of the paper's own references is cited at this place?"
    ),
    "citation-text": _(
        "Write what a paper says of the papers that it cites, from their abstracts."
    ),
    "cited-reports": _(
        "Write a report on a topic and name the documents behind each sentence."
    ),
    "clsumm-1a": _("Which sentences of the cited paper does this citation mean?"),
    "clsumm-1b": _(
        "What does a citation take from the cited paper: an aim, a hypothesis, a method, results or an "
        "implication?"
    ),
    "clsumm-2": _(
        "Summarise a paper in at most 250 words, from the paper and from what others say when they cite it."
    ),
    "judge-leaderboards": _(
        "Does an automatic judge rank systems in the order of the true scores?"
    ),
    "positional-citations": _(
        "Answer a question from passages, with a mark behind each claim that names its passage."
    ),
}
#: The first sentence of a card is not shown if longer than MAX_DESCRIPTION_CHARACTERS characters.
MAX_DESCRIPTION_CHARACTERS = 240
#: The pattern matches sections of rule sets in task cards, such as "### `official`".
#: The pattern also matches list items that begin with a rule set or an option.
_RULES_OR_OPTION_PATTERN = re.compile(
    r"^### (?P<rules>`[\w-]+`)\n(?:(?!#{1,3} ).*\n?)*"
    r"|^- (?:\*\*.+?\*\* \((?P<of>`[\w-]+`(?:, `[\w-]+`)*)\)"
    r"|With the option `(?P<option>\w+)=).*\n(?:  .*\n)*",
    re.MULTILINE,
)


@dataclass(frozen=True)
class TaskCard:
    text: str

    def html(self, task: Task) -> SafeString:
        """Return the task card as HTML without sections about rule sets that the task
        does not use, and without sections about unset options.
        """

        def keep_or_drop_section(found: re.Match[str]) -> str:
            rules = re.findall(r"`([\w-]+)`", found["rules"] or found["of"] or "")
            is_off = (
                found["option"] and str(task.options.get(found["option"], "no")) == "no"
            )
            return (
                ""
                if is_off or (rules and not set(rules) & set(task.rules))
                else found[0]
            )

        return render_markdown(
            _RULES_OR_OPTION_PATTERN.sub(keep_or_drop_section, self.text)
        )

    @property
    def format(self) -> SafeString:
        return render_markdown(
            extract_markdown_section(self.text, FORMAT_HEADING), top=3
        )

    def rules(self, name: str) -> SafeString:
        return render_markdown(
            extract_markdown_section(
                extract_markdown_section(self.text, RULES_HEADING), f"`{name}`", level=3
            )
        )


def get_task_card(task: Task) -> TaskCard:
    if task.declaration_id and (declared := task.task_type.declared):
        return TaskCard(declared.files.get("card.md", ""))
    return load_card_of_task_type(task.type)


@cache
def load_card_of_task_type(task_type: str) -> TaskCard:
    return TaskCard(read_card_text(task_type) if task_type in task_types() else "")


def get_one_sentence_description(task: Task) -> str:
    """Return a sentence that describes the task, or an empty text without such a
    sentence. The sentence is written by the organisers, or comes from the task type or
    its task card.
    """
    return (
        task.sentence
        or str(DESCRIPTIONS_BY_TASK_TYPE.get(task.type, ""))
        or extract_first_sentence_of_card(get_task_card(task))
    )


def extract_first_sentence_of_card(card: TaskCard) -> str:
    """Return the first sentence below the title of a task card, without Markdown
    syntax.
    """
    text = re.sub(r"\A\s*# .*\n+", "", card.text)
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    if paragraph.startswith(("#", "|", "-", "<", "```")):
        return ""
    linked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    sentence = re.split(r"(?<=[.?!]) ", re.sub(r"\*\*|[*`]", "", linked))[0]
    return sentence if len(sentence) <= MAX_DESCRIPTION_CHARACTERS else ""


def extract_markdown_section(text: str, heading: str, level: int = 2) -> str:
    begin = re.search(
        rf"^{'#' * level} {re.escape(heading)}\s*$", text, flags=re.MULTILINE
    )
    if begin is None:
        return ""
    rest = text[begin.end() :]
    end = re.search(rf"^#{{1,{level}}} ", rest, flags=re.MULTILINE)
    return rest[: end.start()].strip() if end else rest.strip()
