"""Whether a citation text says only what the abstracts of the cited papers say, by entailment labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scoring.metrics.base import Floats
from scoring.metrics.entailed import CitationMetric, matrix
from scoring.metrics.entailment.credits import judged
from scoring.metrics.entailment.pairs import Case
from tasks.types.citation_text.instance import Instance
from tasks.types.citation_text.runs import Prediction
from tasks.types.positional_citations.marks import without_marks
from tasks.types.positional_citations.sentences import SPLITTERS, splitter_name

SPLITTER = "rules"


class Consistency(CitationMetric):
    """The share of a text's sentences that the cited abstracts together entail, then the mean over instances.

    The premise is the abstracts, one a line, the hypothesis a sentence without its marks; sentences without a
    letter or digit are none. An empty or missing text has 0. Undefined as long as a label is missing.
    """

    statistic = "consistency"
    citation = (
        "Maynez et al. 2020, On Faithfulness and Factuality in Abstractive Summarization, ACL; labels as in "
        "Honovich et al. 2022, TRUE: Re-evaluating Factual Consistency Evaluation, NAACL"
    )

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {
            "entailment": self.judge.name,
            "premise": "cited abstracts",
            "sentences": splitter_name(SPLITTER),
        }

    def cases(self, gold: Sequence[Instance | None], answers: Sequence[Prediction | None]) -> list[Case]:
        asked = zip(gold, answers, strict=True)
        return [case for instance, answer in asked for case in _cases(instance, answer)]

    def instance_stats(self, gold: Sequence[Instance | None], answers: Sequence[Prediction | None]) -> Floats:
        verdicts = iter(judged(self.cases(gold, answers), self.judge))
        rows: list[Mapping[str, float]] = []
        for instance, answer in zip(gold, answers, strict=True):
            own = [next(verdicts).entailed for _ in _cases(instance, answer)]
            pending = sum(entailed is None for entailed in own)
            rows.append(
                {
                    "recall": sum(entailed is True for entailed in own) / max(len(own), 1),
                    "recall_weight": instance is not None,
                    "pending_claims": pending,
                    "pending_pairs": pending,
                }
            )
        return matrix(rows)


def _cases(instance: Instance | None, answer: Prediction | None) -> list[Case]:
    if instance is None or answer is None:
        return []
    premise = "\n".join(abstract.strip() for abstract in instance.cited)
    sentences = (without_marks(sentence).strip() for sentence in SPLITTERS[SPLITTER](answer.text))
    return [Case(text, (premise,)) for text in sentences if any(map(str.isalnum, text))]
