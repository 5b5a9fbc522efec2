"""Actions that manage the dates, the board and the results of a phase."""

from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    DateTimeTextField,
    PhaseEndField,
    build_long_text_field,
    build_organiser_action,
    build_rehearsed_action,
)
from citeboard.ops.undoing import withdraw_messages
from citeboard.teams.models import Team, User
from scoring.results.board import manual_scores
from scoring.results.board.confirming import (
    MAX_ERRATUM_CHARACTERS as MAX_ERRATUM,
    publish_erratum,
)
from scoring.results.board.snapshots import save_frozen_boards
from scoring.results.runs import confirming
from tasks.models import ExtraTries, Phase, Season
from tasks.seasons import phase_acts
from tasks.submissions import run_acts


class TimesForm(ActForm):
    """The times at which a phase opens and closes for runs. Omitted times stay
    unchanged.
    """

    mirrors = True
    opens = DateTimeTextField(label=_("Opens"))
    closes = PhaseEndField(label=_("Closes"))


class BoardForm(ActForm):
    """The audience of a phase's board, now and at later times. Omitted fields keep
    their values.
    """

    mirrors = True
    board = forms.ChoiceField(
        label=_("Who sees the board"), choices=Phase.Audience.choices
    )
    board_from = DateTimeTextField(
        label=_("Until"),
        required=False,
        help_text=_("Leave it empty where that does not change."),
    )
    board_then = forms.ChoiceField(
        label=_("Who sees it from then on"),
        required=False,
        choices=[("", _("the same")), *Phase.Audience.choices],
    )


class FreezeForm(ActForm):
    """The times between which the board is frozen. Omitted times stay unchanged."""

    mirrors = True
    frozen_from = DateTimeTextField(
        label=_("Frozen from"), required=False, help_text=_("Empty: it is not frozen.")
    )
    frozen_until = DateTimeTextField(
        label=_("Revealed at"),
        required=False,
        help_text=_("Empty: when you reveal it."),
    )


def _freeze(*, phase: Phase, by: User, **instants: Any) -> Phase:
    if instants:
        return phase_acts.set_board_freeze(phase=phase, by=by, **instants)
    frozen = phase_acts.freeze_board_now(phase=phase, by=by)
    save_frozen_boards(frozen)
    return frozen


class EndConfirmationForm(ActForm):
    """The reason why the results become official although some teams have not confirmed
    them.
    """

    reason = forms.CharField(max_length=confirming.MAX_END_REASON_CHARACTERS)


class ExtraTriesForm(ActForm):
    """A team, the number of its extra tries in a phase, and the reason."""

    # The form offers only phases that limit runs, since extra tries raise the limit.
    team = forms.ModelChoiceField(
        label=_("Team"), queryset=Team.objects.none(), empty_label=None
    )
    phase = forms.TypedChoiceField(label=_("Phase"), coerce=int)
    tries = forms.IntegerField(
        label=_("How many more"),
        min_value=1,
        max_value=run_acts.MAX_EXTRA_TRIES,
        initial=1,
    )
    reason = forms.CharField(
        label=_("Reason, which the team reads"),
        max_length=run_acts.MAX_REASON_CHARACTERS,
    )
    api = {
        "team": "The slug of a team that takes part.",
        "reason": "The team reads it.",
    }
    only_on_pages = ("phase",)

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, files)
        entries = of.registrations.approved().values("team")
        limited = ~Q(runs_per_day=None) | ~Q(runs_in_total=None)
        teams = Team.objects.filter(pk__in=entries).order_by("name")
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]
        phases = Phase.objects.filter(limited, task__season=of).select_related(
            "task__season"
        )
        self.phases = {
            phase.pk: phase for phase in phases.order_by("task__position", "position")
        }
        self.fields["phase"].choices = [  # type: ignore[attr-defined]
            (number, f"{phase.task}, {phase}") for number, phase in self.phases.items()
        ]

    def clean_phase(self) -> Phase:
        return self.phases[self.cleaned_data["phase"]]


def _take_tries_back(*, given: ExtraTries, by: User) -> ExtraTries:
    """Withdraw a team's extra tries, and delete the notifications about these tries."""
    with transaction.atomic():
        withdraw_messages([f"tries-{given.pk}"])
        run_acts.withdraw_extra_tries(given=given, by=by)
    return given


class ErratumForm(ActForm):
    """An erratum to a phase's results. Organisers cannot change an erratum later, but
    can publish another erratum.
    """

    text = build_long_text_field(
        _("What was wrong, and what holds now"),
        MAX_ERRATUM,
        6,
        help_text=_("Markdown."),
    )


class OutsideForm(ActForm):
    """A metric that was measured elsewhere, with its values. Without values, the metric
    of this name is deleted.
    """

    name = forms.CharField(
        label=_("Measure"),
        max_length=manual_scores.MAX_MEASURE_NAME_CHARACTERS,
        help_text=_("One of the same name takes its place."),
    )
    better = forms.ChoiceField(
        label=_("Direction"),
        choices=(("up", _("higher is better")), ("down", _("lower is better"))),
    )
    source = forms.CharField(
        label=_("Source"),
        max_length=manual_scores.MAX_SOURCE_CHARACTERS,
        required=False,
        help_text=_(
            "Who measured it, how, and where that is written. Everybody who sees the scores reads it."
        ),
    )
    values = forms.CharField(
        label=_("Values"),
        max_length=manual_scores.MAX_MANUAL_VALUES_CHARACTERS,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_(
            "On each line the number of a run and its value, such as “41 0.532”. Left "
            "empty, the measure of this name is removed."
        ),
    )
    only_on_pages = ("better",)
    only_in_api = {"higher_is_better": forms.BooleanField()}
    api = {
        "higher_is_better": {"required": False, "default": True},
        "source": "Who measured it, how, and where that is written.",
        "values": {
            "help_text": "The number of a run and its value on each line.",
            "trim_whitespace": False,
        },
    }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["higher_is_better"] = cleaned.pop("better", "") == "up"
        return cleaned


MOVE_PHASE = build_rehearsed_action(
    phase_acts.move_phase,
    "Move when a phase opens and closes; for organisers.",
    _("%(task)s, %(phase)s: the times are changed."),
    form=TimesForm,
    subject="phase",
)
OPEN_PHASE_NOW = build_rehearsed_action(
    phase_acts.open_now,
    "Accept runs from now on; for organisers.",
    _("%(task)s, %(phase)s, is open now."),
    subject="phase",
)
CLOSE_PHASE_NOW = build_rehearsed_action(
    phase_acts.close_now,
    "Accept no more runs from now on; for organisers.",
    _("%(task)s, %(phase)s, is closed now."),
    subject="phase",
)
CHANGE_BOARD_AUDIENCE = build_rehearsed_action(
    phase_acts.change_board,
    "Say who sees a phase's board, and from when somebody else; for organisers.",
    lambda phase, _filled: (
        _("Who sees the board of %(task)s, %(phase)s: %(who)s."),
        {"who": phase_acts.describe_board_audience(phase)},
    ),
    form=BoardForm,
    subject="phase",
)
REVEAL_BOARD_NOW = build_rehearsed_action(
    phase_acts.reveal_now,
    "Show a phase's board to everybody from now on; for organisers.",
    _("Everybody sees the board of %(task)s, %(phase)s, now."),
    subject="phase",
)
FREEZE_BOARD = build_rehearsed_action(
    _freeze,
    "Freeze a phase's board for others, at the instants given or now; for organisers.",
    lambda phase, _filled: (
        _("When the board of %(task)s, %(phase)s, is frozen: %(when)s."),
        {"when": phase_acts.describe_board_freeze(phase)},
    ),
    form=FreezeForm,
    subject="phase",
)
FREEZE_BOARD_NOW = build_organiser_action(
    _freeze,
    FREEZE_BOARD.summary,
    _("The board of %(task)s, %(phase)s, is frozen."),
    subject="phase",
)
UNFREEZE_BOARD = build_rehearsed_action(
    phase_acts.reveal_frozen,
    "Reveal a frozen board as it stands now; for organisers.",
    _("The board of %(task)s, %(phase)s, is revealed."),
    subject="phase",
)
END_RESULT_CONFIRMATION = build_organiser_action(
    confirming.end_confirmation,
    "Call the results of a phase official, whatever teams have said; for organisers.",
    _("The results of %(task)s, %(phase)s, are official."),
    form=EndConfirmationForm,
    refused=_("The reason: %(fault)s"),
    subject="phase",
)
REOPEN_RESULT_CONFIRMATION = build_organiser_action(
    confirming.reopen_confirmation,
    "Let teams confirm their results again; for organisers.",
    _("The results of %(task)s, %(phase)s, wait for their teams again."),
    subject="phase",
)
GRANT_EXTRA_TRIES = build_rehearsed_action(
    run_acts.give_tries,
    "Give one team more tries in a phase; for organisers.",
    _("%(team)s has %(tries)s more in %(phase)s."),
    form=ExtraTriesForm,
    subject="phase",
)
WITHDRAW_EXTRA_TRIES = build_rehearsed_action(
    _take_tries_back,
    "Take tries back that a team was given; runs that were sent with them stay; for organisers.",
    _("The extra tries of %(team)s are taken back."),
    subject="given",
)
PUBLISH_ERRATUM = build_organiser_action(
    publish_erratum,
    "Publish an erratum, which stands on the board and on every board kept before; for organisers.",
    _("The erratum is on the board of %(task)s, %(phase)s."),
    form=ErratumForm,
    subject="phase",
)
SAVE_MANUAL_MEASURE = build_organiser_action(
    manual_scores.save_manual_measure,
    "Enter what was measured elsewhere, in the place of a measure of the same name; for organisers.",
    lambda measure, _filled: (
        _("“%(name)s” stands beside the board.")
        if measure
        else _("“%(name)s” is removed.")
    ),
    form=OutsideForm,
    subject="phase",
)
