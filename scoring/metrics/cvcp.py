"""The coefficient of variation of citation positions: 0 where all marks stand at one place, larger where they
are spread.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from scoring.metrics.answers import ALIICE
from scoring.metrics.base import Floats, Metric
from tasks.types.base import Options
from tasks.types.positional_citations.gold import Question
from tasks.types.positional_citations.options import chosen_splitter
from tasks.types.positional_citations.parts import CitedSentence, Part
from tasks.types.positional_citations.sentences import splitter_name

#: A variance that is smaller against the square of the mean is nothing but rounding.
_ROUNDING = 1e-13


class Cvcp(Metric):
    """Standard deviation over mean of the positions of a sentence's marks.

    As in the paper's formula: within each cited sentence, over units; the mean over the cited sentences of a
    response, then over the responses that have one. Pooled, as released: over all marks of all responses, as
    offsets of characters. Undefined (NaN) without marks. Neither way is up.
    """

    statistic = "cvcp"
    higher_is_better = None
    citation = ALIICE

    def __init__(
        self, name: str, rules: str, *, options: Options, is_pooled: bool = False, is_official: bool = False
    ) -> None:
        super().__init__(name, rules)
        self.is_pooled, self._splitter = is_pooled, chosen_splitter(options, is_official=is_official)

    @property
    def value_range(self) -> tuple[float, float]:
        return (0.0, math.inf)

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {
            "positions": "characters" if self.is_pooled else "units",
            "average": "pooled" if self.is_pooled else "sentences-then-responses",
            "splitter": splitter_name(self._splitter),
        }

    def instance_stats(self, gold: Sequence[Question | None], answers: Sequence[Part | None]) -> Floats:
        """A sentence's share of the mean, its weight in it, and number, sum and sum of squares of its
        offsets.
        """
        cited = Counter(answer.question.id for answer in answers if isinstance(answer, CitedSentence))
        stats = np.zeros((len(answers), 5))
        for place, answer in enumerate(answers):
            if isinstance(answer, CitedSentence):
                units, offsets = (np.array(own) for own in (answer.positions.units, answer.positions.offsets))
                share = 1 / cited[answer.question.id]
                stats[place] = (
                    share * units.std() / units.mean(),
                    share,
                    len(offsets),
                    offsets.sum(),
                    (offsets**2).sum(),
                )
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            if not self.is_pooled:
                return np.asarray(np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan))
            count, total, squares = (sums[..., place] for place in (2, 3, 4))
            relative = squares * count / total**2 - 1
            spread = np.sqrt(np.where(relative > _ROUNDING, relative, 0.0))
            # Marks that all stand at the very beginning have a mean of 0.
            return np.asarray(np.where(total > 0, spread, np.nan))
