"""Scores where systems are made: in a notebook, a training loop, or another program's interface.

    from citeboard_scorer.adapters import Scorer

    dev = Scorer("citation-recommendation", gold=["gold/"])
    dev.score({"id": id, "ranked": ranked} for id, ranked in ...)["recall@10"].value

`scoring.adapters.evaluate_style` has the interface of Hugging Face's `evaluate`, and importing
`scoring.adapters.ir_measures_provider` adds ours to the providers of `ir_measures`;
`scoring.adapters.ir_datasets_provider` gives a task's `trec.zip` to `ir_datasets`.
"""

from scoring.adapters.scorer import Answers, Result, Scored, Scorer

__all__ = ["Answers", "Result", "Scored", "Scorer"]
