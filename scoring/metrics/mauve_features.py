"""What a language model makes of whole texts: the features that MAUVE compares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.metrics.base import Floats

#: Tokens of a text that are read, as in the package.
MAX_TOKENS = 1024
#: Tokens, padding included, that go through the model together.
BATCH_TOKENS = 2048


def features(folder: Path, texts: Sequence[str]) -> dict[int, Floats]:
    """By the place of a text what the last layer has of its last token; nothing for one that is empty."""
    import torch

    model, tokenizer, longest = _loaded(folder)
    places = [place for place, text in enumerate(texts) if text.strip()]
    given = [texts[place] for place in places]
    read = tokenizer(given, truncation=True, max_length=longest)["input_ids"] if given else []
    ids = {place: own for place, own in zip(places, read, strict=True) if own}
    found: dict[int, Floats] = {}
    waiting = sorted(ids, key=lambda place: (-len(ids[place]), place))
    while waiting:
        count = max(1, BATCH_TOKENS // len(ids[waiting[0]]))
        batch, waiting = waiting[:count], waiting[count:]
        lengths = [len(ids[place]) for place in batch]
        tokens = torch.zeros((len(batch), lengths[0]), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, place in enumerate(batch):
            tokens[row, : lengths[row]] = torch.tensor(ids[place])
            mask[row, : lengths[row]] = 1
        with torch.inference_mode():
            layer = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        for row, place in enumerate(batch):
            found[place] = layer[row, lengths[row] - 1].double().numpy()
    return found


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> tuple[Any, Any, int]:
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    positions = getattr(model.config, "max_position_embeddings", MAX_TOKENS)
    return model, tokenizer, min(MAX_TOKENS, positions, tokenizer.model_max_length)
