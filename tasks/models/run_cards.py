"""A run card is a team's structured description of how a run was made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext, gettext_lazy, gettext_noop as _

YES_AND_NO_LABELS = {"no": _("no"), "yes": _("yes")}


@dataclass(frozen=True, kw_only=True)
class TranslatedFormField:
    """A form field whose label and help text are stored in English. The properties
    ``label`` and ``help`` return translations into the user's language.
    """

    name: str
    english: str
    asks: str

    @property
    def label(self) -> str:
        return gettext(self.english)

    @property
    def help(self) -> str:
        return gettext(self.asks)


@dataclass(frozen=True, kw_only=True)
class RunCardField(TranslatedFormField):
    """A field of the run card.

    The value of a field of the run card is a text, a short text (``is_short``), a URL
    (``is_link``), a month or day (``is_date``), names separated by commas
    (``is_list``), or one of ``values``. ``marked`` maps some values to labels that a
    board shows beside the run. If ``names_team`` is True, the field may reveal the
    team, and pages show the field only together with the team's name.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    marked: Mapping[str, str] = field(default_factory=dict)
    is_link: bool = False
    is_date: bool = False
    is_list: bool = False
    is_short: bool = False
    max_length: int = 1000

    @property
    def choices(self) -> dict[str, str]:
        return {value: gettext(words) for value, words in self.values.items()}

    @property
    def names_team(self) -> bool:
        return not self.values and not self.is_date


RUN_CARD_FIELDS = {
    known.name: known
    for known in (
        RunCardField(
            name="code",
            english=_("Code"),
            asks=_("The address of the code."),
            is_link=True,
            max_length=200,
        ),
        RunCardField(
            name="paper",
            english=_("Paper"),
            asks=_("The address of a paper that describes it."),
            is_link=True,
            max_length=200,
        ),
        RunCardField(
            name="training_data",
            english=_("Training data"),
            asks=_(
                "What it was trained or tuned on, with versions and years; “none” without any."
            ),
        ),
        RunCardField(
            name="trained_on",
            english=_("Data sets trained on"),
            is_list=True,
            max_length=400,
            asks=_(
                "Names of data sets, as the classes of the board call them, with commas between; “none” "
                "without any. Where a task tests on several data sets, they make a table of transfer."
            ),
        ),
        RunCardField(
            name="trained_on_test_year",
            english=_("Trained on data of the test year"),
            values=YES_AND_NO_LABELS,
            marked={"yes": _("trained on the test year")},
            asks=_(
                "Whether anything that it was trained on appeared in the year of the test data or later."
            ),
        ),
        RunCardField(
            name="knowledge_cutoff",
            english=_("Knowledge cut-off"),
            is_date=True,
            max_length=10,
            asks=_(
                "How far what its models know goes, such as 2024, 2024-06 or 2024-06-30; “none” without a "
                "trained model, “unknown” where its maker does not say."
            ),
        ),
        RunCardField(
            name="model",
            english=_("Model"),
            marked={"closed": _("closed model")},
            values={
                "open": _("open: its weights can be downloaded"),
                "closed": _("closed: some model is available as a service alone"),
                "none": _("no trained model"),
            },
            asks=_("Of all the models that it uses."),
        ),
        RunCardField(
            name="external_resources",
            english=_("External resources"),
            asks=_(
                "What it uses besides the given data: corpora, knowledge bases, services, the full text "
                "of papers; “none” without any."
            ),
        ),
        RunCardField(
            name="human_in_the_loop",
            english=_("Human in the loop"),
            values=YES_AND_NO_LABELS,
            marked={"yes": _("human in the loop")},
            asks=_(
                "Whether a person looked at the test data and changed an answer, a query or a prompt."
            ),
        ),
        RunCardField(
            name="seed",
            english=_("Seed"),
            is_short=True,
            max_length=40,
            asks=_("The random seed of this run, such as 42."),
        ),
    )
}
#: `EMPTY_CARD_LIST_VALUE` as the value of a list field of a run card means an empty list.
EMPTY_CARD_LIST_VALUE = "none"
METHOD_REQUIREMENT, COSTS_REQUIREMENT = "method", "costs"
REQUIRABLE_FIELD_LABELS = {
    METHOD_REQUIREMENT: gettext_lazy("Method, as the description"),
    **{known.name: gettext_lazy(known.english) for known in RUN_CARD_FIELDS.values()},
    COSTS_REQUIREMENT: gettext_lazy("Costs, at least one figure"),
}
MARK_LABELS_BY_VALUE = {
    (known.name, value): words
    for known in RUN_CARD_FIELDS.values()
    for value, words in known.marked.items()
}
MARKED_FIELD_NAMES = tuple(dict.fromkeys(name for name, _ in MARK_LABELS_BY_VALUE))


def list_warning_labels_of_card(card: Mapping[str, str]) -> list[tuple[str, str]]:
    if not card:
        return []
    return [
        (name, gettext(words))
        for (name, value), words in MARK_LABELS_BY_VALUE.items()
        if card.get(name) == value
    ]


def remove_identifying_card_fields(card: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in card.items()
        if name in RUN_CARD_FIELDS and not RUN_CARD_FIELDS[name].names_team
    }


def list_training_datasets_of_card(card: Mapping[str, str]) -> tuple[str, ...]:
    named = tuple(filter(None, card.get("trained_on", "").split(", ")))
    return () if named == (EMPTY_CARD_LIST_VALUE,) else named


def does_card_declare_fact(card: Mapping[str, str], fact: str) -> bool:
    """Return True if a run card declares a fact, such as `model:open` or
    `trained_on:SciSummNet`.

    The fact `knowledge_cutoff:2024-06` is declared by a run without a trained model, or
    with a knowledge cutoff before this month.
    """
    name, _colon, value = fact.partition(":")
    known, said = RUN_CARD_FIELDS.get(name), card.get(name, "")
    if known is None or not said:
        return False
    if known.is_date:
        return said == EMPTY_CARD_LIST_VALUE or (
            said < value and not value.startswith(said)
        )
    return (
        value.casefold() in said.casefold().split(", ")
        if known.is_list
        else said == value
    )


def collect_searchable_card_facts(
    cards: Iterable[Mapping[str, str]],
) -> dict[str, dict[str, str]]:
    """Return the facts on run cards that users can search for. The result maps the
    label of each field to the facts in this field, and each fact to its displayed text.
    """
    facts: dict[str, dict[str, str]] = {}
    for card in filter(None, cards):
        for known, words in list_filled_card_fields(card):
            said = card[known.name]
            values = {said: words} if known.values else {}
            if known.is_list:
                values = {name: name for name in said.split(", ")}
            elif known.is_date and said[:4].isdecimal():
                year = int(said[:4]) + 1
                values = {str(year): gettext("before %(year)s") % {"year": year}}
            for value, text in values.items():
                facts.setdefault(known.label, {})[f"{known.name}:{value}"] = text
    return {label: dict(sorted(fact.items())) for label, fact in facts.items()}


def list_filled_card_fields(card: Mapping[str, str]) -> list[tuple[RunCardField, str]]:
    return [
        (one, one.choices.get(card[name], card[name]))
        for name, one in RUN_CARD_FIELDS.items()
        if card.get(name)
    ]
