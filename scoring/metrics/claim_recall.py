"""Which of the gold's claims an answer entails, as ALCE has it for ELI5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scoring.metrics.answers import ALCE
from scoring.metrics.base import Floats
from scoring.metrics.entailed import CitationMetric, matrix
from scoring.metrics.entailment.credits import judged
from scoring.metrics.entailment.pairs import Case
from tasks.types.positional_citations.gold import Question
from tasks.types.positional_citations.marks import first_line
from tasks.types.positional_citations.parts import Part, Response


class ClaimRecall(CitationMetric):
    """The share of a question's claims that the answer entails, then the mean over questions.

    The premise is the first line of the answer without marks, the hypothesis the claim. An empty or missing
    answer entails nothing; questions without claims do not count.
    """

    statistic = "claim_recall"
    citation = ALCE

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {"entailment": self.judge.name}

    def cases(self, gold: Sequence[Question | None], answers: Sequence[Part | None]) -> list[Case]:
        return [case for answer in answers for case in self._asked(answer)]

    def instance_stats(self, gold: Sequence[Question | None], answers: Sequence[Part | None]) -> Floats:
        verdicts = iter(judged(self.cases(gold, answers), self.judge))
        rows: list[Mapping[str, float]] = []
        for question, answer in zip(gold, answers, strict=True):
            own = [next(verdicts).entailed for _ in self._asked(answer)]
            if question is None or not question.claims:
                rows.append({})
                continue
            pending = sum(entailed is None for entailed in own)
            rows.append(
                {
                    "recall": sum(entailed is True for entailed in own) / len(question.claims),
                    "recall_weight": 1,
                    "pending_claims": pending,
                    "pending_pairs": pending,
                }
            )
        return matrix(rows)

    def _asked(self, answer: Part | None) -> Iterator[Case]:
        premise = first_line(answer.plain).strip() if isinstance(answer, Response) else ""
        if premise and answer is not None:
            yield from (Case(claim, (premise,)) for claim in answer.question.claims)
