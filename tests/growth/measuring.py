"""CPU time and memory of this process, each confirmed several times: a busy machine changes little."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

MAX_RATIO = 2.6
#: Seconds. What takes less at the largest size is not worth a ratio: a quadratic reader takes far more.
MEASURABLE = 0.03
TRIES = 12


@dataclass(frozen=True)
class Growth:
    """``ratio`` is that of an input of ``size`` to half of it, None where both are too fast to tell."""

    ratio: float | None
    size: int
    seconds: float

    @property
    def is_bounded(self) -> bool:
        return self.ratio is None or self.ratio <= MAX_RATIO


def growth(
    work: Callable[[object], object], made: Callable[[int], object], largest: int
) -> Growth:
    """The least ratio of several tries, at the first size that is measurable, up to the largest."""
    # From small to large, so that what is far worse than quadratic ends early.
    for size in (largest // 16, largest // 4, largest):
        seconds = cpu_seconds(work, made(size))
        if seconds >= MEASURABLE:
            break
    else:
        return Growth(None, size, seconds)
    gc.collect()
    ratios = []
    for _ in range(TRIES):
        half = min(cpu_seconds(work, made(size // 2)) for _ in range(2))
        ratios.append(min(seconds, cpu_seconds(work, made(size))) / max(half, 1e-6))
        if ratios[-1] <= MAX_RATIO:
            break
    return Growth(min(ratios), size, seconds)


def cpu_seconds(work: Callable[[object], object], given: object) -> float:
    gc.disable()
    try:
        begin = time.process_time()
        work(given)
        return time.process_time() - begin
    finally:
        gc.enable()


def peak_memory(work: Callable[[], object], *, enough: int) -> int:
    """In bytes. Above ``enough`` it is measured anew: the interpreter's table of texts may double once."""
    peak = _peak_memory(work)
    for _ in range(2):
        if peak > enough:
            peak = min(peak, _peak_memory(work))
    return peak


def _peak_memory(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def steps(
    work: Callable[[object], object],
    made: Callable[[int], object],
    smallest: int,
    largest: int,
) -> list[Growth]:
    """Of each doubling from the smallest size on that is measurable: the least ratio of several tries."""
    found, size, before = [], smallest, made(smallest)
    half = cpu_seconds(work, before)
    while size < largest:
        size, now = size * 2, made(size * 2)
        seconds = cpu_seconds(work, now)
        ratio, tries = seconds / max(half, 1e-6), 1
        while seconds >= MEASURABLE and ratio > MAX_RATIO and tries < TRIES:
            half, tries = cpu_seconds(work, before), tries + 1
            again = cpu_seconds(work, now)
            ratio, seconds = min(ratio, again / max(half, 1e-6)), min(seconds, again)
        found.append(Growth(ratio if seconds >= MEASURABLE else None, size, seconds))
        before, half = now, seconds
    return found
