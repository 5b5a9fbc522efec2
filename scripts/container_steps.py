"""Performs the Dockerfile's own steps in a clean folder, without a container engine.

Of the stages those that the target `slim` needs. Each is laid out in the same folder, so that paths written
down in one stage are true in the next, as they are in an image. What no folder can give is left out and said:
the base image is the Python of this machine, no packages of the system are installed, and ownership and
another user need root. The image itself is not built here.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.dockerfile import (
    Ignored,
    Stage,
    Step,
    declared_folders,
    needed_for,
    stages_of,
    steps_of,
)

ROOT = Path(__file__).resolve().parent.parent
IS_ROOT = os.geteuid() == 0
TARGET = "slim"
START = 60  # seconds until the started site must answer
STOP = 30  # seconds until a stopped site must be gone

# What an engine hands into a build: how to reach the package index, and nothing about this project.
PASSED_ON = (
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
)


def say(words: str) -> None:
    print(f"container: {words}", flush=True)


def readable_python(wanted: str) -> str:
    """A Python of the base image's version that another user may run too; any fit one where there is none."""
    folders = ["/usr/local/bin", "/usr/bin", *os.environ["PATH"].split(os.pathsep)]
    for folder in folders:
        real = Path(folder, f"python{wanted}").resolve()
        open_to_all = all(
            part.stat().st_mode & 0o001
            for part in (real, *real.parents)
            if part.exists()
        )
        if real.is_file() and open_to_all and _makes_environments(real):
            return str(real)
    say(f"no python{wanted} that every user may run; {sys.executable} stands in for it")
    return os.path.realpath(sys.executable)


def _makes_environments(python: Path) -> bool:
    return (
        subprocess.run(
            [python, "-c", "import venv, ensurepip"], capture_output=True, check=False
        ).returncode
        == 0
    )


@dataclass(frozen=True)
class Laid:
    """A stage that is done: where it lies now, and what its steps have set."""

    folder: Path
    environment: dict[str, str]
    workdir: Path
    user: tuple[int, int] | None
    kept: dict[str, Step]


class Build:
    """The folder the stages are laid out in, and what the steps so far have set."""

    def __init__(self, top: Path, steps: list[Step]) -> None:
        self.top = top
        self.base = top / "base"
        self.image = top / "image"
        self.stages: dict[str, Laid] = {}
        self.stage = ""
        self.folders = declared_folders(steps)
        self.ignored = Ignored((ROOT / ".dockerignore").read_text(encoding="utf-8"))
        self.kept: dict[str, Step] = {}
        self.environment: dict[str, str] = {}
        self.workdir = self.image
        self.user: tuple[int, int] | None = None

    def placed(self, text: str) -> str:
        """The text with the image's folders where they stand on this machine."""
        for folder in self.folders:
            text = text.replace(folder, f"{self.image}{folder}")
        return text

    def perform(self, step: Step) -> None:
        say(f"{step.word} {step.rest}")
        getattr(self, f"on_{step.word.lower()}")(step)

    def begin(self, stage: Stage) -> None:
        say(f"FROM {stage.base} AS {stage.name}")
        if self.stage:
            folder = self.image.rename(self.top / f"stage-{self.stage}")
            self.stages[self.stage] = Laid(
                folder, self.environment, self.workdir, self.user, self.kept
            )
        self.stage = stage.name
        self.image.mkdir()
        if stage.base in self.stages:
            self._go_on_from(self.stages[stage.base])
        else:
            self._begin_with(stage.base)

    def _go_on_from(self, laid: Laid) -> None:
        # With owners and modes.
        subprocess.run(["cp", "-a", f"{laid.folder}/.", str(self.image)], check=True)
        self.environment, self.kept = dict(laid.environment), dict(laid.kept)
        self.workdir, self.user = laid.workdir, laid.user

    def _begin_with(self, image: str) -> None:
        tag = image.partition("@")[0]
        self._lay_base(tag.removeprefix("python:").removesuffix("-slim"))
        path = f"{self.base}:/usr/local/bin:/usr/bin:/bin"
        self.environment = {"PATH": path, "HOME": str(self.base), "LANG": "C.UTF-8"}
        self.environment |= {
            name: value for name, value in os.environ.items() if name.startswith("PIP_")
        }
        self.environment |= {
            n: os.environ[n]
            for p in PASSED_ON
            for n in (p, p.upper())
            if n in os.environ
        }
        # The cache mount of the real build: what this machine's pip has fetched before.
        self.environment.setdefault(
            "PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip")
        )
        self.workdir, self.user, self.kept = self.image, None, {}

    def _lay_base(self, version: str) -> None:
        if self.base.exists():
            return
        self.base.mkdir()
        (self.base / "python").symlink_to(readable_python(version))
        if not IS_ROOT:
            say(
                "not run by root: nothing changes hands, and the site runs as this user"
            )
            shim = self.base / "chown"
            shim.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
            shim.chmod(0o755)

    def on_env(self, step: Step) -> None:
        self.environment |= {
            name: self.placed(value) for name, value in step.pairs().items()
        }

    def on_workdir(self, step: Step) -> None:
        self.workdir = Path(self.placed(step.rest))
        self.workdir.mkdir(parents=True, exist_ok=True)

    def on_arg(self, step: Step) -> None:
        """Its default stands in the step that uses it."""

    def on_run(self, step: Step) -> None:
        if step.rest.startswith("apt-get "):
            say("packages of the system are not installed here")
            return
        subprocess.run(
            ["/bin/sh", "-c", self.placed(step.rest)], check=True, **self.child()
        )

    def on_copy(self, step: Step) -> None:
        *sources, target = step.rest.split()
        stage = step.flags.get("from")
        to = (
            Path(self.placed(target))
            if target.startswith("/")
            else self.workdir / target
        )
        for source in sources:
            origin = (
                self.stages[stage].folder / source.lstrip("/")
                if stage
                else ROOT / source
            )
            ignored = None if stage else self._names_ignored
            if not stage and self.ignored(Path(source)):
                raise FileNotFoundError(f".dockerignore keeps {source} from the image")
            if origin.is_dir():
                shutil.copytree(
                    origin, to, symlinks=True, dirs_exist_ok=True, ignore=ignored
                )
            else:
                place = to / origin.name if target.endswith("/") else to
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin, place)

    def _names_ignored(self, folder: str, names: list[str]) -> set[str]:
        within = Path(folder).relative_to(ROOT)
        return {name for name in names if self.ignored(within / name)}

    def on_user(self, step: Step) -> None:
        user, _, group = step.rest.partition(":")
        self.user = (int(user), int(group))

    def _keep(self, step: Step) -> None:
        self.kept[step.word] = step

    on_healthcheck = on_entrypoint = on_cmd = on_expose = on_volume = _keep

    def child(self, **more: str) -> dict[str, Any]:
        """How a process of the image is started: its folder, its environment, its user."""
        options: dict[str, Any] = {
            "cwd": self.workdir,
            "env": {**self.environment, **more},
        }
        if self.user and IS_ROOT:
            options |= {"user": self.user[0], "group": self.user[1], "extra_groups": []}
        return options


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


@contextmanager
def started(build: Build, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = build.kept["ENTRYPOINT"].command() + build.kept["CMD"].command()
    process = subprocess.Popen(
        [build.placed(word) for word in command],
        start_new_session=True,
        **build.child(PORT=str(port)),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_healthy(
    build: Build, process: subprocess.Popen[bytes], port: int
) -> None:
    check = [build.placed(word) for word in build.kept["HEALTHCHECK"].command()]
    end = time.monotonic() + START
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(
                f"the site ended by itself with exit code {process.returncode}"
            )
        asked = subprocess.run(
            check, capture_output=True, check=False, **build.child(PORT=str(port))
        )
        if asked.returncode == 0:
            return
        time.sleep(0.5)
    raise RuntimeError(
        f"the health check did not pass in {START} s: {asked.stderr.decode().strip()}"
    )


def prove_user(build: Build, process: subprocess.Popen[bytes]) -> None:
    """The site must not run as root, and may write nothing but its data folder."""
    if build.user is None or build.user[0] == 0:
        raise RuntimeError("the image runs as root")
    if not IS_ROOT:
        return
    owner = Path(f"/proc/{process.pid}").stat().st_uid
    if owner != build.user[0]:
        raise RuntimeError(f"the site runs as user {owner} and not as {build.user[0]}")
    volumes = [build.placed(volume) for volume in build.kept["VOLUME"].rest.split()]
    outside = [
        path
        for path in build.image.rglob("*")
        if path.lstat().st_uid == owner
        and not any(path.is_relative_to(volume) for volume in volumes)
    ]
    if outside:
        raise RuntimeError(f"the site's user owns {outside[0]}, which is code")
    say(f"runs as user {owner}, who owns nothing but {', '.join(volumes)}")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP)
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            f"the site did not stop within {STOP} s of being asked to"
        ) from None


def main() -> None:
    begun = time.monotonic()
    steps = steps_of((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="citeboard-image-") as top:
        Path(top).chmod(0o755)
        build = Build(Path(top).resolve(), steps)
        try:
            for stage in needed_for(TARGET, stages_of(steps)):
                build.begin(stage)
                for step in stage.steps:
                    build.perform(step)
            port = free_port()
            with started(build, port) as process:
                wait_until_healthy(build, process, port)
                say("the health check passes")
                prove_user(build, process)
                stop(process)
        except (
            OSError,
            RuntimeError,
            ValueError,
            subprocess.CalledProcessError,
        ) as reason:
            sys.exit(f"container: {reason}")
    seconds = time.monotonic() - begun
    say(
        f"every step of the target {TARGET} was performed in {seconds:.0f} s; no image was built"
    )


if __name__ == "__main__":
    main()
