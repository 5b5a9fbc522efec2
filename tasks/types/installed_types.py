"""Every task type, found by importing this: for processes that later cannot read the folders of packages."""

from tasks.types.registry import task_types

FOUND = task_types()
