"""Measures of a folder's `measures.py`: which there are, and what is known of them before it is run.

Files that ship with Citeboard are trusted by their digests. Of others nothing is run here: what their classes
say of themselves is read, and the two methods are computed where a process lets them run (see
`scoring.metrics.own`).
"""

import ast
import hashlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tasks.types.problems import InputRefused, Problem
from tasks.types.references import MetricRef

MEASURES = "measures.py"
#: SHA-256 of the files that are trusted: reference-verification.
TRUSTED = frozenset(
    {"bb677d24085a7147df82ad42ae75af30b28e12192b74b96fd8b6e85f1c91de6e"}
)
#: What they import, and what it is called there that they are written for.
HOME, WRITTEN_FOR = "scoring.metrics", "scoring" + ".metrics"
#: By the class that a measure extends, what stands for it where it is not run.
KINDS = {
    **dict.fromkeys(
        ("Metric", "MeanMetric", "CountMetric"), "scoring.metrics.own:OwnMeasure"
    ),
    "WeightedMetric": "scoring.metrics.own:OwnWeightedMeasure",
}
#: The columns of the matrix whose rows carry a weighted measure.
CARRIERS = "carriers"
#: What a class may say of itself, as a value that is written out.
FACTS: Mapping[str, tuple[type, ...]] = {
    "higher_is_better": (bool, type(None)),
    "scale": (int, float),
    "ends": (tuple, type(None)),
    "version": (int,),
    "citation": (str,),
    "is_decomposable": (bool,),
    "is_valid_in_one_label": (bool,),
    "is_exchangeable": (bool,),
    "has_interval": (bool,),
    CARRIERS: (tuple,),
}


@dataclass(frozen=True)
class OwnMeasures:
    """By class what stands for it and what it says of itself."""

    text: str
    classes: Mapping[str, tuple[str, Mapping[str, Any]]]

    def reference(self, name: str, called: str, given: Mapping[str, Any]) -> MetricRef:
        if is_trusted(self.text):
            return MetricRef(name, f"{module_of(self.text)}:{called}", {"given": given})
        metric, facts = self.classes[called]
        return MetricRef(
            name,
            metric,
            {"given": given, "text": self.text, "called": called, "facts": facts},
        )


class MeasureFailed(InputRefused):
    """Why a measure has no number; the one problem names the file, and says nothing that the file chose."""


def failed(message: str, expected: str = "", line: int | None = None) -> MeasureFailed:
    return MeasureFailed(
        [Problem(file=MEASURES, line=line, message=message, expected=expected)]
    )


def not_here(call: Any) -> Any:
    raise failed(
        f"“{call.called}” is computed by a program that came with the task, and is not run unasked",
        "--trust-measures, if you trust whoever wrote it",
    )


class Chosen:
    """How this process computes; nothing is run where it has not been told."""

    compute: Callable[[Any], Any] = staticmethod(not_here)


def use(compute: Callable[[Any], Any]) -> None:
    """From now on in this process; it takes a `scoring.metrics.own.Call`."""
    Chosen.compute = staticmethod(compute)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_trusted(text: str) -> bool:
    return digest_of(text) in TRUSTED


def module_of(text: str) -> str:
    """The name of the module of a trusted file, which is run the first time."""
    assert is_trusted(text), "nothing else is run here"
    name = f"citeboard_measures_{digest_of(text)[:16]}"
    if name not in sys.modules:
        run_file(text, name)
    return name


def run_file(text: str, name: str) -> ModuleType:
    """As a module of this name, where dataclasses look for it."""
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(  # noqa: S102
            compile(text.replace(WRITTEN_FOR, HOME), MEASURES, "exec"), module.__dict__
        )
    except BaseException:
        del sys.modules[name]
        raise
    return module


def read_measures(text: str, shown: str, faults: list[Problem]) -> OwnMeasures:
    """The file is not run for that. Classes that extend no measure are helpers of others."""
    faults = [] if is_trusted(text) else faults
    classes: dict[str, tuple[str, Mapping[str, Any]]] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        line = getattr(fault, "lineno", None)
        faults.append(
            Problem(
                file=shown,
                line=line,
                message=f"no Python: {getattr(fault, 'msg', fault)}",
            )
        )
        return OwnMeasures(text, classes)
    for node in tree.body:
        bases = node.bases if isinstance(node, ast.ClassDef) else ()
        names = [
            base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            for base in bases
        ]
        known = {**{base: (metric, {}) for base, metric in KINDS.items()}, **classes}
        if isinstance(node, ast.ClassDef) and (
            base := next((own for own in names if own in known), "")
        ):
            metric, inherited = known[base]
            classes[node.name] = metric, {**inherited, **_facts(node, shown, faults)}
    return OwnMeasures(text, classes)


def measure_warnings(text: str) -> list[str]:
    """Return a sentence for each weighted measure of the file that does not declare its carriers."""
    measures = read_measures(text, MEASURES, [])
    return [
        f"{MEASURES}: “{name}” does not declare `{CARRIERS}`, the columns of its matrix whose rows carry the "
        "value; its interval counts all units and may be too narrow where few of them decide"
        for name, (kind, facts) in measures.classes.items()
        if kind == KINDS["WeightedMetric"]
        and facts.get("has_interval", True)
        and CARRIERS not in facts
    ]


def _facts(node: ast.ClassDef, shown: str, faults: list[Problem]) -> dict[str, Any]:
    """Raises nothing: what is no such value is noted."""
    facts: dict[str, Any] = {}
    for statement in node.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
        )
        for name in (own.id for own in targets if isinstance(own, ast.Name)):
            value: Any = ...
            with suppress(ValueError, TypeError, RecursionError, MemoryError):
                value = ast.literal_eval(statement.value) if statement.value else ...
            if name in FACTS and isinstance(value, FACTS[name]):
                facts[name] = value
            elif name in FACTS or name == "per_unit":
                message = f"“{name}” of {node.name} cannot be read without running it"
                expected = (
                    "nothing of units"
                    if name == "per_unit"
                    else "a value that is written out"
                )
                faults.append(
                    Problem(
                        file=shown,
                        line=statement.lineno,
                        message=message,
                        expected=expected,
                    )
                )
    return facts
