"""Import every task type at start-up, for processes that cannot read the folders of
packages later.
"""

from tasks.types.registry import task_types

FOUND = task_types()
