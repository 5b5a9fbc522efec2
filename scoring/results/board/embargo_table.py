"""Compute the embargo table, which has the time from which each audience can see the
gold of a season.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.teams.models import User
from scoring.models import Sheet
from scoring.results.board.leak_budget import Budget, budgets_of
from tasks.gold.early import WORDS
from tasks.gold.secrecy import NEVER, Kind, looked_up, secrecy_of
from tasks.models import Gold, GoldOverlap, Phase, Season, Task

GROUPS = {
    "visitors": gettext_lazy("visitors"),
    "participants": gettext_lazy("participants"),
    "team": gettext_lazy("the team itself"),
    "annotators": gettext_lazy("annotators"),
    "helpers": gettext_lazy("helpers"),
    "organisers": gettext_lazy("organisers"),
}
#: The time is `NEVER` if the embargo never ends, or None if the content is visible.
When = dt.datetime | None


@dataclass(frozen=True)
class Known:
    kind: Kind
    #: ``times`` maps each audience to the time when the embargo ends for the audience.
    times: dict[str, When]

    @property
    def words(self) -> str:
        return str(WORDS[self.kind])

    @property
    def cells(self) -> list[dict[str, object]]:
        return [{"at": at, "is_never": at == NEVER} for at in self.times.values()]


@dataclass(frozen=True)
class Content:
    """The data of a split with its gold (reference answers), whose embargo the table
    shows.

    ``shared`` contains descriptions of other splits with the same content. ``budgets``
    contains the bits of gold that the scores of each phase can reveal to one team and
    to all teams together.
    """

    task: Task
    split: str
    phases: list[Phase]
    versions: list[Gold]
    rows: list[Known]
    shared: list[str]
    budgets: list[tuple[Phase, Budget]]


def embargo_table(
    season: Season, reader: User | None = None, *, has_budgets: bool = False
) -> list[Content]:
    phases = looked_up(
        Phase.objects.filter(task__season=season).select_related("task__season")
    )
    splits: dict[tuple[int, str], list[Phase]] = {}
    for phase in sorted(
        phases, key=lambda phase: (phase.task.position, phase.task_id, phase.opens)
    ):
        splits.setdefault((phase.task_id, phase.split), []).append(phase)
    golds: dict[tuple[int, str], list[Gold]] = {}
    for gold in (
        Gold.objects.filter(task__season=season)
        .select_related("task")
        .order_by("-number")
    ):
        golds.setdefault((gold.task_id, gold.split), []).append(gold)
    shared = shared_by_split(season, reader)
    budgets = budgets_of(phases) if has_budgets else {}
    contents = []
    for key, group in splits.items():
        rows = [Known(kind, _times(group, kind)) for kind in Kind]
        of_group = [
            (phase, budgets[phase.pk]) for phase in group if phase.pk in budgets
        ]
        task, versions = group[0].task, golds.get(key, [])
        contents.append(
            Content(task, key[1], group, versions, rows, shared.get(key, []), of_group)
        )
    return contents


def _times(phases: list[Phase], kind: Kind) -> dict[str, When]:
    at = timezone.now()
    free = secrecy_of(phases[0]).free_from(kind)
    inputs = secrecy_of(phases[0]).free_from(Kind.INPUTS)
    everybody = _latest(min(_shown_from(phase, kind) for phase in phases), free, at)
    own = everybody
    if kind in (Kind.OWN, Kind.CLASSES):
        own = _latest(min(_shown_from(phase, Kind.OWN) for phase in phases), free, at)
    helpers = everybody if kind in (Kind.INPUTS, Kind.INSTANCES, Kind.GOLD) else inputs
    sheets = Sheet.objects.filter(phase__in=phases, annotators__user__isnull=False)
    annotators = everybody
    if kind is Kind.INPUTS:
        annotators = None if sheets.exists() else everybody
    elif kind is Kind.GOLD:
        annotators = None if sheets.filter(has_references=True).exists() else everybody
    others = NEVER if kind is Kind.OWN else everybody
    if not phases[0].task.season.is_public:
        others = own = annotators = NEVER
    return {
        "visitors": others,
        "participants": others,
        "team": own,
        "annotators": NEVER if kind is Kind.OWN else annotators,
        "helpers": helpers,
        "organisers": None,
    }


def _latest(shown: dt.datetime, free: When, at: dt.datetime) -> When:
    latest = max(shown, free or shown)
    return latest if latest > at else None


def _shown_from(phase: Phase, kind: Kind) -> dt.datetime:
    """Return the time from which the settings of the phase, without other phases, show
    this kind of content.
    """
    if kind is Kind.INPUTS:
        return phase.inputs_released_at
    if (kind is Kind.OWN and phase.shows_scores) or phase.shows_measures:
        shown = phase.opens
    elif (
        phase.board_then == phase.Audience.EVERYONE
        and phase.board_from is not None
        and not phase.battles_alone
        and not phase.has_changed_board()
    ):
        shown = max(phase.board_from, phase.opens)
    else:
        return NEVER
    is_on = {
        Kind.INSTANCES: phase.shows_instances,
        Kind.GOLD: phase.gold_is_public,
    }.get(kind, True)
    return shown if is_on else NEVER


def shared_by_split(
    season: Season, reader: User | None = None
) -> dict[tuple[int, str], list[str]]:
    """Return descriptions of the gold that splits of the season share with other
    splits, keyed by split.

    The descriptions only mention gold that the reader may read, because other
    descriptions would reveal gold. Without a reader, the descriptions mention gold that
    all organisers of the season may read.
    """
    may_read = Q(binds=True)
    if reader is not None:
        may_read |= Q(
            other__task__season__in=Season.objects.organised_by(reader).values("pk")
        )
    told: dict[tuple[int, str], dict[str, None]] = {}
    for overlap in _of_any_instance(season).filter(may_read):
        own, other = overlap.gold, overlap.other
        if (own.task_id, own.split) == (other.task_id, other.split):
            continue
        if words := _in_common(overlap):
            told.setdefault((own.task_id, own.split), {})[words] = None
    return {key: list(words) for key, words in told.items()}


def in_common(season: Season, other: Season) -> list[str]:
    """Return descriptions of all content that two seasons share, which only site staff
    may read.
    """
    overlaps = _of_any_instance(season).filter(other__task__season=other)
    lines = (
        f"{overlap.gold.task}, {overlap.gold.split}: {_in_common(overlap)}"
        for overlap in overlaps
    )
    return list(dict.fromkeys(lines))


def _of_any_instance(season: Season) -> QuerySet[GoldOverlap]:
    overlaps = GoldOverlap.objects.filter(gold__task__season=season)
    overlaps = overlaps.filter(Q(held__gt=0) | Q(alike__gt=0) | Q(papers__gt=0))
    return overlaps.select_related("gold__task", "other__task__season").order_by(
        "gold__number", "other__number"
    )


def _in_common(overlap: GoldOverlap) -> str:
    own, other = overlap.gold, overlap.other
    where = f"{other.task}, {other.split}, v{other.number}"
    if own.task.season_id != other.task.season_id:
        where = f"{other.task.season}, {where}"
    counts = {
        _("scored instances: %s"): overlap.same,
        _("instances in the files: %s"): overlap.held,
        _("shown alike and answered otherwise: %s"): overlap.alike,
        # Tasks on the same split share all papers, so count papers of other splits.
        _("papers: %s"): overlap.papers * (own.split != other.split),
    }
    shared = ", ".join(words % count for words, count in counts.items() if count)
    if not shared:
        return ""
    words = _("v%(version)s has in common with %(where)s: %(shared)s")
    return words % {"version": own.number, "where": where, "shared": shared}


def as_json(contents: Iterable[Content]) -> list[dict[str, object]]:
    return [_content_as_json(content) for content in contents]


def _content_as_json(content: Content) -> dict[str, object]:
    return {
        "task": content.task.slug,
        "split": content.split,
        "phases": [phase.slug for phase in content.phases],
        "battles_alone": [
            phase.slug for phase in content.phases if phase.battles_alone
        ],
        "gold": [_gold_as_json(gold) for gold in content.versions],
        "shared": content.shared,
        "known": {row.kind.value: _times_as_json(row.times) for row in content.rows},
    }


def _gold_as_json(gold: Gold) -> dict[str, object]:
    return {
        "version": gold.number,
        "instances": gold.instances,
        "sealed": gold.sealed_at is not None,
    }


def _times_as_json(times: Mapping[str, When]) -> dict[str, str]:
    return {group: _time_as_json(at) for group, at in times.items()}


def _time_as_json(at: When) -> str:
    if at is None:
        return "now"
    return "never" if at == NEVER else at.isoformat()
