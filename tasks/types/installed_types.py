"""Import all task types when a process starts, because a sandboxed process cannot read
package folders later.
"""

from tasks.types.registry import task_types

FOUND = task_types()
