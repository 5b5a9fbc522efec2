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
    ForkingServer,
    ProgramOrder,
    log_error_and_choose_exit_code,
    open_order_socket,
    preload_modules,
)
from citeboard.core.confined.limits import (
    ResourceLimits,
    renew_cpu_limit,
    signal_process_on_parent_exit,
)
from citeboard.core.confined.pool import (
    ForkServerSetup,
    ResourceLimitExceeded,
    SandboxedFunctionCall,
    SandboxedProgramFailed,
    SandboxPool,
)
from citeboard.core.confined.rights import (
    CONFINEMENT_MECHANISMS,
    SandboxRights,
    filter_system_calls,
    restrict_file_access,
)
from scoring.metrics.base import Floats
from scoring.metrics.official import ProgramCall
from scoring.metrics.own import (
    CALL_FILE,
    SANDBOXED_FUNCTION as MEASURE,
    MeasureCall,
    read_sandboxed_values,
)
from scoring.worker import program_sandbox
from tasks.types.declared.own_measures import (
    make_measure_failure,
    refuse_to_compute_measure,
    set_measure_computation,
)

#: The exit codes of the offline scorer for a refused run and for a missing model.
REFUSED_EXIT_CODE = 2
UNAVAILABLE_EXIT_CODE = 6
#: Names of the files in a scorer's folder for its standard output and standard error.
STANDARD_OUTPUT_FILE_NAME, STANDARD_ERROR_FILE_NAME = "said.json", "told.txt"
PRELOADED_MODULES = (
    "scoring.__main__",
    "scoring.offline.entailment_exchange",
    "scoring.offline.evaluate",
    "numpy.random",
    "rapidfuzz.distance",
    "scipy.special",
)
REPOSITORY_ROOT = Path(__file__).resolve().parents[2]
SITE_CODE_FOLDERS = [
    REPOSITORY_ROOT / name for name in ("platform", "tasks", "scoring")
]
#: Modules that a measure written by organisers may import.
MODULES_ALLOWED_IN_MEASURES = (
    "scoring.metrics.own",
    "scoring.metrics.*",
    "tasks.types.forms.*",
)
#: System files and folders with data that Python libraries read.
#: They contain no secrets.
READABLE_SYSTEM_PATHS = (
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
GPU_DEVICE_PATTERNS = ("dev/nvidia*", "dev/dri", "proc/driver/nvidia")
#: Folders in which libraries lock files, such as the list of domains of `urlextract`.
LOCK_FILE_FOLDERS = ("urlextract/data",)
_ABSOLUTE_PATH_PATTERN = re.compile(r"(?:^|[=:])(/.*)")


class ScorerServer(ForkingServer):
    outputs: ClassVar[Mapping[int, str]] = {
        1: STANDARD_OUTPUT_FILE_NAME,
        2: STANDARD_ERROR_FILE_NAME,
    }

    def apply_sandbox(self, order: ProgramOrder) -> None:
        os.environ["TMPDIR"] = tempfile.tempdir = str(Path.cwd())
        uses_kernel = order.arguments["uses_kernel"]
        # Start the processes for the task's measures and for its program first.
        # After starting the others, this process gives up the right to start processes.
        measured = (
            _start_measures_pool(order)
            if order.arguments["runs_measures"]
            else refuse_to_compute_measure
        )
        program = order.arguments["program"]
        run = (
            _start_program_pool(program, order.limits)
            if program
            else refuse_to_compute_measure
        )
        set_measure_computation(partial(_answer_call_by_kind, measured, run))
        if uses_kernel:
            rights = _build_sandbox_rights(order.arguments["words"])
            restrict_file_access(rights)
            filter_system_calls(rights)

    def work(self, order: ProgramOrder, shared: object) -> int:
        from scoring.__main__ import main as offline

        try:
            code = offline(
                order.arguments["words"],
                next_step=partial(renew_cpu_limit, order.limits),
            )
            sys.stdout.flush()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
        except Exception as error:  # noqa: BLE001  (all that is left of it is what is told)
            return log_error_and_choose_exit_code(error)
        return code


def _answer_call_by_kind(
    measured: Callable[[MeasureCall], Floats],
    run: Callable[[ProgramCall], Floats],
    call: MeasureCall | ProgramCall,
) -> Floats:
    return run(call) if isinstance(call, ProgramCall) else measured(call)


def _start_program_pool(
    text: str, limits: ResourceLimits
) -> Callable[[ProgramCall], Floats]:
    folder = Path.cwd() / "program"
    pool = program_sandbox.build_program_pool(
        text, root=REPOSITORY_ROOT, work_folder=folder
    )
    pool.start_server()
    own = program_sandbox.build_limits_of_program(limits)
    return partial(program_sandbox.run_program_twice, pool, own)


def _start_measures_pool(order: ProgramOrder) -> Callable[[MeasureCall], Floats]:
    code = [REPOSITORY_ROOT / "platform", REPOSITORY_ROOT]
    setup = ForkServerSetup(
        path=code,
        readable=SITE_CODE_FOLDERS,
        preload=MODULES_ALLOWED_IN_MEASURES,
        means=CONFINEMENT_MECHANISMS if order.arguments["uses_kernel"] else (),
    )
    pool = SandboxPool(size=1, work_folder=Path.cwd() / "measures", setup=setup)
    pool.start_server()
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
    return partial(compute_measure_in_pool, pool, limits)


def compute_measure_in_pool(
    pool: SandboxPool, limits: ResourceLimits, call: MeasureCall
) -> Floats:
    """Compute a measure that a task defines in a sandboxed process, which can read only
    the arguments of the call. Raises MeasureFailed.
    """
    work = SandboxedFunctionCall(
        program=MEASURE,
        arguments={},
        limits=limits,
        files={CALL_FILE: pickle.dumps(call)},
        is_ours=False,
    )
    try:
        with pool.done(work) as done:
            return read_sandboxed_values(call, done.result, done.file)
    except ResourceLimitExceeded as reason:
        raise make_measure_failure(
            f"“{call.called}” was ended when {call.method} was computed: {reason}"
        ) from reason
    except SandboxedProgramFailed as reason:
        raise make_measure_failure(
            f"“{call.called}” ended without an answer when {call.method} was computed"
        ) from reason


def run_scorer_server() -> None:
    with open_order_socket() as orders:
        signal_process_on_parent_exit()
        preload_modules(PRELOADED_MODULES)
        from scoring.__main__ import build_argument_parser
        from scoring.metrics import build_metrics
        from tasks.types import task_types

        build_argument_parser()
        for kind in task_types().values():
            for rules in kind.rules:
                # A metric whose package is missing reports the package when it scores.
                with suppress(Exception):
                    build_metrics(kind, rules, kind.validate_options({}))
        ScorerServer(orders, readable=(), means=()).serve()


def _build_sandbox_rights(arguments: Sequence[str]) -> SandboxRights:
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
        if (found := _ABSOLUTE_PATH_PATTERN.search(argument))
    ]
    writable_cache = Path(os.environ.get("CITEBOARD_CACHE_DIR") or caches / "citeboard")
    with suppress(OSError):
        # If the cache folder cannot be created, nothing is cached.
        writable_cache.mkdir(parents=True, exist_ok=True)
    paths: list[str | Path] = [
        *READABLE_SYSTEM_PATHS,
        *prefixes,
        *SITE_CODE_FOLDERS,
        *models,
        *named,
    ]
    writable = [
        Path.cwd(),
        writable_cache,
        *(libraries / folder for folder in LOCK_FILE_FOLDERS),
    ]
    # Programs need write access to these devices to use a GPU.
    writable += [
        Path(path)
        for pattern in GPU_DEVICE_PATTERNS
        for path in Path("/").glob(pattern)
    ]
    return SandboxRights(
        readable=[Path(path) for path in paths],
        writable=writable,
        may_start_processes=True,
        may_set_limits=True,
    )


if __name__ == "__main__":
    run_scorer_server()
