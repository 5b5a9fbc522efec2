"""What a team says of how a run was made, field by field: the run's card.

The description of a run says its method, and the figures of its team say what it cost; both count as parts of
the card where organisers require them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

YES_OR_NO = {"no": "no", "yes": "yes"}


@dataclass(frozen=True, kw_only=True)
class CardField:
    """A text, an address (``is_link``), a month or day (``is_date``), or one of ``choices``.

    ``marks`` are the words by which a board marks a run that chose so. What ``names_team`` may say whose the
    run is, and is shown only where the team's name is.
    """

    name: str
    label: str
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    is_link: bool = False
    is_date: bool = False
    max_length: int = 1000

    @property
    def names_team(self) -> bool:
        return not self.choices and not self.is_date


CARD = {
    known.name: known
    for known in (
        CardField(name="code", label="Code", help="The address of the code.", is_link=True, max_length=200),
        CardField(
            name="paper", label="Paper", help="The address of a paper that describes it.", is_link=True,
            max_length=200,
        ),
        CardField(
            name="training_data", label="Training data",
            help="What it was trained or tuned on, with versions and years; “none” without any.",
        ),
        CardField(
            name="trained_on_test_year", label="Trained on data of the test year", choices=YES_OR_NO,
            marks={"yes": "trained on the test year"},
            help="Whether anything that it was trained on appeared in the year of the test data or later.",
        ),
        CardField(
            name="knowledge_cutoff", label="Knowledge cut-off", is_date=True, max_length=10,
            help="How far what its models know goes, such as 2024, 2024-06 or 2024-06-30; “none” without a "
            "trained model, “unknown” where its maker does not say.",
        ),
        CardField(
            name="model", label="Model", marks={"closed": "closed model"},
            choices={
                "open": "open: its weights can be downloaded",
                "closed": "closed: some model is available as a service alone",
                "none": "no trained model",
            },
            help="Of all the models that it uses.",
        ),
        CardField(
            name="external_resources", label="External resources",
            help="What it uses besides the given data: corpora, knowledge bases, services, the full text of "
            "papers; “none” without any.",
        ),
        CardField(
            name="human_in_the_loop", label="Human in the loop", choices=YES_OR_NO,
            marks={"yes": "human in the loop"},
            help="Whether a person looked at the test data and changed an answer, a query or a prompt.",
        ),
    )
}  # fmt: skip
METHOD, COSTS = "method", "costs"
#: What organisers may require, with its label.
REQUIRABLE = {
    METHOD: "Method, as the description",
    **{known.name: known.label for known in CARD.values()},
    COSTS: "Costs, at least one figure",
}
#: By the field, the values that are marked.
MARKS = {(known.name, value): words for known in CARD.values() for value, words in known.marks.items()}
#: What an address calls the fields that mark.
MARKING = tuple(dict.fromkeys(name for name, _ in MARKS))


def marks_of(card: Mapping[str, str]) -> list[tuple[str, str]]:
    """Of a card the fields that mark the run, each with its words."""
    if not card:
        return []
    return [(name, words) for (name, value), words in MARKS.items() if card.get(name) == value]


def without_names(card: Mapping[str, str]) -> dict[str, str]:
    """What may be shown where nobody is to learn whose the run is."""
    return {name: value for name, value in card.items() if name in CARD and not CARD[name].names_team}


def card_lines(card: Mapping[str, str]) -> list[tuple[CardField, str]]:
    """The fields that are filled in, with the value as a page says it."""
    return [
        (known, known.choices.get(card[name], card[name])) for name, known in CARD.items() if card.get(name)
    ]
