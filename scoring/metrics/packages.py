"""ROUGE and BERTScore by the packages that ours are held to, for whoever would rather trust those."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from scoring.metrics.base import Floats
from tasks.types.unavailable import Unavailable

#: The option's values: this program, or the package.
OWN, PACKAGE = "own", "package"
ENGINE = "engine"


def signed_engine(package: str) -> str:
    return f"{package}-{version(package)}"


def package_rouge(
    references: Sequence[str], predictions: Sequence[str], kinds: Sequence[str], *, is_stemmed: bool
) -> dict[str, Floats]:
    """By kind the (n, 3) precisions, recalls and F1 that rouge-score gives."""
    from rouge_score.rouge_scorer import RougeScorer

    names = {
        kind: f"rouge{kind if len(kind) == 1 and kind.isdecimal() else kind.capitalize()}" for kind in kinds
    }
    scorer = RougeScorer(list(names.values()), use_stemmer=is_stemmed)
    found = [scorer.score(*pair) for pair in zip(references, predictions, strict=True)]
    return {
        kind: np.array([tuple(scores[name]) for scores in found], dtype=np.float64).reshape(-1, 3)
        for kind, name in names.items()
    }


def package_bertscore(gold: Sequence[str], answers: Sequence[str], settings: Any) -> Floats:
    """The (n, 3) that bert-score gives, on one processor; a pair with an empty text has 0, unasked."""
    try:
        from bert_score import BERTScorer
    except ImportError as missing:
        raise Unavailable(
            "engine=package needs the package bert-score; `make models` installs it"
        ) from missing
    scores = np.zeros((len(gold), 3))
    asked = [place for place, pair in enumerate(zip(gold, answers, strict=True)) if all(map(str.strip, pair))]
    if asked:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer = BERTScorer(
                model_type=settings.place,
                num_layers=settings.layer,
                device="cpu",
                nthreads=0,
                idf=settings.uses_idf,
                idf_sents=list(gold) if settings.uses_idf else None,
            )
            parts = scorer.score([answers[place] for place in asked], [gold[place] for place in asked])
        scores[asked] = np.column_stack([part.numpy() for part in parts])
    if settings.baseline != "no":
        base = np.array(settings.baseline_values())
        scores = (scores - base) / (1 - base)
    return scores
