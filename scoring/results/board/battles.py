"""Compute the board of battles of a phase, which ranks systems by pairwise judgements."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet

from citeboard.core.plain_text import format_spreadsheet_cell
from scoring.models import Preference, Sheet
from scoring.offline.battles import convert_battle_results_to_json
from scoring.results.board.exports import format_as_csv
from scoring.results.board.visibility import (
    AUDIENCES_OF_SEASON_STAFF,
    Audience,
    BoardVisibility,
    determine_battle_board_visibility,
    find_freeze_time_for_audience,
    shows_teams,
)
from scoring.stats.battles import (
    Battle,
    BattleResults,
    BattleStanding,
    compute_battle_results,
)
from tasks.models import Phase, Registration, Submission
from tasks.types.jsonlines import format_as_json_lines, replace_unpaired_surrogates
from tasks.types.text import normalise_to_nfc

#: In a phase with battles but no scores, runs in the states UNSCORED_RUN_STATES are also compared.
UNSCORED_RUN_STATES = (
    Submission.Status.QUEUED,
    Submission.Status.SCORING,
    Submission.Status.WAITING,
)
BATTLE_CSV_COLUMNS = (
    "rank",
    "rank_low",
    "rank_high",
    "system",
    "team",
    "run",
    "strength",
    "strength_low",
    "strength_high",
    "share",
    "share_low",
    "share_high",
)


def select_runs_for_battle_board(
    phase: Phase, at: dt.datetime | None = None
) -> QuerySet[Submission]:
    """Return the runs that a board of battles may include, which are not withdrawn, not
    excluded and not late.

    If the board is frozen, ``at`` is the time of the freeze. A frozen board includes
    runs that were withdrawn or that failed later, but not runs that organisers have
    excluded.
    """
    kinds = [Submission.Kind.PRIMARY]
    if phase.shows_contrastive:
        kinds.append(Submission.Kind.CONTRASTIVE)
    states = [
        Submission.Status.SCORED,
        *(UNSCORED_RUN_STATES if phase.battles_alone else ()),
    ]
    is_standing = Q(status__in=states)
    if at is not None:
        is_standing |= Q(status_since__gt=at)
    entered = Registration.objects.approved().filter(season=phase.task.season_id)
    of_teams = Q(kind__in=kinds, team__in=entered.values("team"))
    runs = Submission.objects.filter(
        is_standing,
        of_teams | Q(kind__in=Submission.TEAMLESS),
        phase=phase,
        exclusion="",
        is_late=False,
    )
    return runs.select_related("team").order_by("pk")


def build_unique_system_names(runs: Iterable[Submission]) -> dict[int, str]:
    """Return a name for each run, which is the system's name, and also has the run's id
    if several runs have the same system.
    """
    systems = {run.pk: _normalise_unicode(run.system) for run in runs}
    counts = Counter(systems.values())
    return {
        pk: system if counts[system] == 1 else f"{system} #{pk}"
        for pk, system in systems.items()
    }


def index_runs_by_system_name(
    runs: Sequence[Submission], preferred: Iterable[int] = ()
) -> dict[str, Submission]:
    """Return the runs keyed by the name of the system, and by the name with the run's
    id, as in files of battles.

    If several runs have the same system, the name of the system alone refers to its
    only run in ``preferred``, or to no run.
    """
    named = {f"{_normalise_unicode(run.system)} #{run.pk}": run for run in runs}
    first = set(preferred)
    by_system: dict[str, list[Submission]] = {}
    for run in runs:
        by_system.setdefault(_normalise_unicode(run.system), []).append(run)
    for system, own in by_system.items():
        chosen = [run for run in own if run.pk in first] if len(own) > 1 else own
        if len(chosen) == 1:
            named[system] = chosen[0]
    return named


def _normalise_unicode(text: str) -> str:
    return normalise_to_nfc(replace_unpaired_surrogates(text))


def find_published_pair_sheets(
    phase: Phase, at: dt.datetime | None = None
) -> QuerySet[Sheet]:
    sheets = Sheet.objects.pairs().published().filter(phase=phase)
    return sheets if at is None else sheets.filter(published_at__lte=at)


def build_judge_names_for_export(sheets: QuerySet[Sheet]) -> dict[int, str]:
    """Return the names of judges in exported files, where programs have their own names
    and people have pseudonyms.
    """
    names: dict[int, str] = {}
    for sheet in sheets.order_by("pk").prefetch_related("annotators"):
        judges = sorted(sheet.annotators.all(), key=lambda judge: judge.pk)
        for number, judge in enumerate(judges, start=1):
            pseudonym = f"judge {sheet.pk}-{number}"
            names[judge.pk] = (
                _normalise_unicode(judge.name) if sheet.has_programs else pseudonym
            )
    return names


@dataclass(frozen=True)
class BattleBoardRow:
    """A row of a board of battles (pairwise judgements). ``team`` is empty if the name
    of the team must not be shown.
    """

    run: Submission
    team: str
    standing: BattleStanding


@dataclass(frozen=True, kw_only=True)
class BattleBoard:
    """The pairwise judgements between valid runs of a phase, and the board computed
    from the judgements.
    """

    phase: Phase
    battles: Sequence[Battle]
    runs: Mapping[str, Submission]
    shows_teams: bool

    @cached_property
    def board(self) -> BattleResults:
        return compute_battle_results(self.battles)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return the results that ``python -m scoring battles`` prints for the exported
        pairwise judgements.
        """
        return convert_battle_results_to_json(self.board)

    @property
    def lines(self) -> list[BattleBoardRow]:
        return [
            BattleBoardRow(run := self.runs[own.system], self._team_label(run), own)
            for own in self.board.standings
        ]

    def _team_label(self, run: Submission) -> str:
        if run.kind in Submission.TEAMLESS:
            return str(run.get_kind_display())
        return run.team.name if self.shows_teams and run.team else ""

    def as_csv(self) -> str:
        lines: list[Sequence[object]] = [BATTLE_CSV_COLUMNS]
        teams = {line.standing.system: line for line in self.lines}
        for row in self.facts["board"]:
            line = teams[row["system"]]
            numbers = [
                "" if row[name] is None else row[name]
                for name in BATTLE_CSV_COLUMNS[6:]
            ]
            lines.append(
                [
                    row["rank"],
                    *row["ranks"],
                    format_spreadsheet_cell(row["system"]),
                    format_spreadsheet_cell(line.team),
                    line.run.pk,
                    *numbers,
                ]
            )
        return format_as_csv(*lines)

    def battles_as_json_lines(self) -> str:
        """Return the pairwise judgements as JSON lines, which ``python -m scoring
        battles`` reads.
        """
        return format_as_json_lines(
            {
                "topic": own.topic,
                "left": own.left,
                "right": own.right,
                "label": own.label,
                "judge": own.judge,
            }
            for own in self.battles
        ).decode()


def _find_preferences_between_runs(
    sheets: QuerySet[Sheet], runs: QuerySet[Submission]
) -> QuerySet[Preference]:
    return Preference.objects.filter(
        annotator__sheet__in=sheets, left__in=runs, right__in=runs
    )


def build_battle_board_from_sheets(
    phase: Phase,
    sheets: QuerySet[Sheet],
    *,
    has_teams: bool,
    at: dt.datetime | None = None,
) -> BattleBoard | None:
    """Return the board of battles computed from these sheets of judgements, or None if
    the sheets have no judgements of valid runs.

    If the board is frozen, ``at`` is the time of the freeze.
    """
    runs = select_runs_for_battle_board(phase, at)
    rows = list(
        _find_preferences_between_runs(sheets, runs)
        .order_by("pk")
        .values_list("instance__name", "left", "right", "label", "annotator")
    )
    if not rows:
        return None
    numbers = {number for _, left, right, _, _ in rows for number in (left, right)}
    of_battles = {run.pk: run for run in runs if run.pk in numbers}
    names, judges = (
        build_unique_system_names(of_battles.values()),
        build_judge_names_for_export(sheets),
    )
    return BattleBoard(
        phase=phase,
        battles=[
            Battle(
                _normalise_unicode(topic),
                names[left],
                names[right],
                label,
                judges[judge],
            )
            for topic, left, right, label, judge in rows
        ],
        runs={names[number]: run for number, run in of_battles.items()},
        shows_teams=has_teams,
    )


def list_run_ids_on_battle_board(phase: Phase, audience: Audience) -> tuple[int, ...]:
    """Return the ids of the runs that the board of battles for this audience may
    include. Cache keys of the board contain these ids, because the version of the phase
    may not change with a run.
    """
    runs = select_runs_for_battle_board(
        phase, find_freeze_time_for_audience(phase, audience)
    )
    return tuple(runs.values_list("pk", flat=True))


def load_battle_board_for_audience(
    phase: Phase, audience: Audience
) -> BattleBoard | None:
    """Return the board of battles for this audience, or None if the audience may not
    see the board.
    """
    if determine_battle_board_visibility(phase, audience) != BoardVisibility.SCORES:
        return None
    at = find_freeze_time_for_audience(phase, audience)
    has_teams = audience in AUDIENCES_OF_SEASON_STAFF or shows_teams(phase, audience)
    sheets = find_published_pair_sheets(phase, at)
    return build_battle_board_from_sheets(phase, sheets, has_teams=has_teams, at=at)


def has_battle_board(phase: Phase, audience: Audience) -> bool:
    """Return True if the phase has a board of battles that this audience may see."""
    if phase.task.task_type.human_evaluation is None:
        return False
    if determine_battle_board_visibility(phase, audience) != BoardVisibility.SCORES:
        return False
    at = find_freeze_time_for_audience(phase, audience)
    # Judgements appear on the board only after the compared runs have been scored.
    return _find_preferences_between_runs(
        find_published_pair_sheets(phase, at), select_runs_for_battle_board(phase, at)
    ).exists()
