"""Whether the figures of a row can belong together, as far as their names say what they are.

With one cited paper a context, Recall@k / k <= MRR@k <= Recall@k (`citation_recommendation.consistency`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scoring.publications.printed_form import Measure, Row, Table
from tasks.types.citation_recommendation.consistency import contradiction

_RECALL = re.compile(r"(?:r|recall)@(?P<cut>[1-9]\d{0,3})", re.IGNORECASE)
_MRR = re.compile(r"(?:m|mrr)@(?P<cut>[1-9]\d{0,3})", re.IGNORECASE)
_DECIMALS = re.compile(r"\.(\d+)")


def with_contradictions(table: Table) -> Table:
    """The table, each row told what in it cannot be."""
    pairs = list(_pairs(table.measures))
    if not pairs:
        return table
    rounding = {
        measure.name: _rounding([row.printed(measure.name) for row in table.rows])
        for measure in table.measures
    }
    return replace(
        table, rows=tuple(replace(row, contradiction=_found(row, pairs, rounding)) for row in table.rows)
    )


def _pairs(measures: Sequence[Measure]) -> Iterator[tuple[int, Measure, Measure]]:
    """The cut with the recall and the reciprocal rank that are cut there, on one scale."""
    recalls = {
        int(found["cut"]): measure for measure in measures if (found := _RECALL.fullmatch(measure.name))
    }
    for measure in measures:
        found = _MRR.fullmatch(measure.name)
        recall = recalls.get(int(found["cut"])) if found else None
        if found and recall and recall.scale == measure.scale:
            yield int(found["cut"]), recall, measure


def _rounding(printed: Sequence[str]) -> float:
    """Half a unit of the last digit that a column prints; trailing zeros are often left out."""
    decimals = max((len(found[1]) for figure in printed if (found := _DECIMALS.search(figure))), default=0)
    return 0.5 * 10.0**-decimals


def _found(row: Row, pairs: Sequence[tuple[int, Measure, Measure]], rounding: dict[str, float]) -> str:
    values = {figure.measure: figure.value for figure in row.figures}
    found_contradictions = []
    for cut, recall, mrr in pairs:
        first, second = values.get(recall.name), values.get(mrr.name)
        if first is not None and second is not None:
            least = max(rounding[recall.name], rounding[mrr.name])
            found_contradictions.append(contradiction(first, second, cut=cut, rounding=least))
    return "; ".join(contradiction for contradiction in found_contradictions if contradiction)
