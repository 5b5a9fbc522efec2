"""When what is known of gold is free: by its content, whatever phase, split, version or task holds it."""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q
from django.utils import timezone

from tasks.models import Gold, Phase


class Kind(StrEnum):
    """What can be known of gold, that which tells least first."""

    INPUTS = "inputs"
    OWN = "own"
    CLASSES = "classes"
    OTHERS = "others"
    INSTANCES = "instances"
    GOLD = "gold"


#: What of other phases the rule follows from, so that the key of a kept page has it.
ASKED = (
    "board", "board_then", "own_scores", "shows_instances", "gold_is_public", "opens", "closes",
    "inputs_from",
    "board_from", "frozen_from", "frozen_until", "gold_from",
)  # fmt: skip
#: Where nothing says when something is free.
NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)
#: The numbers of runs, which a frozen board keeps back as well.
_NUMBERS = (Kind.OWN, Kind.CLASSES, Kind.OTHERS)


def hidden_until(phase: Phase, kind: Kind, at: dt.datetime) -> dt.datetime | None:
    """Until when the phase's own settings keep this back; None of what they do not keep back now.

    Until it closes, unless the settings name another instant; a phase without an end keeps back for ever
    what it does not show.
    """
    if kind is Kind.INPUTS:
        return _later(phase.inputs_released_at, at)
    # A run's classes stand on the page of its team beside its scores.
    is_own = kind in (Kind.OWN, Kind.CLASSES)
    is_shown = phase.shows_scores if is_own else phase.board_now == Phase.Audience.EVERYONE
    end = phase.closes if phase.has_end else NEVER
    ends = []
    if not is_shown:
        is_announced = phase.board_then == Phase.Audience.EVERYONE and not phase.has_changed_board(at)
        ends.append(phase.board_from if is_announced and phase.board_from else end)
    if kind in (Kind.INSTANCES, Kind.GOLD) and not phase.shows_instances:
        ends.append(end)
    if kind is Kind.GOLD and phase.gold_from is not None:
        ends.append(phase.gold_from)
    if phase.is_frozen(at):
        ends.append(phase.frozen_until or NEVER)
    return _later(max(ends), at) if ends else None


def _later(instant: dt.datetime, at: dt.datetime) -> dt.datetime | None:
    return instant if instant > at else None


@dataclass(frozen=True)
class Holder:
    """A split that holds some of the same content, with its phases and with how many instances."""

    task: int
    split: str
    phases: tuple[Phase, ...]
    #: Versions of the gold asked about that are scored by instances of it, and whose files hold some.
    versions: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()

    def sharing(self, kind: Kind) -> frozenset[int]:
        return self.held if kind is Kind.GOLD else self.versions

    def hidden_until(self, kind: Kind, at: dt.datetime, asked: Phase) -> dt.datetime | None:
        """None where it keeps nothing of this back from a phase of another split."""
        if not self.phases:
            return None
        released = min(phase.inputs_released_at for phase in self.phases)
        ends = [_later(released, at), *_ends(self.phases, kind, at, asked)]
        return max(filter(None, ends), default=None)


def _ends(phases: Iterable[Phase], kind: Kind, at: dt.datetime, asked: Phase) -> Iterator[dt.datetime | None]:
    for phase in phases if kind is not Kind.INPUTS else ():
        frozen_from = phase.frozen_from
        is_of_before = frozen_from is not None and asked.closes <= frozen_from
        if kind in _NUMBERS and phase.is_frozen(at) and is_of_before:
            # Its runs had all come by then, and what was seen was seen.
            continue
        yield hidden_until(phase, kind, at)


@dataclass(frozen=True)
class Secrecy:
    """What others keep back of a phase's content; its own settings are asked beside that."""

    phase: Phase
    newest: int | None
    sealed: frozenset[int]
    #: The other phases of its own split.
    beside: Holder
    elsewhere: tuple[Holder, ...]

    def binding(
        self, kind: Kind, *, at: dt.datetime | None = None, version: int | None = None
    ) -> list[tuple[dt.datetime, Holder]]:
        """Who keeps it back, and until when; of this version of the gold, or of the newest."""
        now, version = at or timezone.now(), version or self.newest
        found = [(end, self.beside) for end in _ends(self.beside.phases, kind, now, self.phase) if end]
        for holder in self.elsewhere:
            end = holder.hidden_until(kind, now, self.phase) if version in holder.sharing(kind) else None
            if end is not None:
                found.append((end, holder))
        found = [one for one in found if not self._is_let_out(kind, one[1])]
        if kind in (Kind.INSTANCES, Kind.GOLD) and version in self.sealed:
            found.append((NEVER, self.beside))
        return found

    def until(
        self, kind: Kind, *, at: dt.datetime | None = None, version: int | None = None
    ) -> dt.datetime | None:
        """The instant from which it is free, `NEVER` where there is none; None of what is free now."""
        binding = self.binding(kind, at=at, version=version)
        return max((end for end, _ in binding), default=None)

    def free_from(self, kind: Kind) -> dt.datetime | None:
        """When the content is free, its own phases and all others asked: `NEVER`, or None if that is now."""
        own = (self.phase, *self.beside.phases)
        at = timezone.now()
        if kind is Kind.INSTANCES and not any(phase.shows_instances for phase in own):
            return NEVER
        if kind is Kind.GOLD and not any(phase.gold_is_public for phase in own):
            return NEVER
        ends = [Holder(self.phase.task_id, self.phase.split, own).hidden_until(kind, at, self.phase)]
        ends += [self.until(Kind.INPUTS, at=at), self.until(kind, at=at)]
        return max(filter(None, ends), default=None)

    def is_free(self, kind: Kind, *, version: int | None = None) -> bool:
        return self.until(kind, version=version) is None

    def _is_let_out(self, kind: Kind, holder: Holder) -> bool:
        return [kind.value, holder.task, holder.split] in self.phase.let_out

    @property
    def older(self) -> frozenset[int]:
        """Versions before the newest that something else may hold for than for that."""
        shared = (holder.held for holder in self.elsewhere)
        return self.sealed.union(*shared) - {self.newest}

    @property
    def min_class_size(self) -> int:
        """The largest that any task with this content asks for, as long as it keeps instances back."""
        own = self.phase.task.min_class_size
        sizes = [holder.phases[0].task.min_class_size for _, holder in self.binding(Kind.INSTANCES)]
        return max([own, *sizes])

    def facts(self) -> tuple[object, ...]:
        """What a page that was kept follows from, beside its own phase."""
        return (self.min_class_size, *(kind.value for kind in Kind if not self.is_free(kind)))


def secrecy_of(phase: Phase) -> Secrecy:
    """Asked of the database once for each phase that was read from it."""
    known: Secrecy | None = phase.__dict__.get("secrecy")
    if known is None:
        known = phase.__dict__["secrecy"] = next(iter(_looked_up([phase])))
    return known


def looked_up(phases: Iterable[Phase]) -> list[Phase]:
    """The phases, asked for all at once, so that a list takes as many queries as one of them."""
    rows = list(phases)
    unknown = [phase for phase in rows if "secrecy" not in phase.__dict__]
    for phase, known in zip(unknown, _looked_up(unknown), strict=True):
        phase.__dict__["secrecy"] = known
    return rows


def _looked_up(phases: list[Phase]) -> list[Secrecy]:
    splits = {(phase.task_id, phase.split) for phase in phases}
    if not splits:
        return []
    of_splits = Q()
    for task, split in splits:
        of_splits |= Q(task=task, split=split)
    newest: dict[tuple[int, str], int] = {}
    sealed: set[int] = set()
    shared: dict[tuple[tuple[int, str], tuple[int, str]], dict[int, int]] = {}
    names = ("pk", "task_id", "split", "sealed_at")
    of_others = ("overlaps__other__task_id", "overlaps__other__split", "overlaps__same", "overlaps__held")
    rows = Gold.objects.filter(of_splits).order_by("number").values_list(*names, *of_others)
    for version, task, split, sealed_at, other_task, other_split, same, held in rows:
        own = (task, split)
        newest[own] = version
        sealed |= {version} if sealed_at else set()
        if held and (other_task, other_split) != own:
            shared.setdefault((own, (other_task, other_split)), {})[version] = same
    for _, (task, split) in shared:
        of_splits |= Q(task=task, split=split)
    by_split: dict[tuple[int, str], list[Phase]] = {}
    for row in Phase.objects.filter(of_splits).select_related("task__season"):
        by_split.setdefault((row.task_id, row.split), []).append(row)
    found = []
    for phase in phases:
        own = (phase.task_id, phase.split)
        beside = tuple(row for row in by_split.get(own, ()) if row.pk != phase.pk)
        elsewhere = tuple(
            Holder(
                *other,
                tuple(by_split.get(other, ())),
                frozenset(version for version, same in versions.items() if same),
                frozenset(versions),
            )
            for (asked, other), versions in shared.items()
            if asked == own
        )
        found.append(Secrecy(phase, newest.get(own), frozenset(sealed), Holder(*own, beside), elsewhere))
    return found


def inputs_are_free(phase: Phase) -> bool:
    return phase.has_released_inputs() and secrecy_of(phase).is_free(Kind.INPUTS)


def inputs_free_at(phase: Phase) -> dt.datetime:
    return max(phase.inputs_released_at, secrecy_of(phase).until(Kind.INPUTS) or phase.inputs_released_at)


def shows_scores(phase: Phase) -> bool:
    """Whether a team learns those of its own runs: as the phase says, and no other keeps them back."""
    return phase.shows_scores and secrecy_of(phase).is_free(Kind.OWN)


def may_give_gold(phase: Phase, version: int | None = None) -> bool:
    """Whether nobody keeps this gold back: neither the phase itself nor another one on any of it."""
    at, known = timezone.now(), secrecy_of(phase)
    if not phase.gold_is_public or hidden_until(phase, Kind.GOLD, at) is not None:
        return False
    return known.is_free(Kind.GOLD, version=version)
