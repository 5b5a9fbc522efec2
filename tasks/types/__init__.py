"""What can be submitted: one folder for each task type, found by being there.

Plain Python: this package knows nothing of Django, requests or people, and names its metrics by reference.
"""

from tasks.types.base import (
    CORRECTED,
    OFFICIAL,
    Index,
    Option,
    OptionRefused,
    Options,
    Pairs,
    Split,
    TaskType,
    UnknownTaskType,
)
from tasks.types.problems import InputRefused, Problem
from tasks.types.references import MetricRef
from tasks.types.registry import task_type, task_types

__all__ = [
    "CORRECTED",
    "OFFICIAL",
    "Index",
    "InputRefused",
    "MetricRef",
    "Option",
    "OptionRefused",
    "Options",
    "Pairs",
    "Problem",
    "Split",
    "TaskType",
    "UnknownTaskType",
    "task_type",
    "task_types",
]
