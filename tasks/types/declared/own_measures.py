"""The evaluation measures that a task folder defines in its file `measures.py`. The
class attributes of the measures are read from the source without running the file.

This module runs only a `measures.py` whose digest is in `TRUSTED`. Every other
`measures.py` runs in a sandboxed process (see `scoring.metrics.own`).
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
#: `TRUSTED` contains SHA-256 digests of `measures.py` files that need no sandbox.
#: The only trusted `measures.py` belongs to the task reference-verification.
TRUSTED = frozenset(
    {"bb677d24085a7147df82ad42ae75af30b28e12192b74b96fd8b6e85f1c91de6e"}
)
#: `HOME` is the module from which a `measures.py` imports base classes of measures.
#: `WRITTEN_FOR` is the former name of `HOME`, which existing files may still import.
HOME, WRITTEN_FOR = "scoring.metrics", "scoring" + ".metrics"
#: `KINDS` maps the name of a measure's base class to a metric class.
#: Processes that do not run a `measures.py` use metric classes in `KINDS` instead.
KINDS = {
    **dict.fromkeys(
        ("Metric", "MeanMetric", "CountMetric"), "scoring.metrics.own:OwnMeasure"
    ),
    "WeightedMetric": "scoring.metrics.own:OwnWeightedMeasure",
}
#: The attribute `CARRIERS` of a weighted measure lists columns of its matrix.
#: Only rows with non-zero values in the `CARRIERS` columns affect the measure.
CARRIERS = "carriers"
#: `HAS_MARKS` is recorded for measure classes that define the method `marks`.
HAS_MARKS = "has_marks"
#: `FACTS` lists the attributes of a measure class that are literals, with types.
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
    """Maps the name of each measure class in a `measures.py` to a metric, and to the
    attributes that the measure class declares.
    """

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
    """The error for a measure of a `measures.py` that cannot be computed. The error
    message contains the file name but no text that the code of the measure produced.
    """


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
    """Contains the function that computes the measures of a `measures.py` in this
    process. The default function raises an error instead of running the measures of a
    `measures.py`.
    """

    compute: Callable[[Any], Any] = staticmethod(not_here)


def use(compute: Callable[[Any], Any]) -> None:
    """Set the function that computes a measure, given a `scoring.metrics.own.Call`, in
    this process.
    """
    Chosen.compute = staticmethod(compute)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_trusted(text: str) -> bool:
    return digest_of(text) in TRUSTED


def module_of(text: str) -> str:
    """Return the name of the Python module for a trusted `measures.py`. Execute the
    file unless this process has already executed the file.
    """
    assert is_trusted(text), "nothing else is run here"
    name = f"citeboard_measures_{digest_of(text)[:16]}"
    if name not in sys.modules:
        run_file(text, name)
    return name


def run_file(text: str, name: str) -> ModuleType:
    """Execute the text of a `measures.py` as a Python module with the given name. The
    module is added to ``sys.modules``, where the library `dataclasses` looks up
    modules.
    """
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
    """Parse the measure classes in a `measures.py` without running the file. Classes
    that are not derived from a base class in `KINDS` are ignored.
    """
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
            base := next((name for name in names if name in known), "")
        ):
            metric, inherited = known[base]
            classes[node.name] = (
                metric,
                {**inherited, **_read_measure_attributes(node, shown, faults)},
            )
    return OwnMeasures(text, classes)


def measure_warnings(text: str) -> list[str]:
    """Return a warning for each weighted measure that does not declare `carriers`."""
    return [
        f"{MEASURES}: “{name}” does not declare `{CARRIERS}`, the columns of its matrix whose rows carry the "
        "value; its interval counts all units and may be too narrow where few of them decide"
        for name in measures_without_carriers(text)
    ]


def measures_without_carriers(text: str) -> list[str]:
    """Return the names of weighted measures that have confidence intervals but no
    attribute `carriers`.
    """
    return [
        name
        for name, (kind, facts) in read_measures(text, MEASURES, []).classes.items()
        if kind == KINDS["WeightedMetric"]
        and facts.get("has_interval", True)
        and CARRIERS not in facts
    ]


def _read_measure_attributes(
    node: ast.ClassDef, shown: str, faults: list[Problem]
) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "marks":
            facts[HAS_MARKS] = True
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
        )
        for name in (target.id for target in targets if isinstance(target, ast.Name)):
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
