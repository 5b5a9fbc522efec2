"""Decide whether a later season succeeds an earlier season.

The earlier and the later season use some of the same texts. Only the site's staff can
decide whether a season succeeds another.
"""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, UserAction
from tasks.models import Claim
from tasks.seasons.claims import MAX_REASON_LENGTH, decide_claim, get_claim_or_404


class ClaimForm(ActForm):
    """The staff's decision on whether a later season succeeds an earlier season with
    the same texts.
    """

    decision = forms.ChoiceField(choices=[("bind", "bind"), ("release", "release")])
    reason = forms.CharField(max_length=MAX_REASON_LENGTH)
    api = {
        "decision": "`bind`: the later season follows what the earlier one keeps back; or `release`.",
        "reason": "The organisers of both read it.",
    }


DECIDE_CLAIM = UserAction(
    decide_claim,
    "Let a later season follow an earlier one with the same texts, or release it; for staff.",
    lambda claim, _filled: (
        _("%(later)s is released.")
        if claim.state == Claim.State.RELEASED
        else _("%(later)s follows %(season)s from now on."),
        {"season": claim.season, "later": claim.later},
    ),
    role=get_claim_or_404,
    form=ClaimForm,
    subject="claim",
)
