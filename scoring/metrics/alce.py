"""Citation recall and precision over whole sentences, as ALCE has them, for comparison with those over
claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.metrics.answers import ALCE
from scoring.metrics.base import Floats
from scoring.metrics.entailed import CitationMetric, case_of, described, matrix, row
from scoring.metrics.entailment.credits import judged
from scoring.metrics.entailment.pairs import Case
from tasks.types.base import Options
from tasks.types.positional_citations.gold import Question
from tasks.types.positional_citations.marks import are_in_range
from tasks.types.positional_citations.parts import AlceSentence, Part

#: So many marks of a sentence are looked at unless all are.
MAX_MARKS = 3


class Alce(CitationMetric):
    """Recall is over all sentences of a response, and precision over the marks of its sentences, 0 without
    marks.

    A sentence with a mark that stands for no passage is not entailed, and its marks do not enter precision. A
    response without a sentence, or without an answer at all, counts with 0; in the official program it does
    not count.
    """

    citation = ALCE

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        options: Options,
        all_marks: bool = False,
        is_official: bool = False,
    ) -> None:
        super().__init__(name, rules, part=part, options=options, is_official=is_official)
        self.most = None if all_marks else MAX_MARKS
        self.statistic = "alce_all_marks" if all_marks else "alce"

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {**super().parameters, "marks": "all" if self.most is None else self.most}

    def marks(self, sentence: AlceSentence) -> tuple[int, ...]:
        """The marks that are looked at; none where one of all stands for no passage."""
        passages = len(sentence.question.passages)
        in_range = are_in_range(sentence.marks, passages, is_official=self.is_official)
        return sentence.marks[: self.most] if in_range else ()

    def cases(self, gold: Sequence[Question | None], answers: Sequence[Part | None]) -> list[Case]:
        return [
            case_of(sentence.question, sentence.text, self.marks(sentence))
            for sentence in self._asked(answers)
        ]

    def instance_stats(self, gold: Sequence[Question | None], answers: Sequence[Part | None]) -> Floats:
        sentences: Counter[str] = Counter()
        marks: Counter[str] = Counter()
        for answer in answers:
            if isinstance(answer, AlceSentence):
                sentences[answer.question.id] += 1
                marks[answer.question.id] += len(self.marks(answer))
        verdicts = iter(judged(self.cases(gold, answers), self.judge))
        rows: list[Mapping[str, float]] = []
        for question, answer in zip(gold, answers, strict=True):
            if question is not None:
                rows.append(self._whole(sentences[question.id], marks[question.id]))
            elif not isinstance(answer, AlceSentence):
                rows.append({})
            elif self.marks(answer):
                name = answer.question.id
                rows.append(row(next(verdicts), claims=sentences[name], marks=marks[name]))
            else:
                rows.append({"recall_weight": 1 / sentences[answer.question.id]})
        return matrix(rows)

    def details(self, answers: Sequence[Part | None]) -> Mapping[str, Mapping[str, Any]]:
        verdicts = iter(judged(self.cases((), answers), self.judge))
        found: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for answer in answers:
            if isinstance(answer, AlceSentence):
                verdict = next(verdicts) if self.marks(answer) else None
                own = found.setdefault(answer.question.id, {self.statistic: []})
                own[self.statistic].append(described(answer.text, answer.marks, verdict))
        return found

    def _asked(self, answers: Sequence[Part | None]) -> list[AlceSentence]:
        return [answer for answer in answers if isinstance(answer, AlceSentence) and self.marks(answer)]

    def _whole(self, sentences: int, marks: int) -> Mapping[str, float]:
        """What a response weighs besides its sentences: all its precision where it has no marks that count,
        and all of everything where it has no sentence.
        """
        if not sentences and self.is_official:
            return {}
        return {"recall_weight": float(not sentences), "precision_weight": float(not marks)}
