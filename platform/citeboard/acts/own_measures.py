"""Approve metrics that a declared task defines."""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, UserAction
from tasks.seasons.own_measures import decide_measures, get_measures_file_or_404


class MeasuresForm(ActForm):
    """The staff's decision on metrics that a declared task defines."""

    decision = forms.ChoiceField(
        choices=[("approve", "approve"), ("withdraw", "withdraw")]
    )


APPROVE_OR_WITHDRAW_MEASURES = UserAction(
    decide_measures,
    "Approve measures of a task's own, or withdraw the approval; runs of its tasks then wait. For staff.",
    lambda row, _filled: (
        _("%(file)s is approved.")
        if row.approved_at
        else _("%(file)s is not run any more."),
        {"file": row},
    ),
    role=get_measures_file_or_404,
    form=MeasuresForm,
    subject="measures",
)
