"""Create a season from a preset, or copy the season of last year."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    TextLinesField,
    UserAction,
    build_rehearsed_action,
)
from citeboard.acts.organisers import find_user_by_email
from citeboard.teams.models import User
from tasks import models
from tasks.models.seasons import SEASON_DATE_FIELDS
from tasks.seasons.presets import (
    DAYS_IN_52_WEEKS,
    MAX_POSTPONED_DAYS,
    SeasonPreset,
    clone_season,
    create_season_from_preset,
    get_preset_or_404,
)
from tasks.types import task_types


class NewSeasonForm(ActForm):
    """The title and the slug of a new season."""

    title = forms.CharField(label=_("Title"), max_length=120)
    slug = forms.CharField(
        label=_("Name in addresses"),
        max_length=60,
        help_text=_("Lower-case letters, digits and single hyphens."),
    )


class CloneForm(NewSeasonForm):
    """The title, the slug and the dates of a copy of a season."""

    days = forms.IntegerField(
        label=_("Days later"),
        min_value=0,
        max_value=MAX_POSTPONED_DAYS,
        initial=DAYS_IN_52_WEEKS,
        help_text=_("The number of days by which phases move."),
    )
    api = {
        "slug": "Lower-case letters, digits and single hyphens.",
        "days": {
            "required": False,
            "default": DAYS_IN_52_WEEKS,
            "help_text": "By how many phases are later.",
        },
    }


class PresetForm(NewSeasonForm):
    """The options of a new season that is created from a preset."""

    task_type = forms.MultipleChoiceField(
        label=_("Tasks"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Each gets the phases of the preset, and so do tasks that are made from their gold later."
        ),
    )
    organisers = TextLinesField(
        label=_("Who organises it with you"),
        required=False,
        help_text=_("E-mail addresses of their accounts, one a line."),
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=60,
        initial="AoE",
        help_text=_("Such as Europe/Rome, UTC or AoE."),
    )
    only_on_pages = ("task_type", "time_zone")
    only_in_api = {
        "task_type": forms.CharField(required=False),
        "time_zone": forms.CharField(),
        "dates": forms.JSONField(),
    }
    api = {
        "slug": "Lower-case letters, digits and single hyphens.",
        "task_type": "A task type, such as clsumm-1a, or a task of yours, as SEASON/TASK; several with "
        "commas between. Without one the phases wait for tasks that are made from their gold.",
        "time_zone": {
            "required": False,
            "default": "UTC",
            "help_text": "Such as Europe/Rome or AoE.",
        },
        "organisers": "E-mail addresses of the accounts of those who organise it with you.",
        "dates": "When it begins and ends, such as {“opens”: “YYYY-MM-DD HH:MM”}; each preset says which. "
        "Also results_at, papers_until, camera_ready_until and workshop_at.",
    }

    def __init__(
        self, data: Any = None, files: Any = None, *, of: SeasonPreset
    ) -> None:
        super().__init__(data, of=of)
        kinds = [
            (slug, f"{kind.title} ({slug})") for slug, kind in task_types().items()
        ]
        self.fields["task_type"].choices = [*kinds, *of.earlier]  # type: ignore[attr-defined]
        self.dates = {
            **of.dates,
            **{
                name: models.Season.get_date_field_label(name)
                for name in SEASON_DATE_FIELDS
            },
        }
        for name, label in self.dates.items():
            help_text = gettext(
                "In that zone, such as 2026-05-01 23:59; write AoE or UTC behind it for those."
            )
            self.fields[name] = forms.CharField(
                label=label
                if name in of.dates
                else gettext("%(date)s (may be left out)") % {"date": label},
                max_length=80,
                required=name in of.dates,
                help_text=help_text,
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["dates"] = {name: cleaned.pop(name, "") for name in self.dates}
        cleaned["task_type"] = ",".join(cleaned.get("task_type", ()))
        return cleaned


def _from_preset(
    *,
    preset: SeasonPreset,
    dates: dict[str, Any],
    organisers: list[str] | None,
    by: User,
    **named: Any,
) -> models.Season:
    if not all(isinstance(text, str) for text in dates.values()):
        raise ValidationError(
            {"dates": "Give an object with a date and time for each name."}
        )
    people = {address: find_user_by_email(address) for address in organisers or ()}
    if unknown := [address for address, person in people.items() if person is None]:
        message = gettext(
            "Nobody has an account with the address %(address)s; they can sign up first."
        )
        raise ValidationError(
            {"organisers": [message % {"address": address} for address in unknown]}
        )
    known = [person for person in people.values() if person]
    return create_season_from_preset(
        preset=preset, dates=dates, organisers=known, by=by, **named
    )


CLONE_SEASON = build_rehearsed_action(
    clone_season,
    "Make next year's season: its tasks and phases, later, without people, gold and runs.",
    _("%(season)s is a draft; check its phases and its gold."),
    form=CloneForm,
    makes_season=True,
    subject="season",
)
CREATE_SEASON_FROM_PRESET = UserAction(
    _from_preset,
    "Create a season from a preset: semeval, trec or open; for staff.",
    lambda season, _filled: (
        _("%(season)s is a draft. Upload its gold next, and check its settings."),
        {"season": season},
    ),
    role=get_preset_or_404,
    form=PresetForm,
    is_rehearsed=True,
    makes_season=True,
    subject="preset",
)
