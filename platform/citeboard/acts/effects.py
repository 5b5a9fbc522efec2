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
from citeboard.core.instants import (
    ENDLESS_PHASE_END,
    format_day_and_time,
    format_utc_minute,
)
from citeboard.core.models import AuditEntry
from citeboard.core.words import count_with_noun, join_names
from scoring.models import IS_RANKING_SCORE, Evaluation, Score
from scoring.results.board.confirming import (
    find_results_to_confirm,
    find_time_results_became_official,
)
from scoring.results.board.counting import (
    find_gold_on_board,
    find_runs_shown_on_board,
    find_unfinished_runs_on_gold,
)
from scoring.results.board.embargo_table import (
    AUDIENCE_LABELS,
    build_embargoes_of_splits,
    describe_shared_content_by_split,
)
from scoring.results.board.formatting import format_stored_score
from scoring.results.board.public_results import shows_named_public_teams
from scoring.results.board.standings import BoardRow, sort_and_rank_rows
from tasks.delivery.notifications.events import PHASE_DATE_NOTIFICATION_KINDS
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
from tasks.seasons.file.entries import make_phase_key_prefix, make_task_key_prefix
from tasks.seasons.phase_acts import describe_board_audience, describe_board_freeze
from tasks.submissions.submit import compute_remaining_quota

_SETTINGS_WITHOUT_EFFECT_ON_SCORES = (
    "title",
    "summary",
    "board",
    "board_from",
    "board_then",
    "shows_teams",
    "inputs_from",
)
_ENDLESS_EMBARGO_BY_AUDIENCE = dict.fromkeys(AUDIENCE_LABELS, NEVER_ENDING_EMBARGO)


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
            if phase.closes >= ENDLESS_PHASE_END
            else format_day_and_time(phase.closes, phase.zone),
            board=describe_board_audience(phase),
            own_scores=str(Phase.OwnRunDetail(phase.visible_detail_of_own_runs).label),
            frozen=describe_board_freeze(phase),
            gold=_("released") if phase.gold_is_public else _("not released"),
        )


@dataclass(frozen=True, kw_only=True)
class ActionSteps:
    done: list[str] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    made: list[MadePhase] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class DisclosureSummary:
    """Sentences about the information that an organiser's action discloses or hides."""

    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SentMessages:
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
class ActionEffects:
    steps: ActionSteps = field(default_factory=ActionSteps)
    disclosure: DisclosureSummary = field(default_factory=DisclosureSummary)
    messages: SentMessages = field(default_factory=SentMessages)
    scores: ScoreChanges = field(default_factory=ScoreChanges)
    changes_tries: bool = False

    @property
    def affects_other_people(self) -> bool:
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


def simulate_action_effects(season: Season, do: Callable[[], Any]) -> ActionEffects:
    """Perform the action, compare the season before and after the action, and roll
    back.

    The function raises every error that the action raises.
    """
    with transaction.atomic():
        # SQLite lets no other process write until the comparison is complete.
        before = _SeasonSnapshot.of(season)
        _bump_board_cache_versions(season)
        last = _HighestRowIds.now()
        tries = set(_find_extra_tries(season))
        do()
        after = _SeasonSnapshot.of(Season.objects.get(pk=season.pk))
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
        disclosure = _compare_disclosures(before, after)
        messages = SentMessages(
            told=list(_group_notifications(last.newer_notifications())),
            posted=last.deliveries().count(),
        )
        queued = set(last.jobs().values_list("submission__phase", flat=True).distinct())
        keys = [str(change["key"]) for change in changes]
        scores = _compare_scores(before, after, queued, keys)
        changed = tries ^ set(_find_extra_tries(season))
        tries_then = {
            row: compute_remaining_quota(row.phase, row.team).left
            for row in sorted(changed, key=lambda row: row.pk)
        }
        transaction.set_rollback(True)
    # A phase without a limit on runs grants teams no extra tries.
    limited = {row: left for row, left in tries_then.items() if left is not None}
    return ActionEffects(
        steps=ActionSteps(
            done=[
                *(entry.words for entry in entries),
                *(_describe_extra_tries(row, left) for row, left in limited.items()),
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


def find_new_season_effects(made: Season, last_notification: int) -> ActionEffects:
    """Return the effects of creating a season. Only organisers see a draft season."""
    phases = Phase.objects.filter(task__season=made).select_related("task__season")
    disclosure = DisclosureSummary()
    if made.is_public:
        nothing = _SeasonSnapshot(season=Season(title=made.title))
        disclosure = _compare_disclosures(nothing, _SeasonSnapshot.of(made))
    return ActionEffects(
        steps=ActionSteps(
            done=[entry.words for entry in audit.find_history_of_place(made)],
            made=[
                MadePhase.of(phase)
                for phase in phases.order_by("task__position", "position")
            ],
        ),
        disclosure=disclosure,
        messages=SentMessages(
            told=list(
                _group_notifications(
                    Notification.objects.filter(pk__gt=last_notification)
                )
            )
        ),
    )


def _bump_board_cache_versions(season: Season) -> None:
    """Give each phase of the season a new version number.

    The new versions hide boards that the rehearsal caches, because a rollback of the
    database does not clear the caches.
    """
    unique = 1 + secrets.randbelow(1 << 40)
    Phase.objects.filter(task__season=season).update(version=F("version") + unique)


def find_highest_primary_key(model: type[Model]) -> int:
    rows = getattr(model, "all_kinds", None) or model._default_manager  # noqa: SLF001  (documented)
    return int(rows.aggregate(last=Max("pk"))["last"] or 0)


@dataclass(frozen=True, kw_only=True)
class _HighestRowIds:
    entry: int
    notification: int
    delivery: int
    job: int

    @classmethod
    def now(cls) -> "_HighestRowIds":
        return cls(
            entry=find_highest_primary_key(AuditEntry),
            notification=find_highest_primary_key(Notification),
            delivery=find_highest_primary_key(Delivery),
            job=find_highest_primary_key(Job),
        )

    def entries(self) -> list[AuditEntry]:
        rows = AuditEntry.objects.filter(pk__gt=self.entry)
        return list(rows.exclude(action="let-out").order_by("pk"))

    def newer_notifications(self) -> QuerySet[Notification]:
        return Notification.objects.filter(pk__gt=self.notification)

    def deliveries(self) -> QuerySet[Delivery]:
        return Delivery.objects.filter(pk__gt=self.delivery)

    def jobs(self) -> QuerySet[Job]:
        return Job.objects.filter(pk__gt=self.job).order_by()


def _find_extra_tries(season: Season) -> QuerySet[ExtraTries]:
    rows = ExtraTries.objects.filter(phase__task__season=season)
    return rows.select_related("team", "phase__task__season")


def _describe_extra_tries(row: ExtraTries, left: int) -> str:
    message = _(
        "%(team)s may submit %(runs)s to %(task)s, %(phase)s, then; now %(now)s"
    )
    return message % {
        "team": row.team,
        "task": row.phase.task,
        "phase": row.phase,
        "runs": count_with_noun(left, "run"),
        "now": compute_remaining_quota(row.phase, row.team).left,
    }


@dataclass(frozen=True, kw_only=True)
class _SeasonSnapshot:
    season: Season
    phases: dict[int, Phase] = field(default_factory=dict)
    #: `known` contains the time at which each audience may first see a kind of data.
    #: Each key of `known` consists of a task, a split of its data, and a kind of data.
    known: dict[tuple[str, str, ContentKind], dict[str, Any]] = field(
        default_factory=dict
    )
    gold: dict[tuple[int, str], Gold] = field(default_factory=dict)
    unscored: dict[int, int] = field(default_factory=dict)
    ranked: dict[int, dict[int, BoardRow]] = field(default_factory=dict)
    settled: dict[int, str] = field(default_factory=dict)
    shared: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    scores: dict[int, str] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)

    @classmethod
    def of(cls, season: Season) -> "_SeasonSnapshot":
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
            else _ENDLESS_EMBARGO_BY_AUDIENCE
            for content in build_embargoes_of_splits(season)
            for row in content.rows
        }
        scored = [
            phase
            for phase in in_order
            if (phase.task_id, phase.split) in golds and phase.task.rules
        ]
        ranked = {phase.pk: _find_ranked_board_rows(phase) for phase in scored}
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
                phase.pk: find_unfinished_runs_on_gold(
                    phase, golds[phase.task_id, phase.split]
                ).count()
                for phase in scored
            },
            ranked=ranked,
            settled={
                phase.pk: words
                for phase in scored
                if (words := _describe_results_confirmation(phase))
            },
            shared=describe_shared_content_by_split(season),
            scores={
                score.evaluation_id: format_stored_score(score)
                for score in scores.select_related("shared")
            },
            tasks={task.pk: task for task in Task.objects.filter(season=season)},
        )


def _find_ranked_board_rows(phase: Phase) -> dict[int, BoardRow]:
    """Return the ranked rows of the organisers' board.

    The keys of the mapping are the primary keys of the runs.
    """
    gold = find_gold_on_board(phase)
    rows = (
        find_runs_shown_on_board(BoardRow, phase, phase.task.ranking_rules, gold)
        if gold
        else []
    )
    values = dict(
        Evaluation.objects.filter(pk__in=[row.evaluation for row in rows]).values_list(
            "pk", "rank_value"
        )
    )
    for row in rows:
        row.value = values[row.evaluation]
    sort_and_rank_rows(rows)
    return {row.submission: row for row in rows}


def _describe_results_confirmation(phase: Phase) -> str:
    """Return a phrase that the phase's results are confirmed or official, or an empty
    text.
    """
    if not phase.confirms_results or phase.closes > timezone.now():
        return ""
    results, named = (
        find_results_to_confirm(phase),
        {"task": phase.task, "phase": phase},
    )
    if find_time_results_became_official(phase, results) is not None:
        return _("the results of %(task)s, %(phase)s, are official") % named
    confirmed = sum(result.is_confirmed for result in results)
    message = ngettext(
        "%(number)s result of %(task)s, %(phase)s, is confirmed",
        "%(number)s results of %(task)s, %(phase)s, are confirmed",
        confirmed,
    )
    return message % {**named, "number": confirmed} if confirmed else ""


def _group_notifications(rows: Any) -> Iterable[Told]:
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
            is_at_once=kind in PHASE_DATE_NOTIFICATION_KINDS,
        )


def _compare_disclosures(
    before: _SeasonSnapshot, after: _SeasonSnapshot
) -> DisclosureSummary:
    disclosed = list(_describe_embargo_changes(before, after))
    return DisclosureSummary(
        seen=[words for is_new, words in disclosed if is_new],
        unseen=[words for is_new, words in disclosed if not is_new],
    )


def _describe_new_tasks(
    before: _SeasonSnapshot, after: _SeasonSnapshot
) -> Iterable[tuple[bool, str]]:
    message = _("Everybody: that there is %(season)s, with its pages")
    for pk in sorted(after.tasks.keys() - before.tasks.keys()):
        yield True, message % {"season": after.tasks[pk]}


def _describe_embargo_changes(
    before: _SeasonSnapshot, after: _SeasonSnapshot
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
        yield from _describe_new_tasks(before, after)
    for pk, phase in after.phases.items() if stays_public else ():
        was_named = shows_named_public_teams(before.phases.get(pk, phase))
        is_named = shows_named_public_teams(phase)
        if was_named != is_named:
            message = _(
                "Everybody: which teams the runs of %(task)s, %(phase)s, are of"
            )
            yield is_named, message % {"task": phase.task, "phase": phase}
    for (task, split, kind), times in after.known.items():
        earlier = before.known.get((task, split, kind), _ENDLESS_EMBARGO_BY_AUDIENCE)
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
                "after": _describe_embargo_start(at),
                "before": _describe_embargo_start(was),
            }
            yield was is not None, message % facts


def _describe_embargo_start(at: Any) -> str:
    if at is None:
        return _("now")
    return (
        _("never")
        if at == NEVER_ENDING_EMBARGO
        else _("from %(instant)s") % {"instant": format_utc_minute(at)}
    )


def _compare_scores(
    before: _SeasonSnapshot,
    after: _SeasonSnapshot,
    queued: Collection[int],
    keys: Sequence[str],
) -> ScoreChanges:
    """Return the score changes between two states of the season.

    ``queued`` contains the primary keys of phases with new scoring jobs. ``keys``
    contains the keys of the settings that the organiser's action changed.
    """
    scored = dict(_find_rescored_phases(before, after, queued))
    moved = list(_find_runs_with_changed_rank(before, after))
    return ScoreChanges(
        gold=list(_find_changed_gold(before, after)),
        scored=list(scored.values()),
        scorings=[
            _build_dry_run_settings(phase, after.gold[phase.task_id, phase.split])
            for pk, phase in after.phases.items()
            if pk in scored
        ],
        moved=moved,
        confirmed=list(
            _find_affected_confirmed_results(
                before, after, keys, {row.phase for row in moved}
            )
        ),
    )


def _build_dry_run_settings(phase: Phase, gold: Gold) -> dict[str, Any]:
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


def _find_changed_gold(
    before: _SeasonSnapshot, after: _SeasonSnapshot
) -> Iterable[GoldStep]:
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


def _find_rescored_phases(
    before: _SeasonSnapshot, after: _SeasonSnapshot, queued: Collection[int]
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


def _find_runs_with_changed_rank(
    before: _SeasonSnapshot, after: _SeasonSnapshot
) -> Iterable[Moved]:
    for pk, phase in after.phases.items():
        old, new = before.ranked.get(pk, {}), after.ranked.get(pk, {})
        for run, row in {**old, **new}.items():
            moved = Moved(
                phase=f"{phase.task}, {phase}",
                system=row.system,
                team=row.display_name,
                before=_format_rank(old.get(run)),
                after=_format_rank(new.get(run)),
                score_before=_format_score(before, old.get(run)),
                score_after=_format_score(after, new.get(run)),
            )
            if (moved.before, moved.score_before) != (moved.after, moved.score_after):
                yield moved


def _format_rank(row: BoardRow | None) -> str:
    return "" if row is None else str(row.rank or "–")


def _format_score(state: _SeasonSnapshot, row: BoardRow | None) -> str:
    return "" if row is None else state.scores.get(row.evaluation, "")


def _find_affected_confirmed_results(
    before: _SeasonSnapshot,
    after: _SeasonSnapshot,
    keys: Sequence[str],
    moved: Collection[str],
) -> Iterable[str]:
    for pk, words in before.settled.items():
        phase = before.phases[pk]
        if (
            pk not in after.phases
            or _affects_phase_results(phase, keys)
            or f"{phase.task}, {phase}" in moved
        ):
            yield words


def _affects_phase_results(phase: Phase, keys: Sequence[str]) -> bool:
    """Return True if a changed key belongs to the gold or to a setting that affects
    results.
    """
    of_task = f"{make_task_key_prefix(phase.task.slug)}."
    of_phase = f"{make_phase_key_prefix(phase.task.slug, phase.slug)}."
    names = {
        key.removeprefix(prefix)
        for key in keys
        for prefix in (of_task, of_phase)
        if key.startswith(prefix)
    }
    return f"{of_task}gold.{phase.split}" in keys or any(
        "." not in name and name not in _SETTINGS_WITHOUT_EFFECT_ON_SCORES
        for name in names
    )
