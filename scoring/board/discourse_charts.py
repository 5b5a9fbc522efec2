"""Charts of what sentences do: shares of labels as bars, and divergences as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from scoring.board.charts import value_axis
from scoring.board.label_shares import Lines, shares_of_run
from scoring.board.numbers import shown
from scoring.figures import Bars, HeatMap, Measured, Series
from scoring.models import Evaluation

#: Beside the gold so many runs at most have a colour of their own.
MAX_DRAWN = 6


def share_bars(labels: Sequence[str], lines: Lines) -> Bars:
    """One group a label, one bar for the gold and one for each run."""
    return Bars(
        title=_("Share of sentences by label"),
        labels=labels,
        series=[
            Series(name=name, values=[Measured(value=value) for value in values]) for name, values, _ in lines
        ],
        axis=value_axis(_("Share of sentences"), 1.0, has_zero=True),
    )


def run_shares(evaluation: Evaluation, *, shows_gold: bool) -> list[dict[str, Any]]:
    """What a run's own page shows of its labels: by scheme the bars and the table behind them."""
    return [
        {
            **share,
            "bars": share_bars(share["labels"], share["lines"]),
            "share_lines": written(share["lines"]),
        }
        for share in shares_of_run(evaluation, shows_gold=shows_gold)
    ]


def written(lines: Lines) -> list[dict[str, Any]]:
    """The same as lines of a table."""
    return [
        {"name": name, "sentences": total, "cells": [shown(value) for value in values]}
        for name, values, total in lines
    ]


def divergence_map(
    systems: Sequence[str], datasets: Sequence[str], values: Sequence[Sequence[float | None]]
) -> HeatMap:
    """Systems down, data sets across; infinite is the strongest colour and says so, undefined is empty."""
    finite = [value for line in values for value in line if value is not None and math.isfinite(value)]
    top = max([*finite, 0.1])
    return HeatMap(
        title=_("Divergence from the gold by data set"),
        rows=[f"{place}. {name}" for place, name in enumerate(systems, start=1)],
        columns=datasets,
        values=[[None if value is None else min(value, top) for value in line] for line in values],
        texts=[["" if value is None else shown(value) for value in line] for line in values],
        low=min([*finite, 0.0]),
        high=top,
    )
