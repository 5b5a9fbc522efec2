"""Make people organisers or helpers of a season, and remove them."""

from typing import NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    build_organiser_action,
    build_rehearsed_action,
)
from citeboard.teams.models import User
from tasks import models
from tasks.seasons.organisers import add_organiser, hand_over_season, remove_organiser

NO_ROLE_OPTION, HAND_OVER_OPTION = "nobody", "hand-over"


class AssignedSeasonRole(NamedTuple):
    season: models.Season
    user: User


def find_user_by_email(address: str) -> User | None:
    return User.objects.filter(email__iexact=address.strip(), is_active=True).first()


class RoleForm(ActForm):
    """The account of a person, and the person's new role in a season."""

    email = forms.EmailField(label=_("E-mail address of their account"))
    role = forms.ChoiceField(
        label=_("New role"),
        choices=[
            *models.Organiser.Role.choices,
            (HAND_OVER_OPTION, _("organiser in my place")),
        ],
        help_text=_(
            "A helper sees runs and scores, decides on teams and announces; no gold, no settings."
        ),
    )
    only_on_pages = ("email",)
    only_in_api = {"address": forms.EmailField()}
    api = {
        "address": {"max_length": None},
        "role": {"choices": [*models.Organiser.Role.values, NO_ROLE_OPTION]},
    }

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if find_user_by_email(email) is None:
            raise ValidationError(
                gettext(
                    "Nobody has an account with this address; they can sign up first."
                )
            )
        return email


def _assign_season_role(
    *, season: models.Season, role: str, by: User, email: str = "", address: str = ""
) -> AssignedSeasonRole:
    user = find_user_by_email(email or address)
    if user is None:
        raise ValidationError({"address": "Nobody has an account with this address."})
    if role == HAND_OVER_OPTION:
        hand_over_season(season=season, to=user, by=by)
    elif role != NO_ROLE_OPTION:
        add_organiser(season=season, user=user, role=role, by=by)
    elif organiser := models.Organiser.objects.filter(season=season, user=user).first():
        remove_organiser(organiser=organiser, by=by)
    return AssignedSeasonRole(season, user)


ASSIGN_SEASON_ROLE = build_organiser_action(
    _assign_season_role,
    "Make somebody an organiser or a helper, or neither; for organisers.",
    lambda made, _filled: (_("%(name)s has the chosen role now."), {"name": made.user}),
    form=RoleForm,
    subject="season",
)
REMOVE_ORGANISER = build_rehearsed_action(
    remove_organiser,
    "Let somebody run the season no more; for organisers.",
    _("%(person)s does not organise the season any more."),
    subject="organiser",
)
