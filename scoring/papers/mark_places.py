"""Move citation marks to the ends of sentences, or choose cited passages again.

The ALiiCE paper (Xu et al., 2025) investigates whether citation marks within sentences
are more informative than marks at the ends of sentences. Appendix F of the paper
evaluates mixtures of answers with marks at both positions. The ALCE paper (Gao et al.,
2023) adds citation marks to generated answers, so that each sentence cites the passage
that matches best.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from scoring.metrics.answers import Cvcp, normalise_answer
from scoring.metrics.entailment import EntailmentJudge, EntailmentPair, format_passage
from scoring.tools.baselines.positional import (
    compute_word_share,
    insert_marks_before_stop,
    remove_citation_marks,
)
from tasks.types.base import CORRECTED, Options
from tasks.types.positional_citations.questions import (
    CitedSentenceRow,
    QuestionWithPassages,
)
from tasks.types.positional_citations.sentences import (
    CITATION_MARK_PATTERN,
    compute_mark_positions,
    move_leading_marks_to_previous,
    split_sentences_by_rules,
)

#: A passage is cited only if it contains at least this fraction of a sentence's words.
MIN_WORD_SHARE = 0.5

#: A function that returns the passages to cite for a sentence without marks.
MarkChooser = Callable[[str, QuestionWithPassages], Sequence[int]]


def sentences(output: str) -> list[str]:
    return move_leading_marks_to_previous(split_sentences_by_rules(output))


def move_marks_to_sentence_ends(output: str) -> str:
    """Return the answer with all citation marks of a sentence after its last word, each
    mark once.
    """
    return " ".join(
        insert_marks_before_stop(
            remove_citation_marks(text),
            dict.fromkeys(CITATION_MARK_PATTERN.findall(text)),
        )
        for text in sentences(output)
    )


def replace_marks(
    output: str, question: QuestionWithPassages, marking: MarkChooser
) -> str:
    texts = filter(None, map(remove_citation_marks, sentences(output)))
    return " ".join(
        insert_marks_before_stop(
            text, [f"[{mark}]" for mark in marking(text, question)]
        )
        for text in texts
    )


def choose_mark_by_overlap(sentence: str, question: QuestionWithPassages) -> list[int]:
    """Return the passage that contains most of the sentence's words, and the first such
    passage in case of a tie.

    Return no passage if no passage contains at least half of the sentence's words.
    """
    words = set(normalise_answer(sentence).split())
    shares = [compute_word_share(words, passage) for passage in question.passages]
    best = max(shares, default=0.0)
    return [shares.index(best) + 1] if best >= MIN_WORD_SHARE else []


def make_label_mark_chooser(judge: EntailmentJudge) -> MarkChooser:
    """Return a function that cites every passage that entails the sentence according to
    the judge's labels.
    """

    def choose_marks(sentence: str, question: QuestionWithPassages) -> list[int]:
        pairs = [
            EntailmentPair(format_passage(passage), sentence)
            for passage in question.passages
        ]
        return [
            position
            for position, label in enumerate(judge.decide(pairs), start=1)
            if label
        ]

    return choose_marks


def score_mixtures(
    outputs: Mapping[str, str], *, steps: int, seed: int, options: Options
) -> Iterator[dict[str, float]]:
    """Yield the scores of mixtures of original answers and answers whose citation marks
    are at the ends of sentences.

    From step to step, more answers keep the original positions of their citation marks.
    All other answers have their citation marks at the ends of sentences.
    """
    names = sorted(outputs)
    drawn = [
        names[place] for place in np.random.default_rng(seed).permutation(len(names))
    ]
    ends = {name: move_marks_to_sentence_ends(outputs[name]) for name in names}
    for step in range(steps + 1):
        drawn_first = set(drawn[: round(step / steps * len(drawn))])
        mixed = {
            name: outputs[name] if name in drawn_first else ends[name] for name in names
        }
        parts = []
        for name, output in mixed.items():
            question = QuestionWithPassages(name, "", "", ())
            for text in filter(CITATION_MARK_PATTERN.search, sentences(output)):
                cited = CitedSentenceRow(
                    question=question,
                    features={},
                    text=text,
                    positions=compute_mark_positions(text),
                )
                parts.append(cited)
        yield {
            "share": step / steps,
            "positional": len(
                {part.question.id for part in parts if part.positions.is_positional}
            ),
            "answers": len(mixed),
            "cvcp": _compute_cvcp(parts, options, is_pooled=False),
            "pooled": _compute_cvcp(parts, options, is_pooled=True),
        }


def _compute_cvcp(
    parts: Sequence[CitedSentenceRow], options: Options, *, is_pooled: bool
) -> float:
    metric = Cvcp("cvcp", CORRECTED, options=options, is_pooled=is_pooled)
    return float(
        metric.aggregate(metric.instance_stats([None] * len(parts), parts).sum(axis=0))
    )
