"""Import people's judgements of a run's responses, and publish the judgements on the
board.
"""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import Act, ActForm
from citeboard.background.kinds import run_to_judge
from citeboard.teams.models import User
from scoring.human import claim_review
from scoring.models import BackgroundJob
from scoring.worker.background import Kind, queue_background_job
from tasks.models import Submission
from tasks.submissions.uploads import receive_upload


class JudgementsForm(ActForm):
    """The annotators' file."""

    file = forms.FileField(
        label=_("Judgements"),
        help_text=_("JSON lines, as the guide on positional citations describes them."),
        error_messages={
            "required": _("Choose the file that holds the judgements."),
            "empty": _("The file is empty."),
        },
    )
    api = {"file": "JSON lines, as the guide on positional citations describes them."}


def _import_judgements(*, submission: Submission, file: Any, by: User) -> BackgroundJob:
    with receive_upload(file) as upload:
        season = submission.phase.task.season
        return queue_background_job(
            Kind.JUDGEMENTS, season, {}, by=by, submission=submission, upload=upload
        )


IMPORT_JUDGEMENTS = Act(
    _import_judgements,
    "Import people's judgements of a run, in the place of earlier ones; for organisers.",
    role=run_to_judge,
    form=JudgementsForm,
    subject="submission",
)
PUBLISH_JUDGEMENTS = Act(
    claim_review.publish_judged_run,
    "Put people's ratings of a run's responses on the board; for organisers.",
    _("The ratings are on the board."),
    role=run_to_judge,
    subject="submission",
)
TAKE_JUDGEMENTS_BACK = Act(
    claim_review.unpublish_judged_run,
    "Take people's ratings of a run's responses off the board; for organisers.",
    _("The ratings are off the board."),
    role=run_to_judge,
    subject="submission",
)
