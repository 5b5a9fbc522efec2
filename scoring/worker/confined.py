"""Implement the process in which a run is scored. The process has limited resources and
ends when its parent process ends.

The server process `python -P -m scoring.worker.confined FD` imports the scorer's
modules once. For each run that the worker sends over the socket with the file
descriptor FD, the server forks a process. The server and its child processes cannot
access the database or the storage. A child process can read only the files that its
arguments name, the installed models and its own folder.
"""

import os
import pickle
import re
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from citeboard.core.confined.fork_server import (
    Order,
    Server,
    orders_of_sender,
    preload,
    told_and_code,
)
from citeboard.core.confined.limits import Limits, begin_next_step, die_with_parent
from citeboard.core.confined.pool import LimitExceeded, Pool, ProgramFailed, Setup, Work
from citeboard.core.confined.rights import MEANS, Rights, give_up_calls, give_up_files
from scoring.metrics.base import Floats
from scoring.metrics.official import ProgramCall
from scoring.metrics.own import CALL, PROGRAM as MEASURE, Call, answered
from scoring.worker import program_sandbox
from tasks.types.declared.own_measures import failed, not_here, use

#: The exit codes of the offline scorer for a refused run and for a missing model.
REFUSED = 2
UNAVAILABLE = 6
#: Names of the files in a scorer's folder for its standard output and standard error.
PRINTED, TOLD = "said.json", "told.txt"
READY = (
    "scoring.__main__",
    "scoring.offline.entailment_exchange",
    "scoring.offline.evaluate",
    "numpy.random",
    "rapidfuzz.distance",
    "scipy.special",
)
ROOT = Path(__file__).resolve().parents[2]
CODE = [ROOT / name for name in ("platform", "tasks", "scoring")]
#: Modules that a measure written by organisers may import.
MEASURING = ("scoring.metrics.own", "scoring.metrics.*", "tasks.types.forms.*")
#: System files and folders with data that Python libraries read.
#: They contain no secrets.
SYSTEM = (
    "/usr",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system",
)
#: Devices of GPUs, and files with information about the GPU driver.
GPUS = ("dev/nvidia*", "dev/dri", "proc/driver/nvidia")
#: Folders in which libraries lock files, such as the list of domains of `urlextract`.
LOCKED = ("urlextract/data",)
_ABSOLUTE_PATH = re.compile(r"(?:^|[=:])(/.*)")


class ScorerServer(Server):
    outputs: ClassVar[Mapping[int, str]] = {1: PRINTED, 2: TOLD}

    def confine(self, order: Order) -> None:
        os.environ["TMPDIR"] = tempfile.tempdir = str(Path.cwd())
        uses_kernel = order.arguments["uses_kernel"]
        # Start the processes for the task's measures and for its program first.
        # After starting the others, this process gives up the right to start processes.
        measured = _measuring(order) if order.arguments["runs_measures"] else not_here
        program = order.arguments["program"]
        run = _program_runner(program, order.limits) if program else not_here
        use(partial(_by_kind, measured, run))
        if uses_kernel:
            rights = _rights(order.arguments["words"])
            give_up_files(rights)
            give_up_calls(rights)

    def work(self, order: Order, shared: object) -> int:
        from scoring.__main__ import main as offline

        try:
            code = offline(
                order.arguments["words"],
                next_step=partial(begin_next_step, order.limits),
            )
            sys.stdout.flush()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
        except Exception as error:  # noqa: BLE001  (all that is left of it is what is told)
            return told_and_code(error)
        return code


def _by_kind(
    measured: Callable[[Call], Floats],
    run: Callable[[ProgramCall], Floats],
    call: Call | ProgramCall,
) -> Floats:
    return run(call) if isinstance(call, ProgramCall) else measured(call)


def _program_runner(text: str, limits: Limits) -> Callable[[ProgramCall], Floats]:
    folder = Path.cwd() / "program"
    pool = program_sandbox.sandbox(text, root=ROOT, work_folder=folder)
    pool.warm()
    own = program_sandbox.limits_of_program(limits)
    return partial(program_sandbox.computed, pool, own)


def _measuring(order: Order) -> Callable[[Call], Floats]:
    code = [ROOT / "platform", ROOT]
    setup = Setup(
        path=code,
        readable=CODE,
        preload=MEASURING,
        means=MEANS if order.arguments["uses_kernel"] else (),
    )
    pool = Pool(size=1, work_folder=Path.cwd() / "measures", setup=setup)
    pool.warm()
    # Keep half of the time, so that a measure that never returns can be reported.
    seconds, wall = (
        max(1, order.limits.cpu_seconds // 2),
        order.limits.wall_seconds / 2,
    )
    alone = {
        "max_processes": 0,
        "max_files": 64,
        "total_mb": order.limits.file_mb,
        "steps": 1,
    }
    limits = replace(order.limits, cpu_seconds=seconds, wall_seconds=wall, **alone)
    return partial(computed, pool, limits)


def computed(pool: Pool, limits: Limits, call: Call) -> Floats:
    """Compute a measure that a task defines in a sandboxed process, which can read only
    the arguments of the call. Raises MeasureFailed.
    """
    work = Work(
        program=MEASURE,
        arguments={},
        limits=limits,
        files={CALL: pickle.dumps(call)},
        is_ours=False,
    )
    try:
        with pool.done(work) as done:
            return answered(call, done.result, done.file)
    except LimitExceeded as reason:
        raise failed(
            f"“{call.called}” was ended when {call.method} was computed: {reason}"
        ) from reason
    except ProgramFailed as reason:
        raise failed(
            f"“{call.called}” ended without an answer when {call.method} was computed"
        ) from reason


def main() -> None:
    with orders_of_sender() as orders:
        die_with_parent()
        preload(READY)
        from scoring.__main__ import parser
        from scoring.metrics import metrics_of
        from tasks.types import task_types

        parser()
        for kind in task_types().values():
            for rules in kind.rules:
                # A metric whose package is missing reports the package when it scores.
                with suppress(Exception):
                    metrics_of(kind, rules, kind.checked_options({}))
        ScorerServer(orders, readable=(), means=()).serve()


def _rights(arguments: Sequence[str]) -> Rights:
    home = Path.home()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    models: list[str | Path] = [os.environ.get("HF_HOME") or caches / "huggingface"]
    models += (
        [os.environ["CITEBOARD_MODELS_DIR"]]
        if "CITEBOARD_MODELS_DIR" in os.environ
        else []
    )
    models += [home / "nltk_data", home / ".cache/torch"]
    models += [
        folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder
    ]
    libraries = Path(sysconfig.get_path("purelib"))
    prefixes: list[str | Path] = [sys.prefix, sys.base_prefix, libraries]
    named = [
        found.group(1)
        for argument in arguments
        if (found := _ABSOLUTE_PATH.search(argument))
    ]
    writable_cache = Path(os.environ.get("CITEBOARD_CACHE_DIR") or caches / "citeboard")
    with suppress(OSError):
        # If the cache folder cannot be created, nothing is cached.
        writable_cache.mkdir(parents=True, exist_ok=True)
    paths: list[str | Path] = [*SYSTEM, *prefixes, *CODE, *models, *named]
    writable = [Path.cwd(), writable_cache, *(libraries / folder for folder in LOCKED)]
    # Programs need write access to these devices to use a GPU.
    writable += [Path(path) for pattern in GPUS for path in Path("/").glob(pattern)]
    return Rights(
        readable=[Path(path) for path in paths],
        writable=writable,
        may_start_processes=True,
        may_set_limits=True,
    )


if __name__ == "__main__":
    main()
