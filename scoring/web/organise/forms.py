"""Forms of organisers' pages."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from scoring.web.organise.setting_fields import MomentField
from tasks.models import Phase, Season
from tasks.seasons.announcements import MAX_TEXT


class MomentsForm(forms.Form):
    """A form with instants, each as the clocks of one zone show it; another zone may be named behind it."""

    def moment(self, name: str) -> dt.datetime | None:
        """The instant that was given; a field that was left as it was keeps what it does not show."""
        field, known = self.fields[name], self.initial.get(name)
        if known is not None and self.data.get(name) == field.prepare_value(known):
            return known  # type: ignore[no-any-return]
        return self.cleaned_data[name]  # type: ignore[no-any-return]


class TimesForm(MomentsForm):
    """When a phase opens and closes."""

    def __init__(self, data: Any = None, *, phase: Phase) -> None:
        super().__init__(data, initial={"opens": phase.opens, "closes": phase.closes}, label_suffix="")
        self.fields["opens"] = MomentField(label=_("Opens"), zone=phase.zone)
        self.fields["closes"] = MomentField(label=_("Closes"), zone=phase.zone)

    @property
    def instants(self) -> dict[str, dt.datetime]:
        found = {name: self.moment(name) for name in ("opens", "closes")}
        return {name: at for name, at in found.items() if at is not None}


class BoardForm(MomentsForm):
    """Who sees the board of a phase, and from when somebody else."""

    board = forms.ChoiceField(label=gettext_lazy("Who sees the board"), choices=Phase.Audience.choices)

    def __init__(self, data: Any = None, *, phase: Phase) -> None:
        initial = {name: getattr(phase, name) for name in ("board", "board_from", "board_then")}
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["board_from"] = MomentField(
            label=_("Until"),
            required=False,
            help_text=_("Leave it empty where that does not change."),
            zone=phase.zone,
        )
        self.fields["board_then"] = forms.ChoiceField(
            label=_("Who sees it from then on"),
            required=False,
            choices=[("", _("the same")), *Phase.Audience.choices],
        )


class FreezeForm(MomentsForm):
    """From when others than organisers see the board as it stands then, and until when."""

    def __init__(self, data: Any = None, *, phase: Phase) -> None:
        initial = {"frozen_from": phase.frozen_from, "frozen_until": phase.frozen_until}
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["frozen_from"] = MomentField(
            label=_("Frozen from"), required=False, help_text=_("Empty: it is not frozen."), zone=phase.zone
        )
        self.fields["frozen_until"] = MomentField(
            label=_("Revealed at"), required=False, help_text=_("Empty: when you reveal it."), zone=phase.zone
        )


class DecisionForm(forms.Form):
    """Approve a team's entry, or refuse it with a reason that its team reads."""

    decision = forms.ChoiceField(choices=[("approve", "approve"), ("refuse", "refuse")])
    reason = forms.CharField(required=False, max_length=500)


class EntryForm(forms.Form):
    """How teams enter a season."""

    registration = forms.ChoiceField(label=gettext_lazy("How teams enter"), choices=Season.Entry.choices)


class TeamRulesForm(MomentsForm):
    """Who may enter by list, the size of a team, and when its members are settled."""

    entry_list = forms.CharField(
        label=gettext_lazy("Addresses that may enter"),
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=gettext_lazy(
            "For entering by list: an address, or @ and a domain, a line. Every member needs one."
        ),
    )
    max_team_size = forms.IntegerField(
        label=gettext_lazy("Members of a team at most"), required=False, min_value=1, max_value=10_000
    )

    def __init__(self, data: Any = None, *, season: Season) -> None:
        names = ("entry_list", "max_team_size", "members_until")
        initial = {name: getattr(season, name) for name in names}
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["members_until"] = MomentField(
            label=_("Members may change until"),
            required=False,
            help_text=_(
                "From then on nobody joins a team or is removed from one. Everybody may still leave."
            ),
            zone=season.zone,
        )


class AnnouncementForm(forms.Form):
    """What stands on top of the season's page."""

    text = forms.CharField(
        label=gettext_lazy("Announcement"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy("Markdown. Leave it empty to take the announcement away."),
    )
