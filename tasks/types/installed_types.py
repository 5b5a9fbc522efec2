"""Import all task types when a process starts, because a sandboxed process cannot read
package folders later.
"""

from tasks.types.registry import task_types

INSTALLED_TASK_TYPES = task_types()
