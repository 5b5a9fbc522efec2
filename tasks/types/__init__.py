"""Each built-in task type has a folder in this package. The registry finds a task type
by its folder.

This package is plain Python, which does not import Django and contains no code for
requests or users. Task types refer to their metrics by name.
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
