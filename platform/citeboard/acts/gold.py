"""What organisers bring: gold and its versions, labels, sheets for human evaluation, judgements; and what is
scored again or computed with it.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from citeboard.acts.declared import Act, ActForm, by_organisers, with_rehearsal
from citeboard.background import kinds
from citeboard.background.kinds import run_to_judge
from citeboard.core import storage
from citeboard.core.words import counted, thousands
from citeboard.teams.models import User
from scoring.human import claim_review, outcome
from scoring.human.sheets import MAX_INSTANCES, MAX_SYSTEMS, check_size, runs_on_board
from scoring.models import BackgroundJob, EntailmentModel
from scoring.results.board.visibility import may_see_submission
from scoring.worker import baseline_runs, drawing, rescoring
from scoring.worker.background import Kind, ask
from scoring.worker.entailment_labels import Imported, models_of_season, share_labels
from tasks.delivery.webhooks.services import TO_TAKE_BACK
from tasks.gold import gold_files
from tasks.models import Gold, Phase, Season, Submission
from tasks.seasons.access import may_organise
from tasks.submissions.uploads import received, upload_limit

#: What the form begins with where the gold has so many.
INSTANCES_AT_FIRST = 20


class GoldForm(ActForm):
    """Gold to be published."""

    split = forms.ChoiceField(label=_("Task and split"))
    also = forms.MultipleChoiceField(
        label=_("The same file is also the gold of"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "One publication for several tasks, such as 1A and 1B: all of them get it, or none."
        ),
    )
    file = forms.FileField(
        label=_("Gold"),
        required=False,
        error_messages={"empty": _("The file is empty.")},
    )
    #: Where the file was read before somebody was asked whether to go on.
    stored = forms.CharField(required=False, widget=forms.HiddenInput())
    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        help_text=_(
            "What is new or was corrected. Teams read it beside the change of their scores."
        ),
        error_messages={"required": _("Say what is new or was corrected.")},
    )
    again = forms.BooleanField(
        label=_("Publish what an earlier version holds again"),
        required=False,
        widget=forms.HiddenInput,
    )
    only_on_pages = ("split", "also", "stored")
    only_in_api = {
        "file": forms.FileField(),
        "split": forms.CharField(required=False, max_length=100),
        "also": forms.CharField(required=False),
    }
    api = {
        "file": "The gold as the task type reads it: a file, or a zip of files.",
        "reason": "What is new or was corrected; teams read it.",
        "split": "Needed where the task's phases have several.",
        "also": "Slugs of other tasks of the season with commas between: the file is their gold too, of the "
        "split of the same name.",
        "again": {
            "default": False,
            "help_text": "Publish what an earlier version holds once more.",
        },
    }

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, files, of=of)
        phases = Phase.objects.filter(task__season=of).select_related("task")
        self.splits = {
            f"{phase.task.pk}/{phase.split}": (phase.task, phase.split)
            for phase in phases.order_by("task__position", "position")
        }
        for name in ("split", "also"):
            choices = [
                (key, f"{task}, {split}") for key, (task, split) in self.splits.items()
            ]
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        if len(self.splits) < 2:
            del self.fields["also"]
        self.fields["file"].help_text = gettext(
            "One file, or a zip of files, at most %(megabytes)s. Larger gold is loaded by "
            "manage.py load_gold where the site runs."
        ) % {"megabytes": counted(upload_limit() >> 20, "megabyte")}

    def clean(self) -> dict[str, Any]:
        """With the ``splits`` in the place of their names."""
        cleaned = super().clean()
        if not (cleaned.get("file") or cleaned.get("stored") or "file" in self.errors):
            self.add_error("file", gettext("Choose the file that holds the gold."))
        keys = dict.fromkeys([cleaned.pop("split", ""), *cleaned.pop("also", ())])
        return {**cleaned, "splits": [self.splits[key] for key in keys if key]}


STORED = "gold-to-publish"


def packed_gold(
    season: object, filled: Mapping[str, Any], by: User
) -> Mapping[str, Any]:
    """With what the file holds for each split in its place, read before anything is locked."""
    given = dict(filled)
    file, stored, splits = (
        given.pop("file", None),
        given.pop("stored", ""),
        given["splits"],
    )
    if "packed" in given:
        return given
    if file:
        with received(file) as upload:
            paths = [upload.path] * len(splits)
            return given | {
                "packed": rescoring.pack_gold(splits, paths, upload.filename, by)
            }
    try:
        names = signing.loads(stored, salt=STORED, max_age=TO_TAKE_BACK)
        with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
            paths = [
                storage.local_copy(storage.gold, name, Path(folder)) for name in names
            ]
            return given | {
                "packed": rescoring.pack_gold(splits, paths, "gold.zip", by)
            }
    except (signing.BadSignature, storage.FileMissing) as gone:
        raise ValidationError(
            {"file": gettext("Choose the file that holds the gold.")}
        ) from gone


def stored_gold(filled: Mapping[str, Any]) -> str:
    return signing.dumps(
        [kept.columns["file"] for kept in filled["packed"]], salt=STORED
    )


class VersionForm(ActForm):
    """Why a version is sealed or deleted."""

    reason = forms.CharField()


class LabelsForm(ActForm):
    """A file of labels of one of the models that the season's tasks ask for."""

    model = forms.ChoiceField(label=_("Model"))
    file = forms.FileField(
        label=_("Labels"),
        error_messages={
            "required": _("Choose the file that holds the labels."),
            "empty": _("The file is empty."),
        },
    )
    only_on_pages = ("model",)
    only_in_api = {"model": forms.CharField()}
    api = {"file": "JSON lines as `python -m scoring decide` writes them."}

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, files, of=of)
        choices = [(name, name) for name in models_of_season(of)]
        self.fields["model"].choices = choices  # type: ignore[attr-defined]
        self.fields["file"].help_text = gettext(
            "JSON lines as “python -m scoring decide” writes them, at most %(megabytes)s. Larger files are "
            "brought by “manage.py import_labels” where the site runs."
        ) % {"megabytes": counted(upload_limit() >> 20, "megabyte")}


def _import_labels(*, season: Season, model: str, file: Any, by: User) -> BackgroundJob:
    models = models_of_season(season)
    if model not in models:
        names = " and ".join(models) or "none"
        words = (
            f"No task of the season asks for labels of “{model[:80]}”, but of {names}."
        )
        raise ValidationError({"model": words})
    with received(file) as upload:
        return kinds.ask_for_labels(season=season, model=model, upload=upload, by=by)


NO_LABELS = _("No task of the season asks for labels of this model, or there are none.")


class ModelForm(ActForm):
    """One of the models that the season's tasks ask for."""

    model = forms.CharField(label=_("Model"))


def _share_labels(*, season: Season, model: str, by: User) -> Imported:
    if not by.is_staff or model not in models_of_season(season):
        raise Http404(NO_LABELS)
    try:
        return share_labels(season=season, model=model, by=by)
    except EntailmentModel.DoesNotExist:
        raise Http404(NO_LABELS) from None


def _describe_shared(
    done: Imported, filled: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    words = gettext("%(labels)s of %(model)s added for all seasons.")
    if done.known:
        words = gettext(
            "%(labels)s of %(model)s added for all seasons, %(others)s were there."
        )
    if done.resumed:
        words += " " + gettext("%(scorings)s gone on with.")
    others = ngettext("%(number)s other", "%(number)s others", done.known)
    return words, {
        "labels": counted(done.added, "label"),
        "model": done.model,
        "others": others % {"number": thousands(done.known)},
        "scorings": counted(done.resumed, "scoring"),
    }


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
    with received(file) as upload:
        season = submission.phase.task.season
        return ask(
            Kind.JUDGEMENTS, season, {}, by=by, submission=submission, upload=upload
        )


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
    if unknown := [number for number in runs if number not in on_board]:
        words = f"No run “{unknown[0][:40]}” stands on the board; there are {', '.join(on_board) or 'none'}."
        raise ValidationError({"runs": words})
    chosen = [on_board[number] for number in dict.fromkeys(runs)] or list(
        on_board.values()
    )[:MAX_SYSTEMS]
    check_size(len(chosen), instances)
    given = {"runs": [run.pk for run in chosen], "instances": instances, "seed": seed}
    return ask(Kind.SHEET, phase.task.season, given, by=by, phase=phase)


PUBLISH_GOLD = with_rehearsal(
    rescoring.publish_gold,
    "Publish a new version of the gold; every run is scored against it.",
    form=GoldForm,
    ready=packed_gold,
    subject="season",
)
SEAL_GOLD = with_rehearsal(
    gold_files.seal_gold,
    "Give a version of the gold out to nobody from now on.",
    _("Gold v%(number)s of %(task)s is sealed."),
    form=VersionForm,
    subject="gold",
)
DELETE_GOLD = with_rehearsal(
    gold_files.delete_gold,
    "Delete a version of the gold by which nothing counts.",
    _("Gold v%(number)s of %(task)s is deleted."),
    form=VersionForm,
    is_final=True,
    subject="gold",
)
IMPORT_LABELS = by_organisers(
    _import_labels,
    "Import entailment labels; for organisers.",
    form=LabelsForm,
    subject="season",
)
SHARE_LABELS = by_organisers(
    _share_labels,
    "Let the season's labels of a model decide the runs of all seasons; for staff.",
    _describe_shared,
    form=ModelForm,
    subject="season",
)
IMPORT_JUDGEMENTS = Act(
    _import_judgements,
    "Import people's judgements of a run, in the place of earlier ones; for organisers.",
    role=run_to_judge,
    form=JudgementsForm,
    subject="submission",
)
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


PUBLISH_SHEET = by_organisers(
    lambda sheet, unfinished, by: outcome.publish(
        sheet=sheet, by=by, is_confirmed=bool(unfinished)
    ),
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
PUBLISH_JUDGEMENTS = Act(
    claim_review.publish,
    "Put people's ratings of a run's responses on the board; for organisers.",
    _("The ratings stand on the board."),
    role=run_to_judge,
    subject="submission",
)
TAKE_JUDGEMENTS_BACK = Act(
    claim_review.revoke,
    "Take people's ratings of a run's responses off the board; for organisers.",
    _("The ratings are off the board."),
    role=run_to_judge,
    subject="submission",
)


def run_to_organise(user: object, pk: int) -> Submission:
    run = get_object_or_404(
        Submission.objects.select_related("phase__task__season", "team"), pk=pk
    )
    if not may_see_submission(run, user) or not may_organise(
        user, run.phase.task.season
    ):
        raise Http404(gettext("There is no run of yours to organise at this address."))
    return run


DRAW_AGAIN = with_rehearsal(
    drawing.draw_again,
    "Draw the public part of a phase again, by a secret in the place of a seed; for organisers.",
    _(
        "The public part of %(task)s, %(phase)s, is drawn again. Its runs are scored again."
    ),
    is_final=True,
    subject="phase",
)
RESCORE = by_organisers(
    rescoring.ask_for_phase,
    "Score again what is out of date in a phase; for organisers.",
    _("%(task)s, %(phase)s: what is out of date is scored again."),
    subject="phase",
)
STOP_RESCORING = by_organisers(
    lambda phase, by: (phase, rescoring.stop(phase=phase, by=by)),
    "Take out of the queue what waits in a phase to be scored again; for organisers.",
    _("%(task)s, %(phase)s: %(scorings)s taken out of the queue. It can go on."),
    subject="phase",
)
RESCORE_SEASON = by_organisers(
    lambda season, by: len(rescoring.ask_for_season(season=season, by=by)),
    "Score again what is out of date in all phases of a season; for organisers.",
    _("Runs of %(phases)s are looked through and scored again."),
    subject="season",
)
RESCORE_RUN = Act(
    rescoring.score_again,
    "Score a run again; for organisers.",
    lambda made, _filled: (
        gettext("The run is scored again.")
        if made
        else gettext("The run is being scored again already.")
    ),
    role=run_to_organise,
    subject="submission",
)


class BaselinesForm(ActForm):
    """Which baseline."""

    name = forms.CharField(required=False, max_length=200)
    api = {"name": "One of those that the type has; left out, all that are possible."}


COMPUTE_BASELINES = by_organisers(
    lambda phase, name, by: sum(
        asked.is_new
        for asked in baseline_runs.ask(
            phase=phase, names=[name] if name else None, by=by
        )
    ),
    "Have a phase's built-in baselines computed and scored; for organisers.",
    lambda new, _filled: (
        _("%(task)s, %(phase)s: %(baselines)s queued.")
        if new
        else _("%(task)s, %(phase)s: they were computed before, or are under way."),
        {"baselines": counted(new, "baseline")},
    ),
    form=BaselinesForm,
    subject="phase",
)
