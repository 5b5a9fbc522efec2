"""What services refuse, as answers with the status and the members that the API promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.exceptions import ValidationError
from rest_framework import exceptions, status

from citeboard.core.api_errors import Refusal, TooLarge
from citeboard.teams.invitations import InvitationNotValid
from citeboard.teams.mailed_invitations import InvitationRefused
from citeboard.teams.membership import MembershipRefused
from scoring.human.sheets import SheetRefused
from scoring.worker.new_gold import GoldRefused
from tasks.gold.gold_files import EarlierGold
from tasks.jobs.acknowledging import NotFailed
from tasks.registration.entries import EntryRefused, HasSentRuns
from tasks.registration.terms import NotTheTerms
from tasks.seasons.board_visibility import BoardRefused
from tasks.seasons.deleting import NotDeleted
from tasks.seasons.freezing import FreezeRefused
from tasks.seasons.organisers import LastOrganiser
from tasks.seasons.phase_times import TimesRefused
from tasks.seasons.questions import TooManyQuestions
from tasks.seasons.reports import TooManyReports
from tasks.submissions.bundles import BundleRefused, NothingCarried, Part
from tasks.submissions.refusals import (
    CardIncomplete,
    InputsNotReleased,
    KeyAlreadyUsed,
    NoGold,
    NotRegistered,
    PhaseClosed,
    QuotaExceeded,
    RunRejected,
    TermsNotAccepted,
)
from tasks.submissions.uploads import UploadTooLarge
from tasks.submissions.withdraw import NotInThisState
from tasks.types import Problem
from tasks.types.problems import capped
from tasks.webhooks.addresses import AddressRefused
from tasks.webhooks.services import WebhookRefused


class Rejected(Refusal):
    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY


class QuotaUsed(Refusal):
    status_code = status.HTTP_429_TOO_MANY_REQUESTS


class NotNow(Refusal):
    status_code = status.HTTP_409_CONFLICT


#: What cannot be done as things stand.
CONFLICTS = (
    BoardRefused, EarlierGold, EntryRefused, FreezeRefused, HasSentRuns, InputsNotReleased,
    InvitationNotValid, InvitationRefused,
    LastOrganiser, MembershipRefused, NoGold, NotDeleted, NotInThisState, NotTheTerms, TimesRefused,
    TooManyQuestions, TooManyReports, AddressRefused,
    WebhookRefused, NotFailed, SheetRefused,
)  # fmt: skip


@contextmanager
def refusals_answered() -> Iterator[None]:
    """Raises for each refusal of a service the error that says the same over HTTP."""
    try:
        yield
    except (RunRejected, GoldRefused, KeyAlreadyUsed, NothingCarried, CardIncomplete) as refused:
        problems, more = _problems(refused)
        entries = [problem.as_dict() for problem in problems]
        raise Rejected(sentence(refused), problems=entries, more=more) from refused
    except BundleRefused as refused:
        raise _bundle_refused(refused) from refused
    except QuotaExceeded as refused:
        raise QuotaUsed(sentence(refused), left=refused.left, renews_at=refused.renews_at) from refused
    except PhaseClosed as refused:
        late_by = None if refused.late_by is None else refused.late_by.total_seconds()
        raise NotNow(
            sentence(refused), opens=refused.opens, closes=refused.closes, late_by_seconds=late_by
        ) from refused
    except CONFLICTS as refused:
        raise NotNow(sentence(refused)) from refused
    except (NotRegistered, TermsNotAccepted) as refused:
        raise exceptions.PermissionDenied(sentence(refused)) from refused
    except UploadTooLarge as refused:
        raise TooLarge(sentence(refused)) from refused
    except ValidationError as refused:
        raise exceptions.ValidationError(refused.message_dict) from refused


def _problems(refused: Exception) -> tuple[Sequence[Problem], int]:
    """What is wrong with a file, and how much more there is; of others that the sentence is the problem."""
    if isinstance(refused, RunRejected):
        return refused.problems, refused.more
    if isinstance(refused, GoldRefused):
        return capped(refused.problems)
    return [Problem(message=str(refused))], 0


def _bundle_refused(refused: BundleRefused) -> Refusal:
    """By what weighs most: a part that is wrong, then a quota, then a phase that is closed or has no gold."""
    reasons = [(part, part.refusal) for part in refused.parts if part.refusal is not None]
    if any(isinstance(reason, RunRejected) for _, reason in reasons):
        problems, more = capped([problem for part, _ in reasons for problem in part.problems])
        more += sum(reason.more for _, reason in reasons if isinstance(reason, RunRejected))
        entries = [problem.as_dict() for problem in problems]
        parts = [_described(part) for part in refused.parts]
        return Rejected(sentence(refused), problems=entries, more=more, parts=parts)
    words = (
        f"{sentence(refused)} {' '.join(sentence_of(part.phase.task, reason) for part, reason in reasons)}"
    )
    for _, reason in reasons:
        if isinstance(reason, CardIncomplete):
            return Rejected(words, problems=[Problem(message=str(reason)).as_dict()], more=0)
        if isinstance(reason, QuotaExceeded):
            return QuotaUsed(words, left=reason.left, renews_at=reason.renews_at)
    return NotNow(words)


def sentence_of(task: object, reason: Exception) -> str:
    return f"{task}: {str(reason).rstrip('.')}."


def _described(part: Part) -> dict[str, object]:
    return {
        "task": part.phase.task.slug,
        "phase": part.phase.pk,
        "detail": None if part.refusal is None else sentence(part.refusal),
        "problems": [problem.as_dict() for problem in part.problems],
        "more": part.refusal.more if isinstance(part.refusal, RunRejected) else 0,
    }


def sentence(refused: Exception) -> str:
    """Services speak in clauses, which pages put into sentences of their own."""
    text = str(refused)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
