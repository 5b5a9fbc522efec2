"""ROUGE beside the package rouge-score, and beside what reading the words alone takes."""

from __future__ import annotations

import random
import re

from measuring import Measurements
from rouge_score.rouge_scorer import RougeScorer

from scoring.metrics.rouge import (
    compute_rouge,
    encode_gold_texts,
    encode_texts,
    forget_all_words,
)
from tests.scoring.texts import related_pairs

KINDS = {"1": "rouge1", "2": "rouge2", "l": "rougeL", "lsum": "rougeLsum"}
SIZES = ((50, 1000), (250, 150))
#: What is asked for, by words and whether sentences are asked for too.
WANTED = {(50, False): 12, (50, True): 10, (250, False): 50, (250, True): 25}
Texts = tuple[list[str], list[str]]


def main() -> None:
    measured = Measurements(
        "rouge", "ROUGE", ("rouge-score", "nltk", "rapidfuzz", "numpy")
    )
    for words, count in SIZES:
        pairs = related_pairs(random.Random(words), count, words)
        texts = (
            [reference for reference, _ in pairs],
            [prediction for _, prediction in pairs],
        )
        for is_stemmed in (False, True):
            for kinds in (("1", "2", "l"), ("1", "2", "l", "lsum")):
                compare(measured, words, texts, kinds, is_stemmed=is_stemmed)
        floor(measured, words, texts)
    measured.keep()


def compare(
    measured: Measurements,
    words: int,
    texts: Texts,
    kinds: tuple[str, ...],
    *,
    is_stemmed: bool,
) -> None:
    package = RougeScorer([KINDS[kind] for kind in kinds], use_stemmer=is_stemmed)

    def anew() -> None:
        forget_all_words()
        encode_gold_texts.cache_clear()
        compute_rouge(*texts, kinds, is_stemmed=is_stemmed)

    names = ", ".join(kind.upper() if len(kind) == 1 else "Lsum" for kind in kinds)
    label = f"ROUGE-{names}{' stemmed' if is_stemmed else ''}, {len(texts[0])} pairs of {words} words"
    measured.compare(
        label,
        anew,
        lambda: [package.score(*pair) for pair in zip(*texts, strict=True)],
        against="rouge-score",
        repeats=3,
        wanted=WANTED[words, "lsum" in kinds],
    )

    def again() -> object:
        return compute_rouge(*texts, kinds, is_stemmed=is_stemmed)

    measured.measure(
        f"{label}, a later run", again, note="gold and stems known from an earlier run"
    )


def floor(measured: Measurements, words: int, texts: Texts) -> None:
    find = re.compile(r"[a-z0-9]+").findall
    both = [*texts[0], *texts[1]]
    measured.measure(
        f"words alone, by regular expression, {words} words",
        lambda: [find(text.lower()) for text in both],
    )

    def anew() -> None:
        forget_all_words()
        encode_texts(both)

    measured.measure(
        f"words alone, as numbers, {words} words", anew, note="what the scorer does"
    )


if __name__ == "__main__":
    main()
