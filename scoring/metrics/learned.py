"""Learned metrics such as BLEURT: a model that reads gold and answer together and gives one number."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, MeanMetric, Parameters, Requirement, Text, texts_of
from scoring.metrics.local_models import NamedModel, chosen_device
from tasks.types.columns import present
from tasks.types.unavailable import Unavailable

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

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        counts = present(gold).astype(np.float64)
        stats = np.column_stack([np.zeros(len(counts)), counts])
        scored_places = np.flatnonzero(counts)
        references, texts = texts_of(gold), texts_of(answers)
        if len(scored_places):
            pairs = [(references[place], texts[place]) for place in scored_places.tolist()]
            stats[scored_places, 0] = judged(self.model.folder, pairs)
        return stats


def judged(folder: Path, pairs: Sequence[tuple[str, str]]) -> Floats:
    """The model's number for each pair of gold and answer."""
    import torch

    model, tokenizer, longest = _loaded(folder)
    scores = np.zeros(len(pairs))
    order = sorted(range(len(pairs)), key=lambda place: (sum(map(len, pairs[place])), pairs[place]))
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
            scores[places] = model(**encoded.to(model.device)).logits[:, 0].double().cpu().numpy()
    return scores


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> tuple[Any, Any, int]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True).eval()
    if model.config.num_labels != 1:
        raise Unavailable(f"{OPTION}: {folder} gives {model.config.num_labels} numbers a pair and not one")
    model.to(chosen_device())
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    longest = getattr(model.config, "max_position_embeddings", MAX_TOKENS)
    return model, tokenizer, min(longest, tokenizer.model_max_length)
