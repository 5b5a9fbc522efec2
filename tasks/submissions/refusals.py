"""Errors for the reasons why a run is refused. Each error has a message for people and
attributes for API clients.
"""

import datetime as dt
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _, ngettext

from citeboard.core.instants import (
    ENDLESS_PHASE_END,
    format_day_and_time,
    format_utc_minute,
)
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import format_duration_with_all_units
from tasks.types import Problem
from tasks.types.problems import counted, select_problems_to_list


class RunRefused(ActionRefused):
    """An error about a run that is refused. The run is not stored and uses up no try."""


class RunUploadUnusable(RunRefused):
    """An error about an upload that cannot be accepted as a run. If ``problems`` is
    None, the error's message is the only problem.
    """

    status = 422
    problems: Sequence[Problem] | None = None
    more = 0

    def answer(self) -> dict[str, object]:
        problems = (
            [Problem(message=str(self))] if self.problems is None else self.problems
        )
        return super().answer() | {
            "problems": [row.as_dict() for row in problems],
            "more": self.more,
        }


class RunRejected(RunUploadUnusable):
    """An error about a run with fatal problems. ``more`` is the number of fatal
    problems that are not listed.

    ``repair`` describes possible repairs of the file for API clients.
    """

    repair: Mapping[str, object] | None = None

    def __init__(self, problems: Sequence[Problem], more: int = 0) -> None:
        self.problems: list[Problem] = list(problems)
        self.more = more
        count = counted(self.problems) + more
        message = ngettext(
            "the run has %(number)s problem", "the run has %(number)s problems", count
        )
        super().__init__(message % {"number": count})

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "RunRejected":
        return cls(*select_problems_to_list(problems))

    def answer(self) -> dict[str, object]:
        answer = super().answer()
        return answer if self.repair is None else answer | {"repair": self.repair}


class RunCardIncomplete(RunUploadUnusable):
    """An error about a run card without fields that the phase requires. ``missing``
    contains the names of the fields that are missing.
    """

    def __init__(self, missing: Sequence[str], names: str) -> None:
        self.missing = list(missing)
        message = _(
            "runs of this phase need a run card, and this one lacks %(names)s; give that with the run, "
            "or in a file of ir_metadata"
        )
        super().__init__(message % {"names": names})


class RunQuotaExceeded(RunRefused):
    """An error about a team that has no tries left in the phase. ``renews_at`` is the
    time from which the team has a try again, or None if never.
    """

    status = 429

    def __init__(self, left: int, renews_at: dt.datetime | None) -> None:
        self.left, self.renews_at = left, renews_at
        message = _(
            "no run is left in this phase; the next may be submitted at %(instant)s"
        )
        never = _("no run is left in this phase")
        super().__init__(
            message % {"instant": format_utc_minute(renews_at)} if renews_at else never
        )

    def answer(self) -> dict[str, object]:
        return super().answer() | {"left": self.left, "renews_at": self.renews_at}


class TeamStorageExceeded(RunRefused):
    status = 507

    def __init__(self, used: int, most: int) -> None:
        message = _(
            "the files of your team take %(used)s of %(most)s MB, and this one does not fit any more; "
            "withdraw a run and delete its file, or ask the organisers"
        )
        super().__init__(
            message % {"used": f"{used / (1 << 20):,.1f}", "most": f"{most >> 20:,}"}
        )


class PhaseNotOpen(RunRefused):
    """An error about a phase that does not accept runs now. ``late_by`` is the time
    between the end of the phase and the start of the upload.
    """

    def __init__(
        self, opens: dt.datetime, closes: dt.datetime, begun: dt.datetime | None = None
    ) -> None:
        self.opens, self.closes = opens, None if closes >= ENDLESS_PHASE_END else closes
        self.late_by = begun - closes if begun is not None and begun >= closes else None
        first, last = (format_day_and_time(at) for at in (opens, closes))
        facts = {
            "first": first,
            "last": last,
            "duration": format_duration_with_all_units(self.late_by or dt.timedelta()),
        }
        message = _(
            "runs are accepted from %(first)s to %(last)s UTC; this one began %(duration)s too late"
        )
        in_time = _("runs are accepted from %(first)s to %(last)s UTC")
        if self.closes is None:
            in_time = _("runs are accepted from %(first)s UTC on")
        super().__init__((in_time if self.late_by is None else message) % facts)

    def answer(self) -> dict[str, object]:
        late_by = None if self.late_by is None else self.late_by.total_seconds()
        return super().answer() | {
            "opens": self.opens,
            "closes": self.closes,
            "late_by_seconds": late_by,
        }


class TeamNotRegistered(RunRefused):
    status = 403

    @classmethod
    def of(cls, team: object, season: object) -> "TeamNotRegistered":
        message = _("%(team)s takes no part in %(season)s, or is not approved yet")
        return cls(message % {"team": team, "season": season})


class InputsNotReleased(RunRefused):
    """An error about a team that may not have the public inputs of the phase yet. The
    site also refuses to check runs for this team, because the result of a check could
    reveal the inputs.
    """

    def __init__(self, at: dt.datetime | None) -> None:
        words = _("the inputs are not released yet; runs are checked once they are")
        if at is not None:
            words = _(
                "the inputs are released at %(instant)s; runs are checked from then on"
            )
            words %= {"instant": format_utc_minute(at)}
        super().__init__(words)


class TermsNotAccepted(RunRefused):
    status = 403

    def __init__(self, season: object, number: int) -> None:
        message = _(
            "accept version %(version)s of the terms of %(season)s first; its page leads to them"
        )
        super().__init__(message % {"version": number, "season": season})
