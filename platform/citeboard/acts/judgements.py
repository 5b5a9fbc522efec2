"""Import people's judgements of a run's responses, and publish the judgements on the
board.
"""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, UserAction
from citeboard.background.kinds import judgeable_run_or_404
from citeboard.teams.models import User
from scoring.human import claim_review
from scoring.models import BackgroundJob
from scoring.worker.background import BackgroundJobKind, queue_background_job
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
            BackgroundJobKind.JUDGEMENTS,
            season,
            {},
            by=by,
            submission=submission,
            upload=upload,
        )


IMPORT_JUDGEMENTS = UserAction(
    _import_judgements,
    "Import people's judgements of a run, in the place of earlier ones; for organisers.",
    role=judgeable_run_or_404,
    form=JudgementsForm,
    subject="submission",
)
PUBLISH_JUDGEMENTS = UserAction(
    claim_review.publish_judged_run,
    "Put people's ratings of a run's responses on the board; for organisers.",
    _("The ratings are on the board."),
    role=judgeable_run_or_404,
    subject="submission",
)
UNPUBLISH_JUDGEMENTS = UserAction(
    claim_review.unpublish_judged_run,
    "Take people's ratings of a run's responses off the board; for organisers.",
    _("The ratings are off the board."),
    role=judgeable_run_or_404,
    subject="submission",
)
