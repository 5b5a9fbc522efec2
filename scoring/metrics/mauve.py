"""MAUVE measures the similarity between the distribution of a run's texts and the
distribution of the gold's texts.

Pillutla and others introduced MAUVE at NeurIPS 2021 (Measuring the Gap Between Neural
Text and Human Text using Divergence Frontiers). MAUVE's values equal those of the
package mauve-text 0.4.0 with faiss 1.15 for the same feature vectors.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, Parameters, Requirement, TextOrHasText
from scoring.metrics.local_models import NamedModel, iterate_padded_batches
from tasks.types.columns import compute_mask_of_present_rows

MAUVE_MODEL_OPTION = "mauve_model"
EQUIVALENT_PACKAGE_VERSION = "mauve-text-0.4.0"
#: The MAUVE paper defines the scaling of divergences and the curve's mixture weights.
DIVERGENCE_SCALING, MIXTURE_WEIGHTS = 5, np.linspace(1e-6, 1 - 1e-6, 25)
#: Empty texts of a run have this cluster number.
EMPTY_TEXT_CLUSTER = -1


class Mauve(Metric):
    """The area under the divergence curve between the cluster distributions of the
    gold's texts and of the run's texts.

    The feature vector of a text is the last layer's vector of the text's last token.
    Clusters are computed from the feature vectors of gold and run together. Each matrix
    row contains the cluster numbers of the gold's text and of the run's text. Cluster
    numbers have no meaning outside of a run, so the metric has no interval and no
    values of classes. Empty texts form a separate cluster. If no text is empty, the
    value equals that of the package mauve-text. The value is undefined for fewer than
    two gold texts.
    """

    shape = "corpus"
    statistic = "mauve"
    own_version = 2
    compares_texts = True
    scale = 100
    citation = "Pillutla et al. 2021, MAUVE: Measuring the Gap Between Neural Text and Human Text, NeurIPS"
    packages = ("torch", "transformers")
    is_decomposable = False
    is_exchangeable = False
    counts_by_last_column = True
    has_honest_interval = False

    def __init__(self, name: str, rules: str, *, options: Mapping[str, str]) -> None:
        super().__init__(name, rules)
        self.model = NamedModel(MAUVE_MODEL_OPTION, options[MAUVE_MODEL_OPTION])

    @property
    def parameters(self) -> Parameters:
        return {
            "model": self.model.signed,
            "as": EQUIVALENT_PACKAGE_VERSION,
            **self.fixed,
        }

    def requirements(self) -> Sequence[Requirement]:
        return (self.model.build_requirement("MAUVE model"),)

    def instance_stats(
        self,
        gold: Sequence[TextOrHasText | None],
        answers: Sequence[TextOrHasText | None],
    ) -> Floats:
        """Return an array (n, 3) with the cluster number of the gold's text, the
        cluster number of the answer, and 1 if the instance counts.
        """
        counts = compute_mask_of_present_rows(gold).astype(np.float64)
        stats = np.column_stack([np.full((len(gold), 2), EMPTY_TEXT_CLUSTER), counts])
        sides = [
            compute_text_vectors(self.model.folder, texts)
            for texts in (self.normalise_texts(gold), self.normalise_texts(answers))
        ]
        rows = [
            [row for row in np.flatnonzero(counts).tolist() if row in side]
            for side in sides
        ]
        vectors = [
            np.array([side[row] for row in kept])
            for side, kept in zip(sides, rows, strict=True)
        ]
        for column, labels in enumerate(
            cluster_jointly(*vectors) if all(map(len, vectors)) else np.zeros(2)
        ):
            stats[rows[column], column] = labels
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        """Return NaN, because a sum of cluster numbers has no meaning."""
        return np.full(sums.shape[:-1], np.nan)

    def total(self, rows: Floats) -> float:
        counted = rows[rows[:, -1] > 0, :2].astype(np.intp) - EMPTY_TEXT_CLUSTER
        if len(counted) < 2:
            return math.nan
        shares = [
            np.bincount(side, minlength=counted.max() + 1) / len(counted)
            for side in counted.T
        ]
        return self.scale * compute_divergence_curve_area(*shares)


def compute_divergence_curve_area(first: Floats, second: Floats) -> float:
    """Return the area under the divergence curve of two distributions over the same
    clusters, between 0 and 1. The points of the divergence curve run from (1, 0) to (0,
    1) in the order of ``MIXTURE_WEIGHTS``. The package mauve-text sorts the points of the
    divergence curve instead. Our value differs from that of the package only for two
    equal distributions, for which our value is 1 and that of the package is between
    0.75 and 1.
    """
    mixed = MIXTURE_WEIGHTS[:, None] * first + (1 - MIXTURE_WEIGHTS[:, None]) * second
    across = np.exp(
        -DIVERGENCE_SCALING
        * np.array([0.0, *_compute_kl_divergences(second, mixed), math.inf])
    )
    up = np.exp(
        -DIVERGENCE_SCALING
        * np.array([math.inf, *_compute_kl_divergences(first, mixed), 0.0])
    )
    return float(np.trapezoid(across, up))


def _compute_kl_divergences(shares: Floats, mixed: Floats) -> Floats:
    occurring = shares > 0
    return np.asarray(
        (shares[occurring] * np.log(shares[occurring] / mixed[:, occurring])).sum(
            axis=1
        )
    )


#: The following settings are defaults of the package mauve-text.
EXPLAINED_VARIANCE_SHARE = 0.9
K_MEANS_RESTARTS, MAX_K_MEANS_STEPS, SEED = 5, 500, 25
#: Relative offset between the centres of the two halves of a split cluster.
SPLIT_CENTRE_OFFSET = np.float32(1 / 1024)
_SAMPLING_STRIDE, _SPLITTING_SEED = 15_486_557, 1234

TextVectors = NDArray[np.float32]
ClusterNumbers = NDArray[np.intp]


def cluster_jointly(
    first: Floats, second: Floats
) -> tuple[ClusterNumbers, ClusterNumbers]:
    """Cluster the vectors of gold and run together, and return the cluster numbers of
    both. The number of clusters is a tenth of the size of the smaller sample, and at
    least 2.
    """
    count = max(2, round(min(len(first), len(second)) / 10))
    both = np.vstack([second, first]).astype(np.float64)
    lengths = np.linalg.norm(both, axis=1, keepdims=True)
    vectors = both / np.where(lengths > 0, lengths, 1)
    # Vectors are reduced to the first principal components with enough variance.
    left, sizes, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    variance = sizes**2
    explained = np.cumsum(variance) / max(variance.sum(), np.finfo(np.float64).tiny)
    dimensions = int(np.argmax(explained >= EXPLAINED_VARIANCE_SHARE)) + 1
    points: TextVectors = (left[:, :dimensions] * sizes[:dimensions]).astype(np.float32)
    labels = np.arange(len(points))
    if len(points) > count:
        starts = (
            _sample_points(points, count, SEED + 3 + number * _SAMPLING_STRIDE)
            for number in range(K_MEANS_RESTARTS)
        )
        labels = min(
            (_run_k_means(points, centres) for centres in starts),
            key=lambda distance: distance[1],
        )[0]
    return labels[len(second) :], labels[: len(second)]


def _sample_points(points: TextVectors, count: int, seed: int) -> TextVectors:
    order = np.arange(len(points))
    for place, number in zip(
        range(count), _iterate_random_integers(seed), strict=False
    ):
        other = place + number % (len(points) - place)
        order[[place, other]] = order[[other, place]]
    return points[order[:count]]


def _run_k_means(
    points: TextVectors, centres: TextVectors
) -> tuple[ClusterNumbers, float]:
    """Run k-means, and return the nearest final centre of each point, and the total
    distance to the centres of the previous step.
    """
    labels, distance = _assign_nearest_centres(points, centres)
    for _ in range(MAX_K_MEANS_STEPS):
        before = labels
        sizes = np.bincount(labels, minlength=len(centres)).astype(np.float32)
        centres = _compute_cluster_means(points, labels, sizes)
        is_whole = bool(sizes.all())
        if not is_whole:
            _refill_empty_clusters(centres, sizes, len(points))
        last, (labels, distance_now) = (
            distance,
            _assign_nearest_centres(points, centres),
        )
        if is_whole and np.array_equal(labels, before):
            return labels, distance_now
        distance = distance_now
    return labels, last


def _compute_cluster_means(
    points: TextVectors, labels: ClusterNumbers, sizes: TextVectors
) -> TextVectors:
    """Return the mean point of each cluster, or 0 for an empty cluster.

    The sum of 32-bit numbers depends on their order. The points of a cluster keep their
    order, because the order after unstable sorting depends on the processor.
    """
    order, occurring = np.argsort(labels, kind="stable"), np.flatnonzero(sizes)
    firsts = np.searchsorted(labels[order], occurring)
    means = np.zeros((len(sizes), points.shape[1]), dtype=np.float32)
    means[occurring] = (
        np.add.reduceat(points[order], firsts, axis=0) / sizes[occurring, None]
    )
    return means


def _assign_nearest_centres(
    points: TextVectors, centres: TextVectors
) -> tuple[ClusterNumbers, float]:
    squares = (centres**2).sum(axis=1) - 2 * points @ centres.T
    labels = squares.argmin(axis=1)
    distances = squares[np.arange(len(points)), labels] + (points**2).sum(axis=1)
    return labels, float(np.maximum(distances, 0).sum(dtype=np.float64))


def _refill_empty_clusters(
    centres: TextVectors, sizes: TextVectors, points: int
) -> None:
    """For each empty cluster, split a random non-empty cluster and move the two centres
    apart. Larger clusters are more likely to be split.
    """
    shares = (
        number / np.float32(2**32)
        for number in _iterate_random_integers(_SPLITTING_SEED)
    )
    apart = np.where(
        np.arange(centres.shape[1]) % 2 == 0, SPLIT_CENTRE_OFFSET, -SPLIT_CENTRE_OFFSET
    )
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


def _iterate_random_integers(seed: int) -> Iterator[int]:
    source = np.random.RandomState(seed)
    while True:
        yield from source.randint(0, 2**32, size=1024, dtype=np.uint32).tolist()


#: Maximum number of tokens per text, as in the package mauve-text.
DEFAULT_MAX_INPUT_TOKENS = 1024
#: Maximum number of tokens per batch, including padding.
MAX_BATCH_TOKENS = 2048


def compute_text_vectors(folder: Path, texts: Sequence[str]) -> dict[int, Floats]:
    """For each non-empty text, return the last layer's vector of the last token, keyed
    by the index of the text.
    """
    import torch

    model, tokenizer, longest = _load_model(folder)
    places = [index for index, text in enumerate(texts) if text.strip()]
    read_texts = [texts[place] for place in places]
    read = (
        tokenizer(read_texts, truncation=True, max_length=longest)["input_ids"]
        if read_texts
        else []
    )
    ids = {place: ids for place, ids in zip(places, read, strict=True) if ids}
    vectors: dict[int, Floats] = {}
    for batch, tokens, mask in iterate_padded_batches(ids, MAX_BATCH_TOKENS):
        with torch.inference_mode():
            layer = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        for row, place in enumerate(batch):
            vectors[place] = layer[row, len(ids[place]) - 1].double().numpy()
    return vectors


@lru_cache(maxsize=1)
def _load_model(folder: Path) -> tuple[Any, Any, int]:
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    positions = getattr(
        model.config, "max_position_embeddings", DEFAULT_MAX_INPUT_TOKENS
    )
    return (
        model,
        tokenizer,
        min(DEFAULT_MAX_INPUT_TOKENS, positions, tokenizer.model_max_length),
    )
