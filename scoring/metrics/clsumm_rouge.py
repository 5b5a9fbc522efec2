"""ROUGE of CL-Summ tasks 1A and 2 under each rule set, by the counts of ROUGE-1.5.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, ratio
from scoring.metrics.clsumm import CITATION, PILOT
from scoring.metrics.clsumm_files import in_file_blocks, over_files
from scoring.metrics.clsumm_pooled import official_reading, stop_words_need
from scoring.metrics.clsumm_skips import skip_counts
from scoring.metrics.counts import PARTS
from scoring.metrics.means import MeanMetric
from scoring.metrics.requirements import Requirement
from scoring.metrics.rouge155 import ROUGE_L, rouge155, rouge_n, rouge_su
from scoring.metrics.rouge155_text import Reading
from tasks.types.base import Options
from tasks.types.clsumm.spans import CitedSpan

LIN = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, ACL workshop"
PROGRAM = {"rouge": "1.5.5", "stemmer": "porter"}
MEASURES = {"1": rouge_n(1), "2": rouge_n(2), "l": ROUGE_L, "su4": rouge_su(4)}
#: What the program of 2018 adds to the number of citances before it divides by it.
ALMOST_NOTHING = 1e-7


class References(Protocol):
    """What an answer is compared with: texts by kind, all of them for None."""

    def of_kind(self, kind: str | None) -> Sequence[Sequence[str | bytes]]: ...


class Lines(Protocol):
    """What is compared: a text, one sentence a line."""

    @property
    def lines(self) -> Sequence[str | bytes]: ...


class PlainRouge(MeanMetric):
    """ROUGE against all references of a kind together (`-f A`), the mean over citances (1A) or topics (2).

    Stemmed, stop words kept, each value as ROUGE-1.5.5 prints it. What has no answer has 0, what has no
    reference of the kind does not count. The pilot's paper names no options: these are ours. ``order`` says
    in which order the pairs have cited sentences: the document's, or as listed. Where the option
    ``over_limit`` is `truncate`, so are the summaries that the pairs have.
    """

    columns = PARTS
    citation = f"{PILOT}; {LIN}"
    reading = Reading()

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
        self.measure, self.kind, self.order = MEASURES[measure], kind, order
        self.is_cut = options is not None and options["over_limit"] == "truncate"
        self.statistic = f"rouge_{measure}.{kind}" if kind else f"rouge_{measure}"

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {
            **super().parameters,
            **PROGRAM,
            "stopwords": "kept",
            "references": self.kind or "all",
            "order": self.order,
            **({"cut": "250 words"} if self.is_cut else {}),
        }

    def instance_stats(self, gold: Sequence[References | None], answers: Sequence[Lines | None]) -> Floats:
        rows = [self._row(g, a) for g, a in zip(gold, answers, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def _row(self, gold: References | None, answer: Lines | None) -> tuple[float, float, float, int]:
        references = gold.of_kind(self.kind) if gold else []
        if not references or answer is None:
            return 0.0, 0.0, 0.0, int(bool(references))
        counts = rouge155(references, answer.lines, [self.measure], reading=self.reading)[self.measure]
        recall, precision, f1 = counts.as_printed()
        return precision, recall, f1, 1


class SpanRougeS(Metric):
    """ROUGE-S* as the programs of 2017 and 2018 print it.

    Peer and model exchanged, so that precision is recall.

    The mean over citances of a gold file, then over gold files; with ``_micro`` over all citances at once.
    A citance without an answer counts 0 (``counts_missing``), as in 2017, or is left out, as in 2018, whose
    means are over almost nothing more than the citances. Undefined without the list of stop words.
    """

    citation = f"{CITATION}; {LIN}"

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
        super().__init__(name, rules)
        self.part, self.counts_missing, self.per_unit = part, counts_missing, not over_citances
        self.stop_words = options["stopwords"]
        self.order = "listed" if options["program"] == "python3" else "python2"
        self.statistic = "rouge_s_star" if over_citances else "rouge_s_star_by_file"

    @cached_property
    def reading(self) -> Reading | None:
        return official_reading(self.stop_words)

    def requirements(self) -> Sequence[Requirement]:
        return stop_words_need(self.stop_words)

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {
            "average": "gold files" if self.per_unit else "citances",
            **PROGRAM,
            "stopwords": self.reading.stop_words_digest if self.reading else "not given",
            "order": self.order,
        }

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        return int(stats.reshape(len(stats), -1, 5 if self.per_unit else 4)[..., 3].sum())

    def instance_stats(self, gold: Sequence[CitedSpan | None], answers: Sequence[CitedSpan | None]) -> Floats:
        """Precision, recall, F1 and whether the citance counts; in the block of its gold file."""
        rows = np.array([self._row(*pair) for pair in zip(gold, answers, strict=True)], float).reshape(-1, 4)
        return in_file_blocks(rows, gold, answers) if self.per_unit else rows

    def _row(self, gold: CitedSpan | None, answer: CitedSpan | None) -> tuple[float, float, float, int]:
        if gold is None or answer is None or self.reading is None:
            return 0.0, 0.0, 0.0, int(gold is not None and self.counts_missing)
        model, peer = (_words(self.reading, side.lines) for side in (answer, gold))
        counts = skip_counts(model, peer)
        # F1 is from the counts, not from the rounded precision and recall.
        return round(counts.precision, 5), round(counts.recall, 5), round(counts.f1, 5), 1

    def unit_stats(self, sums: Floats) -> Floats:
        return over_files(
            sums, width=4, value=lambda own: np.column_stack([self._means(own), np.ones(len(own))])
        )

    def aggregate(self, sums: Floats) -> Floats:
        if self.reading is None:
            return np.full(sums.shape[:-1], np.nan)
        column = PARTS.index(self.part)
        if not self.per_unit:
            return np.asarray(self._means(sums)[..., column])
        files = sums[..., 3]
        undefined = np.full(files.shape, np.nan)
        return np.asarray(np.divide(sums[..., column], files, out=undefined, where=files > 0))

    def _means(self, sums: Floats) -> Floats:
        """The means of precision, recall and F1 over the citances that count."""
        count = sums[..., 3:4]
        if self.counts_missing:
            return ratio(sums[..., :3], count)
        return np.asarray(sums[..., :3] / (count + ALMOST_NOTHING))


def _words(reading: Reading, lines: Sequence[str]) -> list[str]:
    return [word for sentence in reading.sentences([" ".join(lines)]) for word in sentence]
