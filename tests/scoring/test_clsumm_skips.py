"""Skip-bigrams that are never listed, held to those of the listed ones, which are held to ROUGE-1.5.5."""

import random
import time

import pytest

from scoring.metrics.clsumm import count_skip_bigrams
from scoring.metrics.rouge155 import (
    UNLIMITED_SKIP_DISTANCE,
    RougeMeasure,
    WordSplitting,
    count_as_rouge155,
)


@pytest.mark.parametrize("with_words", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_counts_are_those_of_all_pairs(seed, with_words):
    rng = random.Random(seed)
    words = ["red", "blue", "old", "new", "small", "tall", "wet"][: rng.randint(1, 7)]
    model, peer = (
        [rng.choice(words) for _ in range(rng.randint(0, 12))] for _ in range(2)
    )
    measure = RougeMeasure("s", UNLIMITED_SKIP_DISTANCE, with_words=with_words)
    listed = count_as_rouge155(
        [[" ".join(model)]],
        [" ".join(peer)],
        [measure],
        reading=WordSplitting(is_stemmed=False),
    )
    assert count_skip_bigrams(model, peer, with_words=with_words) == listed[measure]


def test_a_text_of_which_no_list_of_pairs_would_fit_into_memory_is_counted_at_once():
    model = [f"word{number % 50}" for number in range(100)]
    peer = [f"word{number % 300}" for number in range(200_000)]
    start = time.monotonic()
    counts = count_skip_bigrams(model, peer)
    assert counts.peer == 200_000 * 199_999 // 2
    assert counts.hits == counts.model == 4950
    assert time.monotonic() - start < 30
