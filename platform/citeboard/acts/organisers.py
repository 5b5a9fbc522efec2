"""Make people organisers or helpers of a season, and remove them."""

from typing import NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, by_organisers, with_rehearsal
from citeboard.teams.models import User
from tasks import models
from tasks.seasons.organisers import add_organiser, hand_season_over, remove_organiser

NOBODY, HAND_OVER = "nobody", "hand-over"


class GivenRole(NamedTuple):
    season: models.Season
    user: User


def person_with_address(address: str) -> User | None:
    return User.objects.filter(email__iexact=address.strip(), is_active=True).first()


class RoleForm(ActForm):
    """The account of a person, and the person's new role in a season."""

    email = forms.EmailField(label=_("E-mail address of their account"))
    role = forms.ChoiceField(
        label=_("New role"),
        choices=[
            *models.Organiser.Role.choices,
            (HAND_OVER, _("organiser in my place")),
        ],
        help_text=_(
            "A helper sees runs and scores, decides on teams and announces; no gold, no settings."
        ),
    )
    only_on_pages = ("email",)
    only_in_api = {"address": forms.EmailField()}
    api = {
        "address": {"max_length": None},
        "role": {"choices": [*models.Organiser.Role.values, NOBODY]},
    }

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if person_with_address(email) is None:
            raise ValidationError(
                gettext(
                    "Nobody has an account with this address; they can sign up first."
                )
            )
        return email


def _give_role(
    *, season: models.Season, role: str, by: User, email: str = "", address: str = ""
) -> GivenRole:
    user = person_with_address(email or address)
    if user is None:
        raise ValidationError({"address": "Nobody has an account with this address."})
    if role == HAND_OVER:
        hand_season_over(season=season, to=user, by=by)
    elif role != NOBODY:
        add_organiser(season=season, user=user, role=role, by=by)
    elif organiser := models.Organiser.objects.filter(season=season, user=user).first():
        remove_organiser(organiser=organiser, by=by)
    return GivenRole(season, user)


GIVE_ROLE = by_organisers(
    _give_role,
    "Make somebody an organiser or a helper, or neither; for organisers.",
    lambda made, _filled: (_("%(name)s has the chosen role now."), {"name": made.user}),
    form=RoleForm,
    subject="season",
)
REMOVE_ORGANISER = with_rehearsal(
    remove_organiser,
    "Let somebody run the season no more; for organisers.",
    _("%(person)s does not organise the season any more."),
    subject="organiser",
)
