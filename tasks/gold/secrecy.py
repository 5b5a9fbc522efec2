"""Embargoes of gold content. An embargo applies to all phases, splits, versions and
tasks that contain the content.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import models
from django.db.models.functions import JSONArray
from django.utils import timezone

from tasks.models import Gold, Phase, Task


class ContentKind(StrEnum):
    """Kinds of information about gold, from the least to the most revealing kind."""

    INPUTS = "inputs"
    OWN = "own"
    CLASSES = "classes"
    OTHERS = "others"
    INSTANCES = "instances"
    GOLD = "gold"


#: Fields of other phases in `PHASE_FIELDS_OF_EMBARGOES` determine embargoes and are part of cache keys.
PHASE_FIELDS_OF_EMBARGOES = (
    "board",
    "board_then",
    "battles_alone",
    "own_scores",
    "shows_instances",
    "gold_is_public",
    "opens",
    "closes",
    "inputs_from",
    "board_from",
    "frozen_from",
    "frozen_until",
    "gold_from",
)
#: `NEVER_ENDING_EMBARGO` is the end of an embargo that never ends.
NEVER_ENDING_EMBARGO = dt.datetime.max.replace(tzinfo=dt.UTC)
#: The kinds in `_SCORE_KINDS` contain scores of runs, so a frozen board withholds them.
_SCORE_KINDS = (ContentKind.OWN, ContentKind.CLASSES, ContentKind.OTHERS)


def compute_embargo_end_of_phase(
    phase: Phase, kind: ContentKind, at: dt.datetime
) -> dt.datetime | None:
    """Return the end of the embargo that the phase's own settings set for the kind of
    information, or None without an embargo.
    """
    if kind is ContentKind.INPUTS:
        return _return_if_in_future(phase.inputs_released_at, at)
    # A team's page shows the class results of a run next to the scores of the run.
    is_own = kind in (ContentKind.OWN, ContentKind.CLASSES)
    is_shown = phase.shows_scores if is_own else phase.shows_board_scores_to_everyone
    end = phase.closes if phase.has_end else NEVER_ENDING_EMBARGO
    ends = []
    if not is_shown:
        is_announced = (
            phase.board_then == Phase.Audience.EVERYONE
            and not phase.battles_alone
            and not phase.has_board_audience_changed(at)
        )
        ends.append(phase.board_from if is_announced and phase.board_from else end)
    if kind in (ContentKind.INSTANCES, ContentKind.GOLD) and not phase.shows_instances:
        ends.append(end)
    if kind is ContentKind.GOLD and phase.gold_from is not None:
        ends.append(phase.gold_from)
    if phase.is_frozen(at):
        ends.append(phase.frozen_until or NEVER_ENDING_EMBARGO)
    return _return_if_in_future(max(ends), at) if ends else None


def _return_if_in_future(instant: dt.datetime, at: dt.datetime) -> dt.datetime | None:
    return instant if instant > at else None


@dataclass(frozen=True)
class SplitSharingContent:
    """Another split with some of the same content as a phase's split. The object lists
    the phases of the other split and the shared versions of gold.
    """

    task: int
    split: str
    phases: tuple[Phase, ...]
    #: ``versions`` are gold versions that share scored instances.
    #: ``held`` are gold versions whose files contain some of the same content.
    versions: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    #: `is_claim` is True if another organiser's season published the texts first.
    is_claim: bool = False

    def gold_versions_sharing_kind(self, kind: ContentKind) -> frozenset[int]:
        return self.held if kind is ContentKind.GOLD else self.versions

    def compute_embargo_end(
        self, kind: ContentKind, at: dt.datetime, asked: Phase
    ) -> dt.datetime | None:
        """Return the end of this split's embargo on the content of the phase ``asked``,
        or None without an embargo.
        """
        if not self.phases:
            return None
        released = min(phase.inputs_released_at for phase in self.phases)
        return max(
            filter(
                None,
                [
                    _return_if_in_future(released, at),
                    *_iterate_embargo_ends(self.phases, kind, at, asked),
                ],
            ),
            default=None,
        )


def _iterate_embargo_ends(
    phases: Iterable[Phase], kind: ContentKind, at: dt.datetime, asked: Phase
) -> Iterator[dt.datetime | None]:
    for phase in phases if kind is not ContentKind.INPUTS else ():
        frozen_from = phase.frozen_from
        is_of_before = frozen_from is not None and asked.closes <= frozen_from
        if kind in _SCORE_KINDS and phase.is_frozen(at) and is_of_before:
            # Runs from before the freeze stay visible, since their scores were visible.
            continue
        yield compute_embargo_end_of_phase(phase, kind, at)


@dataclass(frozen=True)
class SharedGoldEmbargoes:
    """The embargoes that other phases impose on a phase with the same content. The
    embargo from the phase's own settings is not included.
    """

    phase: Phase
    newest: int | None
    sealed: frozenset[int]
    beside: SplitSharingContent
    elsewhere: tuple[SplitSharingContent, ...]
    of_task: tuple[Phase, ...]

    def list_binding_embargoes(
        self,
        kind: ContentKind,
        *,
        at: dt.datetime | None = None,
        version: int | None = None,
    ) -> list[tuple[dt.datetime, SplitSharingContent]]:
        now, version = at or timezone.now(), version or self.newest
        found = [
            (end, self.beside)
            for end in _iterate_embargo_ends(self.beside.phases, kind, now, self.phase)
            if end
        ]
        for holder in self.elsewhere:
            end = (
                holder.compute_embargo_end(kind, now, self.phase)
                if version in holder.gold_versions_sharing_kind(kind)
                else None
            )
            if end is not None:
                # The exact end of a claim's embargo would identify the other season.
                found.append((NEVER_ENDING_EMBARGO if holder.is_claim else end, holder))
        let_out = self.phase.let_out
        found = [
            (end, holder)
            for end, holder in found
            if holder.is_claim or [kind.value, holder.task, holder.split] not in let_out
        ]
        if kind in (ContentKind.INSTANCES, ContentKind.GOLD) and version in self.sealed:
            found.append((NEVER_ENDING_EMBARGO, self.beside))
        return found

    def until(
        self,
        kind: ContentKind,
        *,
        at: dt.datetime | None = None,
        version: int | None = None,
    ) -> dt.datetime | None:
        """Return the end of the embargo of other phases on a kind of information,
        `NEVER_ENDING_EMBARGO` if the embargo has no end, or None without an embargo.
        """
        return max(
            (
                end
                for end, _ in self.list_binding_embargoes(kind, at=at, version=version)
            ),
            default=None,
        )

    def free_from(self, kind: ContentKind) -> dt.datetime | None:
        """Return the time from which all phases with the content disclose this kind of
        information. Return None if all phases disclose the information now, and `NEVER_ENDING_EMBARGO`
        if a phase never does.
        """
        own = (self.phase, *self.beside.phases)
        at = timezone.now()
        if kind is ContentKind.INSTANCES and not any(
            phase.shows_instances for phase in own
        ):
            return NEVER_ENDING_EMBARGO
        if kind is ContentKind.GOLD and not any(phase.gold_is_public for phase in own):
            return NEVER_ENDING_EMBARGO
        ends = [
            SplitSharingContent(
                self.phase.task_id, self.phase.split, own
            ).compute_embargo_end(kind, at, self.phase)
        ]
        ends += [self.until(ContentKind.INPUTS, at=at), self.until(kind, at=at)]
        return max(filter(None, ends), default=None)

    def is_free_of_embargo(
        self, kind: ContentKind, *, version: int | None = None
    ) -> bool:
        return self.until(kind, version=version) is None

    @property
    def older_versions_under_embargo(self) -> frozenset[int]:
        """Return older gold versions whose embargo may differ from the embargo of the
        newest version.
        """
        return self.sealed.union(*(holder.held for holder in self.elsewhere)) - {
            self.newest
        }

    @property
    def min_class_size(self) -> int:
        """Return the largest minimum class size of the phase's task and of all tasks
        that withhold the same instances.
        """
        own = self.phase.task.min_class_size
        # A sealed version is withheld by its own split, which may have no other phases.
        binding = (
            holder.phases[:1]
            for _, holder in self.list_binding_embargoes(ContentKind.INSTANCES)
        )
        return max(
            [
                own,
                *(phase.task.min_class_size for phases in binding for phase in phases),
            ]
        )

    def facts(self) -> tuple[object, ...]:
        return (
            self.min_class_size,
            *(kind.value for kind in ContentKind if not self.is_free_of_embargo(kind)),
        )


TaskIdAndSplitName = tuple[int, str]


class _GoldVersionOverlap(NamedTuple):
    """One version of a split's gold, with the numbers of instances that it shares with
    the gold of one other split.
    """

    number: int
    pk: int
    sealed_at: str | None
    #: The fields up to `is_claimed` are empty if the gold shares no instances.
    other_task: int
    other_split: str
    same: int
    held: int
    binds: bool
    is_claimed: bool
    #: While `compared_at` is empty, claims on the gold's previous version apply.
    compared_at: str | None


class _JsonArrayAggregate(models.Aggregate):
    function = "JSON_GROUP_ARRAY"
    output_field = models.JSONField()

    def as_postgresql(self, *args: Any) -> Any:
        return self.as_sql(*args, function="JSONB_AGG")


def _annotate_overlaps_by_task(
    golds: models.QuerySet[Gold],
) -> models.QuerySet[Gold, Any]:
    holds = models.Q(overlaps__binds=True) | models.Q(overlaps__is_claimed=True)
    binding = models.FilteredRelation("overlaps", condition=holds)
    of_others = ("other__task", "other__split", "same", "held", "binds", "is_claimed")
    own = ("number", "pk", "sealed_at")
    row = JSONArray(
        *own, *(f"binding__{name}" for name in of_others), "publication__compared_at"
    )
    by_task = golds.order_by().annotate(binding=binding).values("task")
    return by_task.annotate(rows=_JsonArrayAggregate(row)).values_list(
        "rows", flat=True
    )


def annotate_gold_overlaps(phases: models.QuerySet[Phase]) -> models.QuerySet[Phase]:
    versions = Gold.objects.filter(
        task=models.OuterRef("task"), split=models.OuterRef("split")
    )
    return phases.annotate(
        gold_listed=models.Subquery(_annotate_overlaps_by_task(versions))
    )


def find_phase_by_slugs(season: str, task: str, phase: str) -> Phase | None:
    """Return the phase with the slugs of season, task and phase, together with the
    embargoes of other phases.
    """
    phases = Phase.objects.select_related("task__season")
    of_task = list(
        annotate_gold_overlaps(
            phases.filter(task__season__slug=season, task__slug=task)
        )
    )
    found = next((row for row in of_task if row.slug == phase), None)
    if found is not None:
        for row in of_task:
            row.task = found.task
        _attach_embargoes([found], of_task)
    return found


def get_embargoes_of_phase(phase: Phase) -> SharedGoldEmbargoes:
    """Return the embargoes of a phase. The embargoes are loaded from the database once
    per phase object.
    """
    secrecy: SharedGoldEmbargoes = load_phases_with_embargoes([phase])[0].__dict__[
        "secrecy"
    ]
    return secrecy


def load_phases_with_embargoes(phases: Iterable[Phase]) -> list[Phase]:
    """Load the embargoes of all given phases with a constant number of queries."""
    asked = list(phases)
    unknown = [phase for phase in asked if "secrecy" not in phase.__dict__]
    if tasks := {phase.task_id: phase.task for phase in unknown}:
        of_tasks = list(annotate_gold_overlaps(Phase.objects.filter(task__in=tasks)))
        for row in of_tasks:
            row.task = tasks[row.task_id]
        _attach_embargoes(unknown, of_tasks)
    return asked


def prefetch_phases_with_embargoes(tasks: Iterable[Task]) -> None:
    """Prefetch the phases of the tasks, and the embargoes of each phase."""
    models.prefetch_related_objects(
        list(tasks),
        models.Prefetch("phases", annotate_gold_overlaps(Phase.objects.all())),
    )
    phases = [phase for task in tasks for phase in task.phases.all()]
    _attach_embargoes(phases, phases)


def _bound_versions_by_split(
    split: TaskIdAndSplitName, versions: Iterable[_GoldVersionOverlap]
) -> dict[TaskIdAndSplitName, dict[int, int]]:
    bound: dict[TaskIdAndSplitName, dict[int, int]] = {}
    for version in versions:
        other = (version.other_task, version.other_split)
        if version.binds and version.held and other != split:
            bound.setdefault(other, {})[version.pk] = version.same
    return bound


def _attach_embargoes(phases: list[Phase], of_tasks: list[Phase]) -> None:
    by_split: dict[TaskIdAndSplitName, list[Phase]] = {}
    listed = {}
    for row in of_tasks:
        by_split.setdefault((row.task_id, row.split), []).append(row)
        listed[row.task_id, row.split] = vars(row)["gold_listed"]
    asked = {(phase.task_id, phase.split) for phase in phases}
    for task, split in asked - listed.keys():
        listed[task, split] = _annotate_overlaps_by_task(
            Gold.objects.filter(task=task, split=split)
        ).first()
    versions = {
        split: sorted(_GoldVersionOverlap(*facts) for facts in listed[split] or ())
        for split in asked
    }
    shared: dict[TaskIdAndSplitName, dict[TaskIdAndSplitName, dict[int, int]]] = {
        split: {} for split in asked
    }
    claims: dict[TaskIdAndSplitName, dict[TaskIdAndSplitName, set[int]]] = {
        split: {} for split in asked
    }
    unread = models.Q()
    for own, rows in versions.items():
        shared[own] = _bound_versions_by_split(own, rows)
        claims[own] = _group_claimed_versions_by_split(rows)
        for other in {*shared[own], *claims[own]} - by_split.keys():
            unread |= models.Q(task=other[0], split=other[1])
    for phase in (
        Phase.objects.filter(unread).select_related("task__season") if unread else ()
    ):
        by_split.setdefault((phase.task_id, phase.split), []).append(phase)
    for phase in phases:
        own = (phase.task_id, phase.split)
        beside = tuple(row for row in by_split.get(own, ()) if row.pk != phase.pk)
        elsewhere: list[SplitSharingContent] = []
        for other, counts in shared[own].items():
            sharing = frozenset(version for version, same in counts.items() if same)
            elsewhere.append(
                SplitSharingContent(
                    *other, tuple(by_split.get(other, ())), sharing, frozenset(counts)
                )
            )
        for other, claimed in claims[own].items():
            public = tuple(
                row for row in by_split.get(other, ()) if row.task.season.is_public
            )
            elsewhere.append(
                SplitSharingContent(
                    *other,
                    public,
                    frozenset(claimed),
                    frozenset(claimed),
                    is_claim=True,
                )
            )
        rows, of_task = (
            versions[own],
            (row for row in of_tasks if row.task_id == phase.task_id),
        )
        newest = rows[-1].pk if rows else None
        sealed = frozenset(row.pk for row in rows if row.sealed_at)
        vars(phase)["secrecy"] = SharedGoldEmbargoes(
            phase,
            newest,
            sealed,
            SplitSharingContent(*own, beside),
            tuple(elsewhere),
            tuple(of_task),
        )


def _group_claimed_versions_by_split(
    rows: list[_GoldVersionOverlap],
) -> dict[TaskIdAndSplitName, set[int]]:
    by_version: dict[int, set[TaskIdAndSplitName]] = {}
    for row in rows:
        of_version = by_version.setdefault(row.pk, set())
        if row.is_claimed and not row.binds:
            of_version.add((row.other_task, row.other_split))
    is_compared = {row.pk: row.compared_at is not None for row in rows}
    before: set[TaskIdAndSplitName] = set()
    found: dict[TaskIdAndSplitName, set[int]] = {}
    for version, claiming in by_version.items():
        before = claiming if is_compared[version] else claiming | before
        for split in before:
            found.setdefault(split, set()).add(version)
    return found


def are_inputs_free_of_embargo(phase: Phase) -> bool:
    return phase.inputs_released_at <= timezone.now() and get_embargoes_of_phase(
        phase
    ).is_free_of_embargo(ContentKind.INPUTS)


def compute_input_disclosure_time(phase: Phase) -> dt.datetime:
    return max(
        phase.inputs_released_at,
        get_embargoes_of_phase(phase).until(ContentKind.INPUTS)
        or phase.inputs_released_at,
    )


def are_own_scores_visible_to_teams(phase: Phase) -> bool:
    """Return True if teams see the scores of their own runs, because the phase shows
    the scores and no other phase withholds the scores.
    """
    return phase.shows_scores and get_embargoes_of_phase(phase).is_free_of_embargo(
        ContentKind.OWN
    )


def get_visible_detail_of_own_runs(phase: Phase) -> str:
    """Return the level of information that teams see on their own runs, limited by the
    embargoes of other phases.
    """
    kept_back = phase.shows_scores and not are_own_scores_visible_to_teams(phase)
    return Phase.OwnRunDetail.SCORED if kept_back else phase.visible_detail_of_own_runs


def can_disclose_gold(phase: Phase, version: int | None = None) -> bool:
    """Return True if no phase with this gold withholds the gold now."""
    at, known = timezone.now(), get_embargoes_of_phase(phase)
    if (
        not phase.gold_is_public
        or compute_embargo_end_of_phase(phase, ContentKind.GOLD, at) is not None
    ):
        return False
    return known.is_free_of_embargo(ContentKind.GOLD, version=version)
