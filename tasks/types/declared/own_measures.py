"""The evaluation measures that a task folder defines in its file `measures.py`. The
class attributes of the measures are read from the source without running the file.

This module runs only a `measures.py` whose digest is in `TRUSTED_MEASURES_DIGESTS`. Every other
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

MEASURES_FILE_NAME = "measures.py"
#: `TRUSTED_MEASURES_DIGESTS` contains SHA-256 digests of `measures.py` files that need no sandbox.
#: The only trusted `measures.py` belongs to the task reference-verification.
TRUSTED_MEASURES_DIGESTS = frozenset(
    {"bb677d24085a7147df82ad42ae75af30b28e12192b74b96fd8b6e85f1c91de6e"}
)
#: `MEASURE_BASE_CLASSES_MODULE` is the module from which a `measures.py` imports base classes of measures.
#: `FORMER_BASE_CLASSES_MODULE` is the former name of that module, which existing files may still import.
MEASURE_BASE_CLASSES_MODULE, FORMER_BASE_CLASSES_MODULE = (
    "scoring.metrics",
    "scoring" + ".metrics",
)
#: `METRIC_CLASSES_BY_BASE_CLASS` maps the name of a measure's base class to a metric class.
#: Processes that do not run a `measures.py` use metric classes in `METRIC_CLASSES_BY_BASE_CLASS` instead.
METRIC_CLASSES_BY_BASE_CLASS = {
    **dict.fromkeys(
        ("Metric", "MeanMetric", "CountMetric"), "scoring.metrics.own:OwnMeasure"
    ),
    "WeightedMetric": "scoring.metrics.own:OwnWeightedMeasure",
}
#: The attribute `CARRIERS_ATTRIBUTE` of a weighted measure lists columns of its matrix.
#: Only rows with non-zero values in the `CARRIERS_ATTRIBUTE` columns affect the measure.
CARRIERS_ATTRIBUTE = "carriers"
#: `HAS_MARKS_ATTRIBUTE` is recorded for measure classes that define the method `marks`.
HAS_MARKS_ATTRIBUTE = "has_marks"
#: `MEASURE_ATTRIBUTE_TYPES` lists the attributes of a measure class that are literals, with types.
MEASURE_ATTRIBUTE_TYPES: Mapping[str, tuple[type, ...]] = {
    "higher_is_better": (bool, type(None)),
    "scale": (int, float),
    "ends": (tuple, type(None)),
    "version": (int,),
    "citation": (str,),
    "is_decomposable": (bool,),
    "is_valid_in_one_label": (bool,),
    "is_exchangeable": (bool,),
    "has_interval": (bool,),
    CARRIERS_ATTRIBUTE: (tuple,),
}


@dataclass(frozen=True)
class OwnMeasureClasses:
    """Maps the name of each measure class in a `measures.py` to a metric, and to the
    attributes that the measure class declares.
    """

    text: str
    classes: Mapping[str, tuple[str, Mapping[str, Any]]]

    def reference(self, name: str, called: str, given: Mapping[str, Any]) -> MetricRef:
        if is_trusted_measures_file(self.text):
            return MetricRef(
                name,
                f"{load_trusted_measures_module(self.text)}:{called}",
                {"given": given},
            )
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


def make_measure_failure(
    message: str, expected: str = "", line: int | None = None
) -> MeasureFailed:
    return MeasureFailed(
        [
            Problem(
                file=MEASURES_FILE_NAME, line=line, message=message, expected=expected
            )
        ]
    )


def refuse_to_compute_measure(call: Any) -> Any:
    raise make_measure_failure(
        f"“{call.called}” is computed by a program that came with the task, and is not run unasked",
        "--trust-measures, if you trust whoever wrote it",
    )


class MeasureComputation:
    """Contains the function that computes the measures of a `measures.py` in this
    process. The default function raises an error instead of running the measures of a
    `measures.py`.
    """

    compute: Callable[[Any], Any] = staticmethod(refuse_to_compute_measure)


def set_measure_computation(compute: Callable[[Any], Any]) -> None:
    """Set the function that computes a measure, given a `scoring.metrics.own.MeasureCall`, in
    this process.
    """
    MeasureComputation.compute = staticmethod(compute)


def compute_measures_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_trusted_measures_file(text: str) -> bool:
    return compute_measures_digest(text) in TRUSTED_MEASURES_DIGESTS


def load_trusted_measures_module(text: str) -> str:
    """Return the name of the Python module for a trusted `measures.py`. Execute the
    file unless this process has already executed the file.
    """
    assert is_trusted_measures_file(text), "nothing else is run here"
    name = f"citeboard_measures_{compute_measures_digest(text)[:16]}"
    if name not in sys.modules:
        execute_as_module(text, name)
    return name


def execute_as_module(text: str, name: str) -> ModuleType:
    """Execute the text of a `measures.py` as a Python module with the given name. The
    module is added to ``sys.modules``, where the library `dataclasses` looks up
    modules.
    """
    module = sys.modules[name] = ModuleType(name)
    try:
        exec(  # noqa: S102
            compile(
                text.replace(FORMER_BASE_CLASSES_MODULE, MEASURE_BASE_CLASSES_MODULE),
                MEASURES_FILE_NAME,
                "exec",
            ),
            module.__dict__,
        )
    except BaseException:
        del sys.modules[name]
        raise
    return module


def parse_measure_classes(
    text: str, shown: str, faults: list[Problem]
) -> OwnMeasureClasses:
    """Parse the measure classes in a `measures.py` without running the file. Classes
    that are not derived from a base class in `METRIC_CLASSES_BY_BASE_CLASS` are ignored.
    """
    faults = [] if is_trusted_measures_file(text) else faults
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
        return OwnMeasureClasses(text, classes)
    for node in tree.body:
        bases = node.bases if isinstance(node, ast.ClassDef) else ()
        names = [
            base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            for base in bases
        ]
        known = {
            **{
                base: (metric, {})
                for base, metric in METRIC_CLASSES_BY_BASE_CLASS.items()
            },
            **classes,
        }
        if isinstance(node, ast.ClassDef) and (
            base := next((name for name in names if name in known), "")
        ):
            metric, inherited = known[base]
            classes[node.name] = (
                metric,
                {**inherited, **_read_measure_attributes(node, shown, faults)},
            )
    return OwnMeasureClasses(text, classes)


def make_missing_carriers_warnings(text: str) -> list[str]:
    """Return a warning for each weighted measure that does not declare `carriers`."""
    return [
        f"{MEASURES_FILE_NAME}: “{name}” does not declare `{CARRIERS_ATTRIBUTE}`, "
        "the columns of its matrix whose rows carry the value; its interval counts "
        "all units and may be too narrow where few of them decide"
        for name in list_measures_without_carriers(text)
    ]


def list_measures_without_carriers(text: str) -> list[str]:
    """Return the names of weighted measures that have confidence intervals but no
    attribute `carriers`.
    """
    return [
        name
        for name, (kind, facts) in parse_measure_classes(
            text, MEASURES_FILE_NAME, []
        ).classes.items()
        if kind == METRIC_CLASSES_BY_BASE_CLASS["WeightedMetric"]
        and facts.get("has_interval", True)
        and CARRIERS_ATTRIBUTE not in facts
    ]


def _read_measure_attributes(
    node: ast.ClassDef, shown: str, faults: list[Problem]
) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "marks":
            facts[HAS_MARKS_ATTRIBUTE] = True
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
            if name in MEASURE_ATTRIBUTE_TYPES and isinstance(
                value, MEASURE_ATTRIBUTE_TYPES[name]
            ):
                facts[name] = value
            elif name in MEASURE_ATTRIBUTE_TYPES or name == "per_unit":
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
