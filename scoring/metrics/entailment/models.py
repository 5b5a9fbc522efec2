"""Entailment by a local sequence-to-sequence model, asked as TRUE is (Honovich et al. 2022, TRUE: Re-
evaluating Factual Consistency Evaluation, NAACL): `premise: … hypothesis: …`, entailed where it answers `1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.metrics.device import AUTO, chosen_device, is_gpu
from scoring.metrics.entailment.pairs import Pair
from tasks.types.positional_citations.digests import LENGTH, folder_digest
from tasks.types.unavailable import Unavailable

#: The model of both papers; 11 billion parameters.
TRUE = "google/t5_xxl_true_nli_mixture"
ENTAILED = "1"
MAX_NEW_TOKENS = 10
BATCH = 8
_HOW = "put it there, or decide on another machine: `python -m scoring pairs`, `python -m scoring decide`"


class ModelJudge:
    """A model that is loaded with the first question and remembers its answers."""

    def __init__(self, model: str, *, batch: int = BATCH, device: str = AUTO) -> None:
        self.folder = model_folder(model)
        self.name = model_name(model, self.folder)
        self._batch, self._device = batch, device
        self._known: dict[Pair, bool] = {}

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        for done in self.decided(pairs):
            self._known.update(done)
        return [self._known[pair] for pair in pairs]

    def decided(self, pairs: Sequence[Pair]) -> Iterator[list[tuple[Pair, bool]]]:
        """Batch by batch the answers that are not known yet.

        Batches are of like lengths and always the same for the same pairs, since padding changes the last
        digits of what a model computes.
        """
        new = sorted({*pairs} - self._known.keys(), key=lambda pair: (len(question(pair)), question(pair)))
        for some in _batches(new, self._batch):
            answers = _answers(self.folder, self._device, [question(pair) for pair in some])
            yield [(pair, answer == ENTAILED) for pair, answer in zip(some, answers, strict=True)]


def question(pair: Pair) -> str:
    """A pair as the model reads it."""
    return f"premise: {pair.premise} hypothesis: {pair.hypothesis}"


@lru_cache(maxsize=2)
def model_judge(model: str) -> ModelJudge:
    return ModelJudge(model)


def model_folder(model: str) -> Path:
    """Where the files of a model lie: a folder, or where a download has put it. Nothing is downloaded here.

    Raises Unavailable.
    """
    folder = Path(model)
    if folder.is_dir():
        return folder
    try:
        from huggingface_hub import snapshot_download
    except ImportError as missing:
        raise Unavailable(
            f"transformers is not installed, which {model} needs: `make models` installs it"
        ) from missing
    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (OSError, ValueError) as missing:
        raise Unavailable(f"the model {model} is not on this machine: {_HOW}") from missing


def model_name(model: str, folder: Path) -> str:
    """What signatures call the model: its name and its revision, or the digest of its files.

    A downloaded model lies in a folder named for its revision. A folder somewhere else is named by its last
    part.
    """
    revision = folder.name[:LENGTH] if folder.parent.name == "snapshots" else folder_digest(folder)
    return f"{folder.name if folder == Path(model) else model}@{revision}"


def _batches(pairs: Sequence[Pair], size: int) -> Iterator[list[Pair]]:
    for start in range(0, len(pairs), size):
        yield list(pairs[start : start + size])


def _answers(folder: Path, device: str, questions: Sequence[str]) -> list[str]:
    """What the model says to each, without truncation: T5 has no longest input."""
    import torch

    tokenizer, model = _loaded(folder, device)
    inputs = tokenizer(list(questions), return_tensors="pt", padding=True).to(model.device)
    with torch.inference_mode():
        outputs = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=MAX_NEW_TOKENS,
            do_sample=False,
            num_beams=1,
        )
    said: list[str] = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return [answer.strip() for answer in said]


@lru_cache(maxsize=1)
def _loaded(folder: Path, device: str) -> tuple[Any, Any]:
    try:
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError as missing:
        raise Unavailable(
            "transformers and torch are not installed: `make models` installs them"
        ) from missing
    chosen = chosen_device(device)
    # As both papers do on a GPU; a CPU is slower with half the digits than with all.
    precision = torch.bfloat16 if is_gpu(chosen) else torch.float32
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)  # type: ignore[no-untyped-call]
        model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=precision)
    except (OSError, ValueError) as fault:
        raise Unavailable(f"the model in {folder} cannot be loaded: {fault}") from fault
    return tokenizer, model.to(chosen).eval()
