"""ROUGE-1, -2, -L and -Lsum by the rules of the package rouge-score, equal to it in every bit.

Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, sections 2 (ROUGE-N), 3.1 (ROUGE-L) and
3.2 (ROUGE-Lsum, where a line is a sentence). The older Perl program tokenises and counts otherwise; its
numbers are ``scoring.metrics.rouge155``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scoring.metrics.base import PARTS, Floats, Parameters, harmonic_mean
from scoring.metrics.rouge_overlap import bigram_hits, blocks, lcs_lengths, unigram_hits, union_hits
from scoring.metrics.rouge_tokens import Numbers, encoded, encoded_gold
from scoring.metrics.texts import ENGINE, PACKAGE, TextMean, signed_engine

#: The measures that one look at the tokens gives, and the one that needs sentences besides.
PLAIN, BY_SENTENCE = ("1", "2", "l"), ("lsum",)


def rouge(
    references: Sequence[str], predictions: Sequence[str], kinds: Sequence[str] = PLAIN, *, is_stemmed: bool
) -> dict[str, Floats]:
    """For each of ``1``, ``2``, ``l`` and ``lsum`` the (n, 3) precisions, recalls and F1 of the pairs, from 0
    to 1.

    An empty text, and one without a letter or digit, has 0. References are kept as numbers for the next
    call with the same ones.
    """
    if len(references) != len(predictions):
        raise ValueError(f"{len(references)} references and {len(predictions)} predictions")
    gold, given = encoded_gold(tuple(references)), encoded(predictions)
    if is_stemmed:
        gold, given = gold.stemmed(), given.stemmed()
    # By kind the hits of each pair, and by how much a text has fewer units than tokens.
    found: dict[str, tuple[Numbers, int]] = {}
    if "1" in kinds or "2" in kinds:
        unigrams, bigrams = (np.zeros(len(gold.lengths), dtype=np.int64) for _ in range(2))
        for block in blocks(gold, given):
            unigrams[block.pairs] = unigram_hits(block)
            bigrams[block.pairs] = bigram_hits(block)
        found |= {"1": (unigrams, 0), "2": (bigrams, 1)}
    if "l" in kinds:
        found["l"] = lcs_lengths(gold, given), 0
    if "lsum" in kinds:
        found["lsum"] = union_hits(gold, given), 0
    scores = {}
    for kind in kinds:
        hits, less = found[kind]
        precision = hits / np.maximum(given.lengths - less, 1)
        recall = hits / np.maximum(gold.lengths - less, 1)
        scores[kind] = np.column_stack([precision, recall, harmonic_mean(precision, recall)])
    return scores


class Rouge(TextMean):
    """The mean over instances of one of precision, recall and F1 of ROUGE-1, -2, -L or -Lsum, times 100.

    Gold and answers are texts. A gold instance without an answer has 0; over no instances the value is
    undefined (NaN). The stemmed and the unstemmed number are different metrics.
    """

    scale = 100
    citation = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, ACL workshop"
    packages = ("rapidfuzz",)

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        kind: str,
        part: str,
        is_stemmed: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, rules, column=f"{kind}_{part}")
        self.by_package = (options or {}).get(ENGINE) == PACKAGE
        self.kinds = PLAIN if kind in PLAIN else BY_SENTENCE
        self.columns = tuple(f"{own}_{part}" for own in self.kinds for part in PARTS)
        self.is_stemmed = is_stemmed
        family = "rouge" if kind in PLAIN else "rouge_lsum"
        self.statistic = f"{family}_stemmed" if is_stemmed else family

    @property
    def parameters(self) -> Parameters:
        return {
            **super().parameters,
            "stemmer": "porter" if self.is_stemmed else "none",
            "tokenizer": "rouge-score",
            **({"sentences": "lines"} if self.kinds == BY_SENTENCE else {}),
            **({"engine": signed_engine("rouge-score")} if self.by_package else {}),
        }

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        compute = package_rouge if self.by_package else rouge
        scores = compute(gold, answers, self.kinds, is_stemmed=self.is_stemmed)
        return np.hstack([scores[kind] for kind in self.kinds])


def package_rouge(
    references: Sequence[str], predictions: Sequence[str], kinds: Sequence[str], *, is_stemmed: bool
) -> dict[str, Floats]:
    """By kind the (n, 3) precisions, recalls and F1 that rouge-score gives."""
    from rouge_score.rouge_scorer import RougeScorer

    names = {
        kind: f"rouge{kind if len(kind) == 1 and kind.isdecimal() else kind.capitalize()}" for kind in kinds
    }
    scorer = RougeScorer(list(names.values()), use_stemmer=is_stemmed)
    scored = [scorer.score(*pair) for pair in zip(references, predictions, strict=True)]
    return {
        kind: np.array([tuple(scores[name]) for scores in scored], dtype=np.float64).reshape(-1, 3)
        for kind, name in names.items()
    }
