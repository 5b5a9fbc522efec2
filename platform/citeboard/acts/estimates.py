"""Actions that sample units, upload people's labels, and publish estimated scores."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.teams.models import User
from scoring.human import disagreements, estimates
from scoring.models import BackgroundJob, EstimateSheet
from scoring.results.board.judges import judge_label
from scoring.worker.background import BackgroundJobKind, queue_background_job
from tasks.models import Phase
from tasks.submissions.uploads import receive_upload
from tasks.types.judge_views import MAX_VIEW_NAME_CHARACTERS

DEFAULT_LABELS_PER_RUN = 100


class EstimatesForm(ActForm):
    """The kind of labels that people assign, and the number of sampled units of each
    run.
    """

    of = forms.ChoiceField(
        label=_("People label"), choices=EstimateSheet.UnitKind.choices
    )
    labels = forms.IntegerField(
        label=_("Units of each run"),
        min_value=estimates.MIN_LABELLED_UNITS_PER_RUN,
        max_value=estimates.MAX_LABELLED_UNITS_PER_RUN,
        initial=DEFAULT_LABELS_PER_RUN,
        help_text=_("Drawn at random by the site, spread over all topics."),
    )
    api = {
        "of": "What people label.",
        "labels": "Units of each run on the sheet.",
    }

    def __init__(self, data: Any = None, *, of: Phase | None = None) -> None:
        # The form has a field `of`, so the attribute `phase` stores the argument `of`.
        self.phase = of
        number = "phase" if of is None else of.pk
        super().__init__(data, of=of, auto_id=f"id_{number}_%s")
        if of is not None:
            kinds = estimates.list_estimable_unit_kinds(of)
            self.fields["of"].choices = [  # type: ignore[attr-defined]
                (value, label)
                for value, label in EstimateSheet.UnitKind.choices
                if value in kinds
            ]


def _queue_estimate_sheet(
    *, phase: Phase, of: str, labels: int, by: User
) -> BackgroundJob:
    known = estimates.list_estimable_unit_kinds(phase)
    if of not in known:
        message = f"No score of the phase rests on {of}; there are {', '.join(known) or 'none'}."
        raise ValidationError({"of": message})
    estimates.require_estimable_board(phase, by)
    given = {"estimates": of, "labels": labels}
    return queue_background_job(
        BackgroundJobKind.SHEET, phase.task.season, given, by=by, phase=phase
    )


CREATE_ESTIMATE_SHEET = build_organiser_action(
    _queue_estimate_sheet,
    "Draw a sample of units that people label, so that scores are estimated; for organisers.",
    form=EstimatesForm,
    subject="phase",
)


class DisagreementsForm(ActForm):
    """The judge to compare with, the number of pairs to draw, and the random seed."""

    judge = forms.CharField(
        label=_("Further judge"),
        max_length=MAX_VIEW_NAME_CHARACTERS,
        widget=forms.Select,
    )
    pairs = forms.IntegerField(
        label=_("Pairs"),
        min_value=disagreements.MIN_DISAGREEMENT_PAIRS,
        max_value=disagreements.MAX_DISAGREEMENT_PAIRS,
        initial=DEFAULT_LABELS_PER_RUN,
        help_text=_("At most so many of the pairs on which it disagrees."),
    )
    seed = forms.RegexField(
        r"\A[0-9a-z]{1,32}\Z",
        label=_("Seed"),
        required=False,
        help_text=_(
            "Draws the same pairs again: up to 32 lower-case letters and digits. "
            "Empty: the site draws one."
        ),
    )
    api = {
        "judge": "A further judge of the phase, with @ and the kind of labels if it gives several kinds.",
        "pairs": "The most pairs on the sheet.",
        "seed": "Draws the same pairs again; drawn by the site without it.",
    }

    def __init__(self, data: Any = None, *, of: Phase | None = None) -> None:
        number = "phase" if of is None else of.pk
        super().__init__(data, of=of, auto_id=f"id_disagreements_{number}_%s")
        names = [] if of is None else disagreements.list_judges_to_compare(of)
        self.fields["judge"].widget.choices = [(key, judge_label(key)) for key in names]


def _queue_disagreement_sheet(
    *, phase: Phase, judge: str, pairs: int, by: User, seed: str = ""
) -> BackgroundJob:
    if judge not in disagreements.compared_judges(phase):
        known = disagreements.list_judges_to_compare(phase)
        message = (
            f"The phase has no view by {judge}; there are {', '.join(known) or 'none'}."
        )
        raise ValidationError({"judge": message})
    estimates.require_estimable_board(phase, by)
    given = {
        "disagreements": judge,
        "pairs": pairs,
        "seed": seed or disagreements.make_random_sampling_seed(),
    }
    return queue_background_job(
        BackgroundJobKind.SHEET, phase.task.season, given, by=by, phase=phase
    )


CREATE_DISAGREEMENT_SHEET = build_organiser_action(
    _queue_disagreement_sheet,
    "Draw pairs on which a further judge disagrees with the first one, for people; for organisers.",
    form=DisagreementsForm,
    subject="phase",
)


class PeoplesLabelsForm(ActForm):
    """A file with the labels that people assigned to the units of a sheet."""

    file = forms.FileField(
        label=_("Labels"),
        help_text=_("The lines of the sheet with labels, and “by” for each person."),
        error_messages={
            "required": _("Choose the file that holds the labels."),
            "empty": _("The file is empty."),
        },
    )
    api = {"file": "The lines of the sheet with label and by, as JSON lines."}


def _queue_people_label_import(
    *, sheet: EstimateSheet, file: Any, by: User
) -> BackgroundJob:
    phase = sheet.phase
    with receive_upload(file) as upload:
        return queue_background_job(
            BackgroundJobKind.SHEET,
            phase.task.season,
            {"estimate_sheet": sheet.pk},
            by=by,
            phase=phase,
            upload=upload,
        )


IMPORT_PEOPLE_LABELS = build_organiser_action(
    _queue_people_label_import,
    "Bring people's labels of a sheet, for estimates or, of disagreements, for the ledger; for organisers.",
    form=PeoplesLabelsForm,
    subject="sheet",
    row="estimates",
)
PUBLISH_ESTIMATED_SCORES = build_organiser_action(
    estimates.publish,
    "Show the estimated scores of a sheet beside the board; for organisers.",
    _("The board shows the estimates."),
    subject="sheet",
    row="estimates",
)
UNPUBLISH_ESTIMATED_SCORES = build_organiser_action(
    estimates.unpublish_estimates,
    "Take the estimated scores of a sheet off the board; for organisers.",
    _("The board no longer shows the estimates."),
    subject="sheet",
    row="estimates",
)
