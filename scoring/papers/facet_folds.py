"""Cross-validate the facet classifiers of the CL-Summ pilot (Jaidka et al., 2014,
tables 1 and 4).

In the paper, pairs of a citance and a cited sentence are assigned to folds at random. A
sentence that several citances cite then serves for both training and testing. If all
pairs of a sentence or topic are in the same fold, training and test data do not
overlap. Without such an overlap, the classifiers are hardly better than a baseline that
always answers the most frequent facet. The figures of cross-validation are not
comparable with the scores of a run.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.tools.baselines.clsumm_facets import (
    CLASSIFIER_NAMES,
    LEMMA_NGRAMS,
    FacetPair,
    predict_facets,
)
from scoring.tools.training import compute_f1_by_label
from tasks.types.clsumm.citances import FACETS, MAJORITY_FACET

NUMBER_OF_FOLDS = 10
#: For each protocol, a function that returns the same value for pairs in one fold.
#: A protocol with None instead of a function assigns pairs to folds at random.
GROUPING_BY_PROTOCOL: Mapping[str, Callable[[FacetPair], str] | None] = {
    "random": None,
    "by sentence": lambda pair: pair.sentence,
    "by topic": lambda pair: pair.topic,
}

#: F1 values by protocol, classifier and facet.
#: The key `weighted` has the mean over facets, weighted by their frequency in gold.
FoldScores = Mapping[str, Mapping[str, Mapping[str, float]]]


def facet_folds(pairs: Sequence[FacetPair]) -> FoldScores:
    """Cross-validate every classifier with every method of assigning pairs to folds.
    The entry `any` has the baseline that always answers the most frequent facet.
    """
    from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

    gold = [pair.facet for pair in pairs]
    texts = np.array([pair.text for pair in pairs], dtype=object)
    facets = np.array(gold, dtype=object)
    by_protocol: dict[str, dict[str, Mapping[str, float]]] = {}
    for protocol, group in GROUPING_BY_PROTOCOL.items():
        groups = [group(pair) for pair in pairs] if group else None
        if groups is None:
            folds: Any = KFold(NUMBER_OF_FOLDS, shuffle=True, random_state=0)
        else:
            folds = (
                LeaveOneGroupOut()
                if len(set(groups)) <= NUMBER_OF_FOLDS
                else GroupKFold(NUMBER_OF_FOLDS)
            )
        splits = list(folds.split(np.arange(len(pairs)), groups=groups))
        by_protocol[protocol] = {}
        for classifier in CLASSIFIER_NAMES:
            predicted = np.empty(len(pairs), dtype=object)
            for train, test in splits:
                learned = texts[train].tolist(), facets[train].tolist()
                predicted[test] = predict_facets(
                    classifier, *learned, texts[test].tolist(), LEMMA_NGRAMS
                )
            by_protocol[protocol][classifier] = compute_f1_by_facet(
                gold, predicted.tolist()
            )
    return {
        **by_protocol,
        "any": {
            f"always {MAJORITY_FACET}": compute_f1_by_facet(
                gold, [MAJORITY_FACET] * len(gold)
            )
        },
    }


def compute_f1_by_facet(
    gold: Sequence[str], predicted: Sequence[str]
) -> dict[str, float]:
    """Return F1 by facet.

    A facet that occurs neither in the gold nor in the answers has the F1 score 0. In
    the weighted mean, facets that do not occur in the gold have weight 0.
    """
    support, f1 = Counter(gold), compute_f1_by_label(gold, predicted, FACETS)
    weighted = sum(value * support[facet] for facet, value in f1.items())
    return {**f1, "weighted": weighted / len(gold) if gold else 0.0}


def convert_pairs_to_json(pairs: Sequence[FacetPair]) -> dict[str, Any]:
    support = Counter(pair.facet for pair in pairs)
    facets = {**{facet: support[facet] for facet in FACETS}, "total": support.total()}
    return {"facets": facets, "folds": facet_folds(pairs)}
