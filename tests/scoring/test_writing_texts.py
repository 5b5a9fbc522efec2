"""Citation texts by a sequence-to-sequence model from a folder, through the command."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from tests.scoring.offline import score
from tests.scoring.tinymodel import make_model
from tests.tasks.types.instances import DUNES, RIVERS, write_gold, write_lines

#: The model answers 1 where it reads `yes`; a target is never read.
WITH_YES = {
    **DUNES,
    "input": ["<abs> yes </abs>", "Wind moves dunes."],
    "target": "yes",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    pytest.importorskip("torch")
    return make_model(tmp_path_factory.mktemp("seq2seq"))


@pytest.fixture
def gold(tmp_path) -> Path:
    folder = write_gold(tmp_path)
    write_lines(folder / "dunes.jsonl", WITH_YES)
    return folder


def write(gold: Path, model: Path, *more: str) -> dict[str, str]:
    out = gold.parent / "texts.jsonl"
    assert (
        main(
            [
                "write-texts",
                "--model",
                str(model),
                "--inputs",
                str(gold),
                "--out",
                str(out),
                *more,
            ]
        )
        == 0
    )
    return {
        own["id"]: own["prediction"]
        for own in map(json.loads, out.read_text().splitlines())
    }


def test_every_instance_has_the_text_that_the_model_writes_from_its_inputs(
    capsys, gold, model
):
    assert write(gold, model) == {"dunes-00": "1", "rivers-00": "0"}
    capsys.readouterr()
    assert (
        score(capsys, "citation-text", [gold], gold.parent / "texts.jsonl")["notes"][
            "missing_predictions"
        ]
        == 0
    )


def test_context_may_be_left_out_and_inputs_may_be_cut(gold, model):
    assert write(gold, model, "--cited-only")["dunes-00"] == "0"
    late = {**RIVERS, "input": ["sand " * 20 + "yes"]}
    write_lines(gold / "rivers.jsonl", late)
    assert write(gold, model)["rivers-00"] == "1"
    assert write(gold, model, "--max-input", "5")["rivers-00"] == "0"


def test_the_texts_do_not_depend_on_what_is_read_together(gold, model):
    assert write(gold, model, "--batch", "1") == write(
        gold, model, "--batch", "2", "--beams", "2"
    )


def test_a_folder_without_a_model_and_a_number_that_is_none_are_told(
    capsys, gold, tmp_path
):
    pytest.importorskip("transformers")
    words = [
        "write-texts",
        "--model",
        str(tmp_path),
        "--inputs",
        str(gold),
        "--out",
        str(tmp_path / "x"),
    ]
    assert main(words) == 6
    assert (
        "is neither a folder here nor fetched from the hub" in capsys.readouterr().err
    )
    (tmp_path / "config.json").write_text("{}")
    assert main(words) == 6
    assert "holds no sequence-to-sequence model" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words, "--beams", "0"])
    assert "expected a whole number from 1 to" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("attention", ["led"])
def test_led_reads_its_first_token_with_attention_to_all(gold, attention):
    """A model of this kind needs it; an untrained one writes something for each instance."""
    torch, transformers = (
        pytest.importorskip("torch"),
        pytest.importorskip("transformers"),
    )
    torch.manual_seed(3)
    folder = make_model(gold.parent / attention)
    config = transformers.LEDConfig(
        vocab_size=9, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, attention_window=4,
        max_encoder_position_embeddings=64, max_decoder_position_embeddings=32, pad_token_id=0,
        bos_token_id=1, eos_token_id=1, decoder_start_token_id=1,
    )  # fmt: skip
    for old in folder.glob("*.safetensors"):
        old.unlink()
    transformers.LEDForConditionalGeneration(config).save_pretrained(folder)
    assert set(write(gold, folder, "--max-input", "16", "--max-output", "4")) == {
        "dunes-00",
        "rivers-00",
    }
