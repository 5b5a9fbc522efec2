"""How far the intents or discourse tags of a system's sentences are from those of the gold's."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from scoring.metrics.base import Floats, Metric, Parameters, Requirement, looked_for, quotient
from scoring.metrics.discourse import GOLD, RUN, Labelling, Source, count_matrix, label_counts, text_counts
from tasks.types.base import Options
from tasks.types.citation_text.instances import Instance
from tasks.types.citation_text.runs import Prediction

#: What the texts that each source labelled are called in the notes.
_NOTES = {
    Source.SUPPLIED: "texts_of_the_{side}_with_{scheme}_labels_of_their_own",
    Source.TAGGED: "texts_of_the_{side}_with_{scheme}_labels_of_the_tagger",
    Source.NOBODY: "texts_of_the_{side}_without_{scheme}_labels",
}


class Divergence(Metric):
    """KL(P || Q) in nats, P the shares of labels among the system's sentences, Q those among the gold's, over
    all of them together.

    Infinite where the system has a label that the gold lacks; undefined where either side has no labelled
    sentence, as when neither labels nor a tagger are there. A label outside of the set counts as one that is
    never expected. Values below 0 occur in the published form alone. ``is_official`` treats the
    sentences as the original does. Raises OptionRefused for a set of labels that is none.
    """

    higher_is_better = False
    #: Few sentences make a divergence larger than it is, so that an interval may reach below 0.
    ends = (-math.inf, math.inf)
    fixed = {"form": "pooled"}
    citation = "Funkquist et al. 2023, CiteBench: A Benchmark for Scientific Citation Text Generation, EMNLP"

    def __init__(
        self, name: str, rules: str, *, scheme: str, options: Options, is_official: bool = False
    ) -> None:
        super().__init__(name, rules)
        self.scheme = scheme
        self.statistic = f"discourse_{scheme}"
        self.labelling = Labelling(scheme, options, is_official)
        self.packages = self.labelling.packages

    @property
    def parameters(self) -> Parameters:
        return {**self.fixed, **self.labelling.parameters}

    @property
    def needs_model(self) -> bool:
        return bool(self.labelling.folder)

    def requirements(self) -> Sequence[Requirement]:
        folder = self.labelling.folder
        if not folder:
            return ()
        kind = f"{self.scheme} tagger"
        return (looked_for(kind, folder, lambda: (folder, self.labelling.parameters["tagger"])),)

    def instance_stats(self, gold: Sequence[Instance | None], answers: Sequence[Prediction | None]) -> Floats:
        """(n, D·2·(L+1) + 6), see `count_matrix`; answers without gold are left out."""
        paired = [answer if gold_answer else None for gold_answer, answer in zip(gold, answers, strict=True)]
        sides = zip(self.labelling.of_run(paired), self.labelling.of_gold(gold), strict=True)
        first = next((gold_answer.dataset for gold_answer in gold if gold_answer), "")
        datasets = [gold_answer.dataset if gold_answer else first for gold_answer in gold]
        return count_matrix(self.labelling.labels, datasets, list(sides))

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """How many texts of either side brought their labels along, were tagged, or have no labels."""
        return {
            _NOTES[source].format(side=side, scheme=self.scheme): count
            for (side, source), count in text_counts(stats).items()
        }

    def counts(self, sums: Floats) -> Floats:
        """(…, D, 2, L+1) counts of labels by data set and side."""
        return label_counts(sums, len(self.labelling.labels))

    def denominators(self, rows: Floats) -> Floats:
        return np.asarray(self.counts(rows).sum(axis=(-3, -2, -1)))

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums).sum(axis=-3)
        return divergence(shares(counts[..., RUN, :]), shares(counts[..., GOLD, :]))


class SmoothedDivergence(Divergence):
    """The same with half a sentence more for each label on both sides: finite wherever both have a sentence.

    Labels outside of the set count as one label. Krichevsky and Trofimov 1981, The Performance of Universal
    Encoding.
    """

    fixed = {"form": "smoothed"}

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums).sum(axis=-3)
        has_sentences = counts.sum(axis=-1, keepdims=True) > 0
        smoothed = shares(np.where(has_sentences, counts + 0.5, 0.0))
        return divergence(smoothed[..., RUN, :], smoothed[..., GOLD, :])


class PublishedDivergence(Divergence):
    """KL(P || Q) in nats, P the mean of the system's shares over the data sets, Q the gold's shares in one
    data set; over all of them the mean of these values.

    A data set in which the system has no sentence counts as zeros, so that P may add up to less than 1 and
    the value be below 0. By class, P stays that of all data sets and Q is the gold of the class.
    """

    is_decomposable = False
    fixed = {"form": "published"}

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums)
        values = published_divergence(counts[..., RUN, :], counts[..., GOLD, :])
        is_known = ~np.isnan(values)
        return quotient(np.where(is_known, values, 0.0).sum(axis=-1), is_known.sum(axis=-1))

    def of_class(self, sums: Floats, whole: Floats) -> Floats:
        gold = self.counts(sums)[..., GOLD, :].sum(axis=-2)
        return divergence(macro_average(self.counts(whole)[..., RUN, :]), shares(gold))


def shares(counts: Floats) -> Floats:
    """(…, L) counts as shares of their sum; NaN where there is nothing to share."""
    total = counts.sum(axis=-1, keepdims=True)
    undefined = np.full(counts.shape, np.nan)
    return np.asarray(np.divide(counts, total, out=undefined, where=total > 0))


def divergence(p: Floats, q: Floats) -> Floats:
    """KL(P || Q) in nats over the last axis of (…, L) shares; NaN where either is undefined."""
    p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / q), 0.0)
    undefined = np.isnan(p).any(axis=-1) | np.isnan(q).any(axis=-1)
    return np.where(undefined, np.nan, terms.sum(axis=-1))


def macro_average(counts: Floats) -> Floats:
    """(…, D, L) counts as the mean of the data sets' shares, (…, L); an empty data set counts as zeros.

    NaN where all are empty.
    """
    share = shares(counts)
    is_empty = np.asarray(np.isnan(share).any(axis=-1))
    mean = np.where(is_empty[..., None], 0.0, share).mean(axis=-2)
    return np.where(np.asarray(is_empty.all(axis=-1))[..., None], np.nan, mean)


def published_divergence(system: Floats, gold: Floats) -> Floats:
    """The published form, (…, D): the system's macro average over the data sets against each one's gold.

    Both are (…, D, L) counts.
    """
    return divergence(macro_average(system)[..., None, :], shares(gold))
