"""Language models on this machine: found, named by their weights, and loaded when first needed.

Torch and transformers (4.57 or 5) are imported on loading alone. Texts are prepared as the package
bert-score 0.3.13 prepares them.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Parameters,
    Requirement,
    Text,
    looked_for,
)
from tasks.types.columns import present
from tasks.types.problems import Unavailable, needed

Vectors = NDArray[np.float32]

#: So many tokens, padding included, go through the model at once, on a CPU and on a GPU.
BATCH_TOKENS, GPU_BATCH_TOKENS = 768, 32_768
#: The layer that correlates best with human judgement where the package names one; elsewhere the last.
BEST_LAYERS = {
    "distilbert-base-uncased": 5,
    "bert-base-uncased": 9,
    "roberta-base": 10,
    "roberta-large": 17,
}
#: A tokeniser that does not know how many tokens its model can take gives an astronomic number.
UNTOLD = 10**6
#: What decides a vector; a model's other files do not.
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
SETTINGS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)
#: Their tokenisers tell a word at the beginning of a text from one after a space; the package wants the
#: latter.
SPACE_SENSITIVE = ("roberta", "gpt2")
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Embedded:
    """A text's tokens: (t,) ids and (t, d) vectors of length 1."""

    ids: NDArray[np.int64]
    vectors: Vectors


def missing(model: str) -> str | None:
    """What keeps the model from being used on this machine, for its organisers; None where nothing does.
    Nothing is loaded to find out. A model of the hub counts as there once it has been fetched.
    """
    absent = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} must be installed (`make models`)"
    if folder_of(model) is None:
        return f"the model {model} is neither a folder here nor fetched from the hub"
    return None


def folder_of(model: str) -> Path | None:
    """The folder of a model's files, given by path or by its name on the hub."""
    if (Path(model) / "config.json").is_file():
        return Path(model)
    if find_spec("huggingface_hub") is None or Path(model).is_absolute():
        return None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(model, "config.json")
    except HFValidationError:
        return None
    return Path(path).parent if isinstance(path, str) else None


def found_folder(label: str, model: str) -> Path:
    """The same. Raises Unavailable where there is none, whatever else is missing."""
    if folder := folder_of(model):
        return folder
    raise Unavailable(f"{label}: {missing(model)}")


@lru_cache(maxsize=8)
def weights_digest(folder: Path) -> str:
    """SHA-256 over a model's weights and settings: the same model has the same digest wherever it lies."""
    digest = hashlib.sha256()
    names = sorted(
        {path for pattern in (*WEIGHTS, *SETTINGS) for path in folder.glob(pattern)}
    )
    if not any(path.match(pattern) for path in names for pattern in WEIGHTS):
        raise Unavailable(f"{folder} holds no weights ({', '.join(WEIGHTS)})")
    for path in names:
        digest.update(f"{path.name}\0".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


@dataclass(frozen=True)
class NamedModel:
    """The model that an option names; ``label`` is how it is called where it cannot be used."""

    label: str
    name: str

    @property
    def folder(self) -> Path:
        """Where its files lie. Raises Unavailable where it cannot be used here."""
        if reason := missing(self.name):
            raise Unavailable(f"{self.label}: {reason}")
        return found_folder(self.label, self.name)

    @property
    def signed(self) -> str:
        """What signatures call it: the beginning of the digest of its weights. Raises Unavailable."""
        return f"sha256-{weights_digest(self.folder)[:12]}"

    def requirement(self, kind: str) -> Requirement:
        return looked_for(kind, self.name, lambda: (str(self.folder), self.signed))


def layer_of(model: str, chosen: str) -> int:
    """The number of the layer whose vectors count. Raises Unavailable where the model does not have it."""
    config = json.loads(
        (found_folder("BERTScore", model) / "config.json").read_text(encoding="utf-8")
    )
    layers = int(
        config.get("num_hidden_layers")
        or config.get("n_layers")
        or config.get("num_layers")
        or 0
    )
    layer = int(chosen) if chosen else BEST_LAYERS.get(model, layers)
    if not 0 <= layer <= layers:
        raise Unavailable(f"BERTScore: {model} has {layers} layers, not {layer}")
    return layer


class Encoder:
    """A model cut off after a layer, and its tokeniser."""

    def __init__(self, model: str, layer: int) -> None:
        folder = NamedModel("BERTScore", model).folder
        from torch.nn import ModuleList
        from transformers import AutoConfig, AutoModel, AutoTokenizer
        from transformers.utils import logging

        # Standard error belongs to progress and problems, one JSON object a line.
        quiet: Any = logging.disable_progress_bar
        quiet()
        with needed(
            f"BERTScore: the model {model} cannot be loaded: {{}}", OSError, ValueError
        ):
            config = AutoConfig.from_pretrained(folder)
            tokenizers: Any = AutoTokenizer
            self.tokenizer: Any = tokenizers.from_pretrained(folder)
            loaded: Any = AutoModel.from_pretrained(folder).eval()
        self.device = chosen_device()
        self.model = (loaded.get_encoder() if config.is_encoder_decoder else loaded).to(
            self.device
        )
        self.layer = layer
        # Where the model keeps one module for each layer, those above the one that counts are dropped.
        lists = (
            module for module in self.model.modules() if isinstance(module, ModuleList)
        )
        layers = [
            modules for modules in lists if len(modules) == config.num_hidden_layers
        ]
        self._is_cut = bool(layers)
        if layers:
            del layers[0][layer:]
        positions = getattr(config, "max_position_embeddings", None) or 512
        most = self.tokenizer.model_max_length
        self._longest = most if most < UNTOLD else positions - 2
        self._start = " " if config.model_type in SPACE_SENSITIVE else ""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token numbers of texts that are not empty, with the special ones at both ends."""
        if not texts:
            return []
        prepared = [self._start + text.strip() for text in texts]
        numbers = self.tokenizer(prepared, truncation=True, max_length=self._longest)[
            "input_ids"
        ]
        return list(map(list, numbers))

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Each text's tokens, from batches of like length."""
        import torch

        ids = dict(enumerate(self.ids(texts)))
        embedded: dict[int, Embedded] = {}
        for batch, tokens, mask in padded(
            ids, GPU_BATCH_TOKENS if is_gpu(self.device) else BATCH_TOKENS
        ):
            with torch.inference_mode():
                computed = self.model(
                    input_ids=tokens.to(self.device),
                    attention_mask=mask.to(self.device),
                    output_hidden_states=not self._is_cut,
                )
                layer = (
                    computed.last_hidden_state
                    if self._is_cut
                    else computed.hidden_states[self.layer]
                )
                vectors = layer.float()
                vectors /= vectors.norm(dim=-1, keepdim=True)
                vectors = vectors.cpu()
            for row, place in enumerate(batch):
                embedded[place] = Embedded(
                    np.array(ids[place]), vectors[row, : len(ids[place])].numpy()
                )
        return [embedded[place] for place in range(len(ids))]


def padded(
    ids: Mapping[int, Sequence[int]], at_once: int
) -> Iterator[tuple[list[int], Any, Any]]:
    """The places of texts of like length, the longest first, so many tokens together, and a mask of these."""
    import torch

    waiting = sorted(ids, key=lambda place: (-len(ids[place]), place))
    while waiting:
        size = max(1, at_once // len(ids[waiting[0]]))
        batch, waiting = waiting[:size], waiting[size:]
        # What fills a row up is masked, whatever it is.
        tokens = torch.zeros((len(batch), len(ids[batch[0]])), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, place in enumerate(batch):
            tokens[row, : len(ids[place])] = torch.tensor(ids[place])
            mask[row, : len(ids[place])] = 1
        yield batch, tokens, mask


@lru_cache(maxsize=1)
def encoder(model: str, layer: int) -> Encoder:
    """The one that is loaded, kept for the next call. Raises Unavailable."""
    return Encoder(model, layer)


#: `cpu`, `cuda`, `cuda:1`; anything else is `auto`.
VARIABLE = "CITEBOARD_DEVICE"
AUTO = "auto"


def chosen_device(device: str = AUTO) -> str:
    """As torch calls it. Raises Unavailable where a GPU was asked for by name and torch finds none."""
    import torch

    device = os.environ.get(VARIABLE) or AUTO if device == AUTO else device
    if device == AUTO:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise Unavailable(
            f"the device {device} was asked for, and torch finds no GPU on this machine"
        )
    return device


def is_gpu(device: str) -> bool:
    return device.startswith("cuda")


OPTION = "learned_model"
#: Pairs that go through the model together, sorted by length so that little is padded.
AT_ONCE = 16
#: Where neither model nor tokenizer says how many tokens fit.
MAX_TOKENS = 512


class Learned(MeanMetric):
    """The mean over instances of what a regression model says of the pair of gold and answer, as BLEURT does.
    The model is a sequence classifier with one output, in the form of transformers; its scale is its own, so
    that numbers of two models never share a column. An empty or missing answer is read as an empty text.
    """

    statistic = "learned"
    own_version = 2
    compares_texts = True
    columns = ("score",)
    ends = (-math.inf, math.inf)
    citation = "Sellam, Das and Parikh 2020, BLEURT: Learning Robust Metrics for Text Generation, ACL"
    packages = ("torch", "transformers")

    def __init__(self, name: str, rules: str, *, options: Mapping[str, str]) -> None:
        super().__init__(name, rules, column="score")
        self.model = NamedModel(OPTION, options[OPTION])

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "model": self.model.signed}

    @property
    def needs_model(self) -> bool:
        return True

    def requirements(self) -> Sequence[Requirement]:
        return (self.model.requirement("learned metric"),)

    def instance_stats(
        self, gold: Sequence[Text | None], answers: Sequence[Text | None]
    ) -> Floats:
        counts = present(gold).astype(np.float64)
        stats = np.column_stack([np.zeros(len(counts)), counts])
        scored_places = np.flatnonzero(counts)
        references = self.comparable_texts(gold)
        texts = self.comparable_texts(answers)
        if len(scored_places):
            pairs = [
                (references[place], texts[place]) for place in scored_places.tolist()
            ]
            stats[scored_places, 0] = judged(self.model.folder, pairs)
        return stats


def judged(folder: Path, pairs: Sequence[tuple[str, str]]) -> Floats:
    """The model's number for each pair of gold and answer."""
    import torch

    model, tokenizer, longest = _loaded(folder)
    scores = np.zeros(len(pairs))
    order = sorted(
        range(len(pairs)), key=lambda place: (sum(map(len, pairs[place])), pairs[place])
    )
    for start in range(0, len(order), AT_ONCE):
        places = order[start : start + AT_ONCE]
        encoded = tokenizer(
            [pairs[place][0] for place in places],
            [pairs[place][1] for place in places],
            padding=True,
            truncation=True,
            max_length=longest,
            return_tensors="pt",
        )
        with torch.inference_mode():
            scores[places] = (
                model(**encoded.to(model.device)).logits[:, 0].double().cpu().numpy()
            )
    return scores


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> tuple[Any, Any, int]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(
        folder, local_files_only=True
    ).eval()
    if model.config.num_labels != 1:
        raise Unavailable(
            f"{OPTION}: {folder} gives {model.config.num_labels} numbers a pair and not one"
        )
    model.to(chosen_device())
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    longest = getattr(model.config, "max_position_embeddings", MAX_TOKENS)
    return model, tokenizer, min(longest, tokenizer.model_max_length)
