"""Approve metrics that a declared task defines."""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import Act, ActForm
from tasks.seasons.own_measures import decide_measures, measures_or_404


class MeasuresForm(ActForm):
    """The staff's decision on metrics that a declared task defines."""

    decision = forms.ChoiceField(
        choices=[("approve", "approve"), ("withdraw", "withdraw")]
    )


DECIDE_MEASURES = Act(
    decide_measures,
    "Approve measures of a task's own, or withdraw the approval; runs of its tasks then wait. For staff.",
    lambda row, _filled: (
        _("%(file)s is approved.")
        if row.approved_at
        else _("%(file)s is not run any more."),
        {"file": row},
    ),
    role=measures_or_404,
    form=MeasuresForm,
    subject="measures",
)
