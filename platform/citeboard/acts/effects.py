"""Compute the effects of an organiser's action.

Perform the action, compare the season before and after the action, and roll back.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Model, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from citeboard.core import audit
from citeboard.core.instants import ENDLESS_TIME, format_day_and_time, format_utc_minute
from citeboard.core.models import AuditEntry
from citeboard.core.words import count_with_noun, join_names
from scoring.models import IS_RANKING_SCORE, Evaluation, Score
from scoring.results.board.confirming import results_official_since, results_to_confirm
from scoring.results.board.counting import (
    counting_runs,
    gold_on_board,
    runs_without_outcome_on_gold,
)
from scoring.results.board.embargo_table import (
    AUDIENCE_LABELS,
    shared_content_by_split,
    split_embargoes_of,
)
from scoring.results.board.formatting import score_text
from scoring.results.board.public_results import shows_named_public_teams
from scoring.results.board.standings import Row, rank
from tasks.delivery.notifications.events import DATE_KINDS
from tasks.delivery.notifications.wording import write_notification_text
from tasks.gold.content import Compared, count_instance_changes
from tasks.gold.early import CONTENT_KIND_LABELS
from tasks.gold.secrecy import NEVER_ENDING_EMBARGO, ContentKind
from tasks.models import (
    Delivery,
    ExtraTries,
    Gold,
    Job,
    Notification,
    Phase,
    Season,
    Submission,
    Task,
)
from tasks.seasons.file.entries import phase_prefix, task_prefix
from tasks.seasons.phase_acts import describe_board, describe_freeze
from tasks.submissions.submit import remaining_quota

_DESCRIPTIVE_SETTINGS = (
    "title",
    "summary",
    "board",
    "board_from",
    "board_then",
    "shows_teams",
    "inputs_from",
)
_NEVER_FOR_ALL_GROUPS = dict.fromkeys(AUDIENCE_LABELS, NEVER_ENDING_EMBARGO)


@dataclass(frozen=True, kw_only=True)
class Told:
    kind: str
    people: int
    mails: int
    title: str
    text: str
    is_at_once: bool


@dataclass(frozen=True)
class Moved:
    """A run whose rank or score an action changes.

    The rank and the score are empty texts if the run is not on a board.
    """

    phase: str
    system: str
    team: str
    before: str
    after: str
    score_before: str
    score_after: str


@dataclass(frozen=True, kw_only=True)
class GoldStep:
    split: str
    version: int
    digest: str
    before: int | None
    instances: int
    rows: int | None
    counts: Compared | None
    #: `shared` contains sentences about other splits with some of the same instances.
    shared: list[str]
    findings: list[dict[str, Any]]
    trivial: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MadePhase:
    title: str
    opens: str
    closes: str
    board: str
    own_scores: str
    frozen: str
    gold: str

    @classmethod
    def of(cls, phase: Phase) -> "MadePhase":
        return cls(
            title=f"{phase.task}, {phase}",
            opens=format_day_and_time(phase.opens, phase.zone),
            closes=_("no end")
            if phase.closes >= ENDLESS_TIME
            else format_day_and_time(phase.closes, phase.zone),
            board=describe_board(phase),
            own_scores=str(Phase.OwnRuns(phase.own_runs_show).label),
            frozen=describe_freeze(phase),
            gold=_("released") if phase.gold_is_public else _("not released"),
        )


@dataclass(frozen=True, kw_only=True)
class Steps:
    done: list[str] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    made: list[MadePhase] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """Sentences about the information that an organiser's action discloses or hides."""

    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Messages:
    told: list[Told] = field(default_factory=list)
    posted: int = 0


@dataclass(frozen=True, kw_only=True)
class ScoreChanges:
    gold: list[GoldStep] = field(default_factory=list)
    scored: list[str] = field(default_factory=list)
    scorings: list[dict[str, Any]] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Effects:
    steps: Steps = field(default_factory=Steps)
    disclosure: Disclosure = field(default_factory=Disclosure)
    messages: Messages = field(default_factory=Messages)
    scores: ScoreChanges = field(default_factory=ScoreChanges)
    changes_tries: bool = False

    @property
    def concern_others(self) -> bool:
        """Return True if the action affects people other than the season's organisers."""
        return bool(
            self.steps.made
            or self.disclosure.seen
            or self.disclosure.unseen
            or self.messages.told
            or self.messages.posted
            or self.scores.scored
            or self.scores.moved
            or self.changes_tries
        )


def effects_on(season: Season, do: Callable[[], Any]) -> Effects:
    """Perform the action, compare the season before and after the action, and roll
    back.

    The function raises every error that the action raises.
    """
    before = _SeasonState.of(season)
    with transaction.atomic():
        _leave_cached_boards(season)
        last = _LastRowIds.now()
        tries = set(_extra_tries(season))
        do()
        after = _SeasonState.of(Season.objects.get(pk=season.pk))
        entries = last.entries()
        changes = [
            change
            for entry in entries
            for change in entry.told_changes
            if change["key"] != "rows"
        ]
        made = [
            MadePhase.of(phase)
            for pk, phase in after.phases.items()
            if after.season.is_public and pk not in before.phases
        ]
        disclosure = _disclosure(before, after)
        messages = Messages(
            told=list(_notification_groups(last.notifications())),
            posted=last.deliveries().count(),
        )
        queued = set(last.jobs().values_list("submission__phase", flat=True).distinct())
        keys = [str(change["key"]) for change in changes]
        scores = _score_changes(before, after, queued, keys)
        changed = tries ^ set(_extra_tries(season))
        tries_then = {
            row: remaining_quota(row.phase, row.team).left
            for row in sorted(changed, key=lambda row: row.pk)
        }
        transaction.set_rollback(True)
    # A phase without a limit on runs grants teams no extra tries.
    limited = {row: left for row, left in tries_then.items() if left is not None}
    return Effects(
        steps=Steps(
            done=[
                *(entry.words for entry in entries),
                *(_extra_tries_text(row, left) for row, left in limited.items()),
            ],
            # The confirmation page lists changed gold versions in a separate table.
            changes=[change for change in changes if ".gold." not in change["key"]],
            made=made,
        ),
        disclosure=disclosure,
        messages=messages,
        scores=scores,
        changes_tries=bool(limited),
    )


def effects_of_new_season(made: Season, last_notification: int) -> Effects:
    """Return the effects of creating a season. Only organisers see a draft season."""
    phases = Phase.objects.filter(task__season=made).select_related("task__season")
    disclosure = Disclosure()
    if made.is_public:
        nothing = _SeasonState(season=Season(title=made.title))
        disclosure = _disclosure(nothing, _SeasonState.of(made))
    return Effects(
        steps=Steps(
            done=[entry.words for entry in audit.history_of_place(made)],
            made=[
                MadePhase.of(phase)
                for phase in phases.order_by("task__position", "position")
            ],
        ),
        disclosure=disclosure,
        messages=Messages(
            told=list(
                _notification_groups(
                    Notification.objects.filter(pk__gt=last_notification)
                )
            )
        ),
    )


def _leave_cached_boards(season: Season) -> None:
    """Give each phase of the season a new version number.

    The new versions hide boards that the rehearsal caches, because a rollback of the
    database does not clear the caches.
    """
    unique = 1 + secrets.randbelow(1 << 40)
    Phase.objects.filter(task__season=season).update(version=F("version") + unique)


def last_number(model: type[Model]) -> int:
    rows = getattr(model, "all_kinds", None) or model._default_manager  # noqa: SLF001  (documented)
    return int(rows.aggregate(last=Max("pk"))["last"] or 0)


@dataclass(frozen=True, kw_only=True)
class _LastRowIds:
    entry: int
    notification: int
    delivery: int
    job: int

    @classmethod
    def now(cls) -> "_LastRowIds":
        return cls(
            entry=last_number(AuditEntry),
            notification=last_number(Notification),
            delivery=last_number(Delivery),
            job=last_number(Job),
        )

    def entries(self) -> list[AuditEntry]:
        rows = AuditEntry.objects.filter(pk__gt=self.entry)
        return list(rows.exclude(action="let-out").order_by("pk"))

    def notifications(self) -> QuerySet[Notification]:
        return Notification.objects.filter(pk__gt=self.notification)

    def deliveries(self) -> QuerySet[Delivery]:
        return Delivery.objects.filter(pk__gt=self.delivery)

    def jobs(self) -> QuerySet[Job]:
        return Job.objects.filter(pk__gt=self.job).order_by()


def _extra_tries(season: Season) -> QuerySet[ExtraTries]:
    rows = ExtraTries.objects.filter(phase__task__season=season)
    return rows.select_related("team", "phase__task__season")


def _extra_tries_text(row: ExtraTries, left: int) -> str:
    message = _(
        "%(team)s may submit %(runs)s to %(task)s, %(phase)s, then; now %(now)s"
    )
    return message % {
        "team": row.team,
        "task": row.phase.task,
        "phase": row.phase,
        "runs": count_with_noun(left, "run"),
        "now": remaining_quota(row.phase, row.team).left,
    }


@dataclass(frozen=True, kw_only=True)
class _SeasonState:
    season: Season
    phases: dict[int, Phase] = field(default_factory=dict)
    #: `known` contains the time at which each audience may first see a kind of data.
    #: Each key of `known` consists of a task, a split of its data, and a kind of data.
    known: dict[tuple[str, str, ContentKind], dict[str, Any]] = field(
        default_factory=dict
    )
    gold: dict[tuple[int, str], Gold] = field(default_factory=dict)
    unscored: dict[int, int] = field(default_factory=dict)
    ranked: dict[int, dict[int, Row]] = field(default_factory=dict)
    settled: dict[int, str] = field(default_factory=dict)
    shared: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    scores: dict[int, str] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)

    @classmethod
    def of(cls, season: Season) -> "_SeasonState":
        phases = Phase.objects.filter(task__season=season).select_related(
            "task__season"
        )
        in_order = list(phases.order_by("task__position", "position", "opens"))
        by_number = (
            Gold.objects.filter(task__season=season)
            .select_related("task")
            .order_by("number")
        )
        golds = {(gold.task_id, gold.split): gold for gold in by_number}
        known = {
            (str(content.task), content.split, row.kind): row.times
            if content.versions
            else _NEVER_FOR_ALL_GROUPS
            for content in split_embargoes_of(season)
            for row in content.rows
        }
        scored = [
            phase
            for phase in in_order
            if (phase.task_id, phase.split) in golds and phase.task.rules
        ]
        ranked = {phase.pk: _rows_with_ranks(phase) for phase in scored}
        evaluations = [
            row.evaluation for rows in ranked.values() for row in rows.values()
        ]
        scores = Score.objects.filter(IS_RANKING_SCORE, evaluation__in=evaluations)
        return cls(
            season=season,
            phases={phase.pk: phase for phase in in_order},
            known=known,
            gold=golds,
            unscored={
                phase.pk: runs_without_outcome_on_gold(
                    phase, golds[phase.task_id, phase.split]
                ).count()
                for phase in scored
            },
            ranked=ranked,
            settled={
                phase.pk: words for phase in scored if (words := _results_phrase(phase))
            },
            shared=shared_content_by_split(season),
            scores={
                score.evaluation_id: score_text(score)
                for score in scores.select_related("shared")
            },
            tasks={task.pk: task for task in Task.objects.filter(season=season)},
        )


def _rows_with_ranks(phase: Phase) -> dict[int, Row]:
    """Return the ranked rows of the organisers' board.

    The keys of the mapping are the primary keys of the runs.
    """
    gold = gold_on_board(phase)
    rows = counting_runs(Row, phase, phase.task.ranking_rules, gold) if gold else []
    values = dict(
        Evaluation.objects.filter(pk__in=[row.evaluation for row in rows]).values_list(
            "pk", "rank_value"
        )
    )
    for row in rows:
        row.value = values[row.evaluation]
    rank(rows)
    return {row.submission: row for row in rows}


def _results_phrase(phase: Phase) -> str:
    """Return a phrase that the phase's results are confirmed or official, or an empty
    text.
    """
    if not phase.confirms_results or phase.closes > timezone.now():
        return ""
    results, named = results_to_confirm(phase), {"task": phase.task, "phase": phase}
    if results_official_since(phase, results) is not None:
        return _("the results of %(task)s, %(phase)s, are official") % named
    confirmed = sum(result.is_confirmed for result in results)
    message = ngettext(
        "%(number)s result of %(task)s, %(phase)s, is confirmed",
        "%(number)s results of %(task)s, %(phase)s, are confirmed",
        confirmed,
    )
    return message % {**named, "number": confirmed} if confirmed else ""


def _notification_groups(rows: Any) -> Iterable[Told]:
    by_kind: dict[str, list[Notification]] = {}
    for row in rows.select_related(
        "season", "team", "phase__task", "submission", "user"
    ).order_by("pk"):
        by_kind.setdefault(row.kind, []).append(row)
    for kind, told in by_kind.items():
        words = write_notification_text(told[0])
        yield Told(
            kind=kind,
            people=len({row.user_id for row in told}),
            mails=sum(row.job_id is not None for row in told),
            title=words.title,
            text=words.text,
            is_at_once=kind in DATE_KINDS,
        )


def _disclosure(before: _SeasonState, after: _SeasonState) -> Disclosure:
    disclosed = list(_sentences_on_embargoes(before, after))
    return Disclosure(
        seen=[words for is_new, words in disclosed if is_new],
        unseen=[words for is_new, words in disclosed if not is_new],
    )


def _new_tasks(before: _SeasonState, after: _SeasonState) -> Iterable[tuple[bool, str]]:
    message = _("Everybody: that there is %(season)s, with its pages")
    for pk in sorted(after.tasks.keys() - before.tasks.keys()):
        yield True, message % {"season": after.tasks[pk]}


def _sentences_on_embargoes(
    before: _SeasonState, after: _SeasonState
) -> Iterable[tuple[bool, str]]:
    """Yield a sentence about each change of an embargo.

    The boolean beside each sentence is True if people see data earlier than before, and
    False if the data become hidden.
    """
    was_public, is_public = before.season.is_public, after.season.is_public
    if was_public != is_public:
        message = _("Everybody: that there is %(season)s, with its pages")
        yield is_public, message % {"season": after.season}
    stays_public = was_public and is_public
    if stays_public:
        yield from _new_tasks(before, after)
    for pk, phase in after.phases.items() if stays_public else ():
        was_named = shows_named_public_teams(before.phases.get(pk, phase))
        is_named = shows_named_public_teams(phase)
        if was_named != is_named:
            message = _(
                "Everybody: which teams the runs of %(task)s, %(phase)s, are of"
            )
            yield is_named, message % {"task": phase.task, "phase": phase}
    for (task, split, kind), times in after.known.items():
        earlier = before.known.get((task, split, kind), _NEVER_FOR_ALL_GROUPS)
        groups: dict[tuple[Any, Any], list[str]] = {}
        for group, at in times.items():
            was = earlier[group]
            is_lost = was is None and at is not None and stays_public
            is_sooner = was is not None and (at is None or at < was)
            if is_lost or is_sooner:
                groups.setdefault((was, at), []).append(str(AUDIENCE_LABELS[group]))
        for (was, at), names in groups.items():
            message = _(
                "%(who)s: %(what)s of %(task)s, %(split)s, %(after)s; before: %(before)s"
            )
            facts = {
                "who": join_names(names),
                "what": CONTENT_KIND_LABELS[kind],
                "task": task,
                "split": split,
                "after": _start_in_words(at),
                "before": _start_in_words(was),
            }
            yield was is not None, message % facts


def _start_in_words(at: Any) -> str:
    if at is None:
        return _("now")
    return (
        _("never")
        if at == NEVER_ENDING_EMBARGO
        else _("from %(instant)s") % {"instant": format_utc_minute(at)}
    )


def _score_changes(
    before: _SeasonState,
    after: _SeasonState,
    queued: Collection[int],
    keys: Sequence[str],
) -> ScoreChanges:
    """Return the score changes between two states of the season.

    ``queued`` contains the primary keys of phases with new scoring jobs. ``keys``
    contains the keys of the settings that the organiser's action changed.
    """
    scored = dict(_scored_phases(before, after, queued))
    moved = list(_moved_runs(before, after))
    return ScoreChanges(
        gold=list(_changed_gold(before, after)),
        scored=list(scored.values()),
        scorings=[
            _scoring_settings(phase, after.gold[phase.task_id, phase.split])
            for pk, phase in after.phases.items()
            if pk in scored
        ],
        moved=moved,
        confirmed=list(
            _affected_results(before, after, keys, {row.phase for row in moved})
        ),
    )


def _scoring_settings(phase: Phase, gold: Gold) -> dict[str, Any]:
    task = phase.task
    return {
        "phase": phase.pk,
        "gold": gold.file,
        "reading": gold.reading_version,
        "type": task.task_type.reference,
        "rules": task.ranking_rules,
        "options": task.options,
        "rank_by": task.rank_by,
    }


def _changed_gold(before: _SeasonState, after: _SeasonState) -> Iterable[GoldStep]:
    for split, gold in after.gold.items():
        was = before.gold.get(split)
        if was is None or was.pk != gold.pk:
            known = before.shared.get(split, [])
            yield GoldStep(
                split=f"{gold.task}, {gold.split}",
                version=gold.number,
                digest=gold.plain_digest,
                before=was.number if was else None,
                instances=gold.instances,
                rows=gold.rows,
                counts=count_instance_changes(was, gold) if was else None,
                findings=gold.findings,
                trivial=gold.trivial,
                shared=[
                    words for words in after.shared.get(split, []) if words not in known
                ],
            )


def _scored_phases(
    before: _SeasonState, after: _SeasonState, queued: Collection[int]
) -> Iterable[tuple[int, str]]:
    """Yield the primary key of each phase whose runs are scored again, and a sentence
    with the number of these runs.
    """
    for pk, phase in after.phases.items():
        runs = max(after.unscored.get(pk, 0) - before.unscored.get(pk, 0), 0)
        if not runs and pk not in queued:
            continue
        if not runs:
            scored = Submission.objects.filter(
                phase=phase, status=Submission.Status.SCORED
            )
            runs = scored.count()
        message = _("%(task)s, %(phase)s: %(runs)s")
        facts = {
            "task": phase.task,
            "phase": phase,
            "runs": count_with_noun(runs, "run"),
        }
        yield pk, message % facts


def _moved_runs(before: _SeasonState, after: _SeasonState) -> Iterable[Moved]:
    for pk, phase in after.phases.items():
        old, new = before.ranked.get(pk, {}), after.ranked.get(pk, {})
        for run, row in {**old, **new}.items():
            moved = Moved(
                phase=f"{phase.task}, {phase}",
                system=row.system,
                team=row.display_name,
                before=_rank_text(old.get(run)),
                after=_rank_text(new.get(run)),
                score_before=_score_text(before, old.get(run)),
                score_after=_score_text(after, new.get(run)),
            )
            if (moved.before, moved.score_before) != (moved.after, moved.score_after):
                yield moved


def _rank_text(row: Row | None) -> str:
    return "" if row is None else str(row.rank or "–")


def _score_text(state: _SeasonState, row: Row | None) -> str:
    return "" if row is None else state.scores.get(row.evaluation, "")


def _affected_results(
    before: _SeasonState,
    after: _SeasonState,
    keys: Sequence[str],
    moved: Collection[str],
) -> Iterable[str]:
    for pk, words in before.settled.items():
        phase = before.phases[pk]
        if (
            pk not in after.phases
            or _changes_results(phase, keys)
            or f"{phase.task}, {phase}" in moved
        ):
            yield words


def _changes_results(phase: Phase, keys: Sequence[str]) -> bool:
    """Return True if a changed key belongs to the gold or to a setting that affects
    results.
    """
    of_task = f"{task_prefix(phase.task.slug)}."
    of_phase = f"{phase_prefix(phase.task.slug, phase.slug)}."
    names = {
        key.removeprefix(prefix)
        for key in keys
        for prefix in (of_task, of_phase)
        if key.startswith(prefix)
    }
    return f"{of_task}gold.{phase.split}" in keys or any(
        "." not in name and name not in _DESCRIPTIVE_SETTINGS for name in names
    )
