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
from scoring.results.board.leak_budget import LeakBudget, compute_leak_budgets_by_phase
from tasks.gold.early import CONTENT_KIND_LABELS
from tasks.gold.secrecy import (
    NEVER_ENDING_EMBARGO,
    ContentKind,
    get_embargoes_of_phase,
    load_phases_with_embargoes,
)
from tasks.models import Gold, GoldOverlap, Phase, Season, Task

AUDIENCE_LABELS = {
    "visitors": gettext_lazy("visitors"),
    "participants": gettext_lazy("participants"),
    "team": gettext_lazy("the team itself"),
    "annotators": gettext_lazy("annotators"),
    "helpers": gettext_lazy("helpers"),
    "organisers": gettext_lazy("organisers"),
}
#: The time is `NEVER_ENDING_EMBARGO` if the embargo never ends, or None if the content is visible.
EmbargoEndTime = dt.datetime | None


@dataclass(frozen=True)
class EmbargoRow:
    kind: ContentKind
    #: ``times`` maps each audience to the time when the embargo ends for the audience.
    times: dict[str, EmbargoEndTime]

    @property
    def words(self) -> str:
        return str(CONTENT_KIND_LABELS[self.kind])

    @property
    def cells(self) -> list[dict[str, object]]:
        return [
            {"at": at, "is_never": at == NEVER_ENDING_EMBARGO}
            for at in self.times.values()
        ]


@dataclass(frozen=True)
class EmbargoesOfSplit:
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
    rows: list[EmbargoRow]
    shared: list[str]
    budgets: list[tuple[Phase, LeakBudget]]


def build_embargoes_of_splits(
    season: Season, reader: User | None = None, *, has_budgets: bool = False
) -> list[EmbargoesOfSplit]:
    phases = load_phases_with_embargoes(
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
    shared = describe_shared_content_by_split(season, reader)
    budgets = compute_leak_budgets_by_phase(phases) if has_budgets else {}
    contents = []
    for key, group in splits.items():
        rows = [
            EmbargoRow(kind, _find_embargo_ends_by_audience(group, kind))
            for kind in ContentKind
        ]
        of_group = [
            (phase, budgets[phase.pk]) for phase in group if phase.pk in budgets
        ]
        task, versions = group[0].task, golds.get(key, [])
        contents.append(
            EmbargoesOfSplit(
                task, key[1], group, versions, rows, shared.get(key, []), of_group
            )
        )
    return contents


def _find_embargo_ends_by_audience(
    phases: list[Phase], kind: ContentKind
) -> dict[str, EmbargoEndTime]:
    at = timezone.now()
    free = get_embargoes_of_phase(phases[0]).free_from(kind)
    inputs = get_embargoes_of_phase(phases[0]).free_from(ContentKind.INPUTS)
    everybody = _later_time_if_future(
        min(_find_time_shown_by_settings(phase, kind) for phase in phases), free, at
    )
    own = everybody
    if kind in (ContentKind.OWN, ContentKind.CLASSES):
        own = _later_time_if_future(
            min(
                _find_time_shown_by_settings(phase, ContentKind.OWN) for phase in phases
            ),
            free,
            at,
        )
    helpers = (
        everybody
        if kind in (ContentKind.INPUTS, ContentKind.INSTANCES, ContentKind.GOLD)
        else inputs
    )
    sheets = Sheet.objects.filter(phase__in=phases, annotators__user__isnull=False)
    annotators = everybody
    if kind is ContentKind.INPUTS:
        annotators = None if sheets.exists() else everybody
    elif kind is ContentKind.GOLD:
        annotators = None if sheets.filter(has_references=True).exists() else everybody
    others = NEVER_ENDING_EMBARGO if kind is ContentKind.OWN else everybody
    if not phases[0].task.season.is_public:
        others = own = annotators = NEVER_ENDING_EMBARGO
    return {
        "visitors": others,
        "participants": others,
        "team": own,
        "annotators": NEVER_ENDING_EMBARGO if kind is ContentKind.OWN else annotators,
        "helpers": helpers,
        "organisers": None,
    }


def _later_time_if_future(
    shown: dt.datetime, free: EmbargoEndTime, at: dt.datetime
) -> EmbargoEndTime:
    latest = max(shown, free or shown)
    return latest if latest > at else None


def _find_time_shown_by_settings(phase: Phase, kind: ContentKind) -> dt.datetime:
    """Return the time from which the settings of the phase, without other phases, show
    this kind of content.
    """
    if kind is ContentKind.INPUTS:
        return phase.inputs_released_at
    if (
        kind is ContentKind.OWN and phase.shows_scores
    ) or phase.shows_board_scores_to_everyone:
        shown = phase.opens
    elif (
        phase.board_then == phase.Audience.EVERYONE
        and phase.board_from is not None
        and not phase.battles_alone
        and not phase.has_board_audience_changed()
    ):
        shown = max(phase.board_from, phase.opens)
    else:
        return NEVER_ENDING_EMBARGO
    is_on = {
        ContentKind.INSTANCES: phase.shows_instances,
        ContentKind.GOLD: phase.gold_is_public,
    }.get(kind, True)
    return shown if is_on else NEVER_ENDING_EMBARGO


def describe_shared_content_by_split(
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
            other__task__season__in=Season.objects.organised_by_user(reader).values(
                "pk"
            )
        )
    told: dict[tuple[int, str], dict[str, None]] = {}
    for overlap in _find_overlaps_with_shared_content(season).filter(may_read):
        own, other = overlap.gold, overlap.other
        if (own.task_id, own.split) == (other.task_id, other.split):
            continue
        if words := _describe_gold_overlap(overlap):
            told.setdefault((own.task_id, own.split), {})[words] = None
    return {key: list(words) for key, words in told.items()}


def describe_content_shared_by_seasons(season: Season, other: Season) -> list[str]:
    """Return descriptions of all content that two seasons share, which only site staff
    may read.
    """
    overlaps = _find_overlaps_with_shared_content(season).filter(
        other__task__season=other
    )
    lines = (
        f"{overlap.gold.task}, {overlap.gold.split}: {_describe_gold_overlap(overlap)}"
        for overlap in overlaps
    )
    return list(dict.fromkeys(lines))


def _find_overlaps_with_shared_content(season: Season) -> QuerySet[GoldOverlap]:
    overlaps = GoldOverlap.objects.filter(gold__task__season=season)
    overlaps = overlaps.filter(Q(held__gt=0) | Q(alike__gt=0) | Q(papers__gt=0))
    return overlaps.select_related("gold__task", "other__task__season").order_by(
        "gold__number", "other__number"
    )


def _describe_gold_overlap(overlap: GoldOverlap) -> str:
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


def split_embargoes_as_json_values(
    contents: Iterable[EmbargoesOfSplit],
) -> list[dict[str, object]]:
    return [_split_embargo_as_json_values(content) for content in contents]


def _split_embargo_as_json_values(content: EmbargoesOfSplit) -> dict[str, object]:
    return {
        "task": content.task.slug,
        "split": content.split,
        "phases": [phase.slug for phase in content.phases],
        "battles_alone": [
            phase.slug for phase in content.phases if phase.battles_alone
        ],
        "gold": [_gold_version_as_json_values(gold) for gold in content.versions],
        "shared": content.shared,
        "known": {
            row.kind.value: _embargo_times_as_json_values(row.times)
            for row in content.rows
        },
    }


def _gold_version_as_json_values(gold: Gold) -> dict[str, object]:
    return {
        "version": gold.number,
        "instances": gold.instances,
        "sealed": gold.sealed_at is not None,
    }


def _embargo_times_as_json_values(
    times: Mapping[str, EmbargoEndTime],
) -> dict[str, str]:
    return {group: _embargo_time_as_json_text(at) for group, at in times.items()}


def _embargo_time_as_json_text(at: EmbargoEndTime) -> str:
    if at is None:
        return "now"
    return "never" if at == NEVER_ENDING_EMBARGO else at.isoformat()
