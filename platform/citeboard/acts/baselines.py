"""Run the built-in baselines of a phase."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, MessageText, build_organiser_action
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.worker import baseline_runs
from tasks.models import Phase


class BaselinesForm(ActForm):
    """The baseline to run."""

    name = forms.CharField(required=False, max_length=200)
    api = {"name": "One of those that the type has; left out, all that are possible."}


def _request_baselines(*, phase: Phase, name: str, by: User) -> int:
    names = [name] if name else None
    asked = baseline_runs.request_baselines(phase=phase, names=names, by=by)
    return sum(one.is_new for one in asked)


def _queued_baselines_message(
    new: int, _filled: object
) -> tuple[MessageText, Mapping[str, Any]]:
    if not new:
        return _(
            "%(task)s, %(phase)s: they were computed before, or are under way."
        ), {}
    message = _("%(task)s, %(phase)s: %(baselines)s queued.")
    return message, {"baselines": count_with_noun(new, "baseline")}


COMPUTE_BASELINES = build_organiser_action(
    _request_baselines,
    "Have a phase's built-in baselines computed and scored; for organisers.",
    _queued_baselines_message,
    form=BaselinesForm,
    subject="phase",
)
