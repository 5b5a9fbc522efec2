"""Metrics of the length of citation texts, and of the share of texts that refer to the
citing paper.

Lengths follow appendix A.4 of the CiteBench paper (Funkquist and others 2023), and key
phrases follow its table 11.
"""

import math
from collections.abc import Sequence

import numpy as np

from scoring.metrics.base import Floats, TextMean, quotient
from scoring.metrics.tokenizers import load_tokenizer, select_word_tokens
from tasks.types.base import TOKENIZER, Options
from tasks.types.citation_text.instances import has_self_reference

CITEBENCH_CITATION = (
    "Funkquist, Kuznetsov, Hou and Gurevych 2023, CiteBench: A Benchmark for Scientific Citation Text "
    "Generation, EMNLP"
)


class Length(TextMean):
    """The mean number of whitespace-separated words of the predicted citation texts. A
    missing prediction has 0 words.
    """

    shape = "error"
    statistic = "length"
    compares_texts = False
    rests_on_tokens = True
    columns = ("words", "gold_words")
    higher_is_better = None
    scale = 0
    citation = CITEBENCH_CITATION

    def __init__(
        self, name: str, rules: str, *, column: str, options: Options | None = None
    ) -> None:
        super().__init__(name, rules, column=column)
        self.choose_tokenizer(options)
        if self.tokenizer:
            self.fixed = {**self.fixed, TOKENIZER.name: self.tokenizer}
            self.packages = ("sacrebleu",)

    def tokens(self, text: str) -> list[str]:
        return (
            select_word_tokens(load_tokenizer(self.tokenizer)(text))
            if self.tokenizer
            else text.split()
        )

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        pairs = zip(answers, gold, strict=True)
        return np.array(
            [[len(self.tokens(text)) for text in pair] for pair in pairs], float
        ).reshape(-1, 2)


class LengthRatio(Length):
    """The number of words in all predictions divided by the number of words in all gold
    texts. The ratio 1 means equal length. The ratio is undefined if the gold has no
    words.
    """

    scale = 1
    ends = (0.0, math.inf)
    fixed = {"average": "sums"}

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, 1]

    def aggregate(self, sums: Floats) -> Floats:
        return quotient(sums[..., 0], sums[..., 1])


class SelfReference(TextMean):
    """The share of texts, in percent, that refer to the citing paper itself.

    A text counts if the text contains `our work`, `in this paper`, `we present`, `we
    introduce` or `the main objective of our work`, ignoring case.
    """

    statistic = "self_reference"
    own_version = 0
    compares_texts = False
    columns = ("speaks_of_itself",)
    higher_is_better = None
    scale = 100
    citation = CITEBENCH_CITATION

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        return np.array(
            [[has_self_reference(text)] for text in answers], float
        ).reshape(-1, 1)
