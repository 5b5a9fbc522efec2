"""Resolve references to Python objects, whose modules are imported on first use. A
reference is a text of the form ``package.module:name``, as in entry points of Python
packages.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: `_OLD_MODULE_NAMES` maps each metric module to its module names in version 0.3.
#: Task types in other Python packages may still use the module names of version 0.3.
_OLD_MODULE_NAMES = {
    "aliice": "alce",
    "answers": "answer_mauve cvcp",
    "base": "counts",
    "clsumm": "clsumm_pooled clsumm_rouge",
    "discourse": "label_divergence",
    "entailed": "claim_recall consistency",
    "local_models": "learned",
    "ranking": "graded perplexity ranking_f1 resolution",
}
NEW_MODULE_NAMES_BY_OLD = {
    f"scoring.metrics.{old}": f"scoring.metrics.{now}"
    for now in _OLD_MODULE_NAMES
    for old in _OLD_MODULE_NAMES[now].split()
}


def import_referenced_object(reference: str) -> Any:
    """Import the module that a reference such as ``package.module:name`` names, and
    return the object in the module.
    """
    module, _, name = reference.partition(":")
    return getattr(
        importlib.import_module(NEW_MODULE_NAMES_BY_OLD.get(module, module)), name
    )


@dataclass(frozen=True)
class MetricRef:
    """A metric of a rule set, defined by its name in results and by a reference to the
    metric's class.

    To compute the metric, the class is called with the name, the name of the rule set,
    and ``arguments``. If ``options`` lists task options, the class also receives a
    mapping with the values of these options.
    """

    name: str
    metric: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def build_metric(self, rules: str, options: Mapping[str, str]) -> Any:
        """Return a metric object that is configured by the task options. Raises
        OptionRefused if the metric does not accept the value of a task option.
        """
        arguments = dict(self.arguments)
        if self.options:
            arguments["options"] = {name: options[name] for name in self.options}
        return import_referenced_object(self.metric)(self.name, rules, **arguments)


def make_metric_ref(name: str, by: str, *options: str, **arguments: Any) -> MetricRef:
    """Return a reference to a metric whose class is in the package `scoring.metrics`.
    ``by`` has the form `module:Class`, where the module is in `scoring.metrics`.
    """
    return MetricRef(name, f"scoring.metrics.{by}", arguments, options)


F1_PRECISION_AND_RECALL = ("f1", "precision", "recall")


def make_metric_refs(
    names: str,
    by: str,
    *options: str,
    parts: Sequence[str] = F1_PRECISION_AND_RECALL,
    **arguments: Any,
) -> tuple[MetricRef, ...]:
    """Return references to several metrics of one measure, such as its precision,
    recall and F1. The sign `{}` in ``names`` is replaced by the name of the part.
    """
    return tuple(
        make_metric_ref(names.format(part), by, *options, part=part, **arguments)
        for part in parts
    )


def make_lazy_function(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports ``module`` on its first call, and then calls the
    module's function ``name``.
    """

    def import_and_call(*arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments, **named)

    import_and_call.__name__ = import_and_call.__qualname__ = name
    return import_and_call
