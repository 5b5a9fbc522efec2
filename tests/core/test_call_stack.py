"""Calls below the first frame of a request map no memory, however deep they begin."""

import resource
import sys
import threading

import pytest

from citeboard.core.call_stack import preallocate_call_stack

CALLS, DEPTHS = 100, 400


def faults_of_calls(depth: int) -> int:
    """Count the pages of memory that a loop of short calls is given at this depth."""
    if depth:
        return faults_of_calls(depth - 1)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        of_a_larger_frame()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def of_a_larger_frame() -> int:
    a, b, c, d, e, f, g, h, i, j = range(10)
    return a + b + c + d + e + f + g + h + i + j


def most_faults(count) -> int:
    found = []

    def at_each_depth():
        found.extend(count(depth) for depth in range(DEPTHS))

    thread = threading.Thread(target=at_each_depth)
    thread.start()
    thread.join()
    return max(found)


@pytest.mark.skipif(
    sys.platform != "linux", reason="counts the page faults of a thread"
)
def test_a_loop_of_calls_maps_no_memory_at_any_depth():
    assert most_faults(preallocate_call_stack(faults_of_calls)) < CALLS // 2


def test_arguments_result_and_error_pass_unchanged():
    assert preallocate_call_stack(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        preallocate_call_stack(divmod)(7, 0)
