"""Actions that create, judge and publish sheets of pairs of texts."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, UserAction, build_organiser_action
from citeboard.acts.human import pair_judge_or_404
from citeboard.acts.sheets import DrawnForm, PublishSheetForm
from citeboard.teams.models import User
from scoring.human import pairs
from scoring.human.pair_plans import (
    MAX_PLANNED_PAIRS,
    MAX_SHARES_OF_PLAN,
    PairPlanDivision,
    count_planned_pairs,
)
from scoring.human.sheets import (
    MAX_INSTANCES_PER_SHEET,
    add_annotator_by_email,
    remove_annotator,
    validate_sheet_size,
)
from scoring.human.states import reopen_sheet
from scoring.models import Annotator, BackgroundJob, Preference, Sheet
from scoring.worker.background import BackgroundJobKind, queue_background_job
from tasks.models import Phase, Submission
from tasks.submissions.uploads import receive_upload

DEFAULT_BATTLES_PER_PAIR = 4
#: By default, DEFAULT_JUDGES judges compare each pair of a sheet with shared pairs.
DEFAULT_JUDGES = 2


class PairsForm(DrawnForm):
    """The systems, instances and battles of a new sheet of pairs, and the number of
    judges who share the pairs.
    """

    battles = forms.IntegerField(
        label=_("Battles of every two systems"),
        min_value=1,
        max_value=MAX_INSTANCES_PER_SHEET,
        help_text=_("Each on another instance."),
    )
    judges = forms.IntegerField(
        label=_("Judges who divide the pairs"),
        min_value=2,
        max_value=MAX_SHARES_OF_PLAN,
        required=False,
        help_text=_("Empty: every judge judges every pair."),
    )
    judges_of_pair = forms.IntegerField(
        label=_("Judges of each pair"),
        min_value=1,
        max_value=MAX_SHARES_OF_PLAN,
        required=False,
        help_text=_(
            "If judges divide the pairs. Empty: two. With one, every tenth pair still has two, so that "
            "you see how far judges agree."
        ),
    )
    lacks = "can be compared"
    field_order = ("instances", "battles", "judges", "judges_of_pair", "seed", "runs")
    api = {
        **DrawnForm.api,
        "judges": {
            "default": None,
            "allow_null": True,
            "help_text": "Judges among whom the pairs are divided; null: each judges every pair.",
        },
        "judges_of_pair": {
            "default": None,
            "allow_null": True,
            "help_text": "Judges who see each pair of a divided sheet; null: two.",
        },
    }

    @staticmethod
    def find_candidate_runs(phase: Phase, by: User) -> list[Submission]:
        return pairs.list_comparable_runs(phase, by)

    def __init__(self, data: Any = None, *, of: Phase, by: User) -> None:
        super().__init__(data, of=of, by=by)
        self.initial["battles"] = min(
            DEFAULT_BATTLES_PER_PAIR, self.initial["instances"]
        )


def _queue_pair_sheet(
    *,
    phase: Phase,
    instances: int,
    battles: int,
    seed: int,
    runs: Sequence[str],
    by: User,
    judges: int | None = None,
    judges_of_pair: int | None = None,
) -> BackgroundJob:
    chosen = PairsForm.chosen(phase, runs, by)
    validate_sheet_size(len(chosen), instances)
    planned = count_planned_pairs(len(chosen), instances, battles)
    given: dict[str, Any] = {
        "runs": chosen,
        "instances": instances,
        "battles": battles,
        "seed": seed,
    }
    if judges is not None:
        division = PairPlanDivision(
            judges, judges_of_pair or min(DEFAULT_JUDGES, judges)
        )
        division.check(planned)
        given["division"] = asdict(division)
    elif judges_of_pair is not None:
        message = _("Say how many judges divide the pairs, or leave this empty.")
        raise ValidationError({"judges_of_pair": message})
    return queue_background_job(
        BackgroundJobKind.SHEET, phase.task.season, given, by=by, phase=phase
    )


CREATE_PAIR_SHEET = build_organiser_action(
    _queue_pair_sheet,
    "Make a sheet of pairs, whose judges choose the better of two texts; for organisers.",
    form=PairsForm,
    subject="phase",
)


class BattlesForm(ActForm):
    """A file with judgements of pairs of texts."""

    file = forms.FileField(
        label=_("Judgements"),
        help_text=_(
            'JSON lines such as {"topic": "t1", "left": "a", "right": "b", "label": "left", "judge": "m"}.'
        ),
        error_messages={
            "required": _("Choose the file that holds the judgements."),
            "empty": _("The file is empty."),
        },
    )
    has_programs = forms.BooleanField(
        label=_("The judges are programs, whose names everybody may read"),
        required=False,
    )
    api = {
        "file": "JSON lines with topic, left, right, label and judge, as the guide on battles has them.",
        "has_programs": {
            "default": False,
            "help_text": "Whether the judges are programs, whose names everybody may read.",
        },
    }


def _import_pair_judgements(
    *, phase: Phase, file: Any, by: User, has_programs: bool | None = False
) -> Sheet:
    with receive_upload(file) as upload:
        given = pairs.read_judgements(upload.path, phase, upload.filename, by)
    return pairs.save_judgement_sheet(
        phase=phase, given=given, has_programs=bool(has_programs), by=by
    )


IMPORT_PAIR_JUDGEMENTS = build_organiser_action(
    _import_pair_judgements,
    "Bring judgements of pairs from a file; for organisers.",
    _("The judgements are stored. Publish them when they are to count."),
    form=BattlesForm,
    subject="phase",
)


class JudgeForm(ActForm):
    """The e-mail address of the account that becomes a judge of a sheet."""

    email = forms.EmailField(label=_("E-mail address of their account"))


def _add_pair_judge_by_email(*, sheet: Sheet, email: str, by: User) -> Annotator:
    return add_annotator_by_email(sheet=sheet, email=email, by=by)


ADD_PAIR_JUDGE = build_organiser_action(
    _add_pair_judge_by_email,
    "Let somebody with an account judge the pairs of a sheet; for organisers.",
    _("%(name)s can judge the pairs."),
    form=JudgeForm,
    subject="sheet",
    row="pairs",
)
REMOVE_PAIR_JUDGE = build_organiser_action(
    remove_annotator,
    "Take a judge off a sheet of pairs, with their judgements; for organisers.",
    _("%(name)s is off the sheet, with %(judgements)s."),
    subject="annotator",
)


def _publish_pair_judgements(
    *, sheet: Sheet, unfinished: bool | None, by: User
) -> None:
    pairs.publish_pair_judgements(sheet=sheet, by=by, is_confirmed=bool(unfinished))


PUBLISH_PAIR_JUDGEMENTS = build_organiser_action(
    _publish_pair_judgements,
    "Close a sheet of pairs and let its judgements count on the board of battles; for organisers.",
    _("The judgements are on the board of battles."),
    form=PublishSheetForm,
    subject="sheet",
    row="pairs",
)
UNPUBLISH_PAIR_JUDGEMENTS = build_organiser_action(
    pairs.unpublish_pair_judgements,
    "Take the judgements of a sheet of pairs off the board of battles; for organisers.",
    _(
        "The judgements are off the board of battles. The sheet is closed until you reopen it."
    ),
    subject="sheet",
    row="pairs",
)
REOPEN_PAIR_SHEET = build_organiser_action(
    reopen_sheet,
    "Let the judges of an unpublished sheet of pairs judge again; for organisers.",
    _("The sheet takes judgements again."),
    subject="sheet",
    row="pairs",
)


class JudgementForm(ActForm):
    """The label that a judge gives to a pair of texts."""

    pair = forms.IntegerField(
        widget=forms.HiddenInput, min_value=1, max_value=MAX_PLANNED_PAIRS
    )
    label = forms.ChoiceField(
        label=_("Which text is better?"),
        choices=[
            ("left", _("The left one")),
            ("tie", _("Neither: a tie")),
            ("right", _("The right one")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose left, tie or right.")},
    )
    api = {
        "pair": "The position of the pair on the sheet.",
        "label": "Which text is better; a tie where neither is.",
    }


def _save_preference(*, annotator: Annotator, pair: int, label: str) -> Preference:
    planned = pairs.find_pairs_for_judge(annotator).select_related("left", "right")
    return pairs.save_preference(
        annotator=annotator,
        pair=get_object_or_404(planned, position=pair),
        label=label,
    )


JUDGE_PAIR = UserAction(
    _save_preference,
    "Judge a pair of a sheet; for its judges.",
    role=pair_judge_or_404,
    form=JudgementForm,
    subject="annotator",
    actor="",
)
