"""Import labels of judges, and share labels with all seasons."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.acts.judging import build_label_kind_field
from citeboard.background import kinds
from citeboard.core.words import count_with_noun, format_thousands
from citeboard.teams.models import User
from scoring.models import BackgroundJob, Judge
from scoring.worker.entailment_labels import list_judge_names_of_season, share_labels
from scoring.worker.ledger import JudgementImportResult
from tasks.models import Season
from tasks.submissions.uploads import get_max_upload_bytes, receive_upload


class LabelsForm(ActForm):
    """A file of labels by a judge that the season's tasks name."""

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
    api = {
        "file": "JSON lines as `python -m scoring decide` or `judge run` writes them."
    }

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, files, of=of)
        choices = [(name, name) for name in list_judge_names_of_season(of)]
        self.fields["model"].choices = choices  # type: ignore[attr-defined]
        self.fields["file"].help_text = gettext(
            "JSON lines as “python -m scoring decide” or “judge run” writes them, at most "
            "%(megabytes)s. The command “manage.py import_labels” on the server "
            "imports larger files."
        ) % {"megabytes": count_with_noun(get_max_upload_bytes() >> 20, "megabyte")}


def _queue_label_import(
    *, season: Season, model: str, file: Any, by: User
) -> BackgroundJob:
    models = list_judge_names_of_season(season)
    if model not in models:
        names = " and ".join(models) or "none"
        message = (
            f"No task of the season asks for labels of “{model[:80]}”, but of {names}."
        )
        raise ValidationError({"model": message})
    with receive_upload(file) as upload:
        return kinds.queue_label_import(
            season=season, model=model, upload=upload, by=by
        )


NO_LABELS_MESSAGE = _(
    "No task of the season asks for labels of this model, or there are none."
)


class ModelForm(ActForm):
    """The name of a judge that the season's tasks name, and the kind of its labels."""

    model = forms.CharField(label=_("Model"))
    kind = build_label_kind_field()
    api = {
        "kind": "Kind of labels; needed if the season's tasks take several kinds from the judge."
    }


def _share_judge_labels(
    *, season: Season, model: str, by: User, kind: str = ""
) -> JudgementImportResult:
    if not by.is_staff or model not in list_judge_names_of_season(season):
        raise Http404(NO_LABELS_MESSAGE)
    try:
        return share_labels(season=season, model=model, kind=kind, by=by)
    except Judge.DoesNotExist:
        raise Http404(NO_LABELS_MESSAGE) from None


def _shared_labels_message(
    done: JudgementImportResult, filled: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    words = gettext("%(labels)s of %(model)s added for all seasons.")
    if done.known:
        words = gettext(
            "%(labels)s of %(model)s added for all seasons, %(others)s were there "
            "before."
        )
    if done.resumed:
        words += " " + gettext("%(scorings)s continued.")
    others = ngettext("%(number)s other", "%(number)s others", done.known)
    return words, {
        "labels": count_with_noun(done.added, "label"),
        "model": done.judge,
        "others": others % {"number": format_thousands(done.known)},
        "scorings": count_with_noun(done.resumed, "scoring"),
    }


IMPORT_LABELS = build_organiser_action(
    _queue_label_import,
    "Import labels of judges; for organisers.",
    form=LabelsForm,
    subject="season",
)
SHARE_JUDGE_LABELS_SITEWIDE = build_organiser_action(
    _share_judge_labels,
    "Let the season's labels of a judge decide the runs of all seasons; for staff.",
    _shared_labels_message,
    form=ModelForm,
    subject="season",
)
