"""Actions that withdraw, exclude, select, describe and confirm a run."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, SubjectLookup, UserAction
from citeboard.teams.access import find_teams_of_user, first_or_404, led_team_or_error
from citeboard.teams.models import User
from scoring.results.runs import confirming
from scoring.results.runs.team_view import is_outcome_hidden_from
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import can_organise_season
from tasks.submissions import run_acts, seeds
from tasks.submissions.run_card import MAX_SYSTEM_NAME_CHARACTERS


def find_visible_runs(user: object) -> QuerySet[Submission]:
    """Return the runs that the user may see.

    Users may see the runs of their teams, and the runs of seasons that they help to
    organise.
    """
    organised = Season.objects.helped_by_user(user).order_by().values("pk")
    runs = Submission.objects.filter(
        Q(team__in=find_teams_of_user(user).values("pk"))
        | Q(phase__task__season__in=organised)
    )
    return runs.select_related("team", "phase__task__season", "submitted_by")


def filter_runs_of_own_teams_or_seasons(user: object) -> Q:
    phases = Phase.objects.filter(
        task__season__in=Season.objects.helped_by_user(user).order_by().values("pk")
    )
    return Q(team__in=find_teams_of_user(user).values("pk")) | Q(
        phase__in=phases.order_by().values("pk")
    )


def visible_run_or_404(user: object, pk: int) -> Submission:
    return first_or_404(
        find_visible_runs(user).filter(pk=pk),
        gettext("There is no run of yours at this address."),
    )


def own_team_run_or_404(user: object, pk: int) -> Submission:
    """Return a run of the user's team by primary key.

    Raises Http404 if the user may not see the run. Raises PermissionDenied if the user
    is not in the run's team.
    """
    run = visible_run_or_404(user, pk)
    if run.team not in find_teams_of_user(user):
        raise PermissionDenied("This is for the run's own team.")
    return run


def changeable_run_or_404(user: object, pk: int) -> Submission:
    """Return a run that the user may change, by primary key.

    Raises Http404 if the user may not see the run. Raises PermissionDenied if the user
    is neither an organiser nor in the run's team.
    """
    run = visible_run_or_404(user, pk)
    if run.team not in find_teams_of_user(user):
        _require_organiser_of_run(run, user)
    return run


def run_of_lead_or_404(user: object, pk: int) -> Submission:
    """Return a run of the team that the user leads, by primary key.

    Raises Http404 for users outside the team. Raises PermissionDenied for members who
    do not lead the team.
    """
    run = visible_run_or_404(user, pk)
    led_team_or_error(user, run.team.slug if run.team else "")
    return run


def _require_organiser_of_run(run: Submission, user: object) -> None:
    if run.team is None or not can_organise_season(user, run.phase.task.season):
        raise PermissionDenied(
            "A run is changed by its own team, and with a reason by organisers."
        )


class ReasonForm(ActForm):
    """The reason why organisers change a team's run. Teams give no reason for changes
    of their own runs.
    """

    reason = forms.CharField(required=False, max_length=500)
    api = {"reason": "The team reads it."}


class ExclusionForm(ReasonForm):
    """The reason why organisers exclude or readmit a run."""


class PriorityForm(ReasonForm):
    """A run's new priority among the runs of its team."""

    priority = forms.IntegerField(min_value=1, max_value=1000)
    api = {**ReasonForm.api, "priority": "1 comes first."}


class SeedForm(ReasonForm):
    """The system to which a run belongs. The runs of a system differ only in the random
    seed.
    """

    seeds_of = forms.CharField(required=False, max_length=MAX_SYSTEM_NAME_CHARACTERS)
    api = {
        **ReasonForm.api,
        "seeds_of": "The same name for each run of the system; empty: the run stands for itself.",
    }


@dataclass(frozen=True)
class RunChangeAction(UserAction):
    """An action that the run's team or the season's organisers perform on a run.

    Organisers must give a reason for the action, which the team can read.
    """

    _: KW_ONLY
    role: SubjectLookup = visible_run_or_404
    subject: str = "submission"
    form: type[ActForm] | None = ReasonForm
    is_for_organisers: bool = False

    def __call__(
        self,
        run: Any,
        by: User,
        /,
        reason: str = "",
        *,
        as_organiser: bool | None = None,
        **filled: Any,
    ) -> Any:
        reason, service = reason.strip(), self.service
        if as_organiser is None:
            organises = bool(reason) and can_organise_season(by, run.phase.task.season)
            as_organiser = (
                self.is_for_organisers
                or organises
                or run.team not in find_teams_of_user(by)
            )
        if as_organiser:
            _require_organiser_of_run(run, by)
            if not reason:
                raise ValidationError(
                    {"reason": gettext("Say why: the team reads it.")}
                )
        if service in (
            run_acts.cancel_run,
            run_acts.withdraw_run,
        ) and is_outcome_hidden_from(run, by):
            service = run_acts.cancel_or_withdraw_run
        # The service accepts a change with a reason even after the end of a phase.
        # Only organisers may give a reason to change runs after the end of a phase.
        return service(run, by, reason if as_organiser else "", **filled)


build_organiser_run_change = partial(
    RunChangeAction, form=ExclusionForm, is_for_organisers=True, is_rehearsed=True
)


def _run_status_message(run: Submission, _filled: object) -> tuple[str, dict[str, str]]:
    return gettext("The run is %(status)s."), {"status": run.get_status_display()}


def _seed_group_message(run: Submission, _filled: object) -> tuple[str, dict[str, str]]:
    if run.seeds_of:
        message = gettext("The run is a seed of %(system)s now.")
        return message, {"system": run.seeds_of}
    return gettext("The run stands for itself now."), {}


#: Each key of RUN_CHANGE_ACTIONS is the last part of the URL of an action on a run.
RUN_CHANGE_ACTIONS = {
    "cancel": RunChangeAction(
        run_acts.cancel_run,
        "Cancel a run that is not scored yet; it no longer counts.",
        _run_status_message,
    ),
    "withdraw": RunChangeAction(
        run_acts.withdraw_run,
        "Withdraw a scored run from the board; it still counts.",
        _run_status_message,
    ),
    "select": RunChangeAction(
        run_acts.select_run,
        "Let a run count for its team, where the phase leaves it the choice.",
        _("Run %(number)s counts for %(team)s now."),
    ),
    "priority": RunChangeAction(
        lambda run, by, reason, priority: run_acts.set_priority(
            run, by, reason, place=priority
        ),
        "Move a run to another place among its team's, where the first ones by priority count.",
        _("Run %(number)s of %(team)s has priority %(priority)s now."),
        role=changeable_run_or_404,
        form=PriorityForm,
    ),
    "seed": RunChangeAction(
        lambda run, by, reason, seeds_of: seeds.declare_run_as_seed(
            run, by, reason, seeds_of=seeds_of
        ),
        "Declare a run a seed of a system, whose mean the board ranks, or a run on its own again.",
        _seed_group_message,
        role=changeable_run_or_404,
        form=SeedForm,
    ),
    "accept": build_organiser_run_change(
        run_acts.accept_late_run,
        "Let a late run count as if it had come in time; for organisers.",
        _("Run %(number)s of %(team)s is accepted as if it had come in time."),
    ),
    "disqualify": build_organiser_run_change(
        run_acts.disqualify_run,
        "Keep a run off every board and comparison; for organisers.",
        _("Run %(number)s of %(team)s is disqualified."),
    ),
    "hide": build_organiser_run_change(
        run_acts.hide_from_boards,
        "Keep a run off every board; for organisers.",
        _("Run %(number)s of %(team)s is on no board now."),
    ),
    "reinstate": build_organiser_run_change(
        run_acts.reinstate_excluded_run,
        "Let a run that was disqualified or hidden stand on the board again; for organisers.",
        _("Run %(number)s of %(team)s may be on the board again."),
    ),
}
DESCRIBE_RUN = UserAction(
    run_acts.describe_run,
    "Change the description, the links and the card of a run; for its team.",
    _("The details of the run are saved."),
    role=own_team_run_or_404,
    subject="submission",
)
DELETE_RUN_FILE = UserAction(
    run_acts.delete_run_file,
    "Delete the file of a withdrawn run; its digest and its numbers stay; for its team.",
    _("The file is deleted. Its digest and its numbers stay."),
    role=own_team_run_or_404,
    subject="submission",
)


class ConfirmForm(ActForm):
    """A team's confirmation of a phase's results, optionally with the digest of the
    results that the team has read.
    """

    seen = forms.CharField(required=False, max_length=64)
    api = {
        "seen": "The `numbers` of an answer; refused where the scores are others by now."
    }


class ContestForm(ConfirmForm):
    """A team's objection to the results of a phase, with the reason."""

    message = forms.CharField(
        required=False, max_length=confirming.MAX_CONTEST_MESSAGE_CHARACTERS
    )
    api = {
        **ConfirmForm.api,
        "message": {
            "help_text": "Organisers read it.",
            "required": True,
            "allow_blank": False,
        },
    }


CONFIRM_RESULT = UserAction(
    confirming.confirm_result,
    "Confirm the result of a run that counts; for the lead of its team, once the phase has closed.",
    _("The result of run %(number)s is confirmed."),
    role=run_of_lead_or_404,
    form=ConfirmForm,
    refused="%(faults)s",
    subject="submission",
)
CONTEST_RESULT = UserAction(
    confirming.contest_result,
    "Contest the result of a run that counts; for the lead of its team, once the phase has closed.",
    _("The result of run %(number)s is contested; the organisers read why."),
    role=run_of_lead_or_404,
    form=ContestForm,
    refused="%(faults)s",
    subject="submission",
)
