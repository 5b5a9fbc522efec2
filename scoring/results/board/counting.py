"""How many runs a phase has, and which version of the gold its board stands on."""

import datetime as dt
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from django.core.cache import caches
from django.db import connection
from django.db.models import DateTimeField, Exists, OuterRef, Q, QuerySet
from django.utils.timezone import now

from citeboard.core.database import FEW, Prepared, few
from citeboard.core.models import AuditEntry
from citeboard.teams.models import Membership, Team
from scoring.models import Evaluation, FrozenBoard, ManualMeasure, Score
from tasks.gold.secrecy import ASKED
from tasks.models import (
    Acknowledgement,
    Gold,
    GoldOverlap,
    Job,
    Organiser,
    Phase,
    Registration,
    Season,
    Submission,
    Tallied,
    Task,
    TeamFigure,
)


class Turnout(NamedTuple):
    teams: int
    runs: int


def turnout(phase: Phase) -> Turnout:
    row = _first_row(_SENT, {"phase": phase.pk, "season": phase.task.season_id})
    assert row is not None
    return Turnout(row[0], int(row[1] or 0))


def has_figures_beside(phase: Phase) -> tuple[bool, bool]:
    """Whether teams have told numbers of their own, and whether organisers have entered any."""
    figures, measures = _first_row(_BESIDE, {"phase": phase.pk}) or (False, False)
    return bool(figures), bool(measures)


_golds = Prepared(
    lambda split, task: Gold.objects.filter(task=task, split=split).order_by("-number")
)


def board_gold(phase: Phase) -> Gold | None:
    golds = _golds(phase.split, phase.task_id)
    versions = golds[:2]
    if len(versions) < 2:
        return versions[0] if versions else None
    key = f"board-gold:{phase.pk}:{phase.version}:{versions[0].pk}"
    number = caches["results"].get(key)
    if number is None:
        *newer, oldest = golds
        is_through = (
            gold
            for gold in newer
            if not (unsettled(phase, gold) | failed_against(phase, gold)).exists()
        )
        number = next(is_through, oldest).pk
        caches["results"].set(key, number, 600)
    newest = {version.pk: version for version in versions}
    return newest.get(number) or Gold.objects.get(pk=number)


def failed_against(phase: Phase, gold: Gold) -> QuerySet[Submission]:
    """Runs with numbers by an older version that could not be scored by this one, which nobody has
    acknowledged: until then the board keeps the old numbers.
    """
    rules = phase.task.ranking_rules if phase.task.rules else ""
    earlier = Evaluation.objects.filter(
        submission=OuterRef("pk"), gold__number__lt=gold.number, rules=rules
    )
    own = Evaluation.objects.filter(submission=OuterRef("pk"), gold=gold, rules=rules)
    failed = Job.objects.filter(
        submission=OuterRef("pk"), gold=gold, rules=rules, state=Job.State.FAILED
    )
    failed = failed.exclude(Acknowledgement.objects.of_job())
    runs = Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
    return runs.filter(Exists(earlier), Exists(failed), ~Exists(own)).order_by()


def gold_at(phase: Phase, instant: dt.datetime) -> Gold | None:
    rules = phase.task.ranking_rules if phase.task.rules else ""
    noted = FrozenBoard.objects.filter(
        phase=phase, rules=rules, frozen_from=instant
    ).select_related("gold")
    if board := noted.first():
        return board.gold
    versions = Gold.objects.filter(
        task=phase.task_id, split=phase.split, created_at__lte=instant
    )
    scores = Evaluation.objects.known_at(instant).filter(
        phase=phase, rules=rules, submission__status=Submission.Status.SCORED
    )
    oldest = None
    for oldest in versions.order_by("-number"):
        scored = scores.filter(submission=OuterRef("submission"), gold=oldest)
        if not scores.filter(
            ~Exists(scored), ~Exists(_given_up("submission", oldest, rules))
        ).exists():
            break
    return oldest


def unsettled(phase: Phase, gold: Gold) -> QuerySet[Submission]:
    rules = phase.task.ranking_rules if phase.task.rules else ""
    scored = Evaluation.objects.filter(
        submission=OuterRef("pk"), gold=gold, rules=rules
    )
    runs = Submission.objects.filter(phase=phase, status=Submission.Status.SCORED)
    return runs.filter(
        ~Exists(scored), ~Exists(_given_up("pk", gold, rules))
    ).order_by()


def _given_up(run: str, gold: Gold, rules: str | OuterRef) -> QuerySet[Job]:
    states = (Job.State.FAILED, Job.State.CANCELLED)
    return Job.objects.filter(
        submission=OuterRef(run), gold=gold, rules=rules, state__in=states
    )


def told_otherwise(phase: Phase) -> Q:
    """Evaluations of which something else is told now, as at the end of a phase whose split has parts."""
    at, of_people = now(), Q(submission__kind=Submission.Kind.HUMAN)
    return (~of_people & ~Q(release=phase.release_at(at))) | (
        of_people & ~Q(release=phase.part_at(at))
    )


def is_being_released(phase: Phase) -> bool:
    """Whether of a phase that is over some runs are scored on the private part, or beyond the Ladder, and
    some are not yet: their numbers would stand side by side. Asked once for each phase that was read.
    """
    if not (phase.public_part or phase.ladder) or now() < phase.takes_runs_until:
        return False
    known: bool | None = phase.__dict__.get("is_being_released")
    if known is None:
        gold = Gold.objects.current(phase)
        own = Evaluation.objects.filter(
            phase=phase, gold=gold, submission__status=Submission.Status.SCORED
        ).order_by()
        known = gold is not None and own.exclude(told_otherwise(phase)).exists()
        if known and gold is not None:
            given_up = Exists(_given_up("submission", gold, OuterRef("rules")))
            known = own.filter(~given_up, told_otherwise(phase)).exists()
        phase.__dict__["is_being_released"] = known
    return known


@dataclass(slots=True)
class CountingRun:
    evaluation: int
    submission: int
    system: str
    kind: str
    number: int
    submitted_at: dt.datetime
    team: str | None = None
    team_slug: str | None = None
    card: Mapping[str, str] = field(default_factory=dict)
    alias: int | None = None
    priority: int = 0
    #: Another once it was scored anew.
    scoring: str = ""
    has_organiser: bool = False


Run = TypeVar("Run", bound=CountingRun)

ScoreRow = tuple[int, int, int, float | None, float | None, float | None]

_MODELS = (
    AuditEntry,
    Evaluation,
    Gold,
    GoldOverlap,
    ManualMeasure,
    Membership,
    Organiser,
    Phase,
    Registration,
    Score,
    Season,
    Submission,
    Tallied,
    Task,
    Team,
    TeamFigure,
)
_OF_SQLITE, _OF_POSTGRESQL = (
    ("GROUP_CONCAT", "JSON_ARRAY"),
    ("STRING_AGG", "JSON_BUILD_ARRAY"),
)
_FUNCTIONS = _OF_POSTGRESQL if connection.vendor == "postgresql" else _OF_SQLITE
_NAMES = {
    model.__name__.lower(): connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  (public by name)
    for model in _MODELS
} | dict(zip(("joined", "listed"), _FUNCTIONS, strict=True))
_with_names = cache(partial(str.format, **_NAMES))
#: The statements below are the same for SQLite and PostgreSQL; what is put together in them are names of our
#: own tables, and values are parameters. By hand since the ORM takes longer to write them than the database
#: to answer: 60 times as long for the facts of a phase, 5 times for the scores of a small board.
_RUN = """(
    SELECT e.id FROM {evaluation} e JOIN {submission} s ON s.id = e.submission_id
    WHERE e.phase_id = %(phase)s AND e.rules = %(rules)s AND e.team_id = r.team_id AND e.gold_id = %(gold)s
    AND s.status = %(scored)s AND s.kind = %(primary)s AND NOT s.is_late AND s.exclusion = ''
    {further} LIMIT 1
)"""
_BEST = _RUN.replace(
    "{further}",
    "AND e.rank_value IS NOT NULL ORDER BY e.rank_value DESC, e.submitted_at, e.id",
)
_EARLIEST = _RUN.replace("{further}", "ORDER BY e.submitted_at, e.id")
#: A team whose last run was withdrawn or disqualified has no last run: an earlier one does not come back by
#: that. One that is hidden, such as somebody's copy, leaves its place to the one before.
_LAST = _RUN.replace(
    "{further}",
    """AND NOT EXISTS (
        SELECT 1 FROM {submission} later WHERE later.phase_id = s.phase_id AND later.team_id = s.team_id
        AND later.kind = %(primary)s AND NOT later.is_late AND (later.submitted_at > s.submitted_at
        OR (later.submitted_at = s.submitted_at AND later.number > s.number))
        AND (later.status = %(withdrawn)s OR later.exclusion = %(disqualified)s)
    ) ORDER BY e.submitted_at DESC, e.id DESC""",
)
#: Each run of its own; of several evaluations under other options the newest.
_EVERY = """
    SELECT MAX(e.id) FROM {evaluation} e JOIN {submission} s ON s.id = e.submission_id
    JOIN {registration} r ON r.team_id = e.team_id AND r.season_id = %(season)s AND r.is_approved {of}
    WHERE e.phase_id = %(phase)s AND e.rules = %(rules)s AND e.gold_id = %(gold)s AND s.status = %(scored)s
    AND s.kind = %({kind})s AND NOT s.is_late AND s.exclusion = '' GROUP BY e.submission_id
"""
#: A run that was withdrawn or excluded keeps its place, so that no other moves up by that.
_BEFORE = """
    SELECT COUNT(*) FROM {submission} b WHERE b.phase_id = s.phase_id AND b.team_id = s.team_id
    AND b.kind = %(primary)s AND NOT b.is_late AND b.status IN ({counted})
    AND (b.priority < s.priority OR (b.priority = s.priority AND b.number < s.number))
""".replace("{counted}", ", ".join(f"'{status}'" for status in Submission.COUNTED))
_PRIORITY = _EVERY.replace("{kind}", "primary").replace(
    "GROUP BY", f"AND ({_BEFORE}) < %(judged)s GROUP BY"
)
_SELECTED = _RUN.replace(
    "{further}", "AND s.is_selected ORDER BY e.submitted_at DESC, e.id DESC"
)
#: Undefined values are looked for only where a team has no other, so that the index gives the order.
_ONE_A_TEAM = "SELECT {choice} FROM {registration} r WHERE r.season_id = %(season)s AND r.is_approved {of}"
_CHOICES = {
    Phase.Counting.BEST: _ONE_A_TEAM.replace(
        "{choice}", f"COALESCE({_BEST}, {_EARLIEST})"
    ),
    Phase.Counting.LAST: _ONE_A_TEAM.replace("{choice}", _LAST),
    Phase.Counting.SELECTED: _ONE_A_TEAM.replace("{choice}", _SELECTED),
    Phase.Counting.ALL: _EVERY.replace("{kind}", "primary"),
    Phase.Counting.PRIORITY: _PRIORITY,
}
_CONTRASTIVE = f" UNION ALL {_EVERY.replace('{kind}', 'contrastive')}"
#: With the sign SQLite does not go through all that was scored on this gold.
_TEAMLESS = """
    UNION ALL
    SELECT MAX(e.id) FROM {evaluation} e JOIN {submission} s ON s.id = e.submission_id
    WHERE e.phase_id = %(phase)s AND e.rules = %(rules)s AND +e.gold_id = %(gold)s AND e.team_id IS NULL
    AND s.status = %(scored)s AND s.kind IN (%(baseline)s, %(human)s) GROUP BY e.submission_id
"""
#: Of a frozen board, what stood on it: what was withdrawn since stays, what organisers excluded goes.
_KEPT = """
    SELECT e.id FROM {evaluation} e JOIN {submission} s ON s.id = e.submission_id
    WHERE e.id IN ({kept}) AND e.gold_id = %(gold)s AND s.exclusion = ''
"""
_ON_GOLD = "e.gold_id = %(gold)s"
_KNOWN = f"{_ON_GOLD} AND COALESCE(e.replaced_at, e.created_at) <= %(instant)s"
_COUNTING = """
WITH counting(id) AS (
    {choice}
)
SELECT e.team_id, e.id, e.submission_id, s.system, s.kind, s.number, e.submitted_at, t.name, t.slug, s.card,
own.alias, s.priority, e.statistics || COALESCE(CAST(e.replaced_at AS TEXT), ''),
e.team_id IN (
    SELECT m.team_id FROM {membership} m JOIN {organiser} o ON o.user_id = m.user_id
    WHERE o.season_id = %(season)s
)
FROM counting c JOIN {evaluation} e ON e.id = c.id JOIN {submission} s ON s.id = e.submission_id
LEFT JOIN {team} t ON t.id = e.team_id
LEFT JOIN {registration} own ON own.team_id = e.team_id AND own.season_id = %(season)s
"""
_SCORES = """
SELECT evaluation_id, id, shared_id, value, low, high FROM {score} WHERE evaluation_id IN ({places})
"""
#: Names each place by which a team counts as one with an organiser in it.
_PLACES = """
SELECT {joined}(place, ',') FROM (
    SELECT m.id || '-' || o.id AS place FROM {membership} m JOIN {organiser} o ON o.user_id = m.user_id
    WHERE o.season_id = %(season)s ORDER BY m.id, o.id
) places
"""
_ROWS = (("p", Phase), ("t", Task), ("s", Season))
#: The declared settings that boards follow from, as the database has them, and which of their instants came.
_SHOWN = [
    f"{table}.{name}"
    for table, model in _ROWS
    for name in model.settings_that("on_board")
]
_COME = [
    f"{table}.{name} <= %(now)s"
    for table, model in _ROWS
    for name in model.settings_that("on_board")
    if isinstance(model.field(name), DateTimeField)
]
#: Names what other phases on any of the same gold keep back, as far as it follows from their settings.
_OTHERS = """
SELECT {joined}(fact, ' ') FROM (
    SELECT {asked} AS fact FROM {phase} o JOIN {task} u ON u.id = o.task_id WHERE o.id <> p.id AND o.id IN (
        SELECT b.id FROM {phase} b WHERE b.task_id = p.task_id AND b.split = p.split
        UNION SELECT c.id FROM {gold} g JOIN {goldoverlap} x ON x.gold_id = g.id
        AND (x.binds AND x.held > 0 OR x.is_claimed)
        JOIN {gold} h ON h.id = x.other_id JOIN {phase} c ON c.task_id = h.task_id AND c.split = h.split
        WHERE g.task_id = p.task_id AND g.split = p.split
    ) ORDER BY o.id
) others
""".replace(
    "{asked}",
    " || '-' || ".join(
        [
            "CAST(o.id AS TEXT)",
            "CAST(o.version AS TEXT)",
            "CAST(u.min_class_size AS TEXT)",
            *(
                f"CASE WHEN o.{name} <= %(now)s THEN '1' ELSE '0' END"
                if isinstance(Phase.field(name), DateTimeField)
                else f"CAST(o.{name} AS TEXT)"
                for name in ASKED
            ),
        ]
    ),
)
#: Names which versions there are, sealed or not, and what other gold has of them.
_VERSIONS = """
SELECT COUNT(g.sealed_at)
|| '-' || COALESCE(MAX(g.id), 0) || '-' || COUNT(x.id) || '-' || COALESCE(MAX(x.id), 0)
FROM {gold} g LEFT JOIN {goldoverlap} x ON x.gold_id = g.id AND (x.binds OR x.is_claimed)
WHERE g.task_id = p.task_id AND g.split = p.split
"""
_FACTS = (
    """
SELECT p.id, p.version, p.confirmation_ended_at, ({places}), ({others}), ({versions}),
CAST({listed}({shown}) AS TEXT)
FROM {phase} p JOIN {task} t ON t.id = p.task_id JOIN {season} s ON s.id = t.season_id
WHERE s.slug = %(season)s AND t.slug = %(task)s AND p.slug = %(phase)s AND s.is_public
""".replace("{places}", _PLACES.replace("%(season)s", "s.id"))
    .replace("{others}", _OTHERS)
    .replace("{versions}", _VERSIONS)
    .replace("{shown}", ", ".join(_SHOWN + _COME))
    .format(**_NAMES)
)

#: Triggers keep how many there are.
_SENT = """
SELECT COUNT(*), SUM(sent) FROM (
    SELECT SUM(t.number) AS sent FROM {tallied} t
    JOIN {registration} r ON r.team_id = t.team AND r.season_id = %(season)s AND r.is_approved
    WHERE t.what = 'run' AND t.phase = %(phase)s GROUP BY t.team HAVING SUM(t.number) > 0
) numbers
"""
_BESIDE = """
SELECT EXISTS (SELECT 1 FROM {teamfigure} WHERE phase_id = %(phase)s),
EXISTS (SELECT 1 FROM {manualmeasure} WHERE phase_id = %(phase)s)
"""
_SITE = """
SELECT (SELECT MAX(id) FROM {auditentry}), (SELECT COUNT(*) FROM {season} WHERE is_public),
(SELECT COUNT(*) FROM {season} WHERE anonymous_until <= %(now)s),
(SELECT COUNT(*) FROM {registration} WHERE is_approved), COUNT(*), SUM(version),
SUM(CASE WHEN opens <= %(now)s THEN 1 END), SUM(CASE WHEN closes <= %(now)s THEN 1 END),
SUM(CASE WHEN board_from <= %(now)s THEN 1 END), SUM(CASE WHEN inputs_from <= %(now)s THEN 1 END),
SUM(CASE WHEN frozen_from <= %(now)s THEN 1 END), SUM(CASE WHEN frozen_until <= %(now)s THEN 1 END)
FROM {phase}
"""


def site_facts() -> tuple[Any, ...]:
    """What changes with every change of state, every score and every deadline of the whole site."""
    facts = _first_row(_SITE, {})
    assert facts is not None
    return facts


def organisers_in_teams(season: int) -> object:
    """Another one where an organiser comes into a team or leaves it, or a member comes to run the season."""
    facts = _first_row(_PLACES, {"season": season})
    assert facts is not None
    return facts[0]


def public_facts(season: str, task: str, phase: str) -> tuple[Any, ...] | None:
    return _first_row(_FACTS, {"season": season, "task": task, "phase": phase})


def _first_row(statement: str, values: dict[str, str | int]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(_with_names(statement), values | {"now": now()})
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


#: Of a board with more rows none are kept, so that a process stays small.
MAX_KEPT = 5_000


def counting_runs(
    made: type[Run],
    phase: Phase,
    rules: str,
    gold: Gold,
    at: dt.datetime | None = None,
    *,
    by_version: bool = False,
) -> list[Run]:
    """By the phase's choice, with baselines and human line; ``at`` is when the board was frozen. With
    ``by_version`` rows of an earlier version are taken, and those of teams whose runs changed since are read.
    """
    if at is not None or not by_version:
        return [made(*facts) for _team, *facts in _read(phase, rules, gold, at)]
    chosen = phase.counting, phase.judged_runs, phase.shows_contrastive
    key = f"counting:{(phase.pk, rules, gold.pk, chosen, organisers_in_teams(phase.task.season_id))}"
    version, rows = caches["boards"].get(key, (0, []))
    changed = phase.changed_since(version) if rows else None
    if changed is None or len(changed) > FEW:
        rows = _read(phase, rules, gold)
    elif changed:
        rows = [row for row in rows if row[0] not in changed] + _read(
            phase, rules, gold, teams=changed
        )
    if len(rows) <= MAX_KEPT:
        caches["boards"].set(key, (phase.version, rows), 3600)
    return [made(*facts) for _team, *facts in rows]


def _read(
    phase: Phase,
    rules: str,
    gold: Gold,
    at: dt.datetime | None = None,
    teams: Collection[int] = (),
) -> list[list[Any]]:
    """Team and facts of each row; of some teams alone where these are given."""
    noted = (
        FrozenBoard.objects.filter(phase=phase, rules=rules, gold=gold, frozen_from=at)
        if at
        else None
    )
    stood = (
        noted.values_list("evaluations", flat=True).first()
        if noted is not None
        else None
    )
    if stood == []:
        return []
    choice = _CHOICES[Phase.Counting(phase.counting)]
    choice += (_CONTRASTIVE if phase.shows_contrastive else "") + (
        "" if teams else _TEAMLESS
    )
    if stood:
        choice = _KEPT.replace("{kept}", ", ".join(map(str, stood)))
    if at is not None:
        choice = choice.replace(_ON_GOLD, _KNOWN)
    values: dict[str, Any] = {
        "instant": connection.ops.adapt_datetimefield_value(at) if at else None,
        "season": phase.task.season_id,
        "phase": phase.pk,
        "rules": rules,
        "gold": gold.pk,
        "scored": Submission.Status.SCORED.value,
        "withdrawn": Submission.Status.WITHDRAWN.value,
        "primary": Submission.Kind.PRIMARY.value,
        "contrastive": Submission.Kind.CONTRASTIVE.value,
        "baseline": Submission.Kind.BASELINE.value,
        "human": Submission.Kind.HUMAN.value,
        "disqualified": Submission.Exclusion.DISQUALIFIED.value,
        "judged": phase.judged_runs,
    }
    with connection.cursor() as cursor:
        places, given = few("team", teams)
        of = f"AND r.team_id IN ({places})" if teams else ""
        cursor.execute(
            _COUNTING.replace("{choice}", choice).format(**_NAMES, of=of),
            values | given,
        )
        rows = cursor.fetchall()
    runs = []
    for *begin, sent, team, slug, card, alias, priority, scoring, has_organiser in rows:
        # Both databases give JSON as text here, and SQLite times, in UTC.
        submitted_at = (
            dt.datetime.fromisoformat(f"{sent}+00:00")
            if isinstance(sent, str)
            else sent
        )
        fields = {} if card == "{}" else json.loads(str(card))
        runs.append(
            [
                *begin,
                submitted_at,
                team,
                slug,
                fields,
                alias,
                priority,
                scoring,
                bool(has_organiser),
            ]
        )
    return runs


def scores_of(evaluations: Sequence[int]) -> list[ScoreRow]:
    if not evaluations:
        return []
    places = ", ".join(["%s"] * len(evaluations))
    with connection.cursor() as cursor:
        cursor.execute(_SCORES.format(**_NAMES, places=places), list(evaluations))
        return list(cursor.fetchall())
