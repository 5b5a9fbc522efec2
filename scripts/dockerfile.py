"""Reads a Dockerfile and its .dockerignore as far as ours use them; anything else is refused by name."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

KNOWN = {
    "ARG",
    "FROM",
    "ENV",
    "WORKDIR",
    "RUN",
    "COPY",
    "VOLUME",
    "USER",
    "EXPOSE",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}


@dataclass(frozen=True)
class Step:
    """One instruction: its word, its flags (`--from=build`) and the rest of it."""

    word: str
    flags: dict[str, str]
    rest: str

    def command(self) -> list[str]:
        """The program and its arguments, from the JSON form or the shell form."""
        if self.rest.startswith("["):
            return [str(part) for part in json.loads(self.rest)]
        return ["/bin/sh", "-c", self.rest]

    def pairs(self) -> dict[str, str]:
        """The names and values of an ENV."""
        return dict(part.split("=", 1) for part in shlex.split(self.rest))


def steps_of(text: str) -> list[Step]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [_step(line.strip()) for line in joined.splitlines() if line.strip()]


def _step(line: str) -> Step:
    word, _, rest = line.partition(" ")
    word = word.upper()
    if word not in KNOWN:
        raise ValueError(f"the Dockerfile says {word}, which is not performed here")
    flags = {}
    rest = rest.strip()
    while match := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
        flags[match[1]] = match[2]
        rest = rest[match.end() :]
    if word == "HEALTHCHECK":
        rest = rest.removeprefix("CMD").strip()
    return Step(word=word, flags=flags, rest=rest)


@dataclass(frozen=True)
class Stage:
    """One image of several; ``base`` is another stage's name, or an image of somebody else's."""

    name: str
    base: str
    steps: tuple[Step, ...]

    @property
    def sources(self) -> set[str]:
        """The stages that must be there before."""
        return {self.base} | {
            step.flags["from"] for step in self.steps if "from" in step.flags
        }


def stages_of(steps: Sequence[Step]) -> dict[str, Stage]:
    """By name, in their order; an argument that stands before the first has its default there."""
    defaults: dict[str, str] = {}
    found: dict[str, Stage] = {}
    name, base, own = "", "", list[Step]()
    for step in steps:
        if step.word == "FROM":
            if name:
                found[name] = Stage(name, base, tuple(own))
            image, _, name = step.rest.partition(" AS ")
            name, own = name or "final", []
            base = re.sub(r"\$\{(\w+)\}", lambda match: defaults[match[1]], image)
        elif name:
            own.append(step)
        elif step.word == "ARG":
            argument, _, default = step.rest.partition("=")
            defaults[argument] = default
        else:
            raise ValueError(f"the Dockerfile says {step.word} before the first FROM")
    return found | {name: Stage(name, base, tuple(own))}


def needed_for(target: str, stages: Mapping[str, Stage]) -> list[Stage]:
    """The stages that an engine builds for one of them, in their order."""
    wanted = {target}
    for stage in reversed(list(stages.values())):
        if stage.name in wanted:
            wanted |= stage.sources
    return [stage for stage in stages.values() if stage.name in wanted]


def declared_folders(steps: Sequence[Step]) -> list[str]:
    """The folders of the image that the steps work in, the longest first."""
    folders = {
        folder
        for step in steps
        if step.word in ("WORKDIR", "VOLUME")
        for folder in step.rest.split()
    }
    return sorted(folders, key=len, reverse=True)


class Ignored:
    """What of the context never reaches the engine; the last line that fits decides."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines()]
        self.rules = [line for line in lines if line and not line.startswith("#")]

    def __call__(self, path: Path) -> bool:
        """For a path relative to the context."""
        ignored = False
        for rule in self.rules:
            if self._fits(rule.removeprefix("!"), PurePosixPath(path.as_posix())):
                ignored = not rule.startswith("!")
        return ignored

    @staticmethod
    def _fits(pattern: str, path: PurePosixPath) -> bool:
        # A rule for a folder holds for all that is in it.
        above = [path, *path.parents][:-1]
        if pattern.startswith("**/"):
            return any(
                fnmatch(part.name, pattern.removeprefix("**/")) for part in above
            )
        depth = pattern.count("/") + 1
        return any(
            fnmatch(str(part), pattern) for part in above if len(part.parts) == depth
        )
