"""Register a team for a season, decide on registrations, and set the registration
rules.
"""

from operator import attrgetter
from typing import Any

from django import forms
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    DateTimeTextField,
    UserAction,
    build_helper_action,
    build_reader_action,
    build_rehearsed_action,
)
from citeboard.teams.access import own_team_or_404
from citeboard.teams.models import User
from tasks import models
from tasks.registration import entries
from tasks.seasons.access import (
    get_visible_season_or_404,
    list_teams_user_may_ask_to_join,
)


class EnterForm(ActForm):
    """A team's request to take part in a season."""

    team = forms.CharField()
    message = forms.CharField(
        required=False, max_length=entries.MAX_ENTRY_MESSAGE_CHARACTERS
    )
    api = {
        "team": "The slug of a team of yours.",
        "message": "For the organisers who decide on the entry.",
    }


def own_registration_or_404(
    user: object, season: str, team: str
) -> models.Registration:
    entries_of_season = models.Registration.objects.filter(
        season=get_visible_season_or_404(user, season)
    )
    return get_object_or_404(entries_of_season, team=own_team_or_404(user, team))


class DecisionForm(ActForm):
    """The organisers' decision on a team's registration."""

    decision = forms.ChoiceField(choices=[("approve", "approve"), ("refuse", "refuse")])
    reason = forms.CharField(required=False, max_length=500)
    api = {"reason": "Its team reads it."}


def _decide(
    *, registration: models.Registration, decision: str, reason: str, by: User
) -> models.Registration:
    # The rolled-back rehearsal has changed attributes of the instance `registration`.
    registration.refresh_from_db()
    if decision == "approve":
        entries.approve_team_entry(registration=registration, by=by)
    else:
        entries.refuse_team_entry(
            registration=registration, by=by, reason=reason.strip()
        )
    registration.refresh_from_db()
    return registration


class AskToJoinForm(ActForm):
    """The team to join."""

    team = forms.CharField()
    message = forms.CharField(
        required=False, max_length=entries.MAX_JOIN_REQUEST_CHARACTERS
    )
    api = {"team": "The slug of a team of the season."}


def _ask_to_join(
    *, season: models.Season, team: str, message: str, by: User
) -> models.JoinRequest:
    asked = get_object_or_404(list_teams_user_may_ask_to_join(by, season), slug=team)
    return entries.ask_to_join(
        season=season,
        team=asked,
        user=by,
        message=message[: entries.MAX_JOIN_REQUEST_CHARACTERS],
    )


class EntryForm(ActForm):
    """The setting that defines how teams enter a season."""

    begins_with = {"registration": "registration"}
    registration = forms.ChoiceField(
        label=_("How teams enter"), choices=models.Season.EntryPolicy.choices
    )

    def clean(self) -> dict[str, Any]:
        return {"entry": super().clean().get("registration", "")}


class TeamRulesForm(ActForm):
    """The rules for teams of a season, such as who may enter."""

    mirrors = True
    entry_list = forms.CharField(
        label=_("Addresses that may enter"),
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_(
            "For entering by list: an address, or @ and a domain, a line. Every member needs one."
        ),
    )
    max_team_size = forms.IntegerField(
        label=_("Members of a team at most"),
        required=False,
        min_value=1,
        max_value=10_000,
    )
    members_until = DateTimeTextField(
        label=_("Members may change until"),
        required=False,
        help_text=_(
            "From then on nobody joins a team or is removed from one. Everybody may still leave."
        ),
    )


def _limit_teams(
    *, season: models.Season, entry_list: str, by: User, **limits: Any
) -> models.Season:
    with transaction.atomic():
        entries.change_entry_list(season=season, addresses=entry_list, by=by)
        return entries.change_team_limits(season=season, by=by, **limits)


REGISTER_TEAM = build_reader_action(
    lambda season, team, message, by: entries.register_team(
        season=season, team=own_team_or_404(by, team), by=by, message=message
    ),
    "Take part in a season with a team; once more changes nothing.",
    lambda entry, _filled: (
        _("%(team)s takes part in %(season)s.")
        if entry.is_approved
        else _("%(team)s takes part in %(season)s; an organiser has yet to approve it.")
    ),
    form=EnterForm,
    subject="season",
)
WITHDRAW_REGISTRATION = UserAction(
    entries.take_back_entry,
    "Leave a season in which the team has sent no run.",
    _("%(team)s does not take part in %(season)s any more."),
    role=own_registration_or_404,
    subject="registration",
)
DECIDE_ON_REGISTRATION = build_helper_action(
    _decide,
    "Let a team take part, or not; for organisers.",
    lambda entry, _filled: (
        _("%(team)s takes part.")
        if entry.is_approved
        else _("%(team)s does not take part.")
    ),
    form=DecisionForm,
    refused=_("Approve or refuse, with a reason of at most 500 characters."),
    is_rehearsed=True,
    skips_confirmation=attrgetter("is_waiting"),
    subject="registration",
    row="entry",
)
ASK_TO_JOIN_TEAM = build_reader_action(
    _ask_to_join,
    "Ask a team of the season to be taken in.",
    _("You have asked to join %(team)s; its members are told."),
    form=AskToJoinForm,
    subject="season",
)
CHANGE_REGISTRATION_SETTING = build_rehearsed_action(
    entries.change_entry,
    "Say how teams enter; for organisers.",
    lambda season, _filled: (
        _("Entering %(season)s is %(entry)s now."),
        {"entry": season.get_registration_display()},
    ),
    form=EntryForm,
    refused=_("There is no such way of entering a season."),
    subject="season",
)
CHANGE_TEAM_LIMITS = build_rehearsed_action(
    _limit_teams,
    "Say who may enter by list, how large teams are and until when members change; for organisers.",
    _("The rules for teams are saved."),
    form=TeamRulesForm,
    subject="season",
)
