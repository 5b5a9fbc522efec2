"""Publish, seal and delete versions of gold."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, build_rehearsed_action
from citeboard.core import storage
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.worker import rescoring
from tasks.delivery.webhooks.services import UNDO_GRACE_PERIOD
from tasks.gold import gold_files
from tasks.gold.gold_files import StoredGold
from tasks.models import Gold, Phase, Season, Task
from tasks.submissions.uploads import get_max_upload_bytes, receive_upload
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tasks.types.guarded.encodings import PYTHON_CODECS_BY_ENCODING

#: STORED_GOLD_SIGNING_SALT is the salt for signing the names of stored gold files.
STORED_GOLD_SIGNING_SALT = "gold-to-publish"


def build_encoding_field() -> forms.ChoiceField:
    choices = [("", _("UTF-8, or by the byte order mark"))]
    return forms.ChoiceField(
        label=_("Encoding"),
        required=False,
        choices=[*choices, *((name, name) for name in PYTHON_CODECS_BY_ENCODING)],
    )


ENCODING_FIELD_IN_API = {
    "default": "",
    "help_text": "Of gold that is not in UTF-8 and has no byte order mark.",
}


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
    encoding = build_encoding_field()
    read_again = forms.BooleanField(
        label=_("Read the present gold and all its runs again, by the current rules"),
        required=False,
        help_text=_(
            "Without a file: a new version with the same content. Runs that the current rules refuse keep "
            "their scores by the older version."
        ),
    )
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
        "file": forms.FileField(required=False),
        "split": forms.CharField(required=False, max_length=100),
        "also": forms.CharField(required=False),
    }
    api = {
        "file": "The gold as the task type reads it: a file, or a zip of files; none with `read_again`.",
        "encoding": ENCODING_FIELD_IN_API,
        "read_again": {
            "default": False,
            "help_text": "Read the newest version and all its runs again by the current rules.",
        },
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
        golds = Gold.objects.filter(task__season=of)
        if not golds.filter(reading_version__lt=CURRENT_PARSING_RULES_VERSION).exists():
            self.fields["read_again"].widget = forms.HiddenInput()
        self.fields["file"].help_text = gettext(
            "One file, or a zip of files, at most %(megabytes)s. The command manage.py "
            "load_gold on the server loads larger gold."
        ) % {"megabytes": count_with_noun(get_max_upload_bytes() >> 20, "megabyte")}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        has_file = cleaned.get("file") or cleaned.get("stored")
        if not (has_file or cleaned.get("read_again") or "file" in self.errors):
            self.add_error("file", gettext("Choose the file that holds the gold."))
        keys = dict.fromkeys([cleaned.pop("split", ""), *cleaned.pop("also", ())])
        return {**cleaned, "splits": [self.splits[key] for key in keys if key]}


def parse_submitted_gold(
    season: object, filled: Mapping[str, Any], by: User
) -> Mapping[str, Any]:
    """Return the form data, with the gold files replaced by the parsed gold of each
    split.

    The gold of a split is stored under the key ``packed``. This function reads files
    before the database locks any row.
    """
    left_out = ("file", "stored", "encoding")
    fields = {name: value for name, value in filled.items() if name not in left_out}
    if "packed" in fields:
        return fields
    splits = fields["splits"]
    if fields.get("read_again"):
        return {**fields, "packed": _parse_current_gold_again(splits, by)}
    if not filled.get("file"):
        return {
            **fields,
            "packed": _parse_stored_gold(filled.get("stored", ""), splits, by),
        }
    with receive_upload(filled["file"]) as upload:
        paths = [upload.path] * len(splits)
        packed = rescoring.parse_and_store_gold_of_splits(
            splits,
            paths,
            upload.filename,
            by,
            encoding=filled.get("encoding") or "",
        )
    return {**fields, "packed": packed}


def _parse_stored_gold(
    stored: str, splits: Sequence[tuple[Task, str]], by: User
) -> Sequence[Any]:
    """Parse the stored gold files whose signed names come from `sign_stored_gold_names`."""
    try:
        names = signing.loads(
            stored, salt=STORED_GOLD_SIGNING_SALT, max_age=UNDO_GRACE_PERIOD
        )
        with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
            paths = [
                storage.copy_to_local_folder(
                    storage.gold_file_storage, name, Path(folder)
                )
                for name in names
            ]
            return rescoring.parse_and_store_gold_of_splits(
                splits, paths, "gold.zip", by
            )
    except (signing.BadSignature, storage.StoredFileMissing) as gone:
        raise ValidationError(
            {"file": gettext("Choose the file that holds the gold.")}
        ) from gone


def _parse_current_gold_again(
    splits: Sequence[tuple[Task, str]], by: User
) -> list[StoredGold]:
    """Parse the newest gold of each split again with the current parser rules.

    Raises ValidationError if the current parser rules have already parsed the gold.
    """
    with tempfile.TemporaryDirectory(prefix="citeboard-gold-") as folder:
        paths = []
        for index, (task, split) in enumerate(splits):
            versions = Gold.objects.filter(task=task, split=split).order_by("-number")
            newest = versions.first()
            if (
                newest is None
                or newest.reading_version == CURRENT_PARSING_RULES_VERSION
            ):
                message = gettext(
                    "The gold of %(task)s, %(split)s is read by the current rules."
                )
                raise ValidationError(
                    {"read_again": message % {"task": task, "split": split}}
                )
            own = Path(folder) / str(index)
            own.mkdir()
            paths.append(
                storage.copy_to_local_folder(
                    storage.gold_file_storage, newest.file, own
                )
            )
        return rescoring.parse_and_store_gold_of_splits(splits, paths, "gold.zip", by)


def sign_stored_gold_names(filled: Mapping[str, Any]) -> str:
    """Return the signed names of stored gold files for the confirmation page."""
    return signing.dumps(
        [kept.columns["file"] for kept in filled["packed"]],
        salt=STORED_GOLD_SIGNING_SALT,
    )


class VersionForm(ActForm):
    """The reason for sealing or deleting a version of gold."""

    reason = forms.CharField()


PUBLISH_GOLD = build_rehearsed_action(
    rescoring.publish_gold,
    "Publish a new version of the gold; every run is scored against it.",
    form=GoldForm,
    ready=parse_submitted_gold,
    subject="season",
)
SEAL_GOLD = build_rehearsed_action(
    gold_files.seal_gold,
    "Give a version of the gold out to nobody from now on.",
    _("Gold v%(number)s of %(task)s is sealed."),
    form=VersionForm,
    subject="gold",
)
DELETE_GOLD = build_rehearsed_action(
    gold_files.delete_gold,
    "Delete a version of the gold by which nothing counts.",
    _("Gold v%(number)s of %(task)s is deleted."),
    form=VersionForm,
    is_final=True,
    subject="gold",
)
