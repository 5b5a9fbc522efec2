"""Models compute on a GPU where torch finds one, and where site or command line say."""

import pytest

from scoring.metrics.entailment import _load_tokenizer_and_model
from scoring.metrics.local_models import (
    DEVICE_VARIABLE,
    MAX_CPU_BATCH_TOKENS,
    MAX_GPU_BATCH_TOKENS,
    TruncatedEncoder,
    choose_device,
)
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.tinymodel import make_model


@pytest.fixture(autouse=True)
def _models_can_be_loaded() -> None:
    """Asked by the tests, so that whoever runs others does not wait for torch."""
    for name in ("torch", "transformers"):
        pytest.importorskip(name)


@pytest.fixture
def gpu(monkeypatch):
    """Torch finds one, as far as it is asked; what is sent there stays here and is noted."""
    sent = []

    def to(self, device, *more, **named):
        sent.append((type(self).__name__, str(device)))
        return self

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.nn.Module.to", to)
    monkeypatch.setattr("torch.Tensor.to", to)
    return sent


@pytest.fixture
def model(tmp_path):
    return make_model(tmp_path / "tiny")


@pytest.mark.parametrize(
    ("variable", "asked", "has_gpu", "device"),
    [
        ("", "auto", True, "cuda"),
        ("", "auto", False, "cpu"),
        ("auto", "auto", True, "cuda"),
        ("cpu", "auto", True, "cpu"),
        ("cuda", "auto", True, "cuda"),
        ("cpu", "cuda:1", True, "cuda:1"),
    ],
)
def test_what_is_asked_for_counts_and_else_what_there_is(
    monkeypatch, variable, asked, has_gpu, device
):
    monkeypatch.setenv(DEVICE_VARIABLE, variable)
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    assert choose_device(asked) == device


def test_a_gpu_that_is_not_there_is_missed_by_name(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv(DEVICE_VARIABLE, "cuda")
    with pytest.raises(
        SoftwareUnavailable,
        match="the device cuda was asked for, and torch finds no GPU",
    ):
        choose_device()


def test_bertscore_sends_model_and_texts_there_in_larger_batches(gpu, tmp_path):
    from transformers import BertConfig, BertModel, BertTokenizerFast

    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword")
    BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = BertConfig(
        vocab_size=6,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    BertModel(config).save_pretrained(tmp_path)
    encoder = TruncatedEncoder(str(tmp_path), 1)
    assert encoder.device == "cuda"
    gpu.clear()
    texts = ["word " * 20] * (MAX_CPU_BATCH_TOKENS // 20)
    assert len(encoder.embed_texts(texts)) == len(texts)
    assert gpu.count(("Tensor", "cuda")) == 2, "ids and mask of a single batch"
    assert MAX_GPU_BATCH_TOKENS > MAX_CPU_BATCH_TOKENS


def test_a_model_that_decides_entailment_goes_there(gpu, model):
    _load_tokenizer_and_model.cache_clear()
    try:
        _load_tokenizer_and_model(model, "auto")
        assert ("T5ForConditionalGeneration", "cuda") in gpu
    finally:
        _load_tokenizer_and_model.cache_clear()
