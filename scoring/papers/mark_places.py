"""Move citation marks of answers to the ends of sentences, or recompute the marks.

Xu et al. 2025, ALiiCE, investigates whether marks within sentences are more informative
than marks at their ends. Appendix F of the paper mixes both positions of marks. Gao et
al. 2023, ALCE, add marks after generation, so that each sentence cites the passage that
matches best.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from scoring.metrics.answers import Cvcp, normalised
from scoring.metrics.entailment import Judge, Pair, passage_text
from scoring.tools.baselines.positional import bare, marked, word_share
from tasks.types.base import CORRECTED, Options
from tasks.types.positional_citations.questions import CitedSentence, Question
from tasks.types.positional_citations.sentences import (
    MARK,
    by_rules,
    positions,
    with_marks_moved,
)

#: The minimum fraction of a sentence's words that a cited passage must contain.
ENOUGH = 0.5

#: A function that returns the passages to cite for a sentence without marks.
Marking = Callable[[str, Question], Sequence[int]]


def sentences(output: str) -> list[str]:
    return with_marks_moved(by_rules(output))


def at_sentence_ends(output: str) -> str:
    """Return the answer with each distinct mark after the last word of its sentence."""
    return " ".join(
        marked(bare(text), dict.fromkeys(MARK.findall(text)))
        for text in sentences(output)
    )


def marked_anew(output: str, question: Question, marking: Marking) -> str:
    texts = filter(None, map(bare, sentences(output)))
    return " ".join(
        marked(text, [f"[{mark}]" for mark in marking(text, question)])
        for text in texts
    )


def by_overlap(sentence: str, question: Question) -> list[int]:
    """Return the first passage that contains most of the sentence's words.

    Return no passage if the best passage contains less than half of the sentence's
    words.
    """
    words = set(normalised(sentence).split())
    shares = [word_share(words, passage) for passage in question.passages]
    best = max(shares, default=0.0)
    return [shares.index(best) + 1] if best >= ENOUGH else []


def by_labels(judge: Judge) -> Marking:
    """Return a function that cites every passage whose label says that it entails the
    sentence.
    """

    def marking(sentence: str, question: Question) -> list[int]:
        pairs = [Pair(passage_text(passage), sentence) for passage in question.passages]
        return [
            position
            for position, label in enumerate(judge.decide(pairs), start=1)
            if label
        ]

    return marking


def mixtures(
    outputs: Mapping[str, str], *, steps: int, seed: int, options: Options
) -> Iterator[dict[str, float]]:
    """Yield the scores of mixtures of the original answers and answers with moved
    marks.

    In each step, a larger fraction of the answers is unchanged. In all other answers,
    the marks are at the ends of sentences.
    """
    names = sorted(outputs)
    drawn = [
        names[place] for place in np.random.default_rng(seed).permutation(len(names))
    ]
    ends = {name: at_sentence_ends(outputs[name]) for name in names}
    for step in range(steps + 1):
        drawn_first = set(drawn[: round(step / steps * len(drawn))])
        mixed = {
            name: outputs[name] if name in drawn_first else ends[name] for name in names
        }
        parts = []
        for name, output in mixed.items():
            question = Question(name, "", "", ())
            for text in filter(MARK.search, sentences(output)):
                cited = CitedSentence(
                    question=question, features={}, text=text, positions=positions(text)
                )
                parts.append(cited)
        yield {
            "share": step / steps,
            "positional": len(
                {part.question.id for part in parts if part.positions.is_positional}
            ),
            "answers": len(mixed),
            "cvcp": _cvcp(parts, options, is_pooled=False),
            "pooled": _cvcp(parts, options, is_pooled=True),
        }


def _cvcp(
    parts: Sequence[CitedSentence], options: Options, *, is_pooled: bool
) -> float:
    metric = Cvcp("cvcp", CORRECTED, options=options, is_pooled=is_pooled)
    return float(
        metric.aggregate(metric.instance_stats([None] * len(parts), parts).sum(axis=0))
    )
