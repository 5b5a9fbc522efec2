"""Preallocation of Python's call stack, so that loops in templates do not map memory
again and again.
"""

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

#: The first call frame has FIRST_FRAME_STACK_ENTRIES 8-byte stack entries, half of CPython's 1 MB chunk.
#: Nested calls use the rest of the 1 MB chunk that CPython allocates for the stack.
FIRST_FRAME_STACK_ENTRIES = 1 << 16


def preallocate_call_stack(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a wrapper of a function whose nested calls share one chunk of stack
    memory.

    CPython 3.11 to 3.14 allocate call frames in chunks of 16 kB. A loop whose calls
    cross the end of a chunk maps and unmaps the next chunk in each iteration. A board
    of 200 rows took 53 or 162 ms, depending on the depth of the call stack. A large
    first frame makes CPython allocate one large chunk for the whole request.
    """

    def call_with_large_frame(*args: object, **kwargs: object) -> Result:
        return function(*args, **kwargs)

    call_with_large_frame.__code__ = call_with_large_frame.__code__.replace(
        co_stacksize=FIRST_FRAME_STACK_ENTRIES
    )
    return call_with_large_frame
