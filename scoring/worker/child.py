"""A scorer as its worker sees it: a process of its own, its folder, what it says and how it ends."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from citeboard.core.confined import limits as ends
from citeboard.core.confined.limits import Limits
from citeboard.core.confined.pool import SINGLE_THREADED
from scoring.worker import confined
from tasks.jobs.work import JobDied, JobWaits
from tasks.types import Problem

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-P", "-s", "-m", "scoring.worker.confined")
MAX_TOLD = 5
#: Files of a scorer's folder: what it keeps with the scores, and the pairs that are pending.
STATISTICS, PENDING = "statistics.npz", "pending.jsonl"
#: Names of the environment a scorer is given; everything else, secrets above all, stays with the worker.
PASSED_ON = (
    *("CITEBOARD_CACHE_DIR", "CITEBOARD_CACHE_MB", "CITEBOARD_DEVICE", "CUDA_VISIBLE_DEVICES", "HF_HOME"),
    *("HOME", "LD_LIBRARY_PATH", "NLTK_DATA", "TZ", "XDG_CACHE_HOME"),
)
#: Models are found where they were put before; a scorer fetches nothing.
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


class RunFailed(Exception):
    """Scoring this run again would end alike; the message is for its team, ``problems`` are its file's."""

    def __init__(
        self, message: str, problems: Sequence[Mapping[str, Any]] = (), *, hit_limit: bool = False
    ) -> None:
        self.problems = list(problems)
        self.hit_limit = hit_limit
        super().__init__(message)


class OurFault(RunFailed):
    """Not by the file that was sent: what the scorer was given here may be broken, or its program."""


class ScorerDied(JobDied):
    pass


class ScorerWaits(JobWaits):
    pass


class PairsPending(ScorerWaits):
    """Labels of entailment are missing; the pairs stand in the scorer's file ``pending``."""

    def __init__(self, pending: int, pairs: int) -> None:
        self.pending, self.pairs = pending, pairs
        super().__init__(f"{pending} of {pairs} pairs pending")


@dataclass(frozen=True)
class ScorerCommand:
    """What a scorer's process does, as a command of the offline scorer, and how its failures are told."""

    arguments: Sequence[str]
    doing: str
    fault: str
    refused: Callable[[Sequence[Mapping[str, Any]], int], RunFailed]


class Scorer:
    """A scorer's process, which gets ready at once and begins when it is told what to score."""

    limits: Limits

    def __init__(self, work: Path) -> None:
        self._kept = ScorerFolder(work)
        self.folder = self._kept.path
        self.statistics = self.folder / STATISTICS
        self.pending = self.folder / PENDING
        self._said = self.folder / "said.json"
        self._described = _Told(self.folder / "told.txt")
        self._deadline = float("inf")
        self._scorer_command: ScorerCommand | None = None
        try:
            with self._said.open("wb") as said, self._described.path.open("wb") as told:
                self.process = subprocess.Popen(
                    COMMAND,
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=told,
                    cwd=self.folder,
                    env=environment(self.folder),
                    start_new_session=True,
                )
        except OSError:
            self._kept.close()
            raise

    @property
    def is_ready(self) -> bool:
        return self.process.poll() is None

    def begin(self, command: ScorerCommand, limits: Limits) -> None:
        self.limits = limits
        line = {
            "arguments": [*command.arguments, "--progress", "--json"],
            "limits": asdict(self.limits),
            "uses_kernel": settings.CONFINEMENT == "kernel",
        }
        self._scorer_command = command
        self._deadline = time.monotonic() + self.limits.wall_seconds
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as gone:
            raise ScorerDied("The scorer was gone before it began.") from gone

    def ended(self, *, within: float) -> bool:
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            if time.monotonic() > self._deadline:
                raise RunFailed(f"{self._doing} took more than {self.limits.wall_seconds:g} s.") from None
            return False
        return True

    @property
    def progress(self) -> float:
        self._described.read()
        return self._described.progress

    def result(self) -> dict[str, Any]:
        """What the scorer printed, once it has ended. Raises RunFailed, ScorerDied or ScorerWaits."""
        self._described.read()
        code = self.process.returncode
        if code == 0:
            try:
                result: dict[str, Any] = json.loads(self._said.read_bytes())
            except ValueError as broken:
                raise ScorerDied("The scorer ended in the middle of its answer.") from broken
            return result
        raise self._verdict(code)

    @property
    def last_words(self) -> str:
        self._described.read()
        return "\n".join(self._described.words[-30:])

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self._kept.close()

    @property
    def _doing(self) -> str:
        return self._scorer_command.doing if self._scorer_command else "Nothing"

    def _verdict(self, code: int) -> Exception:
        assert self._scorer_command is not None
        too_much_memory = RunFailed(
            f"{self._doing} needed more than {self.limits.memory_mb} MB of memory.", hit_limit=True
        )
        if code == -signal.SIGXCPU:
            words = f"{self._doing} took more than {self.limits.cpu_seconds} s of computing."
            return RunFailed(words, hit_limit=True)
        if code < 0:
            if any("bad_alloc" in line for line in self._described.words):
                return too_much_memory
            name = signal.Signals(-code).name
            return ScorerDied(
                f"The scorer was ended by {name}, as happens when a machine runs short of memory."
            )
        if code == confined.REFUSED:
            return self._scorer_command.refused(self._described.problems, self._described.more)
        if code == confined.UNAVAILABLE and self._described.pending:
            return PairsPending(*self._described.pending)
        said = {
            ends.OUT_OF_MEMORY: too_much_memory,
            ends.FILE_TOO_LARGE: RunFailed(
                f"{self._doing} wrote a file of more than {self.limits.file_mb} MB."
            ),
            ends.NO_SPACE: ScorerWaits(
                "The disk of the site is full; scoring goes on by itself when there is room again."
            ),
            confined.UNAVAILABLE: ScorerWaits(
                "What this task is scored with, such as a model, is not installed here yet; "
                "scoring goes on by itself when it is."
            ),
        }
        return said.get(code) or OurFault(self._scorer_command.fault)


class _Told:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.progress = 0.0
        self.problems: list[dict[str, Any]] = []
        self.more = 0
        self.pending: tuple[int, int] | None = None
        self.words: list[str] = []
        self._read = 0

    def read(self) -> None:
        with self.path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                self._note(line.decode("utf-8", "replace").rstrip())

    def _note(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        match said:
            case {"done": float() | int() as done}:
                self.progress = min(max(float(done), 0.0), 1.0)
            case {"problem": dict() as problem}:
                self.problems.append(problem)
            case {"pending": int() as pending, "pairs": int() as pairs}:
                self.pending = (pending, pairs)
            case {"more": int() as more}:
                self.more = more
            case _:
                self.words = [*self.words[-199:], line]


def refusal(problems: Sequence[Mapping[str, Any]], more: int, run_name: str) -> RunFailed:
    """Why a run cannot be scored, in words for its team; of gold nothing is said but that it is at fault."""
    own = [
        {**problem, "file": problem["file"] or run_name}
        for problem in problems
        if not problem["file"] or str(problem["file"]).startswith(run_name)
    ]
    if not own:
        return OurFault(
            "The gold of this phase, or how the task is set up, keeps the scorer from working; "
            "your file is not at fault. The organisers can see what is wrong."
        )
    errors = [problem for problem in own if problem.get("fatal", True)]
    told = []
    for error in errors[:MAX_TOLD]:
        where = f"line {error['line']}: " if error.get("line") is not None else ""
        expected = f"; expected {error['expected']}" if error.get("expected") else ""
        told.append(f"{where}{error['message']}{expected}")
    rest = len(errors) - len(told) + more
    words = f"The run cannot be scored: {'; '.join(told)}{f'; and {rest} more problems' if rest else ''}."
    unlisted = [Problem(message=f"and {more:,} more problems").as_dict()] if more else []
    return RunFailed(words, [*own, *unlisted])


def environment(folder: Path) -> dict[str, str]:
    return {
        "CITEBOARD_MODELS_DIR": str(settings.MODELS_DIR),
        # Libraries that would count the machine's semaphores may not, and say so at length.
        "JOBLIB_MULTIPROCESSING": "0",
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "platform", ROOT, settings.MODELS_DIR / "packages"))),
        "TMPDIR": str(folder),
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        **dict.fromkeys((*SINGLE_THREADED, *OFFLINE), "1"),
    }


LOCK = "lock"
NEW, LOCKED = "new-", "scorer-"
#: Nobody takes so long to lock a folder that they have made.
SAFE_AGE = 3600.0


class ScorerFolder:
    """Must be closed, which removes it; if its process is killed before, `remove_leftovers` does."""

    def __init__(self, work: Path) -> None:
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=work))
        self._lock = (made / LOCK).open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.rename(work / f"{LOCKED}{made.name.removeprefix(NEW)}")

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def remove_leftovers(work: Path) -> int:
    removed = 0
    for folder in work.glob(f"{LOCKED}*"):
        # Whoever closes a folder may remove it first, and some file systems know no locks.
        with suppress(OSError), (folder / LOCK).open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    for folder in work.glob(f"{NEW}*"):
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - SAFE_AGE:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed
