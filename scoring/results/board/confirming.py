"""Determine whether the results on a board are official, which teams confirm."""

import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone, translation
from django.utils.timezone import now
from django.utils.translation import gettext as _, ngettext

from citeboard.core import audit, middleware, plain_text
from citeboard.core.instants import format_for_history, format_times_in_fact
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.models import ResultConfirmation, Score
from scoring.results.board.counting import CountingRun, counting_runs, gold_on_board
from scoring.results.board.standings import Board, round_to_12_digits
from scoring.results.board.visibility import (
    Audience,
    Visibility,
    shows_run_counts,
    visibility_of,
)
from tasks.gold.secrecy import shows_own_scores
from tasks.models import Gold, Phase, Submission, seasons
from tasks.seasons.phase_acts import lock_phase

State = ResultConfirmation.State


@dataclass(frozen=True)
class TeamResult:
    """The result of a run, which the team of the run confirms. ``has_fallen`` is True
    if the scores have changed since the team confirmed the result.
    """

    run: CountingRun
    gold: Gold
    numbers: str
    said: ResultConfirmation | None
    has_fallen: bool

    @property
    def is_confirmed(self) -> bool:
        return self.said is not None and self.said.state == State.CONFIRMED

    @property
    def is_contested(self) -> bool:
        return self.said is not None and self.said.state == State.CONTESTED


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    official_since: dt.datetime | None
    confirmed: int | None
    teams: int | None

    def as_dict(self) -> dict[str, object]:
        since = self.official_since
        return {
            "words": self.stored_words,
            "official_since": since and since.isoformat().replace("+00:00", "Z"),
            "confirmed": self.confirmed,
            "teams": self.teams,
        }

    @property
    def is_preliminary(self) -> bool:
        return self.official_since is None

    @property
    def sentence(self) -> str:
        """Return the state of the teams' confirmation as a sentence in English without
        a full stop, for tables and citations.
        """
        with translation.override(middleware.ENGLISH_CODE):
            return f"Results are {self.words}"

    @property
    def words(self) -> str:
        return format_times_in_fact(self.stored_words)

    @property
    def stored_words(self) -> str:
        """Return the state of the teams' confirmation in stored words, which do not
        change, so that snapshots keep their digests.
        """
        if self.official_since is not None:
            since = f"{format_for_history(self.official_since)} UTC"
            return _("official since %(time)s") % {"time": since}
        if self.teams is None:
            return _("preliminary: not every team has confirmed")
        words = ngettext(
            "preliminary: %(confirmed)s of %(teams)s has confirmed",
            "preliminary: %(confirmed)s of %(teams)s have confirmed",
            self.teams,
        )
        return words % {
            "confirmed": self.confirmed,
            "teams": count_with_noun(self.teams, "team"),
        }


def results_to_confirm(phase: Phase) -> list[TeamResult]:
    gold = gold_on_board(phase) if phase.task.rules else None
    if gold is None:
        return []
    counting = counting_runs(CountingRun, phase, phase.task.ranking_rules, gold)
    runs = {
        run.submission: run for run in counting if run.kind == Submission.Kind.PRIMARY
    }
    scores = Score.objects.filter(
        evaluation__submission__in=runs,
        evaluation__gold=gold,
        evaluation__rules__in=phase.task.rules,
    ).order_by("evaluation_id")
    # The dictionary maps a run and a rule set to the lines of the newest evaluation.
    last: dict[tuple[int, str], tuple[int, list[str]]] = {}
    for pk, rules, evaluation, metric, value, is_infinite in scores.values_list(
        "evaluation__submission",
        "evaluation__rules",
        "evaluation",
        "shared__metric",
        "value",
        "is_infinite",
    ):
        if last.get((pk, rules), (None,))[0] != evaluation:
            last[pk, rules] = evaluation, []
        printed = (
            "inf"
            if is_infinite
            else ""
            if value is None
            else repr(round_to_12_digits(value))
        )
        last[pk, rules][1].append(f"{rules} {metric} {printed}")
    lines: dict[int, list[str]] = defaultdict(list)
    for (pk, _rules), (_evaluation, of_evaluation) in last.items():
        lines[pk] += of_evaluation
    numbers = {
        pk: hashlib.sha256("\n".join(sorted(lines[pk])).encode()).hexdigest()
        for pk in runs
    }
    stated = ResultConfirmation.objects.filter(submission__in=runs).select_related("by")
    statements = {statement.submission_id: statement for statement in stated}
    results = []
    for run in sorted(runs.values(), key=lambda run: (run.team or "", run.number)):
        own, statement = numbers[run.submission], statements.get(run.submission)
        holds = statement is not None and statement.numbers == own
        has_fallen = statement is not None and not holds
        results.append(
            TeamResult(run, gold, own, statement if holds else None, has_fallen)
        )
    return results


def results_official_since(
    phase: Phase, results: Collection[TeamResult]
) -> dt.datetime | None:
    """Return the time when organisers ended the confirmation of results, or when the
    last team confirmed its result, and None before that time.
    """
    if phase.confirmation_ended_at is not None:
        return phase.confirmation_ended_at
    instants = [
        result.said.at
        for result in results
        if result.said is not None and result.is_confirmed
    ]
    return max(instants) if instants and len(instants) == len(results) else None


def count_confirmed_teams(results: Collection[TeamResult]) -> tuple[int, int]:
    by_team: dict[str | None, list[bool]] = defaultdict(list)
    for result in results:
        by_team[result.run.team_slug].append(result.is_confirmed)
    return sum(map(all, by_team.values())), len(by_team)


def confirmation_of(board: Board) -> Confirmation | None:
    """Return the state of the teams' confirmation of a board's results. The result is
    None if the phase requires no confirmation or has not ended, or if the reader does
    not see the current board.
    """
    phase = board.phase
    if (
        not phase.confirms_results
        or now() < phase.closes
        or board.visibility == Visibility.NOTHING
    ):
        return None
    if board.frozen_at is not None or board.gold != gold_on_board(phase):
        return None
    if not (results := results_to_confirm(phase)):
        return None
    confirmed, teams = (
        count_confirmed_teams(results)
        if shows_run_counts(phase, board.audience)
        else (None, None)
    )
    return Confirmation(
        official_since=results_official_since(phase, results),
        confirmed=confirmed,
        teams=teams,
    )


def why_confirmation_is_closed(phase: Phase) -> str:
    """Return the reason why teams currently cannot confirm results, or an empty text."""
    if not phase.confirms_results:
        return _("%(phase)s does not ask teams to confirm their results") % {
            "phase": phase
        }
    if now() < phase.closes:
        return _("results are confirmed once %(phase)s has closed") % {"phase": phase}
    if phase.confirmation_ended_at is not None:
        return _("the organisers have ended the confirmation; the results are official")
    if phase.is_frozen():
        return _("the board is frozen; results are confirmed once it is revealed")
    if not shows_own_scores(phase):
        return _(
            "teams do not see the scores of their runs yet; results are confirmed once they do"
        )
    newest, stands_on = Gold.objects.current(phase), gold_on_board(phase)
    if newest is not None and stands_on != newest:
        return _(
            "runs are being scored against gold v%(number)s; results are confirmed once they all are"
        ) % {"number": newest.number}
    return ""


MAX_ERRATUM_CHARACTERS = 2000


@dataclass(frozen=True, kw_only=True)
class Erratum:
    text: str
    published_at: dt.datetime


def publish_erratum(*, phase: Phase, text: str, by: User) -> Erratum:
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise ValidationError({"text": _("say what was wrong, and what holds now")})
    words = _("the text has %(characters)s characters; at most %(most)s are allowed")
    plain_text.check_length("text", text, MAX_ERRATUM_CHARACTERS, words)
    at = timezone.now()
    with transaction.atomic():
        locked = lock_phase(phase)
        locked.errata.append({"at": at.isoformat(), "text": text})
        locked.save(update_fields=["errata"])
        seasons.increment_board_version(locked.pk)
        facts, changes = (
            {"phase": f"{locked.task}, {locked}"},
            [audit.Change("erratum", None, text)],
        )
        place = locked.task.season
        audit.record(
            "erratum",
            actor=by,
            subject=locked,
            place=place,
            facts=facts,
            changes=changes,
        )
    return Erratum(text=text, published_at=at)


def all_errata(phase: Phase) -> list[Erratum]:
    return [
        Erratum(text=one["text"], published_at=dt.datetime.fromisoformat(one["at"]))
        for one in reversed(phase.errata)
    ]


def visible_errata(
    phase: Phase, audience: Audience, since: dt.datetime | None = None
) -> list[Erratum]:
    if not phase.errata or visibility_of(phase, audience) == Visibility.NOTHING:
        return []
    return [
        one for one in all_errata(phase) if since is None or one.published_at >= since
    ]
