"""Classes of so few instances that a score tells of single ones, and so of their gold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from scoring.board.visibility import Audience, may_see_instances
from scoring.models import Breakdown
from scoring.stats.breakdown import CROSSED
from tasks.models import Phase

#: By dimension the labels of the classes that are not shown.
HiddenClasses = Mapping[str, frozenset[str]]


def hidden_classes(evaluations: Collection[int], phase: Phase, audience: Audience) -> HiddenClasses:
    """What the viewer may not see of these evaluations' classes; nothing where they may see instances.

    The size of a class is that of the metric that counts fewest instances there.
    """
    if may_see_instances(phase, audience):
        return {}
    sizes: dict[str, dict[str, int]] = {}
    for row in Breakdown.objects.filter(evaluation__in=evaluations).prefetch_related("classes"):
        own = sizes.setdefault(row.classes.dimension, {})
        for label, size in row.sizes().items():
            own[label] = min(size, own.get(label, size))
    return {dimension: too_small(own, phase.task.min_class_size) for dimension, own in sizes.items()}


def too_small(sizes: Mapping[str, int], min_size: int) -> frozenset[str]:
    """The classes of fewer instances, and those without which one of them would follow from a total.

    What is left of a total after the shown classes are taken away is two classes or more, and as many
    instances as one class must have. In crossed dimensions that holds for each row and column too.
    """
    hidden = {label for label, size in sizes.items() if size < min_size}
    groups = list(_groups(sizes))
    is_settled = False
    while not is_settled:
        is_settled = True
        for group in groups:
            while follows(group & hidden, sizes, min_size) and (shown := group - hidden):
                hidden.add(min(shown, key=lambda label: (sizes[label], label)))
                is_settled = False
    return frozenset(hidden)


def follows(hidden: Collection[str], sizes: Mapping[str, int], min_size: int) -> bool:
    """Whether the hidden part of a total tells of a class that is too small."""
    return bool(hidden) and (len(hidden) < 2 or sum(sizes[label] for label in hidden) < min_size)


def _groups(labels: Collection[str]) -> Iterator[frozenset[str]]:
    """Classes that add up to what is shown: all of them, and each row and column of crossed ones."""
    yield frozenset(labels)
    crossed: dict[tuple[int, str], set[str]] = {}
    for label in labels:
        parts = label.split(CROSSED)
        for place, part in enumerate(parts if len(parts) > 1 else ()):
            crossed.setdefault((place, part), set()).add(label)
    yield from map(frozenset, crossed.values())
