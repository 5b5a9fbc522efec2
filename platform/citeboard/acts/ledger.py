"""Import judgements into the ledger, and withdraw imports."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import Q
from django.http import Http404
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.background import kinds
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.models import BackgroundJob, JudgementImport
from scoring.worker.withdrawal import ImportWithdrawalResult, withdraw_import
from tasks.models import Season
from tasks.submissions.uploads import get_max_upload_bytes, receive_upload
from tasks.types.ledger import MAX_JUDGE_NAME_CHARACTERS

#: Databases cannot store integers that are greater than MAX_IMPORT_NUMBER.
MAX_IMPORT_NUMBER = 2**31 - 1


class LedgerForm(ActForm):
    """A file of judgements of the same judge and the same kind."""

    judge = forms.CharField(
        label=_("Judge"),
        required=False,
        max_length=MAX_JUDGE_NAME_CHARACTERS,
        help_text=_("Needed where the file does not name the judge."),
    )
    file = forms.FileField(
        label=_("Judgements"),
        error_messages={
            "required": _("Choose the file that holds the judgements."),
            "empty": _("The file is empty."),
        },
    )
    api = {"file": "JSON lines with kind, items or texts, judge and label."}

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, files, of=of)
        self.fields["file"].help_text = gettext(
            "JSON lines with kind, items or texts, judge and label, at most "
            "%(megabytes)s. The command “manage.py import_labels” on the server "
            "imports larger files."
        ) % {"megabytes": count_with_noun(get_max_upload_bytes() >> 20, "megabyte")}


def _queue_ledger_import(
    *, season: Season, file: Any, by: User, judge: str = ""
) -> BackgroundJob:
    with receive_upload(file) as upload:
        return kinds.queue_ledger_import(
            season=season, judge=judge, upload=upload, by=by
        )


class WithdrawalForm(ActForm):
    """The number of an import of judgements, and the reason for withdrawing the import."""

    number = forms.IntegerField(
        label=_("Import"), min_value=1, max_value=MAX_IMPORT_NUMBER
    )
    reason = forms.CharField(label=_("Reason"), max_length=500)


def _withdraw_import(
    *, season: Season, number: Any, reason: str, by: User
) -> ImportWithdrawalResult:
    """Withdraw an import of judgements from the season's ledger.

    Only staff may withdraw an import that all seasons share.
    """
    theirs = Q(judge__season=season)
    if by.is_staff:
        theirs |= Q(judge__season=None)
    is_number = isinstance(number, int) and 0 < number <= MAX_IMPORT_NUMBER
    found = JudgementImport.objects.filter(theirs, pk=number if is_number else 0)
    if (source := found.select_related("judge").first()) is None:
        raise Http404(_("The season has no import of judgements with this number."))
    return withdraw_import(source=source, reason=reason, by=by, season=season)


def _withdrawn_import_message(
    done: ImportWithdrawalResult, filled: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    words = gettext("The import is withdrawn. %(runs)s rested on it.")
    if done.frozen:
        words += " " + gettext(
            "%(boards)s stay as they are, and say that it is withdrawn."
        )
    return words, {
        "runs": count_with_noun(done.runs, "run"),
        "boards": count_with_noun(done.frozen, "frozen board"),
    }


IMPORT_JUDGEMENTS_TO_LEDGER = build_organiser_action(
    _queue_ledger_import,
    "Import judgements into the ledger; for organisers.",
    form=LedgerForm,
    subject="season",
)
WITHDRAW_LEDGER_IMPORT = build_organiser_action(
    _withdraw_import,
    "Withdraw an import of judgements; runs that used it are scored again; for organisers.",
    _withdrawn_import_message,
    form=WithdrawalForm,
    refused=_("Nothing was withdrawn. %(fault)s"),
    subject="season",
)
