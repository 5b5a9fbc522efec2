"""Merge one team of a season into another team."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.ops.merging import MAX_REASON_LENGTH, merge_teams
from citeboard.teams.models import Team
from tasks import models


class MergeTeamsForm(ActForm):
    """The team that is merged, and the team into which it is merged."""

    team = forms.ModelChoiceField(
        label=_("Team"), queryset=Team.objects.none(), to_field_name="slug"
    )
    into = forms.ModelChoiceField(
        label=_("Goes into"),
        queryset=Team.objects.none(),
        to_field_name="slug",
        help_text=_("This team stays."),
    )
    reason = forms.CharField(
        label=_("Reason, which both teams read"), max_length=MAX_REASON_LENGTH
    )
    api = {
        "team": "A slug.",
        "into": "The slug of the team that stays.",
        "reason": "Both teams read it.",
    }

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season
    ) -> None:
        super().__init__(data, prefix="merge")
        entered = Team.objects.filter(
            registrations__in=of.registrations.approved()
        ).order_by("name")
        for name in ("team", "into"):
            self.fields[name].queryset = entered  # type: ignore[attr-defined]


MERGE_TEAMS = build_organiser_action(
    merge_teams,
    "Merge a team into another with a reason; for organisers.",
    _("%(team)s is part of %(into)s now, with %(runs)s."),
    form=MergeTeamsForm,
    refused=_("The teams were not merged: %(faults)s"),
    subject="season",
)
