"""Score runs from notebooks, training loops, and the interfaces of other libraries.

    from citeboard_scorer.adapters import Scorer

    dev = Scorer("citation-recommendation", gold=["gold/"])
    dev.score({"id": id, "ranked": ranked} for id, ranked in ...)["recall@10"].value

`scoring.adapters.evaluate_style` has the interface of Hugging Face's `evaluate`.
Importing `scoring.adapters.ir_measures_provider` registers Citeboard's metrics with
`ir_measures`. `scoring.adapters.ir_datasets_provider` registers a task's `trec.zip`
with `ir_datasets`.
"""

from scoring.adapters.scorer import Answers, Result, Scored, Scorer

__all__ = ["Answers", "Result", "Scored", "Scorer"]
