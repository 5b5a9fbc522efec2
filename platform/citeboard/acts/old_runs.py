"""Import runs of another platform into a phase of a declared task, and score them
again.
"""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.background.old_runs import queue_old_run_scoring
from citeboard.teams.models import User
from scoring.models import BackgroundJob
from tasks.models import Phase
from tasks.submissions.uploads import receive_upload


class OldRunsForm(ActForm):
    """A zip file with the runs of each team, and with the runs' scores on another
    platform.
    """

    file = forms.FileField(
        label=_("Runs"),
        help_text=_(
            "A zip with a file, a zip or a folder for each team, and scores.csv with the columns team, "
            "run and the old scores."
        ),
    )
    api = {
        "file": "A zip with a file, a zip or a folder for each team, and `scores.csv` with the columns "
        "`team`, `run` and the old scores."
    }


def _queue_old_run_scoring(*, phase: Phase, file: Any, by: User) -> BackgroundJob:
    with receive_upload(file) as upload:
        return queue_old_run_scoring(phase, upload, by)


RESCORE_RUNS_OF_OTHER_PLATFORM = build_organiser_action(
    _queue_old_run_scoring,
    "Score runs of another platform again, as runs of teams by name, with their old scores beside the board; "
    "for organisers.",
    form=OldRunsForm,
    subject="phase",
)
