"""Names of what is imported when it is used: ``package.module:name``, as entry points write it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


def referenced(reference: str) -> Any:
    """What a reference names, its module imported now."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class MetricRef:
    """A metric of a rule set: its name in results and the class that computes it, by reference.

    The class is called with the name, the rule set and the arguments. ``options`` lists the options of the
    task type that it is given besides, as one mapping named ``options``.
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
