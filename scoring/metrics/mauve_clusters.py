"""Two samples of vectors sorted into common clusters, as MAUVE compares them: PCA, then k-means.

The clusters are those that mauve-text 0.4.0 finds with faiss 1.15: the same seeds draw the same first
centres, an empty cluster takes half of another in the same way, and of five tries the closest one counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats

#: What the package takes unless told otherwise.
EXPLAINED = 0.9
TRIES, MAX_STEPS, SEED = 5, 500, 25
#: How far the centres of the two halves of a cluster are moved apart.
APART = np.float32(1 / 1024)
_STRIDE, _SPLITTING_SEED = 15_486_557, 1234

Vectors = NDArray[np.float32]
Labels = NDArray[np.intp]


def clusters(first: Floats, second: Floats) -> tuple[Labels, Labels]:
    """The cluster of each vector of both samples, of a tenth as many as the smaller sample has vectors."""
    count = max(2, round(min(len(first), len(second)) / 10))
    both = np.vstack([second, first]).astype(np.float64)
    lengths = np.linalg.norm(both, axis=1, keepdims=True)
    points = _principal(both / np.where(lengths > 0, lengths, 1))
    labels = _closest_of_tries(points, count)
    return labels[len(second) :], labels[: len(second)]


def _principal(vectors: Floats) -> Vectors:
    """On the fewest principal axes that explain enough of the variance."""
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    variance = sizes**2
    explained = np.cumsum(variance) / max(variance.sum(), np.finfo(np.float64).tiny)
    dimensions = int(np.argmax(explained >= EXPLAINED)) + 1
    points: Vectors = (left[:, :dimensions] * sizes[:dimensions]).astype(np.float32)
    return points


def _closest_of_tries(points: Vectors, count: int) -> Labels:
    if len(points) <= count:
        return np.arange(len(points))
    tries = (_k_means(points, _drawn(points, count, SEED + 3 + number * _STRIDE)) for number in range(TRIES))
    return min(tries, key=lambda found: found[1])[0]


def _drawn(points: Vectors, count: int, seed: int) -> Vectors:
    """Different points, as faiss draws them."""
    order = np.arange(len(points))
    for place, number in zip(range(count), _random(seed), strict=False):
        other = place + number % (len(points) - place)
        order[[place, other]] = order[[other, place]]
    return points[order[:count]]


def _k_means(points: Vectors, centres: Vectors) -> tuple[Labels, float]:
    """The nearest of the last centres to each point, and how far the points were from those before."""
    labels, distance = _nearest(points, centres)
    for _ in range(MAX_STEPS):
        before = labels
        sizes = np.bincount(labels, minlength=len(centres)).astype(np.float32)
        centres = _means(points, labels, sizes)
        is_whole = bool(sizes.all())
        if not is_whole:
            _split(centres, sizes, len(points))
        last, (labels, distance_now) = distance, _nearest(points, centres)
        if is_whole and np.array_equal(labels, before):
            return labels, distance_now
        distance = distance_now
    return labels, last


def _nearest(points: Vectors, centres: Vectors) -> tuple[Labels, float]:
    squares = (centres**2).sum(axis=1) - 2 * points @ centres.T
    labels = squares.argmin(axis=1)
    distances = squares[np.arange(len(points)), labels] + (points**2).sum(axis=1)
    return labels, float(np.maximum(distances, 0).sum(dtype=np.float64))


def _means(points: Vectors, labels: Labels, sizes: Vectors) -> Vectors:
    order = np.argsort(labels, kind="stable")
    occurring = np.flatnonzero(sizes)
    starts = np.searchsorted(labels[order], occurring)
    centres = np.zeros((len(sizes), points.shape[1]), dtype=np.float32)
    centres[occurring] = np.add.reduceat(points[order], starts, axis=0) / sizes[occurring, None]
    return centres


def _split(centres: Vectors, sizes: Vectors, points: int) -> None:
    """Each empty cluster takes half of one that is drawn by its size, and both centres move apart."""
    shares = (number / np.float32(2**32) for number in _random(_SPLITTING_SEED))
    apart = np.where(np.arange(centres.shape[1]) % 2 == 0, APART, -APART)
    for empty in range(len(sizes)):
        if sizes[empty]:
            continue
        whole = 0
        while not next(shares) < (sizes[whole] - 1) / np.float32(points - len(sizes)):
            whole = (whole + 1) % len(sizes)
        centres[empty] = centres[whole] * (1 + apart)
        centres[whole] *= 1 - apart
        sizes[empty] = sizes[whole] / 2
        sizes[whole] -= sizes[empty]


def _random(seed: int) -> Iterator[int]:
    """The 32-bit numbers of the Mersenne Twister, without an end."""
    source = np.random.RandomState(seed)
    while True:
        yield from source.randint(0, 2**32, size=1024, dtype=np.uint32).tolist()
