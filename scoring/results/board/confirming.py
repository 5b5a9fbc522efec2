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
from citeboard.core.instants import format_history_time, localize_times_in_history_value
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.models import ResultConfirmation, Score
from scoring.results.board.counting import (
    RunShownOnBoard,
    find_gold_on_board,
    find_runs_shown_on_board,
)
from scoring.results.board.standings import Board, round_to_12_digits
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_board_visibility,
    shows_run_counts,
)
from tasks.gold.secrecy import are_own_scores_visible_to_teams
from tasks.models import Gold, Phase, Submission, seasons
from tasks.seasons.phase_acts import lock_phase

ConfirmationState = ResultConfirmation.State


@dataclass(frozen=True)
class ResultToConfirm:
    """The result of a run, which the team of the run confirms. ``has_fallen`` is True
    if the scores have changed since the team confirmed the result.
    """

    run: RunShownOnBoard
    gold: Gold
    numbers: str
    said: ResultConfirmation | None
    has_fallen: bool

    @property
    def is_confirmed(self) -> bool:
        return self.said is not None and self.said.state == ConfirmationState.CONFIRMED

    @property
    def is_contested(self) -> bool:
        return self.said is not None and self.said.state == ConfirmationState.CONTESTED


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    official_since: dt.datetime | None
    confirmed: int | None
    teams: int | None

    def as_dict(self) -> dict[str, object]:
        since = self.official_since
        return {
            "words": self.untranslated_state_text,
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
        with translation.override(middleware.ENGLISH_LANGUAGE_CODE):
            return f"Results are {self.words}"

    @property
    def words(self) -> str:
        return localize_times_in_history_value(self.untranslated_state_text)

    @property
    def untranslated_state_text(self) -> str:
        """Return the state of the teams' confirmation in stored words, which do not
        change, so that snapshots keep their digests.
        """
        if self.official_since is not None:
            since = f"{format_history_time(self.official_since)} UTC"
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


def find_results_to_confirm(phase: Phase) -> list[ResultToConfirm]:
    gold = find_gold_on_board(phase) if phase.task.rules else None
    if gold is None:
        return []
    counting = find_runs_shown_on_board(
        RunShownOnBoard, phase, phase.task.ranking_rules, gold
    )
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
            ResultToConfirm(run, gold, own, statement if holds else None, has_fallen)
        )
    return results


def find_time_results_became_official(
    phase: Phase, results: Collection[ResultToConfirm]
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


def count_confirmed_and_all_teams(
    results: Collection[ResultToConfirm],
) -> tuple[int, int]:
    by_team: dict[str | None, list[bool]] = defaultdict(list)
    for result in results:
        by_team[result.run.team_slug].append(result.is_confirmed)
    return sum(map(all, by_team.values())), len(by_team)


def compute_confirmation_of_board(board: Board) -> Confirmation | None:
    """Return the state of the teams' confirmation of a board's results. The result is
    None if the phase requires no confirmation or has not ended, or if the reader does
    not see the current board.
    """
    phase = board.phase
    if (
        not phase.confirms_results
        or now() < phase.closes
        or board.visibility == BoardVisibility.NOTHING
    ):
        return None
    if board.frozen_at is not None or board.gold != find_gold_on_board(phase):
        return None
    if not (results := find_results_to_confirm(phase)):
        return None
    confirmed, teams = (
        count_confirmed_and_all_teams(results)
        if shows_run_counts(phase, board.audience)
        else (None, None)
    )
    return Confirmation(
        official_since=find_time_results_became_official(phase, results),
        confirmed=confirmed,
        teams=teams,
    )


def explain_closed_confirmation(phase: Phase) -> str:
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
    if not are_own_scores_visible_to_teams(phase):
        return _(
            "teams do not see the scores of their runs yet; results are confirmed once they do"
        )
    newest, stands_on = Gold.objects.current(phase), find_gold_on_board(phase)
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
            [audit.SettingChange("erratum", None, text)],
        )
        place = locked.task.season
        audit.record_action(
            "erratum",
            actor=by,
            subject=locked,
            place=place,
            facts=facts,
            changes=changes,
        )
    return Erratum(text=text, published_at=at)


def list_all_errata(phase: Phase) -> list[Erratum]:
    return [
        Erratum(text=one["text"], published_at=dt.datetime.fromisoformat(one["at"]))
        for one in reversed(phase.errata)
    ]


def list_visible_errata(
    phase: Phase, audience: Audience, since: dt.datetime | None = None
) -> list[Erratum]:
    if (
        not phase.errata
        or determine_board_visibility(phase, audience) == BoardVisibility.NOTHING
    ):
        return []
    return [
        one
        for one in list_all_errata(phase)
        if since is None or one.published_at >= since
    ]
