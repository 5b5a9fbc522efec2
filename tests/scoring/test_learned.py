"""A learned metric, on a randomly initialised tiny model: what transformers gives for each pair by itself."""

import math
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics import SoftwareUnavailable
from scoring.metrics.base import compute_metric_value
from scoring.metrics.local_models import Learned, find_model_folder
from tests.scoring.offline import score
from tests.tasks.types.instances import write_gold, write_run


@pytest.fixture(autouse=True)
def _models_can_be_loaded() -> None:
    """Asked by the tests, so that whoever runs others does not wait for torch."""
    for name in ("torch", "transformers"):
        pytest.importorskip(name)


WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "rivers",
    "carry",
    "sand",
    "wind",
    "moves",
    "dunes",
    ".",
    "[",
    "]",
)


def make_model(folder: Path, labels: int = 1) -> Path:
    import torch
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        BertTokenizerFast,
    )

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(5)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = BertConfig(
        vocab_size=len(WORDS), num_labels=labels, max_position_embeddings=32, **sizes
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(
        vocab_file=str(folder / "vocab.txt"), model_max_length=32
    ).save_pretrained(folder)
    return folder


def by_itself(folder: Path, gold: str, answer: str) -> float:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    given = tokenizer(
        [gold], [answer], truncation=True, max_length=32, return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**given).logits.item()


def learned(folder: Path) -> Learned:
    return Learned("learned", "corrected", options={"learned_model": str(folder)})


def test_every_pair_has_the_number_that_the_model_gives_it_alone(tmp_path):
    folder = make_model(tmp_path / "model")
    gold = ["rivers carry sand .", "wind moves dunes", "sand", "dunes " * 60]
    answers = ["sand moves", "wind moves dunes", "", "rivers"]
    stats = learned(folder).instance_stats([*gold, None], [*answers, "sand"])
    expected = [by_itself(folder, *pair) for pair in zip(gold, answers, strict=True)]
    assert stats[:4, 0] == pytest.approx(expected, abs=1e-6)
    assert stats[:, 1].tolist() == [1, 1, 1, 1, 0]
    assert compute_metric_value(learned(folder), stats, np.arange(5)) == pytest.approx(
        np.mean(expected), abs=1e-6
    )
    assert learned(folder).value_range == (-math.inf, math.inf)


def test_it_is_a_column_where_the_option_names_a_model(capsys, tmp_path):
    folder = make_model(tmp_path / "model")
    gold, run = (
        write_gold(tmp_path),
        write_run(tmp_path, {"rivers-00": "rivers carry sand", "dunes-00": "wind"}),
    )
    plain = score(capsys, "citation-text", [gold], run)
    assert "learned" not in plain["metrics"]
    found = score(
        capsys, "citation-text", [gold], run, "--option", f"learned_model={folder}"
    )["metrics"]["learned"]
    assert found["value"] is not None
    assert "|model:sha256-" in found["column"]


def test_a_model_that_is_not_there_or_gives_several_numbers_is_told(tmp_path):
    absent = learned(tmp_path / "none")
    assert "neither a folder here" in absent.requirements()[0].missing
    with pytest.raises(SoftwareUnavailable, match="neither a folder here"):
        absent.instance_stats(["a"], ["b"])
    with pytest.raises(SoftwareUnavailable, match="gives 3 numbers a pair"):
        learned(make_model(tmp_path / "three", labels=3)).instance_stats(
            ["sand"], ["sand"]
        )


def test_a_model_of_the_hub_is_there_once_it_was_fetched(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert find_model_folder("some/model") is None
    fetched = tmp_path / "models--some--model"
    (fetched / "refs").mkdir(parents=True)
    (fetched / "refs" / "main").write_text("c0ffee")
    (fetched / "snapshots" / "c0ffee").mkdir(parents=True)
    (fetched / "snapshots" / "c0ffee" / "config.json").write_text("{}")
    assert find_model_folder("some/model") == fetched / "snapshots" / "c0ffee"
    assert find_model_folder("not a name/of/the hub") is None
    monkeypatch.setattr("scoring.metrics.local_models.find_spec", lambda name: None)
    assert find_model_folder("some/model") is None
