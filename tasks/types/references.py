"""References to objects that are imported on first use. A reference has the form
``package.module:name``, as in entry points.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: `_OLD` maps module names of version 0.3 to the present module names.
#: External task types may still use the module names of version 0.3.
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
    """Import the module of a reference, and return the object that the reference names."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(MOVED.get(module, module)), name)


@dataclass(frozen=True)
class MetricRef:
    """A metric of a rule set has a name in results, and a reference to the class of the
    metric.

    The metric's class is called with the name, the rule set and the arguments. The
    metric's class also receives a mapping with the task options that ``options`` lists.
    """

    name: str
    metric: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def build(self, rules: str, options: Mapping[str, str]) -> Any:
        """Return the metric object under the given task options. Raises OptionRefused
        if the metric does not accept the value of an option.
        """
        arguments = dict(self.arguments)
        if self.options:
            arguments["options"] = {name: options[name] for name in self.options}
        return referenced(self.metric)(self.name, rules, **arguments)


def metric_ref(name: str, by: str, *options: str, **arguments: Any) -> MetricRef:
    """Return a reference to a metric class of Citeboard. ``by`` names the class of the
    metric and the module below `scoring.metrics`.
    """
    return MetricRef(name, f"scoring.metrics.{by}", arguments, options)


PARTS = ("f1", "precision", "recall")


def metric_refs(
    names: str, by: str, *options: str, parts: Sequence[str] = PARTS, **arguments: Any
) -> tuple[MetricRef, ...]:
    """Return references to the metrics of all parts of a measure, such as precision and
    recall. The sign `{}` in ``names`` is replaced by the name of the part.
    """
    return tuple(
        metric_ref(names.format(part), by, *options, part=part, **arguments)
        for part in parts
    )


def lazy(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports the module of the named function on its first
    call.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    return call
