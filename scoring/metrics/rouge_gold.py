"""Gold texts as numbers, kept between runs: within a process, and large gold in a file beside it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scoring.metrics import cache
from scoring.metrics.rouge_tokens import Encoded, encoded, vocabulary

#: Of fewer characters in all, reading a file would take as long as reading the texts.
WORTH_KEEPING = 500_000
#: Raised when words are told apart or stemmed otherwise.
KIND = "rouge-1"


@lru_cache(maxsize=4)
def encoded_gold(texts: tuple[str, ...]) -> Encoded:
    """The same as ``encoded``, kept: every run of a task is scored against the same gold."""
    if sum(map(len, texts)) < WORTH_KEEPING:
        return encoded(texts)
    digest = cache.digest_of(texts)
    arrays = cache.load(KIND, digest)
    if arrays is None:
        found = encoded(texts)
        cache.keep(KIND, digest, _as_arrays(found))
        return found
    return _from_arrays(arrays)


def _as_arrays(gold: Encoded) -> cache.Arrays:
    """Numbers of its own, the words that they stand for, and these words' stems."""
    used, numbers = np.unique(gold.words, return_inverse=True)
    known = list(vocabulary)
    words = [known[number] for number in used.tolist()]
    return {
        "words": np.frombuffer(b" ".join(words), dtype=np.uint8),
        "stems": np.frombuffer(b" ".join(map(vocabulary.stem, words)), dtype=np.uint8),
        "numbers": numbers.astype(np.int32),
        "starts": gold.starts,
        "lines": gold.lines,
        "line_starts": gold.line_starts,
    }


def _from_arrays(arrays: cache.Arrays) -> Encoded:
    words = arrays["words"].tobytes().split()
    vocabulary.learn(words, arrays["stems"].tobytes().split())
    here = np.fromiter(map(vocabulary.__getitem__, words), np.int64, len(words))
    return Encoded(here[arrays["numbers"]], arrays["starts"], arrays["lines"], arrays["line_starts"])
