"""The option that says: by the labels of a model that the site keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.types.positional_citations.options import ENTAILMENT, LABELS, STORE


def stored_model(options: Mapping[str, str]) -> str | None:
    """The model whose kept labels the options ask for; None where they ask for none."""
    source, _, model = options.get(ENTAILMENT.name, "").partition(":")
    return model if source == STORE and model else None


def with_labels(options: Mapping[str, str], path: Path | str) -> dict[str, str]:
    """The options with a file in place of the store, as the offline scorer takes them."""
    return {**options, ENTAILMENT.name: f"{LABELS}:{path}"} if stored_model(options) else dict(options)
