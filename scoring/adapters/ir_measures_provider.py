"""A provider of `ir_measures` with Citeboard's recall, reciprocal rank and success.
Importing this module registers the provider.

The measures are then available from `ir_measures.evaluator([R@10], qrels)` or from
`PROVIDER` itself. Documents with equal scores are ordered by name, as in other
providers.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import Metric, measures, providers
from ir_measures.providers.base import NOT_PROVIDED, Any as AnyValue, Choices

from scoring.metrics.ranking import WHOLE_RANKING_CUT, Ranking

#: Maps the name of each metric in `ir_measures` to the metric's name in Citeboard.
METRICS_BY_IR_MEASURE = {"R": "recall", "RR": "mrr", "Success": "success"}


class CiteboardEvaluator(providers.Evaluator):
    def __init__(self, measures: list[Any], qrels: dict[str, dict[str, int]]) -> None:
        super().__init__(measures, set(qrels))
        self._gold = {
            query: [doc for doc, grade in row.items() if grade > 0]
            for query, row in qrels.items()
        }

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        scores = ir_measures.util.RunConverter(run).as_dict_of_dict()
        queries = [query for query in scores if query in self._gold]
        ranked = [
            sorted(scores[query], key=lambda doc: (-scores[query][doc], doc))
            for query in queries
        ]
        for measure in self.measures:
            cut = (
                WHOLE_RANKING_CUT
                if measure["cutoff"] is NOT_PROVIDED
                else measure["cutoff"]
            )
            ranking = Ranking(
                "x", "corrected", measure=METRICS_BY_IR_MEASURE[measure.NAME], cut=cut
            )
            stats = ranking.instance_stats(
                [self._gold[query] for query in queries], ranked
            )
            column = Ranking.columns.index(ranking.column)
            for query, row in zip(queries, stats, strict=True):
                yield Metric(query_id=query, measure=measure, value=float(row[column]))


class CiteboardProvider(providers.Provider):
    """A provider with binary relevance, for which documents with a grade of 1 or more
    are relevant.
    """

    NAME = "citeboard"
    SUPPORTED_MEASURES = [
        measures._R(cutoff=AnyValue(), rel=Choices(1), judged_only=Choices(False)),  # noqa: SLF001
        measures._RR(cutoff=AnyValue(), rel=Choices(1), judged_only=Choices(False)),  # noqa: SLF001
        measures._Success(  # noqa: SLF001
            cutoff=AnyValue(), rel=Choices(1), judged_only=Choices(False)
        ),
    ]

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> CiteboardEvaluator:
        return CiteboardEvaluator(
            list(measures), ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
        )


PROVIDER = CiteboardProvider()
providers.register(PROVIDER)
