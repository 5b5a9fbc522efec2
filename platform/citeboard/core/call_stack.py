"""Room for the calls of a request, so that loops in templates do not map memory."""

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

#: Entries of the first frame, of 8 bytes each. The piece of memory that holds it has as much room again.
ENTRIES = 1 << 16


def with_room_for_calls(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return the function so that the calls below it share one piece of memory.

    CPython 3.11 to 3.14 keep the frames of calls in pieces of 16 kB. A loop whose calls cross the end of a
    piece maps and unmaps the next one each time: a board of 200 rows took 53 or 162 ms, depending on how many
    calls surrounded it. A large first frame makes CPython allocate one large piece for the whole request.
    """

    def call(*args: object, **kwargs: object) -> Result:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=ENTRIES)
    return call
