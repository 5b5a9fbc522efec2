"""What other processes run in the tests of building at scale: readers that end in the middle."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from scoring.tools.builders.parts import make_unfinished_path
from tasks.types import Problem


@dataclass(frozen=True, kw_only=True)
class Step:
    out: Path
    #: Whoever takes the step while this file is absent is killed, once.
    killed: Path | None = None
    problem: str = ""


def take(step: Step) -> list[Problem]:
    if step.killed is not None and not step.killed.exists():
        step.killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if step.problem:
        return [Problem(message=step.problem)]
    # Whole or not at all, as every task writes: another one's death may end this process too.
    unfinished = make_unfinished_path(step.out)
    unfinished.write_text(step.out.name)
    unfinished.rename(step.out)
    return []


def always_killed(step: Step) -> list[Problem]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def build_and_die(stretch: int, parts: int, arguments: list[str]) -> None:
    """Run the command in this process, which is killed when it has read so many parts."""
    from scoring.__main__ import main
    from scoring.tools.builders import parts as module

    read_part, module.PART_BYTES = module.read_part_into_store, stretch

    def reading(part: module.CorpusPart) -> list[Problem]:
        if int(part.out.name) == parts:
            os.kill(os.getpid(), signal.SIGKILL)
        return read_part(part)

    module.read_part_into_store = reading
    main(arguments)


if __name__ == "__main__":
    build_and_die(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
