"""Run the official programs of tasks in a sandbox. Each run of a program has a new
process, which a separate server forks.

The process can read the interpreter, the site's packages and one folder with the
program, the gold and the answers of one run. The process cannot start processes or
threads, open sockets, or write outside of its folder. Limits on time, memory and files
apply to the process. If the kernel lacks one of the three required means of protection,
no official program runs. This module does not import Django.
"""

import builtins
import importlib.util
import os
import pickle
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from citeboard.core.confined.limits import ResourceLimits, choose_exit_code
from citeboard.core.confined.pool import (
    ForkServerSetup,
    ResourceLimitExceeded,
    SandboxedFunctionCall,
    SandboxedProgramFailed,
    SandboxPool,
)
from citeboard.core.confined.rights import CONFINEMENT_MECHANISMS
from scoring.metrics import official
from scoring.metrics.base import Floats
from scoring.metrics.official_run import (
    PROGRAM_FOLDER,
    place_program,
    read_program_scores,
    select_finite_numbers,
)
from tasks.types.declared.official_program import (
    list_imported_modules,
    parse_program_json,
)

#: Names of the file with the pickled arguments and of the folder with the program.
PICKLED_CALL_FILE_NAME, PROGRAM_FOLDER_NAME = "call", "app"
ENTRY_POINT = "scoring.worker.program_sandbox:answer"
#: If a program imports one of these packages, the server imports the package first.
#: The process later runs as the user `nobody`, who may not be able to read packages.
PRELOADABLE_MODULES = (
    "nltk",
    "numpy",
    "pandas",
    "rouge_score",
    "sacrebleu",
    "scipy",
    "scipy.special",
    "scipy.stats",
    "sklearn",
    "sklearn.metrics",
)
#: Modules that are imported before the process loses access to the site's folders.
PRELOADED_SITE_MODULES = ("scoring.worker.program_sandbox", "csv", "pickle")
#: Packages of the site, which an official program cannot import.
SITE_PACKAGES = frozenset({"citeboard", "scoring", "tasks"})
#: Limits on the sizes and the number of files that an official program may write.
#: Scorers have separate limits.
MAX_FILE_MB, MAX_TOTAL_FILES_MB, MAX_WRITTEN_FILES, MAX_OPEN_FILES = 64, 256, 1_000, 32
#: A run of a program gets the time limit of the scorer divided by this number.
#: The program runs twice, and the scorer needs time to report the result.
TIME_LIMIT_DIVISOR = 4


def build_program_pool(text: str, *, root: Path, work_folder: Path) -> SandboxPool:
    """Return a process pool that can run the official program of a task. ``root`` is
    the folder with the source code of the site.
    """
    heads = {
        name.partition(".")[0]
        for name in list_imported_modules(parse_program_json(text))
    }
    ready = [name for name in PRELOADABLE_MODULES if name.partition(".")[0] in heads]
    setup = ForkServerSetup(
        path=[root / "platform", root],
        readable=[],
        preload=[
            *PRELOADED_SITE_MODULES,
            *(name for name in ready if _is_module_installed(name)),
        ],
        means=CONFINEMENT_MECHANISMS,
        # A fixed hash seed gives sets the same order in both runs of the program.
        variables={"PYTHONHASHSEED": "0"},
    )
    return SandboxPool(size=1, work_folder=work_folder, setup=setup)


def _is_module_installed(name: str) -> bool:
    with suppress(ImportError, ValueError):
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    return False


def build_limits_of_program(limits: ResourceLimits) -> ResourceLimits:
    """Return the limits on time, memory and files for one run of an official program.
    ``limits`` are the limits of the scorer that calls the program.
    """
    return replace(
        limits,
        cpu_seconds=max(1, limits.cpu_seconds // TIME_LIMIT_DIVISOR),
        wall_seconds=limits.wall_seconds / TIME_LIMIT_DIVISOR,
        file_mb=MAX_FILE_MB,
        total_mb=MAX_TOTAL_FILES_MB,
        total_files=MAX_WRITTEN_FILES,
        max_files=MAX_OPEN_FILES,
        max_processes=0,
        steps=1,
    )


def run_program_twice(
    pool: SandboxPool, limits: ResourceLimits, call: official.ProgramCall
) -> Floats:
    """Return the scores that the official program of a task computes, as an array of
    shape (columns,). Raises SandboxedProgramFailed.

    The function runs the program twice and raises an exception if the two results
    differ.
    """
    first, second = (_run_program(pool, limits, call) for _ in range(2))
    if not np.array_equal(first, second):
        raise official.build_nondeterminism_failure()
    return first


def _run_program(
    pool: SandboxPool, limits: ResourceLimits, call: official.ProgramCall
) -> Floats:
    work = SandboxedFunctionCall(
        program=ENTRY_POINT,
        arguments={},
        limits=limits,
        files={PICKLED_CALL_FILE_NAME: pickle.dumps(call)},
        is_ours=False,
    )
    try:
        with pool.done(work) as done:
            return _parse_program_output(call, done.result)
    except ResourceLimitExceeded as reason:
        raise official.build_program_failure(
            f"the official program was ended: {reason}"
        ) from reason
    except SandboxedProgramFailed as reason:
        words = "the official program ended without an answer"
        raise official.build_program_failure(words) from reason


def _parse_program_output(call: official.ProgramCall, told: Any) -> Floats:
    match told:
        case {"scores": dict() as scores}:
            return official.parse_program_scores(call, select_finite_numbers(scores))
        case {"failed": str() as kind} if kind in _BUILTIN_EXCEPTION_NAMES:
            raise official.build_program_failure(
                f"the official program ended in {kind}"
            )
        case {"failed": "exit"}:
            raise official.build_program_failure(
                "the official program ended with an exit code"
            )
        case {"failed": str()}:
            raise official.build_program_failure(
                "the official program ended in an error"
            )
    raise official.build_program_failure("the official program ended without an answer")


#: Only names of built-in exceptions are shown, because a program can name classes.
_BUILTIN_EXCEPTION_NAMES = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
)


class _ProgramModuleImporter(MetaPathFinder, Loader):
    """Imports the modules of an official program by relative paths. The import system
    of Python would convert relative paths to absolute paths.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        stem = f"{self._folder}/{name.replace('.', '/')}"
        files = {f"{stem}.py": False, f"{stem}/__init__.py": True}
        for file, is_package in files.items():
            if os.path.isfile(file):  # noqa: PTH113
                return ModuleSpec(name, self, origin=file, is_package=is_package)
        if os.path.isdir(stem):  # noqa: PTH112
            return ModuleSpec(name, None, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        path = str(module.__spec__.origin)
        module.__file__ = path
        exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)  # noqa: S102


def _run_program_as_main_module(path: str) -> None:
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = builtins
    exec(compile(Path(path).read_bytes(), path, "exec"), main.__dict__)  # noqa: S102


def _can_open_folder(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return True


def _remove_site_modules() -> dict[str, ModuleType]:
    """Remove the site's modules from `sys.modules`, and return these modules.

    If the modules stayed imported, a program that imports its own module `scoring` or
    `tasks` would get the module of the site.
    """
    own = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in SITE_PACKAGES
    }
    for name in own:
        del sys.modules[name]
    return own


def answer(_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run an official program in the confined process in which this function is called.
    Return the scores that the program computes, or the kind of its failure.
    """
    # The user `nobody` may not be able to open this folder by its absolute path.
    home, app = os.open(".", os.O_RDONLY | os.O_DIRECTORY), Path(PROGRAM_FOLDER_NAME)
    app.mkdir()
    path = str(Path.cwd() / PROGRAM_FOLDER_NAME)
    seen_as = path if _can_open_folder(path) else ".."
    if seen_as == "..":
        # With a relative working directory, `os.path.abspath` returns paths that open.
        os.getcwd = lambda: "."
    call: official.ProgramCall = pickle.loads(Path(PICKLED_CALL_FILE_NAME).read_bytes())  # noqa: S301  (our own process wrote it)
    Path(PICKLED_CALL_FILE_NAME).unlink()
    program = parse_program_json(call.text)
    placed = place_program(program, app, seen_as, gold=call.gold, answers=call.answers)
    ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = [folder for folder in sys.path if folder not in ours]
    os.environ.clear()
    os.environ.update(placed.variables)
    os.chdir(app / PROGRAM_FOLDER)
    site_modules = _remove_site_modules()
    own_folder = placed.entry.rpartition("/")[0]
    sys.path[:] = [own_folder, *folders]
    sys.meta_path.append(_ProgramModuleImporter(own_folder))
    sys.argv[:] = [placed.entry, *placed.arguments]
    ended: dict[str, Any] | None = None
    try:
        _run_program_as_main_module(placed.entry)
    except SystemExit as end:
        ended = {"failed": "exit"} if end.code not in (None, 0) else None
    except Exception as error:
        if choose_exit_code(error) is not None:
            # The exit code of the process tells the pool which limit was exceeded.
            raise
        ended = {"failed": type(error).__name__}
    finally:
        os.fchdir(home)
        sys.modules.update(site_modules)
    return ended or {"scores": read_program_scores(app)}
