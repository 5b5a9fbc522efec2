"""Metrics that compare a text with several references and use the best reference."""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from scoring.metrics.answers import normalise_answer
from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Parameters,
    Requirement,
    TextMean,
    compute_harmonic_mean,
)
from scoring.metrics.bertscore import BertScore
from scoring.metrics.meteor import NltkMeteor
from scoring.metrics.rouge import Rouge
from scoring.metrics.sacrebleu import Bleu, Chrf, SacreBleuMetric
from scoring.metrics.tokenizers import load_tokenizer, select_word_tokens
from tasks.types.base import MeasureCredits
from tasks.types.columns import compute_mask_of_present_rows

SQUAD_CITATION = "Rajpurkar et al. 2016, SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP"


class BestReferenceMetric(MeanMetric):
    """The base class of metrics that compare an answer with the best of several
    references and average over instances.

    The best reference has the largest value in the column ``decisive``. A missing
    answer counts as an empty text.
    """

    own_version = 2
    compares_texts = True
    scale = 100

    def __init__(self, measure: TextMean, *, column: str, decisive: str = "") -> None:
        super().__init__(measure.name, measure.rules, column=column)
        self.measure, self.decisive = measure, decisive or column
        self.columns, self.citation, self.packages = (
            measure.columns,
            measure.citation,
            measure.packages,
        )
        self.statistic = f"references:{measure.statistic}"
        self.rests_on_tokens = measure.rests_on_tokens
        self.tokenizer = measure.tokenizer

    def tokens(self, text: str) -> list[str]:
        return self.measure.tokens(text)

    @property
    def parameters(self) -> Parameters:
        return {**self.measure.parameters, "references": "best"}

    @property
    def needs_model(self) -> bool:
        return self.measure.needs_model

    def requirements(self) -> Sequence[Requirement]:
        return self.measure.requirements()

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        places = [row for row, references in enumerate(gold) for _ in references or ()]
        texts = self.normalise_texts(
            [reference for references in gold for reference in references or ()]
        )
        stats = np.zeros((len(gold), len(self.columns) + 1))
        if not places:
            return stats
        compared = self.normalise_texts(answers)
        pairs = self.measure.measured(texts, [compared[row] for row in places])
        decisive = self.columns.index(self.decisive)
        # The first of several equally good references is the best reference.
        rows = np.array(places)
        order = np.lexsort(
            (-np.arange(len(rows), dtype=np.float64), pairs[:, decisive], rows)
        )
        chosen = order[np.append(np.diff(rows[order]) > 0, [True])]
        stats[rows[chosen], :-1] = pairs[chosen]
        stats[rows[chosen], -1] = 1
        return stats


class BestRouge(BestReferenceMetric):
    """ROUGE as in the package rouge-score, with the reference that has the largest F1."""

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        kind: str,
        part: str = "f1",
        stemmed: bool = False,
        tokenizer: str = "",
    ) -> None:
        rouge = Rouge(
            name, rules, kind=kind, part=part, is_stemmed=stemmed, tokenizer=tokenizer
        )
        super().__init__(rouge, column=rouge.column, decisive=f"{kind}_f1")
        self.statistic += f":{kind}"


class BestMeteor(BestReferenceMetric):
    """METEOR as in NLTK, with the reference that has the largest value. METEOR is
    undefined without the WordNet files.
    """

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        wordnet: str = "/usr/share/wordnet",
        tokenizer: str = "",
    ) -> None:
        options = {"wordnet": wordnet}
        meteor = NltkMeteor(name, rules, options=options, tokenizer=tokenizer)
        super().__init__(meteor, column="meteor")
        self.statistic = "references:meteor"


class BestBertScore(BestReferenceMetric):
    """BERTScore with the reference that has the largest F1."""

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str = "f1",
        model: str = "",
        layer: int | None = None,
    ) -> None:
        options = {
            "bertscore": "yes",
            "bertscore_model": model,
            "bertscore_layer": str(layer or ""),
        }
        super().__init__(
            BertScore(name, rules, part=part, options=options),
            column=part,
            decisive="f1",
        )


def count_against_references(
    metric: SacreBleuMetric, counter: Any, gold: Sequence[Any], answers: Sequence[Any]
) -> Floats:
    """Return sacreBLEU's counts for each instance with all references of the instance,
    and then 1. The row of an instance without gold contains only zeros.
    """
    counts = compute_mask_of_present_rows(gold).astype(np.float64)
    stats = np.column_stack(
        [np.zeros((len(gold), metric.count_text_pairs([]).shape[1])), counts]
    )
    if rows := np.flatnonzero(counts).tolist():
        streams = list(
            zip_longest(*map(metric.normalise_texts, (gold[row] for row in rows)))
        )
        # sacreBLEU returns counts only by a private method, so its version is pinned.
        stats[rows, :-1] = counter._extract_corpus_statistics(  # noqa: SLF001
            metric.normalise_texts([answers[row] for row in rows]), streams
        )
    return stats


class ReferencesBleu(Bleu):
    """Corpus BLEU of sacreBLEU with several references. An n-gram of the answer matches
    at most as often as in the reference that contains the n-gram most often. The
    brevity penalty uses the reference whose length is closest to the answer's length.
    """

    statistic = "references:bleu"

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        from sacrebleu.metrics.bleu import BLEU

        # The default tokenizer of sacreBLEU is `13a`.
        counter = BLEU(tokenize=self.tokenizer or None)
        return count_against_references(self, counter, gold, answers)

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "references": "all"}


class ReferencesChrf(Chrf):
    """Corpus chrF2 of sacreBLEU, with the reference that has the largest value."""

    def __init__(
        self, name: str, rules: str, *, words: int = 0, tokenizer: str = ""
    ) -> None:
        super().__init__(name, rules, words=words, tokenizer=tokenizer)
        self.statistic = f"references:{self.statistic}"

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        from sacrebleu.metrics.chrf import CHRF

        # chrF ignores whitespace.
        return count_against_references(
            self,
            CHRF(word_order=self.words),
            [
                references and tuple(map(self.separate_tokens_by_spaces, references))
                for references in gold
            ],
            [answer and self.separate_tokens_by_spaces(answer) for answer in answers],
        )

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "references": "best"}


class _ShortAnswerMetric(TextMean):
    statistic = "short-answer"
    columns = ("exact", "f1")
    citation = SQUAD_CITATION
    fixed = {"normalised": "squad"}

    def __init__(
        self, name: str, rules: str, *, column: str, tokenizer: str = ""
    ) -> None:
        super().__init__(name, rules, column=column)
        self.tokenizer, self.rests_on_tokens = tokenizer, column == "f1"
        if tokenizer:
            self.fixed = {**self.fixed, "tokenizer": tokenizer}
            self.packages = ("sacrebleu",)

    def tokens(self, text: str) -> list[str]:
        return self._split_into_words(normalise_answer(text))

    def _split_into_words(self, text: str) -> list[str]:
        return (
            select_word_tokens(load_tokenizer(self.tokenizer)(text))
            if self.tokenizer
            else text.split()
        )

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        rows = []
        for reference, answer in zip(gold, answers, strict=True):
            wanted, given = normalise_answer(reference), normalise_answer(answer)
            of_wanted, of_given = (
                self._split_into_words(wanted),
                self._split_into_words(given),
            )
            both = (Counter(of_wanted) & Counter(of_given)).total()
            sizes = len(of_given), len(of_wanted)
            # If gold or answer has no words, F1 is 1 if both have no words, else 0.
            f1 = (
                float(compute_harmonic_mean(both / sizes[0], both / sizes[1]))
                if all(sizes)
                else float(sizes[0] == sizes[1])
            )
            rows.append((wanted == given, f1))
        return np.array(rows, dtype=np.float64).reshape(-1, 2)


class ShortAnswer(BestReferenceMetric):
    """Exact match or token F1 of SQuAD, with the best of several references. Exact
    match and token F1 ignore case, punctuation and articles.
    """

    def __init__(
        self, name: str, rules: str, *, column: str, tokenizer: str = ""
    ) -> None:
        short = _ShortAnswerMetric(name, rules, column=column, tokenizer=tokenizer)
        super().__init__(short, column=column)
        self.statistic = f"short-answer:{column}"

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        """Return the metric's value with the best reference as the credit of the
        answer.
        """
        stats = self.instance_stats(gold, answers)
        shares = stats[:, self.columns.index(self.column)]
        return [
            MeasureCredits((), (float(share),)) if answer and counts else None
            for share, answer, counts in zip(shares, answers, stats[:, -1], strict=True)
        ]


class Length(MeanMetric):
    """The mean number of words of an answer, split by whitespace or by the task's
    tokenizer. A missing answer has 0 words.
    """

    shape = "error"
    statistic = "words"
    own_version = 2
    rests_on_tokens = True
    columns = ("words",)
    higher_is_better = None
    scale = 0
    citation = SQUAD_CITATION

    def __init__(
        self, name: str, rules: str, *, column: str, tokenizer: str = ""
    ) -> None:
        super().__init__(name, rules, column=column)
        self.tokenizer = tokenizer
        if tokenizer:
            self.fixed = {"tokenizer": tokenizer}
            self.packages = ("sacrebleu",)

    def tokens(self, text: str) -> list[str]:
        if self.tokenizer:
            return select_word_tokens(load_tokenizer(self.tokenizer)(text))
        return text.split()

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        counts = compute_mask_of_present_rows(gold).astype(np.float64)
        lengths = [len(self.tokens(answer or "")) for answer in answers]
        return np.column_stack([lengths * counts, counts])
