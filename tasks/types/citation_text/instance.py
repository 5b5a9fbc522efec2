"""One instance of citation text generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tasks.types.citation_text.inputs import cited_abstracts
from tasks.types.citation_text.labels import Labels


@dataclass(frozen=True)
class Instance:
    """``inputs`` as in the benchmark, tags and all; ``target`` is empty where only the inputs are known."""

    id: str
    dataset: str
    inputs: tuple[str, ...]
    target: str = ""
    labels: Labels = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What an answer is compared with."""
        return self.target

    @property
    def cited(self) -> list[str]:
        """The abstracts of the cited papers, in the order in which marks count them."""
        return cited_abstracts(self.inputs)

    def public(self) -> dict[str, Any]:
        return {"id": self.id, "dataset": self.dataset, "input": list(self.inputs)}

    def canonical(self) -> dict[str, Any]:
        """All of it as JSON; the labels only where there are some."""
        labels = {"labels": {kind: list(own) for kind, own in self.labels.items()}} if self.labels else {}
        return {**self.public(), "target": self.target, **labels}
