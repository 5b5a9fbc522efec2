"""Dependencies that citance and sentence have in common: head, relation and dependent, all three the same.

Another pipeline gives other parses, so a run says which it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scoring.metrics.base import Floats, ratio
from tasks.types.positional_citations.pipelines import parsed
from tasks.types.positional_citations.tree import ROOT, Parse

#: Relations that say nothing about what is said.
PASSED_OVER = (ROOT, "punct", "dep")

Dependency = tuple[str, str, str]


def overlap(citances: Sequence[str], sentences: Sequence[str], pipeline: str) -> Floats:
    """(citances, sentences, 2): the common dependencies as a share of the citance's and of the sentence's.

    Raises Unavailable where the pipeline cannot be loaded.
    """
    own = [dependencies(parse) for parse in parsed(citances, pipeline)]
    other = [dependencies(parse) for parse in parsed(sentences, pipeline)]
    common = np.array([[len(a & b) for b in other] for a in own], dtype=np.float64)
    common = common.reshape(len(own), len(other))
    counts = np.array([[len(a)] for a in own], float), np.array([[len(b) for b in other]], float)
    return np.stack([ratio(common, count) for count in counts], axis=2)


def dependencies(parse: Parse) -> set[Dependency]:
    """Head, relation and dependent, words in lower case."""
    words = [token.lower() for token in parse.tokens]
    return {
        (words[head], relation, word)
        for word, head, relation in zip(words, parse.heads, parse.relations, strict=True)
        if relation not in PASSED_OVER
    }
