"""Facet classifiers of the pilot by folds: Jaidka et al. 2014, tables 1 and 4.

The paper's folds are random over pairs of citance and sentence; a sentence that several citances cite is
then trained on and tested on. Folds by sentence and by topic do not leak, and hardly anything is left over
the line to beat, which is to answer the commonest facet always. These are no scores of a run.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.tools.baselines.clsumm_facets import (
    CLASSIFIERS,
    LEMMAS,
    FacetPair,
    facets_by,
)
from scoring.tools.training import f1_by_label
from tasks.types.clsumm.citances import FACETS, MAJORITY

FOLDS = 10
#: The folds of each protocol hold whole groups of pairs, or are random.
PROTOCOLS: Mapping[str, Callable[[FacetPair], str] | None] = {
    "random": None,
    "by sentence": lambda pair: pair.sentence,
    "by topic": lambda pair: pair.topic,
}

#: By protocol and classifier the F1 of each facet, and `weighted`, their mean by how often gold has each.
Folds = Mapping[str, Mapping[str, Mapping[str, float]]]


def facet_folds(pairs: Sequence[FacetPair]) -> Folds:
    """Every classifier cross-validated in every protocol; under `any` the line to beat."""
    from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

    gold = [pair.facet for pair in pairs]
    texts = np.array([pair.text for pair in pairs], dtype=object)
    facets = np.array(gold, dtype=object)
    by_protocol: dict[str, dict[str, Mapping[str, float]]] = {}
    for protocol, group in PROTOCOLS.items():
        groups = [group(pair) for pair in pairs] if group else None
        if groups is None:
            folds: Any = KFold(FOLDS, shuffle=True, random_state=0)
        else:
            folds = (
                LeaveOneGroupOut() if len(set(groups)) <= FOLDS else GroupKFold(FOLDS)
            )
        splits = list(folds.split(np.arange(len(pairs)), groups=groups))
        by_protocol[protocol] = {}
        for classifier in CLASSIFIERS:
            predicted = np.empty(len(pairs), dtype=object)
            for train, test in splits:
                learned = texts[train].tolist(), facets[train].tolist()
                predicted[test] = facets_by(
                    classifier, *learned, texts[test].tolist(), LEMMAS
                )
            by_protocol[protocol][classifier] = f1_by_facet(gold, predicted.tolist())
    return {
        **by_protocol,
        "any": {f"always {MAJORITY}": f1_by_facet(gold, [MAJORITY] * len(gold))},
    }


def f1_by_facet(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """A facet that neither has is 0, and one that the gold does not have weighs nothing."""
    support, f1 = Counter(gold), f1_by_label(gold, predicted, FACETS)
    weighted = sum(value * support[facet] for facet, value in f1.items())
    return {**f1, "weighted": weighted / len(gold) if gold else 0.0}


def as_data(pairs: Sequence[FacetPair]) -> dict[str, Any]:
    support = Counter(pair.facet for pair in pairs)
    facets = {**{facet: support[facet] for facet in FACETS}, "total": support.total()}
    return {"facets": facets, "folds": facet_folds(pairs)}
