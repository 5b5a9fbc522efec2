"""Run a scorer for the worker. For the worker, a scorer has a process, a folder, output
and an exit status.
"""

import fcntl
import itertools
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from citeboard.core.confined import limits as ends
from citeboard.core.confined.fork_server import OUT_OF_TIME_MESSAGE
from citeboard.core.confined.left_folders import remove_folder
from citeboard.core.confined.limits import ResourceLimits
from citeboard.core.confined.pool import (
    THREAD_COUNT_VARIABLES,
    ForkServer,
    ForkServerLost,
    receive_message,
)
from citeboard.core.confinement import find_allowed_mechanisms
from scoring.worker import confined
from tasks.jobs.work import JobProcessDied, JobWaitsForDependency
from tasks.types import Problem
from tasks.types.declared.official_program import PROGRAM_FILE_NAME
from tasks.types.declared.own_measures import MEASURES_FILE_NAME
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import MISSING_JUDGEMENTS_MESSAGE

SOURCE_ROOT = Path(__file__).resolve().parents[2]
SCORER_SERVER_COMMAND = (sys.executable, "-P", "-s", "-m", "scoring.worker.confined")
MAX_PROBLEMS_IN_MESSAGE = 5
#: Beginning of the message about a run that waits for a package or model.
WAITING_MESSAGE_PREFIX = "It cannot be scored yet:"
#: Beginning of the line in which the offline scorer prints the reason for its exit.
SCORER_MESSAGE_PREFIX = "python -m scoring: "
#: Maximum number of seconds until the server reports that a scorer has ended.
CLOSE_TIMEOUT_SECONDS = 2.0
#: A scorer inherits only these environment variables, because others have secrets.
INHERITED_ENVIRONMENT_VARIABLES = (
    "CITEBOARD_CACHE_DIR",
    "CITEBOARD_CACHE_MB",
    "CITEBOARD_DEVICE",
    "CUDA_VISIBLE_DEVICES",
    "HF_HOME",
    "HOME",
    "LD_LIBRARY_PATH",
    "NLTK_DATA",
    "TZ",
    "XDG_CACHE_HOME",
)
#: Variables that stop a scorer from downloading models, which must be installed.
OFFLINE_ENVIRONMENT_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


class ScoringOfRunFailed(Exception):
    """An error that would occur again in the next attempt to score the run.

    The message is meant for the run's team, and ``problems`` are problems in the run's
    file.
    """

    def __init__(
        self,
        message: str,
        problems: Sequence[Mapping[str, Any]] = (),
        *,
        hit_limit: bool = False,
    ) -> None:
        self.problems, self.hit_limit = list(problems), hit_limit
        super().__init__(message)


class ScoringFailedByFaultOfSite(ScoringOfRunFailed):
    """An error that the uploaded file did not cause, but for example damaged inputs or
    an error in the scorer's code.
    """


class DeclaredMeasureFailed(ScoringOfRunFailed):
    """A measure that the task itself defines has failed. Only organisers can read the
    reason, ``why``.
    """

    def __init__(self, problems: Sequence[Mapping[str, Any]]) -> None:
        self.why = Problem(**problems[0])
        super().__init__(
            "A measure that the organisers of this task wrote has failed, so that the run has no scores; "
            "your file is not at fault. They can see what is wrong."
        )


class ScorerProcessDied(JobProcessDied):
    pass


class ScorerWaitsForDependency(JobWaitsForDependency):
    pass


class PairsWithoutEntailmentLabels(ScorerWaitsForDependency):
    """An error about pairs without entailment labels, which the scorer has written to
    the file ``pending``.
    """

    def __init__(self, pending: int, pairs: int) -> None:
        self.pending, self.pairs = pending, pairs
        super().__init__(f"{pending} of {pairs} pairs pending")


def build_missing_requirement_exception(missing: str) -> Exception:
    """Return an exception that names a missing package or model, and the people who can
    install it.
    """
    supplier = "Those who run the site have to supply it"
    if missing == MISSING_JUDGEMENTS_MESSAGE:
        supplier = "The organisers have to publish gold that has them"
    return ScorerWaitsForDependency(
        f"{WAITING_MESSAGE_PREFIX} {missing}. {supplier}; then scoring goes on by itself."
    )


@dataclass(frozen=True)
class ScorerCommand:
    """The arguments of a command of the offline scorer, and the exceptions to raise if
    the command fails.
    """

    arguments: Sequence[str]
    doing: str
    fault: str
    refused: Callable[[Sequence[Mapping[str, Any]], int], ScoringOfRunFailed]
    #: `runs_measures` is True if the command computes measures of the organisers.
    runs_measures: bool = False
    #: The source code of the task's official program, or an empty text.
    program: str = ""
    #: Returns the exception to raise for a missing package or model.
    unavailable: Callable[[str], Exception] = build_missing_requirement_exception


_scorer_server: ForkServer | None = None


def get_or_start_scorer_server() -> ForkServer:
    """Return the server that forks scorers for this process, and start a server if none
    is running.
    """
    global _scorer_server  # noqa: PLW0603  (there is one of them in a process)
    wanted = tuple(SCORER_SERVER_COMMAND), build_scorer_environment()
    if _scorer_server is not None and (
        not _scorer_server.is_usable
        or (_scorer_server.command, _scorer_server.environment) != wanted
    ):
        _scorer_server.close()
        _scorer_server = None
    if _scorer_server is None:
        _scorer_server = ForkServer(*wanted)
    return _scorer_server


class ScorerProcess:
    """A folder for one scorer and, once a command was sent to the server, the scorer's
    process.
    """

    limits: ResourceLimits

    def __init__(self, work: Path) -> None:
        self._kept = LockedScorerFolder(work)
        self.folder = self._kept.path
        self._printed, told = (
            self.folder / confined.STANDARD_OUTPUT_FILE_NAME,
            self.folder / confined.STANDARD_ERROR_FILE_NAME,
        )
        for path in (self._printed, told):
            path.touch()
        self._described = _ScorerErrorOutput(told)
        self._read = 0
        self._line: socket.socket | None = None
        self._heard = b""
        self._deadline, self._is_too_slow = float("inf"), False
        self._scorer_command: ScorerCommand | None = None

    def start_command(self, command: ScorerCommand, limits: ResourceLimits) -> None:
        self.limits, self._scorer_command = limits, command
        words = [*command.arguments, "--progress", "--json"]
        order = {
            "words": words,
            "uses_kernel": bool(find_allowed_mechanisms()),
            "runs_measures": command.runs_measures,
            "program": command.program,
        }
        try:
            self._line = get_or_start_scorer_server().start_program(
                "", order, folder=self.folder, limits=limits
            )
        except (ForkServerLost, OSError) as gone:
            raise ScorerProcessDied("The scorer was gone before it began.") from gone
        self.start_step_deadline()

    def start_step_deadline(self) -> None:
        self._deadline = time.monotonic() + self.limits.wall_seconds

    def wait_for_end(self, *, within: float) -> bool:
        """Wait for the scorer's process for at most ``within`` seconds. Return True if
        the process has ended or was stopped because a step exceeded its time limit.
        """
        assert self._line is not None
        if select.select([self._line], [], [], within)[0]:
            part = self._line.recv(64)
            self._heard += part
            return not part
        self._is_too_slow = time.monotonic() > self._deadline
        return self._is_too_slow

    @property
    def pid(self) -> int | None:
        began = self._heard.partition(b"\n")[0].split()
        return int(began[-1]) if len(began) > 1 else None

    @property
    def progress(self) -> float:
        self._described.read()
        return self._described.progress

    def results(self) -> Iterator[dict[str, Any]]:
        for line in _iterate_complete_lines(self._printed, self._read):
            self._read += len(line)
            with suppress(ValueError):
                result = read_json(line.lstrip(b","), constant=float)
                if isinstance(result, dict):
                    yield result

    @property
    def has_refused_all_runs(self) -> bool:
        return self._exit_code in (
            confined.REFUSED_EXIT_CODE,
            confined.UNAVAILABLE_EXIT_CODE,
        )

    def verdict(self, rules: str) -> Exception:
        assert self._scorer_command is not None
        self._described.read()
        code = self._exit_code
        words = f"{self._command_description} needed more than {self.limits.memory_mb} MB of memory."
        too_much_memory = ScoringOfRunFailed(words, hit_limit=True)
        if self._is_too_slow or f"\n{OUT_OF_TIME_MESSAGE} ".encode() in self._heard:
            return ScoringOfRunFailed(
                f"{self._command_description} took more than {self.limits.wall_seconds:g} s."
            )
        if code is None:
            return ScorerProcessDied(
                "The scorer was ended with the process that had started it."
            )
        if code == 0:
            return ScorerProcessDied("The scorer ended in the middle of its answer.")
        if code == -signal.SIGXCPU:
            words = f"{self._command_description} took more than {self.limits.cpu_seconds} s of computing."
            return ScoringOfRunFailed(words, hit_limit=True)
        if code < 0:
            if any("bad_alloc" in line for line in self._described.words):
                return too_much_memory
            name = signal.Signals(-code).name
            words = f"The scorer was ended by {name}, as happens when a machine runs short of memory."
            return ScorerProcessDied(words)
        if code == confined.REFUSED_EXIT_CODE:
            return self._scorer_command.refused(
                self._described.problems, self._described.more
            )
        pending = self._described.pending
        if code == confined.UNAVAILABLE_EXIT_CODE and (
            pairs := pending.get(rules) or pending.get("")
        ):
            return PairsWithoutEntailmentLabels(*pairs)
        said = {
            ends.OUT_OF_MEMORY_EXIT_CODE: too_much_memory,
            ends.FILE_TOO_LARGE_EXIT_CODE: ScoringOfRunFailed(
                f"{self._command_description} wrote a file of more than {self.limits.file_mb} MB."
            ),
            ends.NO_SPACE_EXIT_CODE: ScorerWaitsForDependency(
                "The disk of the site is full; scoring goes on by itself when there is room again."
            ),
            confined.UNAVAILABLE_EXIT_CODE: self._scorer_command.unavailable(
                self._missing_package_or_model
            ),
        }
        return said.get(code) or ScoringFailedByFaultOfSite(self._scorer_command.fault)

    @property
    def _missing_package_or_model(self) -> str:
        said = [
            line
            for line in self._described.words
            if line.startswith(SCORER_MESSAGE_PREFIX)
        ]
        return (
            said[-1].removeprefix(SCORER_MESSAGE_PREFIX)
            if said
            else "a package or model is missing"
        )

    @property
    def last_output_lines(self) -> str:
        self._described.read()
        return "\n".join(self._described.words[-30:])

    def close(self) -> None:
        if self._line is not None:
            with self._line as line:
                # The server must end the process first, because it uses the folder.
                with suppress(OSError):
                    line.shutdown(socket.SHUT_WR)
                while receive_message(line, CLOSE_TIMEOUT_SECONDS):
                    pass
        self._kept.close()

    @property
    def _exit_code(self) -> int | None:
        # The server's last line has the exit status and the CPU seconds of the scorer.
        how = self._heard.partition(b"\n")[2].partition(b" ")[0]
        return int(how) if how.lstrip(b"-").isdigit() else None

    @property
    def _command_description(self) -> str:
        return self._scorer_command.doing if self._scorer_command else "Nothing"


def _iterate_complete_lines(path: Path, place: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(place)
        yield from itertools.takewhile(lambda line: line.endswith(b"\n"), file)


class _ScorerErrorOutput:
    def __init__(self, path: Path) -> None:
        self.path, self.progress = path, 0.0
        self.problems: list[dict[str, Any]] = []
        self.more = 0
        #: For each rule set, the number of pending pairs and the number of all pairs.
        #: If the scorer has a single rule set, the key is an empty text.
        self.pending: dict[str, tuple[int, int]] = {}
        self.words: list[str] = []
        self._read = 0

    def read(self) -> None:
        for line in _iterate_complete_lines(self.path, self._read):
            self._read += len(line)
            self._parse_message(line.decode("utf-8", "replace").rstrip())

    def _parse_message(self, line: str) -> None:
        try:
            said = read_json(line)
        except ValueError:
            said = None
        match said:
            case {"done": float() | int() as done}:
                self.progress = min(max(float(done), 0.0), 1.0)
            case {"problem": dict() as problem}:
                self.problems.append(problem)
            case {"pending": int() as pending, "pairs": int() as pairs}:
                self.pending[said.get("rules", "")] = (pending, pairs)
            case {"more": int() as more}:
                self.more = more
            case _:
                self.words = [*self.words[-199:], line]


def build_failure_from_problems(
    problems: Sequence[Mapping[str, Any]], more: int, run_name: str
) -> ScoringOfRunFailed:
    own = [
        {**problem, "file": problem["file"] or run_name}
        for problem in problems
        if not problem["file"] or str(problem["file"]).startswith(run_name)
    ]
    if not own and (
        of_measures := [
            problem
            for problem in problems
            if problem["file"] in (MEASURES_FILE_NAME, PROGRAM_FILE_NAME)
        ]
    ):
        return DeclaredMeasureFailed(of_measures)
    if not own:
        return ScoringFailedByFaultOfSite(
            "The gold of this phase, or how the task is set up, keeps the scorer from working; "
            "your file is not at fault. The organisers can see what is wrong."
        )
    errors = [problem for problem in own if problem.get("fatal", True)]
    told = []
    for error in errors[:MAX_PROBLEMS_IN_MESSAGE]:
        where = f"line {error['line']}: " if error.get("line") is not None else ""
        expected = f"; expected {error['expected']}" if error.get("expected") else ""
        told.append(f"{where}{error['message']}{expected}")
    rest = sum(error.get("count", 1) for error in errors) - len(told) + more
    words = f"The run cannot be scored: {'; '.join(told)}{f'; and {rest} more problems' if rest else ''}."
    unlisted = (
        [Problem(message=f"and {more:,} more problems").as_dict()] if more else []
    )
    return ScoringOfRunFailed(words, [*own, *unlisted])


def build_scorer_environment() -> dict[str, str]:
    return {
        "CITEBOARD_MODELS_DIR": str(settings.MODELS_DIR),
        # Without this variable, joblib tries to create semaphores and warns.
        "JOBLIB_MULTIPROCESSING": "0",
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(
            map(
                str,
                (
                    SOURCE_ROOT / "platform",
                    SOURCE_ROOT,
                    settings.MODELS_DIR / "packages",
                ),
            )
        ),
        **{
            name: os.environ[name]
            for name in INHERITED_ENVIRONMENT_VARIABLES
            if name in os.environ
        },
        **dict.fromkeys((*THREAD_COUNT_VARIABLES, *OFFLINE_ENVIRONMENT_VARIABLES), "1"),
    }


LOCK_FILE_NAME = "lock"
UNLOCKED_FOLDER_PREFIX, LOCKED_FOLDER_PREFIX = "new-", "scorer-"
#: Unlocked folders that are older than this number of seconds are deleted.
LEFTOVER_AGE_SECONDS = 3600.0


class LockedScorerFolder:
    """A folder for one scorer, which a file lock protects from deletion.

    The method `close` deletes the folder. If the process is killed before it calls
    `close`, `remove_leftover_scorer_folders` deletes the folder.
    """

    def __init__(self, work: Path) -> None:
        made = Path(tempfile.mkdtemp(prefix=UNLOCKED_FOLDER_PREFIX, dir=work))
        self._lock = (made / LOCK_FILE_NAME).open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.rename(
            work
            / f"{LOCKED_FOLDER_PREFIX}{made.name.removeprefix(UNLOCKED_FOLDER_PREFIX)}"
        )

    def close(self) -> None:
        remove_folder(self.path)
        self._lock.close()


def remove_leftover_scorer_folders(work: Path) -> int:
    removed = 0
    for folder in work.glob(f"{LOCKED_FOLDER_PREFIX}*"):
        # The folder may have been removed meanwhile, or may not be lockable.
        with suppress(OSError), (folder / LOCK_FILE_NAME).open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_folder(folder)
            removed += 1
    for folder in work.glob(f"{UNLOCKED_FOLDER_PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - LEFTOVER_AGE_SECONDS:
                remove_folder(folder)
                removed += 1
    return removed
