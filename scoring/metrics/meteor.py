"""METEOR as NLTK computes it, with WordNet from a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from scoring.metrics import wordnet
from scoring.metrics.base import Floats
from scoring.metrics.means import MeanMetric
from scoring.metrics.requirements import Requirement, looked_for
from scoring.metrics.texts import Text, texts_of
from tasks.types.base import Options
from tasks.types.unavailable import Unavailable

OPTION = "wordnet"


class NltkMeteor(MeanMetric):
    """The mean over instances of NLTK's METEOR, times 100; an empty text has 0.

    Words match as they are, by their Porter stem, or by a synonym of WordNet; recall counts nine times as
    much as precision, and up to half is taken off for matches that do not stand together. The Java program
    of the authors tokenises, matches and weighs otherwise, so that its numbers are others. Words are those of
    NLTK's Treebank tokeniser, in lower case. Undefined where the option ``wordnet`` names no folder.
    """

    statistic = "meteor_nltk"
    columns = ("meteor",)
    scale = 100
    citation = (
        "Lavie and Agarwal 2007, METEOR: An Automatic Metric for MT Evaluation with High Levels of "
        "Correlation with Human Judgments, WMT; as in Bird, Loper and Klein's NLTK"
    )
    packages = ("nltk",)

    def __init__(self, name: str, rules: str, *, options: Options) -> None:
        super().__init__(name, rules, column="meteor")
        folder = options[OPTION]
        self.folder = Path(folder) if folder else None

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        version = wordnet.reader(self.folder).get_version() if self.folder else "not given"
        return {**super().parameters, "tokenizer": "treebank", "stemmer": "porter", "wordnet": version}

    def requirements(self) -> Sequence[Requirement]:
        return (looked_for("WordNet", str(self.folder), self._found),) if self.folder else ()

    def _found(self) -> tuple[str, str]:
        assert self.folder is not None
        if fault := wordnet.missing(self.folder):
            raise Unavailable(fault)
        return str(self.folder), ""

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        counts = np.array([text is not None for text in gold], dtype=np.float64)
        if self.folder is None:
            return np.column_stack([np.full(len(counts), np.nan), counts])
        return np.column_stack([self._scores(texts_of(gold), texts_of(answers)) * counts, counts])

    def _scores(self, references: Sequence[str], texts: Sequence[str]) -> Floats:
        from nltk.tokenize.destructive import NLTKWordTokenizer
        from nltk.translate.meteor_score import single_meteor_score

        words = NLTKWordTokenizer().tokenize
        synonyms = wordnet.Synonyms(wordnet.reader(self.folder))
        return np.array(
            [
                single_meteor_score(words(reference), words(text), wordnet=synonyms)
                for reference, text in zip(references, texts, strict=True)
            ],
            dtype=np.float64,
        )
