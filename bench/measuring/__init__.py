"""Timing beside a reference, in one process and one run: the ratio is what counts, the seconds are this
machine's.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench" / "results"

#: One thread, as a scorer has in a worker; linear algebra reads these when it is first imported.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
if not ONE_THREAD.items() <= os.environ.items():
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})  # noqa: S606

# The measurements are started as files, so that the project's own folders are not on the path yet.
for folder in (ROOT / "platform", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison: median seconds, and how many times longer the reference takes."""

    what: str
    ours: float
    reference: float | None = None
    against: str = ""
    ratio: float | None = None
    wanted: float | None = None
    note: str = ""


@dataclass
class Measurements:
    """The rows of one file of measurements, printed as they come and kept as JSON."""

    name: str
    title: str
    packages: Sequence[str]
    rows: list[Row] = field(default_factory=list)

    def compare(
        self,
        what: str,
        ours: Callable[[], object],
        reference: Callable[[], object],
        *,
        against: str,
        repeats: int = 5,
        wanted: float | None = None,
        note: str = "",
    ) -> None:
        """Time both in turn, so that what else the machine does meets both alike."""
        pairs = [(seconds(ours), seconds(reference)) for _ in range(repeats)]
        own, other = (statistics.median(ratios) for ratios in zip(*pairs, strict=True))
        ratio = statistics.median(theirs / mine for mine, theirs in pairs)
        self.add(
            Row(
                what=what,
                ours=own,
                reference=other,
                against=against,
                ratio=ratio,
                wanted=wanted,
                note=note,
            )
        )

    def measure(
        self, what: str, ours: Callable[[], object], *, repeats: int = 5, note: str = ""
    ) -> None:
        self.add(
            Row(
                what=what,
                ours=statistics.median(seconds(ours) for _ in range(repeats)),
                note=note,
            )
        )

    def add(self, row: Row) -> None:
        self.rows.append(row)
        own = "" if math.isnan(row.ours) else shown(row.ours)
        print(f"  {row.what:<74} {own:>8}  {_against(row)}")

    def keep(self) -> None:
        RESULTS.mkdir(exist_ok=True)
        kept = {
            "title": self.title,
            "machine": machine(),
            "versions": versions(self.packages),
            "rows": [asdict(row) for row in self.rows],
        }
        (RESULTS / f"{self.name}.json").write_text(
            json.dumps(kept, indent=1) + "\n", encoding="utf-8"
        )


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this process, so that what else the machine does matters little."""
    start = time.process_time()
    work()
    return time.process_time() - start


def shown(value: float) -> str:
    """Seconds with three digits and the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def _against(row: Row) -> str:
    if row.reference is None or row.ratio is None:
        return row.note
    wanted = f", wanted {row.wanted:g}×" if row.wanted else ""
    note = f" ({row.note})" if row.note else ""
    return f"{row.against} {shown(row.reference)}: {row.ratio:.3g}×{wanted}{note}"


def versions(packages: Sequence[str]) -> dict[str, str]:
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


def machine() -> str:
    """The processor and how many of it, as a reader compares machines by."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} processors"
