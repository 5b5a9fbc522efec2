"""An act of organisers before it is done: done in a transaction that is taken back, and what differs.

What changes nothing for anybody is done at once; else it is asked once whether to go on: with a typed name
and a reason where it cannot be taken back, touches confirmed results or lets something out too early.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Model
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from citeboard.acts.declared import Act
from citeboard.core import audit
from citeboard.core.instants import written_end, written_instant
from citeboard.core.models import AuditEntry
from citeboard.core.refusals import Refused
from citeboard.core.words import counted, listed
from citeboard.ops.undoing import note_posts
from citeboard.teams.models import User
from scoring.models import OF_RANKING, Evaluation, Score
from scoring.results.board.confirming import official_since, results_of
from scoring.results.board.counting import board_gold, counting_runs, unsettled
from scoring.results.board.embargo_table import GROUPS, embargo_table, shared_by_split
from scoring.results.board.formatting import score_text
from scoring.results.board.public_results import names_publicly
from scoring.results.board.standings import Row, rank
from tasks.delivery.notifications.events import OF_DATES
from tasks.delivery.notifications.wording import words_of
from tasks.delivery.webhooks.services import holding
from tasks.gold.content import Compared, compared
from tasks.gold.early import WORDS, EmbargoBreach, GoingOn, going_on
from tasks.gold.secrecy import NEVER, Kind
from tasks.models import (
    Delivery,
    ExtraTries,
    Gold,
    Job,
    Notification,
    Phase,
    Season,
    Submission,
)
from tasks.seasons.file.entries import phase_prefix, task_prefix
from tasks.seasons.file.load import Loaded
from tasks.seasons.file.plan import LoadConflicts
from tasks.seasons.phase_acts import describe_board, describe_freeze
from tasks.submissions.submit import quota

#: Settings of a task or a phase from which no result follows.
_OF_WORDS = (
    "title",
    "summary",
    "board",
    "board_from",
    "board_then",
    "shows_teams",
    "inputs_from",
)
_SOONEST = dict.fromkeys(GROUPS, NEVER)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What people are told, in words of which ``title`` and ``text`` are one of them's."""

    kind: str
    people: int
    mails: int
    title: str
    text: str
    is_at_once: bool


@dataclass(frozen=True)
class Moved:
    """A run that counts otherwise; rank and score are empty of one that stands on no board."""

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
    counts: Compared | None
    #: With which other splits it has instances in common, in words.
    shared: list[str]
    #: What is odd about it.
    findings: list[dict[str, Any]]
    #: What runs that know nothing score on it.
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
            opens=written_instant(phase.opens, phase.zone),
            closes=written_end(phase.closes, phase.zone),
            board=describe_board(phase),
            own_scores=str(Phase.OwnRuns(phase.own_runs_show).label),
            frozen=describe_freeze(phase),
            gold=_("given out") if phase.gold_is_public else _("not given out"),
        )


@dataclass(kw_only=True)
class Rehearsal:
    """What would be done, in the words of the history, and what follows for whom."""

    done: list[str] = field(default_factory=list)
    made: list[MadePhase] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    posted: int = 0
    gold: list[GoldStep] = field(default_factory=list)
    scored: list[str] = field(default_factory=list)
    #: By which runs would be scored again.
    scorings: list[dict[str, Any]] = field(default_factory=list)
    #: Where the scores that would follow are told.
    jobs: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)
    early: EmbargoBreach | None = None
    changes_tries: bool = False
    is_final: bool = False
    name: str = ""

    @property
    def asks(self) -> bool:
        of_people = (self.seen, self.unseen, self.told, self.posted, self.changes_tries)
        return self.asks_for_name or any(
            (*of_people, self.made, self.scored, self.moved)
        )

    @property
    def asks_for_name(self) -> bool:
        return bool(self.is_final or self.confirmed or self.early)

    @property
    def digest(self) -> str:
        """Of what it was computed from, but for instants, which are others with every look."""
        told = [(told.kind, told.people) for told in self.told]
        before = [(change["key"], change["before"]) for change in self.changes]
        seen = (self.seen, self.unseen)
        facts = [
            self.made,
            *seen,
            told,
            self.gold,
            self.scored,
            self.moved,
            self.confirmed,
            before,
        ]
        early = (
            [(early.phase.pk, early.kind) for early in self.early.told]
            if self.early
            else []
        )
        return hashlib.sha256(repr([*facts, early]).encode()).hexdigest()[:32]

    @property
    def lets_out(self) -> list[dict[str, object]]:
        return [early.as_dict() for early in self.early.told] if self.early else []


class NeedsConfirmation(Refused):
    """Nothing was done; the rehearsal says what would be."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal = rehearsal
        words = _(
            "this touches what is settled; to go on, type “%(name)s” and a reason"
        )
        super().__init__(words % {"name": rehearsal.name})


@dataclass(frozen=True)
class Said:
    """What came with an act: what was shown before (None of a program, which is not asked), name, reason."""

    shown: str | None = None
    typed: GoingOn = field(default_factory=lambda: GoingOn("", ""))

    def goes_on(self, rehearsal: Rehearsal) -> bool:
        if rehearsal.asks_for_name and (
            self.typed.task != rehearsal.name or not self.typed.reason
        ):
            return False
        return (
            self.shown is None or not rehearsal.asks or self.shown == rehearsal.digest
        )


def perform(
    act: Act, thing: Any, by: User, filled: Mapping[str, Any], said: Said
) -> Any:
    """Do it, where nobody has to be asked or somebody has answered. Raises NeedsConfirmation."""
    if not act.is_rehearsed:
        return act(thing, by, **filled)
    do = partial(act, thing, by, **act.ready(thing, filled, by))
    if not act.makes_season:
        return done(
            season_of(thing),
            by,
            do,
            said,
            is_final=act.is_final,
            asks=not act.skips_confirmation(thing),
        )
    if not said.goes_on(rehearsal := _drafted(do)):
        raise NeedsConfirmation(rehearsal)
    return do()


def rehearsed(act: Act, thing: Any, by: User, filled: Mapping[str, Any]) -> Rehearsal:
    do = partial(act, thing, by, **act.ready(thing, filled, by))
    return (
        _drafted(do)
        if act.makes_season
        else rehearse(season_of(thing), do, is_final=act.is_final)
    )


def done(
    season: Season,
    by: User,
    do: Callable[[], Any],
    said: Said,
    *,
    is_final: bool = False,
    asks: bool = True,
) -> Any:
    rehearsal = rehearse(season, do, is_final=is_final) if asks else Rehearsal()
    if not said.goes_on(rehearsal):
        # A program is told in the words that it knows.
        raise (
            rehearsal.early
            if rehearsal.early and said.shown is None
            else NeedsConfirmation(rehearsal)
        )
    last = _last(AuditEntry)
    with holding() as events:
        made = do()
    if rehearsal.confirmed and not rehearsal.early:
        facts = {"what": "; ".join(rehearsal.confirmed), "reason": said.typed.reason}
        audit.record("went-on", actor=by, subject=season, place=season, facts=facts)
    note_posts(season, last, events)
    return made


def season_of(thing: Any) -> Season:
    while not isinstance(thing, Season):
        thing = next(
            getattr(thing, name)
            for name in ("season", "task", "phase")
            if hasattr(thing, name)
        )
    return thing


def rehearse(
    season: Season, do: Callable[[], Any], *, is_final: bool = False
) -> Rehearsal:
    """Raises what the act itself refuses."""
    try:
        # As though nobody had said anything yet, so that it comes to the same once somebody has.
        with going_on("", ""):
            return _rehearsed(
                season, do, Rehearsal(is_final=is_final, name=season.title)
            )
    except EmbargoBreach as early:
        with going_on(early.task, "-"):
            return _rehearsed(
                season, do, Rehearsal(is_final=is_final, name=early.task, early=early)
            )


def rehearsed_load(
    season: Season | None, load: Callable[[], Loaded]
) -> Rehearsal | None:
    """Of a season file; None where somebody has to say first what stays of what the site changed."""
    with suppress(LoadConflicts):
        return rehearse(season, load) if season else _drafted(lambda: load().season)
    return None


def _rehearsed(season: Season, do: Callable[[], Any], found: Rehearsal) -> Rehearsal:
    before = _State.of(season)
    with transaction.atomic():
        # Nothing that is kept of boards by their version is of what is never done.
        unique = 1 + secrets.randbelow(1 << 40)
        Phase.objects.filter(task__season=season).update(version=F("version") + unique)
        marks = {
            model: _last(model) for model in (AuditEntry, Notification, Delivery, Job)
        }
        extra = ExtraTries.objects.filter(phase__task__season=season)
        extra = extra.select_related("team", "phase__task__season")
        given = {*extra}
        do()
        now = Season.objects.get(pk=season.pk)
        entries = (
            AuditEntry.objects.filter(pk__gt=marks[AuditEntry])
            .exclude(action="let-out")
            .order_by("pk")
        )
        found.done = [entry.words for entry in entries]
        changes = [
            change
            for entry in entries
            for change in entry.told_changes
            if change["key"] != "rows"
        ]
        # Versions of the gold stand in a table of their own.
        found.changes = [change for change in changes if ".gold." not in change["key"]]
        found.told = list(
            _told(Notification.objects.filter(pk__gt=marks[Notification]))
        )
        found.posted = Delivery.objects.filter(pk__gt=marks[Delivery]).count()
        after = _State.of(now)
        queued = Job.objects.filter(pk__gt=marks[Job]).order_by()
        scored = dict(
            queued.values_list("submission__phase").distinct().annotate(Max("pk"))
        )
        seen = list(_seen(season, now, before, after))
        found.seen = [words for is_new, words in seen if is_new]
        found.unseen = [words for is_new, words in seen if not is_new]
        found.gold = list(_gold(before, after))
        again = dict(_scored(before, after, scored))
        found.scored = list(again.values())
        for phase in (phase for pk, phase in after.phases.items() if pk in again):
            task = phase.task
            facts = {"phase": phase.pk, "gold": after.gold[task.pk, phase.split].file}
            facts |= {"type": task.task_type.reference, "rules": task.ranking_rules}
            found.scorings.append(
                {**facts, "options": task.options, "rank_by": task.rank_by}
            )
        found.moved = list(_moved(before, after))
        found.confirmed = list(
            _confirmed(before, after, changes, {row.phase for row in found.moved})
        )
        changed = sorted(given ^ {*extra.all()}, key=lambda row: row.pk)
        then = {
            row: left
            for row in changed
            if (left := quota(row.phase, row.team).left) is not None
        }
        transaction.set_rollback(True)
    found.changes_tries = bool(then)
    for row, left in then.items():
        words = _(
            "%(team)s may send %(runs)s to %(task)s, %(phase)s, then; now %(now)s"
        )
        named = {
            "team": row.team,
            "task": row.phase.task,
            "phase": row.phase,
            "runs": counted(left, "run"),
        }
        found.done.append(words % {**named, "now": quota(row.phase, row.team).left})
    return found


def _drafted(do: Callable[[], Season]) -> Rehearsal:
    """Of a season that would be made: nothing is anybody else's before it is public."""
    with transaction.atomic():
        mark = _last(Notification)
        made = do()
        found = Rehearsal(
            name=made.title, done=[entry.words for entry in audit.history(made)]
        )
        phases = Phase.objects.filter(task__season=made).select_related("task__season")
        found.made = [
            MadePhase.of(phase)
            for phase in phases.order_by("task__position", "position")
        ]
        found.told = list(_told(Notification.objects.filter(pk__gt=mark)))
        transaction.set_rollback(True)
    return found


def _last(model: type[Model]) -> int:
    rows = getattr(model, "all_kinds", None) or model._default_manager  # noqa: SLF001  (documented)
    return int(rows.aggregate(last=Max("pk"))["last"] or 0)


@dataclass(frozen=True)
class _State:
    """Of a season: what can be known of its gold and when, which versions hold, how runs rank."""

    phases: dict[int, Phase]
    known: dict[tuple[str, str, Kind], dict[str, Any]]
    gold: dict[tuple[int, str], Gold]
    left: dict[int, int]
    ranked: dict[int, dict[int, Row]]
    settled: dict[int, str]
    shared: dict[tuple[int, str], list[str]]
    #: By evaluation what it is ranked by, as text.
    scores: dict[int, str]

    @classmethod
    def of(cls, season: Season) -> "_State":
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
            else _SOONEST
            for content in embargo_table(season)
            for row in content.rows
        }
        scored = [
            phase
            for phase in in_order
            if (phase.task_id, phase.split) in golds and phase.task.rules
        ]
        newest = {phase.pk: golds[phase.task_id, phase.split] for phase in scored}
        ranked = {phase.pk: _ranked(phase) for phase in scored}
        evaluations = [
            row.evaluation for rows in ranked.values() for row in rows.values()
        ]
        scores = Score.objects.filter(OF_RANKING, evaluation__in=evaluations)
        return cls(
            {phase.pk: phase for phase in in_order},
            known,
            golds,
            {phase.pk: unsettled(phase, newest[phase.pk]).count() for phase in scored},
            ranked,
            {phase.pk: words for phase in scored if (words := _settled(phase))},
            shared_by_split(season),
            {
                score.evaluation_id: score_text(score)
                for score in scores.select_related("shared")
            },
        )


def _ranked(phase: Phase) -> dict[int, Row]:
    """As organisers see the board, by value."""
    gold = board_gold(phase)
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


def _settled(phase: Phase) -> str:
    """What teams have confirmed, or that results are official, in words; empty where neither is."""
    if not phase.confirms_results or phase.closes > timezone.now():
        return ""
    results, named = results_of(phase), {"task": phase.task, "phase": phase}
    if official_since(phase, results) is not None:
        return _("the results of %(task)s, %(phase)s, are official") % named
    confirmed = sum(result.is_confirmed for result in results)
    words = ngettext(
        "%(number)s result of %(task)s, %(phase)s, is confirmed",
        "%(number)s results of %(task)s, %(phase)s, are confirmed",
        confirmed,
    )
    return words % {**named, "number": confirmed} if confirmed else ""


def _told(rows: Any) -> Iterable[Told]:
    by_kind: dict[str, list[Notification]] = {}
    for row in rows.select_related(
        "season", "team", "phase__task", "submission", "user"
    ).order_by("pk"):
        by_kind.setdefault(row.kind, []).append(row)
    for kind, told in by_kind.items():
        words = words_of(told[0])
        yield Told(
            kind=kind,
            people=len({row.user_id for row in told}),
            mails=sum(row.job_id is not None for row in told),
            title=words.title,
            text=words.text,
            is_at_once=kind in OF_DATES,
        )


def _seen(
    season: Season, now: Season, before: _State, after: _State
) -> Iterable[tuple[bool, str]]:
    """What is known earlier than before, and, marked as not new, what no longer is though it was by now."""
    if now.is_public != season.is_public:
        yield (
            now.is_public,
            _("Everybody: that there is %(season)s, with its pages") % {"season": now},
        )
    for pk, phase in after.phases.items() if season.is_public and now.is_public else ():
        was_named, is_named = (
            names_publicly(own) for own in (before.phases.get(pk, phase), phase)
        )
        if was_named != is_named:
            words = _("Everybody: which teams the runs of %(task)s, %(phase)s, are of")
            yield is_named, words % {"task": phase.task, "phase": phase}
    for (task, split, kind), times in after.known.items():
        earlier = before.known.get((task, split, kind), _SOONEST)
        groups: dict[tuple[Any, Any], list[str]] = {}
        for group, at in times.items():
            was = earlier[group]
            is_lost = (
                was is None and at is not None and season.is_public and now.is_public
            )
            if is_lost or (was is not None and (at is None or at < was)):
                groups.setdefault((was, at), []).append(str(GROUPS[group]))
        for (was, at), names in groups.items():
            words = _(
                "%(who)s: %(what)s of %(task)s, %(split)s, %(after)s; before: %(before)s"
            )
            named = {
                "who": listed(names),
                "what": WORDS[kind],
                "task": task,
                "split": split,
            }
            yield (
                was is not None,
                words % {**named, "after": _when(at), "before": _when(was)},
            )


def _when(at: Any) -> str:
    if at is None:
        return _("now")
    return (
        _("never")
        if at == NEVER
        else _("from %(instant)s") % {"instant": f"{at:%Y-%m-%d %H:%M} UTC"}
    )


def _gold(before: _State, after: _State) -> Iterable[GoldStep]:
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
                counts=compared(was, gold) if was else None,
                findings=gold.findings,
                trivial=gold.trivial,
                shared=[
                    words for words in after.shared.get(split, []) if words not in known
                ],
            )


def _scored(
    before: _State, after: _State, queued: Mapping[int, int]
) -> Iterable[tuple[int, str]]:
    for pk, phase in after.phases.items():
        runs = max(after.left.get(pk, 0) - before.left.get(pk, 0), 0)
        if runs or pk in queued:
            scored = Submission.objects.filter(
                phase=phase, status=Submission.Status.SCORED
            ).count()
            words = _("%(task)s, %(phase)s: %(runs)s")
            yield (
                pk,
                words
                % {
                    "task": phase.task,
                    "phase": phase,
                    "runs": counted(runs or scored, "run"),
                },
            )


def _moved(before: _State, after: _State) -> Iterable[Moved]:
    for pk, phase in after.phases.items():
        old, new = before.ranked.get(pk, {}), after.ranked.get(pk, {})
        for run in dict.fromkeys([*old, *new]):
            was, row = old.get(run), new.get(run)
            one = row or was
            ranks = [_rank(was), _rank(row)]
            scores = [
                state.scores.get(own.evaluation, "") if own else ""
                for state, own in ((before, was), (after, row))
            ]
            if one is not None and (ranks[0] != ranks[1] or scores[0] != scores[1]):
                yield Moved(
                    f"{phase.task}, {phase}",
                    one.system,
                    one.display_name,
                    *ranks,
                    *scores,
                )


def _rank(row: Row | None) -> str:
    return "" if row is None else str(row.rank or "–")


def _confirmed(
    before: _State, after: _State, changes: list[dict[str, Any]], moved: Collection[str]
) -> Iterable[str]:
    keys = [str(change["key"]) for change in changes]
    for pk, words in before.settled.items():
        phase = before.phases[pk]
        own = (
            f"{task_prefix(phase.task.slug)}.",
            f"{phase_prefix(phase.task.slug, phase.slug)}.",
        )
        gold = f"{own[0]}gold.{phase.split}"
        names = {
            key.removeprefix(prefix)
            for key in keys
            for prefix in own
            if key.startswith(prefix)
        }
        is_touched = gold in keys or any(
            "." not in name and name not in _OF_WORDS for name in names
        )
        if pk not in after.phases or is_touched or f"{phase.task}, {phase}" in moved:
            yield words
