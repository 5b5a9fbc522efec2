"""Questions of our own with passages, and what a run says to them, as small as they can be."""

import json
from collections.abc import Sequence
from pathlib import Path

#: Nothing of it needs a parser: no sentence has two places with marks, and each has its parse beside it.
RAIN = {
    "id": "q1",
    "dataset": "rain",
    "question": "Where does it rain?",
    "docs": [
        {"title": "Oslo", "text": "It rains in Oslo."},
        {"title": "Rome", "text": "Rome is dry."},
    ],
    "qa_pairs": [{"short_answers": ["Oslo"]}],
}
WIND = {
    "id": "q2",
    "dataset": "wind",
    "question": "What is wind?",
    "docs": [{"title": "Wind", "text": "Wind is air that moves."}],
    "answer": "Air that moves.",
}


def write_gold(folder: Path, *questions: dict) -> Path:
    path = folder / "gold.json"
    path.write_text(json.dumps(questions or [RAIN, WIND], ensure_ascii=False))
    return path


def write_run(folder: Path, outputs: dict[str, str], name: str = "run.jsonl") -> Path:
    path = folder / name
    lines = (
        json.dumps({"id": key, "output": output}) for key, output in outputs.items()
    )
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def write_parses(folder: Path, *texts: str) -> Path:
    """A parse for each text in which every word hangs under the second, the root."""
    path = folder / "parses.jsonl"
    path.write_text("".join(json.dumps(flat_parse(text)) + "\n" for text in texts))
    return path


def flat_parse(text: str) -> dict:
    tokens = text.split(" ")
    root = min(1, len(tokens) - 1)
    return {
        "text": text,
        "tokens": tokens,
        "heads": [root] * len(tokens),
        "relations": [
            "ROOT" if place == root else "dep" for place in range(len(tokens))
        ],
    }


def flat(options: Sequence[str] = (), *, parses: Path) -> list[str]:
    """The words of a command that scores with these parses and the stand-in for entailment."""
    pairs = [f"parser={parses}", "entailment=word-overlap", *options]
    return [
        "--intervals",
        "0",
        *(word for pair in pairs for word in ("--option", pair)),
    ]
