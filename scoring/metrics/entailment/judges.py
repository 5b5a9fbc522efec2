"""Who decides whether a premise entails a hypothesis: labels made before, or a local model asked as TRUE is.

Honovich et al. 2022, TRUE: Re-evaluating Factual Consistency Evaluation (NAACL): the model reads
`premise: … hypothesis: …`, and the hypothesis is entailed where it answers `1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.metrics.base import Requirement, looked_for
from scoring.metrics.entailment.labels import stored_labels
from scoring.metrics.entailment.verdicts import Judge, Nobody, Pair, WordOverlap
from scoring.metrics.local_models import AUTO, chosen_device, is_gpu
from tasks.types.base import Options
from tasks.types.positional_citations.options import (
    LABELS,
    MODEL,
    STORE,
    WORD_OVERLAP,
    entailment_source,
)
from tasks.types.positional_citations.parsing import LENGTH, folder_digest
from tasks.types.unavailable import Unavailable

#: The model of both papers; 11 billion parameters.
TRUE = "google/t5_xxl_true_nli_mixture"
ENTAILED = "1"
MAX_NEW_TOKENS = 10
BATCH = 8


def judge_of(options: Options) -> Judge:
    """Whom the options name.

    Raises OptionRefused, Unavailable where it is not there, InputRefused where it is broken.
    """
    source, name = entailment_source(options)
    if source == LABELS:
        return stored_labels(Path(name))
    if source == MODEL:
        return model_judge(name)
    if source == STORE:
        raise Unavailable(
            f"the labels of {name} are kept by a site: have its organisers export them, "
            "and give the file as entailment=labels:PATH"
        )
    return WordOverlap() if source == WORD_OVERLAP else Nobody()


def deciders(options: Options) -> tuple[Requirement, ...]:
    """What has to be on this machine for anybody to decide; what a site keeps is not looked at here."""
    source, name = entailment_source(options)

    def model() -> tuple[str, str]:
        folder = model_folder(name)
        return str(folder), model_name(name, folder)

    if source == LABELS:
        return (looked_for("entailment labels", name, lambda: (name, judge_of(options).name)),)
    return (looked_for("entailment model", name, model),) if source == MODEL else ()


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
        for start in range(0, len(new), self._batch):
            batch = new[start : start + self._batch]
            answers = _answers(self.folder, self._device, [question(pair) for pair in batch])
            yield [(pair, answer == ENTAILED) for pair, answer in zip(batch, answers, strict=True)]


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
        raise Unavailable(
            f"the model {model} is not on this machine: put it there, or decide on another machine: "
            "`python -m scoring pairs`, `python -m scoring decide`"
        ) from missing


def model_name(model: str, folder: Path) -> str:
    """What signatures call the model: its name and its revision, or the digest of its files.

    A downloaded model lies in a folder named for its revision. A folder somewhere else is named by its last
    part.
    """
    revision = folder.name[:LENGTH] if folder.parent.name == "snapshots" else folder_digest(folder)
    return f"{folder.name if folder == Path(model) else model}@{revision}"


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
    answers: list[str] = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return [answer.strip() for answer in answers]


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
