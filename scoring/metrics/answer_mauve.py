"""MAUVE of long answers, each read behind its question, as ALCE and ALiiCE take it."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from scoring.metrics.base import Floats
from scoring.metrics.mauve import Mauve
from scoring.metrics.texts import Text
from tasks.types.positional_citations.gold import Question
from tasks.types.positional_citations.parts import Response

#: So many words of question and answer together are read.
MAX_WORDS = 100


class AnswerMauve(Mauve):
    """MAUVE of questions with their answers against questions with the gold's answer in full.

    Where annotators gave several, the gold's field ``answer`` says which, as in the released programs;
    else it is the first. The first 100 words of each, without marks and without punctuation at the end. A
    question that has no answer in full does not count; one that the run does not answer stands there alone.
    """

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {
            **super().parameters,
            "reference": "answer-or-first",
            "texts": f"question-answer-{MAX_WORDS}",
        }

    def instance_stats(self, gold: Sequence[object], answers: Sequence[object]) -> Floats:
        sides = list(zip(gold, answers, strict=True))
        return super().instance_stats(
            [_of_gold(question) for question, _ in sides],
            [_of_run(question, answer) for question, answer in sides],
        )


def _of_gold(question: object) -> Text | None:
    if not isinstance(question, Question):
        return None
    answer = question.answer or next(iter(question.references), "")
    return _read(question, answer) if answer else None


def _of_run(question: object, answer: object) -> Text | None:
    if not isinstance(question, Question):
        return None
    return _read(question, answer.plain if isinstance(answer, Response) else "")


def _read(question: Question, answer: str) -> str:
    words = f"{question.question} {answer}".split()[:MAX_WORDS]
    return " ".join(words).rstrip(string.punctuation)
