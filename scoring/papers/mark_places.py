"""Where marks may stand instead: the same answers with their marks at the ends of sentences, or found anew.

Xu et al. 2025, ALiiCE, asks whether marks within sentences say more than marks at their ends; its appendix F
mixes both. Gao et al. 2023, ALCE, finds marks behind an answer's back by the passage that fits a sentence.
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

#: A passage is marked that has this share of a sentence's words.
ENOUGH = 0.5

#: The marks of a sentence, from its text without them.
Marking = Callable[[str, Question], Sequence[int]]


def sentences(output: str) -> list[str]:
    return with_marks_moved(by_rules(output))


def at_sentence_ends(output: str) -> str:
    """The same marks, each once, behind the last word of their sentence."""
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
    """The passage with most of the sentence's words, the first of several; none where it has not half."""
    words = set(normalised(sentence).split())
    shares = [word_share(words, passage) for passage in question.passages]
    best = max(shares, default=0.0)
    return [shares.index(best) + 1] if best >= ENOUGH else []


def by_labels(judge: Judge) -> Marking:
    """Every passage that entails the sentence, as far as a label says so."""

    def marking(sentence: str, question: Question) -> list[int]:
        pairs = [Pair(passage_text(passage), sentence) for passage in question.passages]
        return [
            place for place, label in enumerate(judge.decide(pairs), start=1) if label
        ]

    return marking


def mixtures(
    outputs: Mapping[str, str], *, steps: int, seed: int, options: Options
) -> Iterator[dict[str, float]]:
    """Of all answers a growing share as they are and the others with their marks at sentence ends."""
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
            asked = Question(name, "", "", ())
            for text in filter(MARK.search, sentences(output)):
                cited = CitedSentence(
                    question=asked, features={}, text=text, positions=positions(text)
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
