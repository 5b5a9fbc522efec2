"""Create sheets for human evaluation, and publish and unpublish their results."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.teams.models import User
from scoring.human import outcome
from scoring.human.sheets import (
    MAX_INSTANCES_PER_SHEET,
    MAX_SYSTEMS_PER_SHEET,
    list_runs_with_files_on_board,
    validate_sheet_size,
)
from scoring.human.states import reopen_sheet
from scoring.models import BackgroundJob, Sheet
from scoring.worker.background import BackgroundJobKind, queue_background_job
from tasks.models import Gold, Phase, Submission

DEFAULT_SHEET_INSTANCES = 20


class DrawnForm(ActForm):
    """The systems of a new sheet, the number of instances, and the random seed that
    draws the instances.
    """

    instances = forms.IntegerField(
        label=_("Instances"),
        min_value=1,
        max_value=MAX_INSTANCES_PER_SHEET,
        help_text=_("Drawn by the seed."),
    )
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, max_value=2**31 - 1, initial=0
    )
    runs = forms.MultipleChoiceField(
        label=_("Systems"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose the systems whose texts are judged.")},
    )
    #: The API's error message about an unknown run contains the phrase `lacks`.
    lacks = "stands on the board"
    only_on_pages = ("runs",)
    only_in_api = {"runs": forms.CharField(required=False)}
    api = {
        "seed": {"required": False, "default": 0},
        "runs": "Runs, their ids with commas between; without any the first ones of the board, at most "
        f"{MAX_SYSTEMS_PER_SHEET}.",
    }

    @staticmethod
    def find_candidate_runs(phase: Phase, by: User) -> list[Submission]:
        return list_runs_with_files_on_board(phase, by)

    def __init__(self, data: Any = None, *, of: Phase, by: User) -> None:
        super().__init__(data, of=of, auto_id=f"id_{of.pk}_%s")
        self.candidates = self.find_candidate_runs(of, by)
        choices = [
            (str(run.pk), f"{run.system}, {run.team or run.get_kind_display()}")
            for run in self.candidates
        ]
        self.fields["runs"].choices = choices  # type: ignore[attr-defined]
        self.initial["runs"] = [
            number for number, _words in choices[:MAX_SYSTEMS_PER_SHEET]
        ]
        gold = Gold.objects.current(of)
        self.initial["instances"] = min(
            DEFAULT_SHEET_INSTANCES, gold.instances if gold else DEFAULT_SHEET_INSTANCES
        )

    @classmethod
    def chosen(cls, phase: Phase, numbers: Sequence[str], by: User) -> list[int]:
        """Return the runs that organisers selected for a sheet, or the default runs.

        Raises ValidationError for unknown runs.
        """
        there = {str(run.pk): run.pk for run in cls.find_candidate_runs(phase, by)}
        if unknown := [number for number in numbers if number not in there]:
            given, known = unknown[0][:40], ", ".join(there) or "none"
            message = f"No run “{given}” {cls.lacks}; there are {known}."
            raise ValidationError({"runs": message})
        if numbers:
            return [there[number] for number in dict.fromkeys(numbers)]
        return list(there.values())[:MAX_SYSTEMS_PER_SHEET]


class SheetForm(DrawnForm):
    """The options of a new sheet for human evaluation."""


def _queue_rating_sheet(
    *, phase: Phase, instances: int, seed: int, runs: Sequence[str], by: User
) -> BackgroundJob:
    chosen = SheetForm.chosen(phase, runs, by)
    validate_sheet_size(len(chosen), instances)
    given = {"runs": chosen, "instances": instances, "seed": seed}
    return queue_background_job(
        BackgroundJobKind.SHEET, phase.task.season, given, by=by, phase=phase
    )


CREATE_RATING_SHEET = build_organiser_action(
    _queue_rating_sheet,
    "Make a sheet for human evaluation; for organisers.",
    form=SheetForm,
    subject="phase",
)


class PublishSheetForm(ActForm):
    """A sheet to be published."""

    unfinished = forms.BooleanField(required=False)
    api = {
        "unfinished": {
            "default": False,
            "help_text": "Also where annotators have not rated all texts.",
        }
    }


def _publish_sheet_ratings(*, sheet: Sheet, unfinished: bool | None, by: User) -> Any:
    return outcome.publish_ratings(sheet=sheet, by=by, is_confirmed=bool(unfinished))


PUBLISH_RATINGS = build_organiser_action(
    _publish_sheet_ratings,
    "Close a sheet and show its outcome beside the board; for organisers.",
    _("The human evaluation is on the board."),
    form=PublishSheetForm,
    subject="sheet",
)
UNPUBLISH_RATINGS = build_organiser_action(
    outcome.unpublish_ratings,
    "Take a human evaluation off the board and close its sheet; for organisers.",
    _(
        "The human evaluation is off the board. Its sheet is closed until you reopen it."
    ),
    subject="sheet",
)
REOPEN_RATING_SHEET = build_organiser_action(
    reopen_sheet,
    "Let the annotators of an unpublished sheet rate again; for organisers.",
    _("The sheet takes ratings again."),
    subject="sheet",
)
