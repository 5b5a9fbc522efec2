"""Parsing in batches and one by one, and what a scoring does besides.

Usage: python bench/positional.py [--parser PATH_OR_NAME] [--responses N]

The answers are made up from a few patterns with two places for marks; every sentence is another one.
Entailment is the stand-in for tests. Without the pipeline there is nothing to measure, and that is said.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scoring.__main__ import main as offline
from tasks.types.positional_citations import parsing
from tasks.types.problems import SoftwareUnavailable

PATTERNS = (
    "The {a} of the {b} was built in {n} [1], and the {c} near the {a} was repaired in {m} [2].",
    "In {n} [1], the {a} reported that the {b} had lost {m} {c}s [2][3].",
    "Although the {a} closed in {n} [2], the {b} still sells {m} {c}s each year [1].",
    "The {a}, which the {b} opened in {n} [3], has {m} {c}s and is the largest of its kind [1].",
)
NOUNS = (
    "bridge",
    "harbour",
    "market",
    "museum",
    "library",
    "theatre",
    "garden",
    "tower",
    "school",
    "palace",
)
SENTENCES_EACH = 5


def main() -> int:
    given = options()
    try:
        parsing.make_pipeline_name(given.parser)
        parsing.load_spacy_pipeline(given.parser)
    except SoftwareUnavailable as missing:
        print(f"nothing is measured: {missing}")
        return 0
    responses = [answer(random.Random(seed)) for seed in range(given.responses)]
    sentences = [sentence for response in responses for sentence in response]
    batched = timed(lambda: parsing.parse_texts_with_pipeline(sentences, given.parser))
    single = timed(
        lambda: [
            parsing.parse_texts_with_pipeline([sentence], given.parser)
            for sentence in sentences
        ]
    )
    print(
        f"{len(sentences):,} sentences with {parsing.make_pipeline_name(given.parser)}"
    )
    print(f"{'in batches':<32} {len(sentences) / batched:10,.0f} sentences/s")
    print(f"{'one by one':<32} {len(sentences) / single:10,.0f} sentences/s")
    print(f"{'one by one takes':<32} {single / batched:10.1f} times as long")
    whole, own = scoring_time(responses, given.parser)
    print(f"{'a scoring of all of them':<32} {whole:10.2f} s")
    print(f"{'of that outside of spaCy':<32} {100 * (1 - own / whole):10.1f} %")
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parser", default="en_core_web_sm")
    parser.add_argument("--responses", type=int, default=400)
    return parser.parse_args()


def answer(draw: random.Random) -> list[str]:
    return [
        draw.choice(PATTERNS).format(
            **dict(zip("abc", draw.sample(NOUNS, 3), strict=True)),
            n=draw.randint(1000, 1999),
            m=draw.randint(2000, 9999),
        )
        for _ in range(SENTENCES_EACH)
    ]


def timed(action: object) -> float:
    begun = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - begun


def scoring_time(responses: list[list[str]], parser: str) -> tuple[float, float]:
    """Seconds of a scoring with a loaded pipeline, and how many of them spaCy took."""
    spent = [0.0]
    parsed = parsing.parse_texts_with_pipeline

    def watched(texts: list[str], pipeline: str) -> object:
        begun = time.perf_counter()
        found = parsed(texts, pipeline)
        spent[0] += time.perf_counter() - begun
        return found

    passages = [
        {"title": noun, "text": f"The {noun} was built in 1900 and repaired."}
        for noun in NOUNS[:5]
    ]
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as name:
        gold, run = Path(name) / "gold.json", Path(name) / "run.jsonl"
        questions = [
            {
                "id": str(number),
                "question": "?",
                "docs": passages,
                "answer": "Built in 1900.",
            }
            for number in range(len(responses))
        ]
        gold.write_text(json.dumps(questions))
        lines = (
            {"id": str(number), "output": " ".join(own)}
            for number, own in enumerate(responses)
        )
        run.write_text("".join(json.dumps(line) + "\n" for line in lines))
        words = [
            "score",
            "positional-citations",
            "--gold",
            str(gold),
            "--run",
            str(run),
            "--json",
        ]
        parsing.parse_texts_with_pipeline = watched  # type: ignore[assignment]
        with contextlib.redirect_stdout(io.StringIO()):
            whole = timed(
                lambda: offline(
                    [
                        *words,
                        "--option",
                        f"parser={parser}",
                        "--option",
                        "entailment=word-overlap",
                    ]
                )
            )
        parsing.parse_texts_with_pipeline = parsed
    return whole, spent[0]


if __name__ == "__main__":
    sys.exit(main())
