"""Work in several processes of this machine, or on a Dask cluster: every task writes a file of its own.

A task whose file is there is done, so that what was stopped goes on, and a process that is killed costs no
more than the task that it had. Files appear whole or not at all.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from tasks.types.problems import InputRefused, Problem
from tasks.types.unavailable import Unavailable

#: So often all processes are started anew after one of them was killed.
RESTARTS = 5
UNFINISHED = ".unfinished"
#: Seconds in which a cluster has to answer.
PATIENCE = 30


class Task(Protocol):
    @property
    def out(self) -> Path:
        """The file that it writes."""


#: Writes a task's file and gives what is wrong with its input; called in another process.
Run = Callable[[Any], list[Problem]]


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Where tasks run: in so many processes, or on the cluster at this address."""

    jobs: int = 1
    cluster: str = ""

    @property
    def are_alone(self) -> bool:
        """Whether all is done in this very process."""
        return self.jobs == 1 and not self.cluster

    def run(self, run: Run, tasks: Sequence[Task]) -> None:
        """Run the tasks whose files are not there yet.

        Raises InputRefused with the problems of the first task that has any, however many processes run.
        """
        open_tasks = [task for task in tasks if not task.out.exists()]
        if self.cluster:
            _on_cluster(run, open_tasks, self.cluster)
        elif self.jobs > 1:
            _in_processes(run, open_tasks, self.jobs)
        else:
            for task in open_tasks:
                _refuse(run(task))


#: All in this very process.
ALONE = Workers()


def whole(out: Path) -> Path:
    """Where to write what is then renamed to ``out``; two processes never share one."""
    return out.with_name(f"{out.name}.{uuid4().hex}{UNFINISHED}")


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise InputRefused(problems)


def _in_processes(run: Run, tasks: Sequence[Task], jobs: int) -> None:
    for _ in range(RESTARTS):
        tasks = [task for task in tasks if not task.out.exists()]
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_parent)
        try:
            for future in [pool.submit(run, task) for task in tasks]:
                _refuse(future.result())
        except BrokenProcessPool:
            continue
        finally:
            pool.shutdown(cancel_futures=True)
        return
    message = f"a process was killed {RESTARTS} times, perhaps for want of memory; what is done is kept"
    raise InputRefused([Problem(message=message, expected="fewer processes (--jobs) or more memory")])


def _end_with_parent() -> None:
    """A process that waits for work does not notice by itself that nobody is left to give it any."""
    parent = parent_process()
    assert parent is not None, "called in a process that another one started"

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_cluster(run: Run, tasks: Sequence[Task], address: str) -> None:
    """Dask gives the task of a worker that is lost to another one."""
    try:
        from distributed import Client
    except ImportError as missing:
        raise Unavailable("--cluster needs the package distributed") from missing
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as fault:
        raise Unavailable(f"no cluster answers at {address}: {fault}") from fault
    with client:
        futures = [client.submit(run, task, pure=False) for task in tasks]
        for future in futures:
            _refuse(future.result())
