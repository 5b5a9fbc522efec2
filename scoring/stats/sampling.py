"""Sample units that people should label, and compute the weights of the labelled units."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Topic = TypeVar("Topic", bound=Hashable)


def draw_unit_sample(
    units: Iterable[tuple[Topic, str]], count: int, seed: str
) -> list[tuple[Topic, str]]:
    """Return a sample of ``count`` units, which are pairs (topic, name). Return all
    units if there are fewer than ``count``.

    The sampling visits topics repeatedly in a random order and takes a random unit of
    the topic at each visit. The human labels of the sample are thus spread over all
    topics. The same seed yields the same sample on every machine. The random order of
    topics does not depend on the units of the topics.
    """
    by_topic: defaultdict[Topic, list[str]] = defaultdict(list)
    for topic, name in units:
        by_topic[topic].append(name)
    queues = [
        (
            topic,
            sorted(
                names,
                key=lambda name: _compute_pseudorandom_digest(
                    seed, "unit", topic, name
                ),
            ),
        )
        for topic, names in by_topic.items()
    ]
    queues.sort(key=lambda queue: _compute_pseudorandom_digest(seed, "topic", queue[0]))
    drawn: list[tuple[Topic, str]] = []
    turn = 0
    while len(drawn) < count and any(turn < len(names) for _topic, names in queues):
        drawn += [(topic, names[turn]) for topic, names in queues if turn < len(names)]
        turn += 1
    return drawn[:count]


def _compute_pseudorandom_digest(seed: str, *parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, (seed, *parts))).encode()).digest()


def compute_label_weights(
    topics: NDArray[np.int_],
    weights: NDArray[np.float64],
    labelled: Sequence[int] | NDArray[np.int_],
) -> NDArray[np.float64]:
    """Return the weights of the units that people labelled, given the indices of these
    units among all units.

    The weight of a labelled unit is multiplied by its topic's number of units and
    divided by the topic's number of labels.
    """
    places = np.asarray(labelled, int)
    of_units = np.bincount(topics)
    of_labels = np.bincount(topics[places], minlength=len(of_units))
    own = topics[places]
    scaled: NDArray[np.float64] = weights[places] * of_units[own] / of_labels[own]
    return scaled
