"""Sheets for human evaluation: making one, publishing its outcome and taking it back."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, by_organisers
from citeboard.teams.models import User
from scoring.human import outcome
from scoring.human.sheets import MAX_INSTANCES, MAX_SYSTEMS, check_size, runs_on_board
from scoring.models import BackgroundJob, Sheet
from scoring.worker.background import Kind, ask
from tasks.models import Gold, Phase

#: The number of instances that the form proposes.
INSTANCES_AT_FIRST = 20


class SheetForm(ActForm):
    """A sheet for human evaluation."""

    instances = forms.IntegerField(
        label=_("Instances"),
        min_value=1,
        max_value=MAX_INSTANCES,
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
    only_on_pages = ("runs",)
    only_in_api = {"runs": forms.CharField(required=False)}
    api = {
        "seed": {"required": False, "default": 0},
        "runs": "Runs on the board, their ids with commas between; without any the first ones, at most "
        f"{MAX_SYSTEMS}.",
    }

    def __init__(self, data: Any = None, *, of: Phase, by: User) -> None:
        super().__init__(data, of=of, auto_id=f"id_{of.pk}_%s")
        self.candidates = runs_on_board(of, by)
        gold = Gold.objects.current(of)
        choices = [
            (str(run.pk), f"{run.system}, {run.team or run.get_kind_display()}")
            for run in self.candidates
        ]
        self.fields["runs"].choices = choices  # type: ignore[attr-defined]
        self.initial["runs"] = [number for number, _words in choices[:MAX_SYSTEMS]]
        self.initial["instances"] = min(
            INSTANCES_AT_FIRST, gold.instances if gold else INSTANCES_AT_FIRST
        )


def _make_sheet(
    *, phase: Phase, instances: int, seed: int, runs: Sequence[str], by: User
) -> BackgroundJob:
    on_board = {str(run.pk): run for run in runs_on_board(phase, by)}
    unknown = [number for number in runs if number not in on_board]
    if unknown:
        words = f"No run “{unknown[0][:40]}” stands on the board; there are {', '.join(on_board) or 'none'}."
        raise ValidationError({"runs": words})
    if runs:
        chosen = [on_board[number] for number in dict.fromkeys(runs)]
    else:
        chosen = list(on_board.values())[:MAX_SYSTEMS]
    check_size(len(chosen), instances)
    given = {"runs": [run.pk for run in chosen], "instances": instances, "seed": seed}
    return ask(Kind.SHEET, phase.task.season, given, by=by, phase=phase)


MAKE_SHEET = by_organisers(
    _make_sheet,
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


def _publish(*, sheet: Sheet, unfinished: bool | None, by: User) -> Any:
    return outcome.publish(sheet=sheet, by=by, is_confirmed=bool(unfinished))


PUBLISH_SHEET = by_organisers(
    _publish,
    "Close a sheet and show its outcome beside the board; for organisers.",
    _("The human evaluation stands on the board."),
    form=PublishSheetForm,
    subject="sheet",
)
TAKE_SHEET_BACK = by_organisers(
    outcome.revoke,
    "Take a human evaluation off the board; its sheet takes ratings again; for organisers.",
    _("The human evaluation is off the board and takes ratings again."),
    subject="sheet",
)
