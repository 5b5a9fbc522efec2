"""The folders of the CL-Summ data pack, and what its official programs gave, for tests to be held to."""

import json
from pathlib import Path

import numpy as np
import pytest

from scoring.offline.evaluate import load_statistics

PARTS = ("precision", "recall", "f1")


def gold_2017(corpus: Path) -> list[Path]:
    """The ten pilot topics, and the two that were released later, in the text form."""
    return [
        corpus / "pilot",
        corpus / "cleaned" / "P06-2124",
        corpus / "cleaned" / "N06-2049",
    ]


def gold_2018(corpus: Path) -> list[Path]:
    """Two topics of the test set, in the CSV form, by three annotators each."""
    return [corpus / "test2018"]


def gold_summaries(corpus: Path) -> list[Path]:
    return [corpus / "cleaned", corpus / "test2018"]


def stop_words(corpus: Path) -> tuple[str, ...]:
    return "--option", f"stopwords={corpus / 'rouge' / 'smart_common_words.txt'}"


def golden(corpus: Path, form: str, run: str) -> dict:
    return json.loads((corpus / "golden" / form / run / "scores.json").read_text())


def submission(corpus: Path, form: str, run: str) -> Path:
    return corpus / "golden" / form / run / "submission"


def published(corpus: Path, run: str) -> tuple[Path, dict[str, float]]:
    folder = next((corpus / "golden" / "published").glob(f"*{run}*"))
    return folder, json.loads((folder / "scores.json").read_text())["scores"]


def same(expected: float) -> object:
    return pytest.approx(expected, rel=1e-12, abs=1e-14)


def printed(expected: float) -> object:
    """Equal as far as the official program prints, which is twelve digits."""
    return pytest.approx(expected, rel=1e-11, abs=1e-12)


def sums_by_gold_file(kept: Path, statistic: str) -> dict[str, np.ndarray]:
    """The sum of the statistic's rows for each gold file: the topic, and the annotator where there is one."""
    statistics = load_statistics(kept)
    sums: dict[str, np.ndarray] = {}
    rows = zip(
        statistics.features["topic"], statistics.features["annotator"], strict=True
    )
    for row, (topic, annotator) in zip(
        statistics.matrices[statistic], rows, strict=True
    ):
        name = "_".join((*topic, *annotator))
        sums[name] = sums.get(name, 0) + row
    return sums


def scores_of_counts(counts: np.ndarray) -> dict[str, float]:
    found, wrong, missed = counts
    precision = found / (found + wrong) if found + wrong else 0.0
    recall = found / (found + missed) if found + missed else 0.0
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
    }
