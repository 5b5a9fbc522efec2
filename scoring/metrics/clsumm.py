"""Metrics of CL-Summ tasks 1A and 1B, computed from counts of reference sentences and
of facets.

Jaidka and others describe the tasks in `Overview of the CL-SciSumm 2016 Shared Task`
(BIRNDL). The counts of reference sentences and facets equal those of the official
programs. The corrected rules pair gold and answers differently from the official
programs, but count each pair in the same way.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics import base
from scoring.metrics.rouge import Rouge
from scoring.metrics.rouge155 import (
    UNLIMITED_SKIP_DISTANCE,
    ZERO_COUNTS,
    RougeCounts,
    RougeMeasure,
    WordSplitting,
    count_as_rouge155,
    read_stop_words,
)
from tasks.types.base import MeasureCredits, OptionRefused, Options
from tasks.types.clsumm.citances import FACETS
from tasks.types.clsumm.pairs import CitedSpan
from tasks.types.clsumm_1b import FacetAnswer
from tasks.types.problems import convert_to_unavailable

CL_SCISUMM_CITATION = (
    "Jaidka et al. 2016, Overview of the CL-SciSumm 2016 Shared Task, BIRNDL at JCDL"
)
PILOT_TASK_CITATION = (
    "Jaidka et al. 2014, The Computational Linguistics Summarization Pilot Task, TAC"
)


class GoldFileCountMetric(base.CountMetric):
    """The base class of metrics that count reference sentences or facets, with a macro
    average over gold files. A topic has one gold file per annotator. The resampling
    units are topics.
    """

    citation = CL_SCISUMM_CITATION

    #: The micro average is computed from the matrix with this name.
    #: The matrix of the macro average has a block of columns for each gold file.
    pooled_statistic = ""

    def __init__(self, name: str, rules: str, *, part: str, average: str) -> None:
        super().__init__(name, rules, part=part, average=average)
        pooled = self.pooled_statistic
        self.statistic = f"{pooled}_by_file" if average == "macro" else pooled

    @abstractmethod
    def counts(self, gold: Any, answer: Any) -> tuple[int, int, int]:
        """Return the true positives, false positives and false negatives of one pair of
        gold and answer.
        """

    def instance_stats(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> base.Floats:
        pairs = list(zip(gold, answers, strict=True))
        rows = np.array([self.counts(*pair) for pair in pairs], float).reshape(-1, 3)
        return (
            arrange_in_file_blocks(rows, gold, answers)
            if self.average == "macro"
            else rows
        )

    def unit_stats(self, sums: base.Floats) -> base.Floats:
        return sum_over_gold_files(sums, width=3, value=super().unit_stats)


class Overlap(GoldFileCountMetric):
    """Precision, recall or F1 of reference sentences.

    A gold sentence counts as often as the gold lists it. A wrong sentence counts as
    often as the run repeats it. Repeating a right sentence in the run has no effect on
    the counts.
    """

    pooled_statistic = "overlap"

    def counts(
        self, gold: CitedSpan | None, answer: CitedSpan | None
    ) -> tuple[int, int, int]:
        wanted = gold.sentences if gold else ()
        listed = answer.sentences if answer else ()
        hits = sum(sid in listed for sid in wanted)
        return hits, sum(sid not in wanted for sid in listed), len(wanted) - hits


class CitanceOverlap(Overlap):
    """Mean precision and mean recall over citing sentences, and F1 of these two means.

    An answer without sentences has precision 0. Table 7 of the pilot task's paper
    implies that an answer without sentences has precision 0, because precision
    decreases there if a high threshold removes sentences. Answers to unknown citances
    do not count.
    """

    citation = PILOT_TASK_CITATION

    def __init__(self, name: str, rules: str, *, part: str) -> None:
        super().__init__(name, rules, part=part, average="macro")
        self.per_unit, self.statistic = False, "overlap_by_citance"
        self.fixed = {"average": "citances"}

    def instance_stats(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> base.Floats:
        counts = [self.counts(*pair) for pair in zip(gold, answers, strict=True)]
        rows = base.CountMetric.unit_stats(self, np.array(counts, float).reshape(-1, 3))
        rows[[citance is None for citance in gold]] = 0
        return rows


class Facet(GoldFileCountMetric):
    """Precision, recall or F1 of facets. A facet counts only if the run found one of
    the citance's reference sentences in task 1A.

    A facet that a run gives for an unknown citance is wrong. If ``is_conditional`` is
    False, facets count independently of the result of task 1A.
    """

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        average: str,
        is_conditional: bool = True,
    ) -> None:
        self.pooled_statistic = "facet" if is_conditional else "facet_unconditional"
        super().__init__(name, rules, part=part, average=average)
        self.is_conditional = is_conditional
        self.fixed = {**self.fixed, "given": "1a" if is_conditional else "nothing"}

    def counts(self, gold: str | None, answer: FacetAnswer) -> tuple[int, int, int]:
        return count_facet_outcomes(gold, answer, is_conditional=self.is_conditional)

    def marks(
        self, gold: Sequence[str | None], answers: Sequence[FacetAnswer]
    ) -> list[MeasureCredits | None]:
        return mark_facets(gold, answers, is_conditional=self.is_conditional)


def count_facet_outcomes(
    gold: str | None, answer: FacetAnswer, *, is_conditional: bool
) -> tuple[int, int, int]:
    counts = answer.is_found or not is_conditional
    if gold is None:
        return (0, int(counts or answer.is_found is None), 0)
    named = int(counts and answer.facet == gold)
    return (named, 0, 1 - named)


def mark_facets(
    gold: Sequence[str | None],
    answers: Sequence[FacetAnswer],
    *,
    is_conditional: bool,
) -> list[MeasureCredits | None]:
    """For each pair of gold and answer, return the credit of the facet. A facet that is
    neither right nor wrong has no credit.
    """
    marks: list[MeasureCredits | None] = []
    for wanted, answer in zip(gold, answers, strict=True):
        right, wrong, _ = count_facet_outcomes(
            wanted, answer, is_conditional=is_conditional
        )
        credit = 1.0 if right else 0.0 if wrong else None
        marks.append(
            MeasureCredits(
                () if wanted is None else (float(right),),
                () if answer.facet is None else (credit,),
            )
        )
    return marks


class WeightedFacet(base.Metric):
    """The mean of the facets' F1, weighted by the facets' frequency in the gold, as in
    table 4 of the pilot task's paper. Facets that do not occur in the gold have weight
    0. The mean is 0 if there is no gold.
    """

    shape = "classes"
    citation = PILOT_TASK_CITATION

    def __init__(self, name: str, rules: str, *, is_conditional: bool = True) -> None:
        super().__init__(name, rules)
        self.is_conditional = is_conditional
        self.statistic = (
            "facet_by_facet" if is_conditional else "facet_by_facet_unconditional"
        )
        self.fixed = {
            "average": "weighted",
            "given": "1a" if is_conditional else "nothing",
        }

    def instance_stats(
        self, gold: Sequence[str | None], answers: Sequence[FacetAnswer]
    ) -> base.Floats:
        """Return an array (n, 3 * (facets + 1)) with three counts for each facet. The
        last three columns count unknown facets.
        """
        blocks = np.zeros((len(gold), len(FACETS) + 1, 3))
        for row, (wanted, answer) in enumerate(zip(gold, answers, strict=True)):
            facet = wanted or answer.facet or ""
            block = FACETS.index(facet) if facet in FACETS else len(FACETS)
            blocks[row, block] = count_facet_outcomes(
                wanted, answer, is_conditional=self.is_conditional
            )
        return blocks.reshape(len(gold), -1)

    def marks(
        self, gold: Sequence[str | None], answers: Sequence[FacetAnswer]
    ) -> list[MeasureCredits | None]:
        return mark_facets(gold, answers, is_conditional=self.is_conditional)

    def denominators(self, rows: base.Floats) -> base.Floats:
        return np.asarray(rows.sum(axis=1))

    def aggregate(self, sums: base.Floats) -> base.Floats:
        blocks = sums.reshape(*sums.shape[:-1], -1, 3)
        hits, wrong, missed = blocks[..., 0], blocks[..., 1], blocks[..., 2]
        support = hits + missed
        f1 = base.f1_of_counts(hits, hits + wrong, support)
        return base.divide_or_zero((support * f1).sum(axis=-1), support.sum(axis=-1))


def arrange_in_file_blocks(
    rows: base.Floats, gold: Sequence[Any], answers: Sequence[Any]
) -> base.Floats:
    """Convert (n, k) counts to (n, files * (k + 1)) columns, with one block of k + 1
    columns for each gold file. Each row fills the block that the attribute ``file`` of
    gold or answer selects. The last column of the filled block is 1.
    """
    pairs = zip(gold, answers, strict=True)
    numbers = [
        next(side.file for side in pair if hasattr(side, "file")) for pair in pairs
    ]
    files = np.array(numbers, dtype=np.intp)
    count, width = rows.shape
    blocks = np.zeros((count, files.max(initial=0) + 1, width + 1))
    places = np.arange(count)
    blocks[places, files, :width] = rows
    blocks[places, files, width] = 1
    return blocks.reshape(count, -1)


def sum_over_gold_files(
    sums: base.Floats, *, width: int, value: Callable[[base.Floats], base.Floats]
) -> base.Floats:
    """Apply ``value`` to the (…, width) sums of each gold file, and sum the results
    over the gold files of each unit.
    """
    blocks = sums.reshape(len(sums), -1, width + 1)
    values = value(blocks[..., :width].reshape(-1, width)).reshape(
        len(sums), blocks.shape[1], -1
    )
    return np.asarray((values * (blocks[..., width:] > 0)).sum(axis=1))


ROUGE_CITATION = (
    "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, ACL workshop"
)
ROUGE_PROGRAM_PARAMETERS = {"rouge": "1.5.5", "stemmer": "porter"}
ROUGE_MEASURE_BY_NAME = {
    "1": RougeMeasure("n", 1),
    "2": RougeMeasure("n", 2),
    "l": RougeMeasure("l"),
    "su4": RougeMeasure("s", 4, with_words=True),
}
#: The CL-SciSumm program of 2018 divides by the number of citances plus this number.
CITANCE_COUNT_OFFSET = 1e-7
NUMBER_OF_BOOTSTRAP_SAMPLES = 1000


class ReferenceTexts(Protocol):
    """The reference texts with which ROUGE compares an answer. ``list_reference_texts_of_kind`` returns the
    reference texts of one kind, or all if the kind is None, sorted by the file names of
    the annotators.
    """

    def list_reference_texts_of_kind(
        self, kind: str | None
    ) -> Sequence[Sequence[str | bytes]]: ...


class TextWithLines(Protocol):
    """A text for ROUGE, with one sentence per line."""

    @property
    def lines(self) -> Sequence[str | bytes]: ...


class PlainRouge(base.MeanMetric):
    """ROUGE averaged over all references of a kind (option `-f A` of ROUGE-1.5.5), then
    over citances (task 1A) or topics (task 2).

    Words are stemmed, stop words are not removed, and each value is rounded as
    ROUGE-1.5.5 prints it. A missing answer scores 0. Instances without a reference text
    of the selected kind do not count. The paper of the pilot task specifies no options,
    so we chose these options. The option ``order`` sorts cited sentences as in the
    document, or keeps the listed order. If the option ``over_limit`` is `truncate`, the
    compared summaries are truncated too.
    """

    own_version = 2
    compares_texts = True
    columns = base.PRECISION_RECALL_F1
    citation = f"{PILOT_TASK_CITATION}; {ROUGE_CITATION}"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        measure: str,
        part: str,
        order: str,
        kind: str | None = None,
        over_units: bool = False,
        options: Options | None = None,
    ) -> None:
        super().__init__(name, rules, column=part, over_units=over_units)
        self.measure, self.kind, self.order = (
            ROUGE_MEASURE_BY_NAME[measure],
            kind,
            order,
        )
        self.is_cut = options is not None and options.get("over_limit") == "truncate"
        self.engine = "" if self.measure.kind == "s" else Rouge.engine
        self.choose_engine(options)
        self.reading = WordSplitting(is_by_package=self.is_by_package)
        self.statistic = f"rouge_{measure}.{kind}" if kind else f"rouge_{measure}"

    @property
    def parameters(self) -> base.Parameters:
        return {
            **super().parameters,
            **ROUGE_PROGRAM_PARAMETERS,
            "stopwords": "kept",
            "references": self.kind or "all",
            "order": self.order,
            **({"cut": "250 words"} if self.is_cut else {}),
            **self.engine_parameters,
        }

    def instance_stats(
        self,
        gold: Sequence[ReferenceTexts | None],
        answers: Sequence[TextWithLines | None],
    ) -> base.Floats:
        rows = [
            self._compute_score_row(g, a) for g, a in zip(gold, answers, strict=True)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def _compute_score_row(
        self, gold: ReferenceTexts | None, answer: TextWithLines | None
    ) -> tuple[float, float, float, int]:
        references = gold.list_reference_texts_of_kind(self.kind) if gold else []
        if not references or answer is None:
            return 0.0, 0.0, 0.0, int(bool(references))
        counts = count_as_rouge155(
            [self._normalize_lines(lines) for lines in references],
            self._normalize_lines(answer.lines),
            [self.measure],
            reading=self.reading,
        )[self.measure]
        recall, precision, f1 = counts.round_as_printed()
        return precision, recall, f1, 1

    def _normalize_lines(self, lines: Sequence[str | bytes]) -> Sequence[str | bytes]:
        """Return the lines in the Unicode normal form in which ROUGE compares texts.
        Lines in bytes are not changed.
        """
        return [
            line if isinstance(line, bytes) else self.normalise_text(line)
            for line in lines
        ]


class OfficialRouge(base.Metric):
    """The base class of ROUGE as in the shared tasks' programs, with stemming and
    without stop words.

    The value is undefined without a stop word file. Citeboard contains no stop word
    file, because the file of ROUGE-1.5.5 may not be distributed.
    """

    shape = "ratio"

    def __init__(self, name: str, rules: str, *, part: str, options: Options) -> None:
        super().__init__(name, rules)
        self.part, self.stop_words = part, options["stopwords"]
        self.is_later = options["program"] == "python3"

    @cached_property
    def reading(self) -> WordSplitting | None:
        """Return ROUGE's settings for reading texts, or None without a stop word file.
        Raises OptionRefused if the stop word file cannot be read.
        """
        if not self.stop_words:
            return None
        try:
            stop_words = read_stop_words(Path(self.stop_words))
            return WordSplitting(
                stop_words=stop_words, is_by_package=self.is_by_package
            )
        except OSError as fault:
            raise OptionRefused(
                f"option stopwords={self.stop_words}: {fault.strerror or fault}"
            ) from None

    @property
    def parameters(self) -> base.Parameters:
        stop_words = self.reading.stop_words_digest if self.reading else "not given"
        return {
            **ROUGE_PROGRAM_PARAMETERS,
            "stopwords": stop_words,
            **self.fixed,
            **self.engine_parameters,
        }

    def requirements(self) -> Sequence[base.Requirement]:
        def find_stop_words() -> tuple[str, str]:
            with convert_to_unavailable("{}", OptionRefused):
                return (
                    self.stop_words,
                    self.reading.stop_words_digest if self.reading else "",
                )

        listed = (
            [
                base.find_requirement(
                    "stop words", Path(self.stop_words).name, find_stop_words
                )
            ]
            if self.stop_words
            else []
        )
        return [*listed, *super().requirements()]


class SpanRougeS(OfficialRouge):
    """ROUGE-S* as printed by the CL-SciSumm programs of 2017 and 2018.

    The official programs pass the answer as model and the gold as peer, which exchanges
    precision and recall. The value is averaged over the citances of a gold file, then
    over gold files. Metrics whose name ends in ``_micro`` average over all citances. If
    ``counts_missing`` is True, a citance without an answer scores 0, as in 2017. If
    ``counts_missing`` is False, a citance without an answer is excluded, as in 2018.
    The program of 2018 divides by the number of citances plus 1e-7. The value is
    undefined without a stop word file.
    """

    citation = f"{CL_SCISUMM_CITATION}; {ROUGE_CITATION}"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        counts_missing: bool,
        options: Options,
        over_citances: bool = False,
    ) -> None:
        super().__init__(name, rules, part=part, options=options)
        self.counts_missing, self.per_unit = counts_missing, not over_citances
        self.statistic = "rouge_s_star" if over_citances else "rouge_s_star_by_file"
        self.fixed = {
            "average": "citances" if over_citances else "gold files",
            "order": "listed" if self.is_later else "python2",
        }

    def instances(self, stats: base.Floats, has_gold: NDArray[np.bool_]) -> int:
        return int(
            stats.reshape(len(stats), -1, 5 if self.per_unit else 4)[..., 3].sum()
        )

    def instance_stats(
        self, gold: Sequence[CitedSpan | None], answers: Sequence[CitedSpan | None]
    ) -> base.Floats:
        """Return an array with precision, recall, F1 and 1 if the citance counts, in
        the block of columns of the citance's gold file.
        """
        rows = np.array(
            [
                self._compute_score_row(*pair)
                for pair in zip(gold, answers, strict=True)
            ],
            float,
        ).reshape(-1, 4)
        return arrange_in_file_blocks(rows, gold, answers) if self.per_unit else rows

    def _compute_score_row(
        self, gold: CitedSpan | None, answer: CitedSpan | None
    ) -> tuple[float, float, float, int]:
        if gold is None or answer is None or self.reading is None:
            return 0.0, 0.0, 0.0, int(gold is not None and self.counts_missing)
        model, peer = (
            _flatten_words(self.reading, [" ".join(side.lines)])
            for side in (answer, gold)
        )
        counts = count_skip_bigrams(model, peer)
        # F1 is computed from the counts, not from the rounded precision and recall.
        return (
            round(counts.precision, 5),
            round(counts.recall, 5),
            round(counts.f1, 5),
            1,
        )

    def denominators(self, rows: base.Floats) -> base.Floats:
        return rows[:, 3]

    def unit_stats(self, sums: base.Floats) -> base.Floats:
        return sum_over_gold_files(
            sums,
            width=4,
            value=lambda sums: np.column_stack(
                [self._compute_mean_scores(sums), np.ones(len(sums))]
            ),
        )

    def aggregate(self, sums: base.Floats) -> base.Floats:
        if self.reading is None:
            return np.full(sums.shape[:-1], np.nan)
        column = base.PRECISION_RECALL_F1.index(self.part)
        if not self.per_unit:
            return np.asarray(self._compute_mean_scores(sums)[..., column])
        return base.quotient(sums[..., column], sums[..., 3])

    def _compute_mean_scores(self, sums: base.Floats) -> base.Floats:
        count = sums[..., 3:4]
        if self.counts_missing:
            return base.divide_or_zero(sums[..., :3], count)
        return np.asarray(sums[..., :3] / (count + CITANCE_COUNT_OFFSET))


class PooledRouge(OfficialRouge):
    """ROUGE-2 or ROUGE-SU* (which the official program prints as RSU4), with stemming
    and without stop words.

    XML tags of the gold files are read as text. Only the gold file of one annotator
    counts. The official program uses the last annotator's file in an unsorted directory
    listing. This metric uses the annotator's file with the first name, or with the last
    name for the later official program. ``end`` selects the annotator's file with the
    lowest or highest F1 for each topic. A topic without a reference of the selected
    kind has no value, but bootstrap samples contain the topic. The official program
    computes no value for all kinds of references together. Our value for all kinds of
    references uses all references (`-f A`).
    """

    citation = CL_SCISUMM_CITATION
    measures = {
        "2": RougeMeasure("n", 2),
        "su_star": RougeMeasure("s", UNLIMITED_SKIP_DISTANCE, with_words=True),
    }

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        measure: str,
        part: str,
        options: Options,
        kind: str | None = None,
        end: str | None = None,
    ) -> None:
        super().__init__(name, rules, part=part, options=options)
        self.measure, self.kind, self.end = self.measures[measure], kind, end
        self.engine = (
            Rouge.engine if self.measure.kind == "n" and self.stop_words else ""
        )
        self.choose_engine(options)
        self.statistic = ".".join(filter(None, [f"rouge_{measure}", kind, end]))
        self.fixed = {
            "average": "pooled, mean of 1000 resamples",
            "references": kind or "all",
            "annotator": end
            or (("last" if self.is_later else "first") if kind else "all"),
            "tags": "removed" if self.is_later else "kept",
        }

    def instance_stats(
        self, gold: Sequence[ReferenceTexts | None], answers: Sequence[Any]
    ) -> base.Floats:
        rows = [
            self._count_rouge_units(g, a) for g, a in zip(gold, answers, strict=True)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def _count_rouge_units(
        self, gold: ReferenceTexts | None, answer: Any
    ) -> RougeCounts:
        references = gold.list_reference_texts_of_kind(self.kind) if gold else []
        if not references or answer is None or self.reading is None:
            return ZERO_COUNTS
        if self.kind is None:
            return self._count_against_references(references, answer)
        if self.end is None:
            return self._count_against_references(
                references[-1:] if self.is_later else references[:1], answer
            )
        by_reference = [
            self._count_against_references([reference], answer)
            for reference in references
        ]
        return (min if self.end == "least" else max)(
            by_reference, key=lambda counts: counts.f1
        )

    def _count_against_references(
        self, references: Sequence[Sequence[str | bytes]], answer: Any
    ) -> RougeCounts:
        assert self.reading is not None
        if self.measure.kind == "n":
            return count_as_rouge155(
                references, answer.lines, [self.measure], reading=self.reading
            )[self.measure]
        peer = _flatten_words(self.reading, answer.lines)
        models = [_flatten_words(self.reading, reference) for reference in references]
        by_reference = [
            count_skip_bigrams(model, peer, with_words=True) for model in models
        ]
        return RougeCounts(*(sum(part) for part in zip(*by_reference, strict=True)))

    def denominators(self, rows: base.Floats) -> base.Floats:
        return {
            "precision": rows[:, 1],
            "recall": rows[:, 0],
            "f1": rows[:, 0] + rows[:, 1],
        }[self.part]

    def aggregate(self, sums: base.Floats) -> base.Floats:
        if self.reading is None:
            return np.full(sums.shape[:-1], np.nan)
        model, peer, hits = (sums[..., column] for column in range(3))
        return base.select_part_of_means(
            self.part, base.divide_or_zero(hits, peer), base.divide_or_zero(hits, model)
        )

    def total(self, rows: base.Floats) -> float:
        """Return the official program's bootstrap mean over topics, or the value of a
        single topic.
        """
        if len(rows) < 2 or self.reading is None:
            return super().total(rows)
        return round(
            float(self.aggregate(draw_bootstrap_weights(len(rows)) @ rows).mean()), 5
        )


def _flatten_words(reading: WordSplitting, lines: Sequence[str | bytes]) -> list[str]:
    return [word for sentence in reading.sentences(lines) for word in sentence]


@cache
def draw_bootstrap_weights(topics: int) -> base.Floats:
    """Return an array (1000, topics) with the frequency of each topic in each bootstrap
    sample of ROUGE-1.5.5.

    Bootstrap sample i starts with Perl's `srand(i)`. Topics are sampled by Perl's
    ``int(rand(n))``. Perl's random numbers come from the 48-bit generator of the C
    library.
    """
    weights = np.zeros((NUMBER_OF_BOOTSTRAP_SAMPLES, topics))
    for seed in range(NUMBER_OF_BOOTSTRAP_SAMPLES):
        state = (seed << 16) + 0x330E
        for _ in range(topics):
            state = (0x5DEECE66D * state + 0xB) & 0xFFFFFFFFFFFF
            weights[seed, int(state / 2**48 * topics)] += 1
    return weights


WordPositions = NDArray[np.intp]


def count_skip_bigrams(
    model: Sequence[str], peer: Sequence[str], *, with_words: bool = False
) -> RougeCounts:
    """Count skip-bigrams of two texts as ROUGE-1.5.5 does. ``with_words`` also counts
    all single words except the last word of each text.
    """
    shorter, longer = sorted((model, peer), key=len)
    numbers = {word: number for number, word in enumerate(dict.fromkeys(shorter))}
    first, second = (
        _find_numbered_words(shorter, numbers),
        _find_numbered_words(longer, numbers),
    )
    hits = sum(
        int(
            np.minimum(
                _count_followers(word, first, len(numbers)),
                _count_followers(word, second, len(numbers)),
            ).sum()
        )
        for word in range(len(numbers))
    )
    if with_words:
        hits += (Counter(model[:-1]) & Counter(peer[:-1])).total()
    # A text of n words has n(n-1)/2 skip-bigrams.
    totals = [
        n * (n - 1) // 2 + (max(n - 1, 0) if with_words else 0)
        for n in (len(model), len(peer))
    ]
    return RougeCounts(totals[0], totals[1], hits)


def _find_numbered_words(
    words: Sequence[str], number_of: dict[str, int]
) -> tuple[WordPositions, WordPositions]:
    rows = [
        (index, number_of[word])
        for index, word in enumerate(words)
        if word in number_of
    ]
    places, numbers = np.array(rows, dtype=np.intp).reshape(-1, 2).T
    return places, numbers


def _count_followers(
    word: int, text: tuple[WordPositions, WordPositions], size: int
) -> NDArray[np.float64]:
    places, numbers = text
    before = np.searchsorted(places[numbers == word], places)
    return np.asarray(
        np.bincount(numbers, weights=before, minlength=size), dtype=np.float64
    )
