"""ROUGE-2 and ROUGE-SU* of task 2 as the program of 2018 prints them, averages by its own bootstrap.

Per topic P, R and F come from the counts. The average pools the counts of the topics that each of 1,000
resamples draws and is the mean of the resampled P, R and F, to 5 decimals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, ratio
from scoring.metrics.clsumm import CITATION
from scoring.metrics.clsumm_skips import skip_counts
from scoring.metrics.f1 import harmonic_mean
from scoring.metrics.requirements import Requirement, looked_for
from scoring.metrics.rouge155 import NOTHING, Counts, rouge155, rouge_n, rouge_su
from scoring.metrics.rouge155_text import Reading, read_stop_words
from tasks.types.base import OptionRefused, Options
from tasks.types.unavailable import Unavailable

RESAMPLES = 1000


def official_reading(path: str) -> Reading | None:
    """Stemmed and without the stop words of the file; read when a text is.

    None where the list of stop words, which is not ours to ship, is not given. Raises OptionRefused where
    the file cannot be read.
    """
    if not path:
        return None
    try:
        return Reading(stop_words=read_stop_words(Path(path)))
    except OSError as fault:
        raise OptionRefused(f"option stopwords={path}: {fault.strerror or fault}") from None


def stop_words_need(path: str) -> Sequence[Requirement]:
    """The file, where one is named."""

    def look() -> tuple[str, str]:
        try:
            reading = official_reading(path)
        except OptionRefused as refused:
            raise Unavailable(str(refused)) from None
        return path, reading.stop_words_digest if reading else ""

    return [looked_for("stop words", Path(path).name, look)] if path else []


class Annotated(Protocol):
    """References of a kind, one for each annotator, in the order of their files' names."""

    def of_kind(self, kind: str | None) -> Sequence[Sequence[str | bytes]]: ...


class PooledRouge(Metric):
    """ROUGE-2 or ROUGE-SU* (printed as RSU4), stemmed, without stop words, gold files read with their tags.

    Of several annotators one file decides: the program takes the last that the directory listing gives,
    which cannot be known. Here it is the first by name, of the later program the last, or, with ``end``,
    for each topic the one that gives the least or the most F1. A topic without a reference of the kind
    counts nothing but is drawn. All kinds together, which the program does not offer, are all references at
    once (`-f A`).
    """

    citation = CITATION
    measures = {"2": rouge_n(2), "su_star": rouge_su()}

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
        super().__init__(name, rules)
        self.measure, self.part, self.kind, self.end = self.measures[measure], part, kind, end
        self.stop_words = options["stopwords"]
        self.is_later = options["program"] == "python3"
        self.statistic = ".".join(filter(None, [f"rouge_{measure}", kind, end]))

    @cached_property
    def reading(self) -> Reading | None:
        return official_reading(self.stop_words)

    def requirements(self) -> Sequence[Requirement]:
        return stop_words_need(self.stop_words)

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {
            "average": "pooled, mean of 1000 resamples",
            "rouge": "1.5.5",
            "stemmer": "porter",
            "stopwords": self.reading.stop_words_digest if self.reading else "not given",
            "references": self.kind or "all",
            "annotator": self.end or (("last" if self.is_later else "first") if self.kind else "all"),
            "tags": "removed" if self.is_later else "kept",
        }

    def instance_stats(self, gold: Sequence[Annotated | None], answers: Sequence[Any]) -> Floats:
        rows = [self._counts(g, a) for g, a in zip(gold, answers, strict=True)]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def _counts(self, gold: Annotated | None, answer: Any) -> Counts:
        references = gold.of_kind(self.kind) if gold else []
        if not references or answer is None or self.reading is None:
            return NOTHING
        if self.kind is None:
            return self._against(references, answer)
        if self.end is None:
            return self._against(references[-1:] if self.is_later else references[:1], answer)
        by_reference = [self._against([reference], answer) for reference in references]
        return (min if self.end == "least" else max)(by_reference, key=lambda counts: counts.f1)

    def _against(self, references: Sequence[Sequence[str | bytes]], answer: Any) -> Counts:
        assert self.reading is not None
        if self.measure.kind == "n":
            return rouge155(references, answer.lines, [self.measure], reading=self.reading)[self.measure]
        peer = _words(self.reading, answer.lines)
        by_reference = [skip_counts(_words(self.reading, own), peer, with_words=True) for own in references]
        return Counts(*(sum(part) for part in zip(*by_reference, strict=True)))

    def aggregate(self, sums: Floats) -> Floats:
        if self.reading is None:
            return np.full(sums.shape[:-1], np.nan)
        model, peer, hits = (sums[..., column] for column in range(3))
        recall, precision = ratio(hits, model), ratio(hits, peer)
        f1 = harmonic_mean(precision, recall)
        return {"precision": precision, "recall": recall, "f1": f1}[self.part]

    def total(self, rows: Floats) -> float:
        """The program's average over topics. One topic alone is what it is."""
        if len(rows) < 2 or self.reading is None:
            return super().total(rows)
        return round(float(self.aggregate(bootstrap_weights(len(rows)) @ rows).mean()), 5)


def _words(reading: Reading, lines: Sequence[str | bytes]) -> list[str]:
    return [word for sentence in reading.sentences(lines) for word in sentence]


@cache
def bootstrap_weights(topics: int) -> Floats:
    """(1000, topics): how often each resample of ROUGE-1.5.5 draws each topic, `srand(i)` for i from 0."""
    draws = np.stack([_drawn(seed, topics) for seed in range(RESAMPLES)])
    return np.stack([np.bincount(own, minlength=topics) for own in draws]).astype(np.float64)


def _drawn(seed: int, topics: int) -> NDArray[np.intp]:
    """``int(rand(n))`` n times, from the 48-bit generator of the C library that Perl uses."""
    state = (seed << 16) + 0x330E
    drawn = np.empty(topics, dtype=np.intp)
    for place in range(topics):
        state = (0x5DEECE66D * state + 0xB) & 0xFFFFFFFFFFFF
        drawn[place] = int(state / 2**48 * topics)
    return drawn
