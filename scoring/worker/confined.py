"""The scorer's own process: the offline scorer behind limits, gone when whoever started it is gone.

`python -P -m scoring.worker.confined` gets ready and waits for one line on standard input that says what to
score. It ends when standard input closes, whatever it is doing. It knows neither database nor storage. Of the
file system it sees what it is told to read, the models that are installed, and its own folder.
"""

import json
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from citeboard.core.confined.limits import Limits, apply_limits, die_with_parent, exit_code_of
from citeboard.core.confined.rights import Rights, give_up

#: Exit codes that are the offline scorer's own words, for a refused run and for a model it lacks.
REFUSED = 2
UNAVAILABLE = 6
NICENESS = 5
READY = (
    "scoring.__main__",
    "scoring.offline.evaluate",
    "scoring.offline.evaluate",
    "numpy.random",
    "rapidfuzz.distance",
)
ROOT = Path(__file__).resolve().parents[2]
#: What libraries ask of the machine, none of it secret, and where systems keep data for programs.
SYSTEM = (
    *("/usr", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/etc/localtime", "/etc/ld.so.cache"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system"),
)
#: Devices of a GPU and what its driver says of it.
GPUS = ("dev/nvidia*", "dev/dri", "proc/driver/nvidia")
#: Folders of data in which a library locks a file to read it: that of LexRank's, for the names of domains.
LOCKED = ("urlextract/data",)
_ABSOLUTE_PATH = re.compile(r"(?:^|[=:])(/.*)")


def main() -> int:
    die_with_parent()
    os.nice(NICENESS)
    for module in READY:
        import_module(module)
    import_module("tasks.types").task_types()
    line = b""
    while not line.endswith(b"\n"):
        # Unbuffered and byte by byte: the rest of standard input belongs to the thread that watches it.
        byte = os.read(0, 1)
        if not byte:
            return 0
        line += byte
    order: Mapping[str, Any] = json.loads(line)
    if order["uses_kernel"]:
        # Before there is a second thread, which would keep its rights.
        give_up(_rights(order["arguments"]))
    threading.Thread(target=_end_when_left_alone, daemon=True).start()
    apply_limits(Limits(**order["limits"]))
    from scoring.__main__ import main as offline

    try:
        return offline(order["arguments"])
    except (MemoryError, OSError) as error:
        if (code := exit_code_of(error)) is None:
            raise
        return code


def _rights(arguments: Sequence[str]) -> Rights:
    home = Path.home()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    models: list[str | Path] = [os.environ.get("HF_HOME") or caches / "huggingface"]
    models += [os.environ["CITEBOARD_MODELS_DIR"]] if "CITEBOARD_MODELS_DIR" in os.environ else []
    models += [home / "nltk_data", home / ".cache/torch"]
    models += [folder for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    code = [ROOT / name for name in ("platform", "tasks", "scoring")]
    libraries = Path(sysconfig.get_path("purelib"))
    prefixes: list[str | Path] = [sys.prefix, sys.base_prefix, libraries]
    named = [found.group(1) for argument in arguments if (found := _ABSOLUTE_PATH.search(argument))]
    writable_cache = Path(os.environ.get("CITEBOARD_CACHE_DIR") or caches / "citeboard")
    with suppress(OSError):
        # Where it cannot be made, nothing is kept.
        writable_cache.mkdir(parents=True, exist_ok=True)
    paths: list[str | Path] = [*SYSTEM, *prefixes, *code, *models, *named]
    readable = [Path(path) for path in paths]
    writable = [Path.cwd(), writable_cache, *(libraries / folder for folder in LOCKED)]
    # A GPU is spoken to through these, where there is one.
    writable += [Path(path) for pattern in GPUS for path in Path("/").glob(pattern)]
    return Rights(readable=readable, writable=writable, may_start_processes=True)


def _end_when_left_alone() -> None:
    while os.read(0, 1024):
        pass
    os._exit(1)


def run() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    run()
