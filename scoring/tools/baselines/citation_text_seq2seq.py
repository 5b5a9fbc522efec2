"""Citation texts by a sequence-to-sequence model from a folder, as CiteBench has LED write them.

Funkquist et al. 2023, section 4: the items of an input one behind the other go in, a text comes out. Nothing
is drawn by chance; what the model cannot read at once is cut off at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.metrics.local_models import chosen_device
from tasks.types.baselines import Answer
from tasks.types.citation_text.inputs import cited_abstracts
from tasks.types.citation_text.instances import read_instances
from tasks.types.files import InputFile
from tasks.types.unavailable import Unavailable

#: LED gives one token attention to all others; the paper's models read their first one so.
LED = "led"


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How texts are written. ``max_input`` and ``max_output`` are tokens; ``cited_only`` means no context."""

    model: Path
    cited_only: bool
    max_input: int
    max_output: int
    beams: int
    batch: int


def answers(files: Sequence[InputFile], writing: Writing) -> Iterator[Answer]:
    """A text for each instance in their order. Raises InputRefused, and Unavailable without the model."""
    instances = read_instances(files, with_targets=False)
    texts = [" ".join(cited_abstracts(own.inputs) if writing.cited_only else own.inputs) for own in instances]
    tokenizer, model = _loaded(writing.model)
    written = [""] * len(texts)
    # Texts of like length go through the model together, always the same ones.
    order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), place))
    for first in range(0, len(order), writing.batch):
        places = order[first : first + writing.batch]
        said = _written(tokenizer, model, [texts[place] for place in places], writing)
        for place, text in zip(places, said, strict=True):
            written[place] = text
    for instance, text in zip(instances, written, strict=True):
        yield {"id": instance.id, "prediction": text}


def _written(tokenizer: Any, model: Any, texts: Sequence[str], writing: Writing) -> list[str]:
    import torch

    given = tokenizer(
        list(texts), return_tensors="pt", padding=True, truncation=True, max_length=writing.max_input
    ).to(model.device)
    further = {}
    if model.config.model_type == LED:
        further["global_attention_mask"] = torch.zeros_like(given["input_ids"])
        further["global_attention_mask"][:, 0] = 1
    with torch.inference_mode():
        said = model.generate(
            input_ids=given["input_ids"],
            attention_mask=given["attention_mask"],
            max_new_tokens=writing.max_output,
            num_beams=writing.beams,
            do_sample=False,
            **further,
        )
    return [text.strip() for text in tokenizer.batch_decode(said, skip_special_tokens=True)]


def _loaded(folder: Path) -> tuple[Any, Any]:
    try:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError as missing:
        raise Unavailable(
            "transformers and torch are not installed: `make models` installs them"
        ) from missing
    if not (folder / "config.json").is_file():
        raise Unavailable(f"{folder} is no folder of a model with a config.json")
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as fault:
        raise Unavailable(f"{folder} holds no sequence-to-sequence model: {fault}") from fault
    return tokenizer, model.to(chosen_device()).eval()
