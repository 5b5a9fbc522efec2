"""Names of what is imported when it is used: ``package.module:name``, as entry points write it."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: By module that of 0.3 in which its classes stood, as task types of others may name them.
_OLD = {
    "aliice": "alce",
    "answers": "answer_mauve cvcp",
    "base": "counts",
    "clsumm": "clsumm_pooled clsumm_rouge",
    "discourse": "label_divergence",
    "entailed": "claim_recall consistency",
    "local_models": "learned",
    "ranking": "graded perplexity ranking_f1 resolution",
}
MOVED = {
    f"scoring.metrics.{old}": f"scoring.metrics.{now}"
    for now in _OLD
    for old in _OLD[now].split()
}


def referenced(reference: str) -> Any:
    """What a reference names, its module imported now."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(MOVED.get(module, module)), name)


@dataclass(frozen=True)
class MetricRef:
    """A metric of a rule set: its name in results and the class that computes it, by reference. The class is
    called with the name, the rule set and the arguments. ``options`` lists the options of the task type that
    it is given besides, as one mapping named ``options``.
    """

    name: str
    metric: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def build(self, rules: str, options: Mapping[str, str]) -> Any:
        """The metric under these options. Raises OptionRefused where it cannot take one."""
        arguments = dict(self.arguments)
        if self.options:
            arguments["options"] = {name: options[name] for name in self.options}
        return referenced(self.metric)(self.name, rules, **arguments)


def metric_ref(name: str, by: str, *options: str, **arguments: Any) -> MetricRef:
    """A metric of this program: ``by`` is its module below `scoring.metrics` and its class."""
    return MetricRef(name, f"scoring.metrics.{by}", arguments, options)


PARTS = ("f1", "precision", "recall")


def metric_refs(
    names: str, by: str, *options: str, parts: Sequence[str] = PARTS, **arguments: Any
) -> tuple[MetricRef, ...]:
    """The same for each part of a measure; in its name the part stands in the place of `{}`."""
    return tuple(
        metric_ref(names.format(part), by, *options, part=part, **arguments)
        for part in parts
    )


def lazy(module: str, name: str) -> Callable[..., Any]:
    """The function of this name in a module that is not imported yet."""

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    return call
