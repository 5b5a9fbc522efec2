"""Where marks may stand instead: the same answers with their marks at the ends of sentences, or found anew.

Xu et al. 2025, ALiiCE, asks whether marks within sentences say more than marks at their ends; its appendix F
mixes both. Gao et al. 2023, ALCE, finds marks behind an answer's back by the passage that fits a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring.metrics.answers import ALCE, Cvcp, normalised
from scoring.metrics.entailment.verdicts import Judge, Pair, passage_text
from tasks.types.base import CORRECTED, Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.files import InputFile
from tasks.types.positional_citations.gold import Passage, Question, read_questions
from tasks.types.positional_citations.marks import MARK, RUN_OF_MARKS
from tasks.types.positional_citations.parts import CitedSentence
from tasks.types.positional_citations.positions import positions
from tasks.types.positional_citations.sentences import by_rules, with_marks_moved

#: A passage is marked that has this share of a sentence's words.
ENOUGH = 0.5
#: So many passages make the built-in answer.
PASSAGES = 3
_STOP = re.compile(r"[.!?]+[\"'”’)]*$")

Outputs = Mapping[str, str]
#: The marks of a sentence, from its text without them.
Marking = Callable[[str, Question], Sequence[int]]


def sentences(output: str) -> list[str]:
    """Of an answer, marks between two belonging to the one before."""
    return with_marks_moved(by_rules(output))


def at_sentence_ends(output: str) -> str:
    """The same marks, each once, behind the last word of their sentence."""
    return " ".join(_marked(_bare(text), dict.fromkeys(MARK.findall(text))) for text in sentences(output))


def marked_anew(output: str, question: Question, marking: Marking) -> str:
    """The answer without its marks, and behind each sentence those that it is given."""
    bare = [text for text in map(_bare, sentences(output)) if text]
    return " ".join(_marked(text, [f"[{mark}]" for mark in marking(text, question)]) for text in bare)


def by_overlap(sentence: str, question: Question) -> list[int]:
    """The passage with most of the sentence's words, the first of several; none where it has not half."""
    own = set(normalised(sentence).split())
    shares = [_share(own, passage) for passage in question.passages]
    best = max(shares, default=0.0)
    return [shares.index(best) + 1] if best >= ENOUGH else []


def by_labels(judge: Judge) -> Marking:
    """Every passage that entails the sentence, as far as a label says so."""

    def marking(sentence: str, question: Question) -> list[int]:
        asked = [Pair(passage_text(passage), sentence) for passage in question.passages]
        return [place for place, label in enumerate(judge.decide(asked), start=1) if label]

    return marking


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Of all answers this share as they are and the others with their marks at sentence ends."""

    share: float
    positional: int
    answers: int
    cvcp: float
    pooled: float


def mixtures(outputs: Outputs, *, steps: int, seed: int, options: Options) -> Iterator[Mixture]:
    """From none of the answers as they are to all; a larger mixture holds each smaller one."""
    names = sorted(outputs)
    drawn = [names[place] for place in np.random.default_rng(seed).permutation(len(names))]
    ends = {name: at_sentence_ends(outputs[name]) for name in names}
    for step in range(steps + 1):
        drawn_first = set(drawn[: round(step / steps * len(drawn))])
        mixed = {name: outputs[name] if name in drawn_first else ends[name] for name in names}
        parts = [part for name, output in mixed.items() for part in _cited(name, output)]
        yield Mixture(
            share=step / steps,
            positional=len({part.question.id for part in parts if part.positions.is_positional}),
            answers=len(mixed),
            cvcp=_cvcp(parts, options, is_pooled=False),
            pooled=_cvcp(parts, options, is_pooled=True),
        )


def _cited(name: str, output: str) -> Iterator[CitedSentence]:
    question = Question(name, "", "", ())
    for text in sentences(output):
        if MARK.search(text):
            yield CitedSentence(question=question, features={}, text=text, positions=positions(text))


def _cvcp(parts: Sequence[CitedSentence], options: Options, *, is_pooled: bool) -> float:
    metric = Cvcp("cvcp", CORRECTED, options=options, is_pooled=is_pooled)
    return float(metric.aggregate(metric.instance_stats([None] * len(parts), parts).sum(axis=0)))


def _bare(text: str) -> str:
    """Without marks, and without the space that they leave before a stop."""
    return re.sub(r"\s+([,;:.!?])", r"\1", " ".join(RUN_OF_MARKS.sub(" ", text).split()))


def _marked(text: str, marks: Sequence[str] | Mapping[str, None]) -> str:
    """Marks before the full stop, as the papers' prompts ask for them."""
    if not marks:
        return text
    stop = _STOP.search(text)
    end = stop.start() if stop else len(text)
    return f"{text[:end]} {''.join(marks)}{text[end:]}"


def _share(words: set[str], passage: Passage) -> float:
    return (
        len(words & set(normalised(f"{passage.title} {passage.text}").split())) / len(words) if words else 0
    )


def answers(files: Sequence[InputFile]) -> Iterator[Answer]:
    """The first sentences of the passages that have most of the question's words, each with its mark."""
    for question in read_questions(files):
        asked = set(normalised(question.question).split())
        shares = [_share(asked, passage) for passage in question.passages]
        places = sorted(range(len(shares)), key=lambda place: (-shares[place], place))[:PASSAGES]
        first = {place: next(iter(by_rules(question.passages[place].text)), "") for place in places}
        output = " ".join(_marked(_bare(text), [f"[{place + 1}]"]) for place, text in first.items() if text)
        yield {"id": question.id, "output": output}


BASELINES = (
    Baseline(
        name="positional-passages",
        summary="The first sentences of the three passages that have most of the question's words, each with "
        "its mark at the end.",
        source=ALCE,
        answers=answers,
    ),
)
