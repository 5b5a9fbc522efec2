"""Read the parts of a corpus into separate databases, and then merge the databases in
the order of the parts.

The division of a corpus depends only on the corpus, so the merged database is the same
for any number of processes.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from scoring.tools.builders.corpus import RULES_SPLITTER_NAME, choose_splitter
from scoring.tools.builders.reading import (
    CorpusLoader,
    add_records,
    choose_loader,
    make_refusal,
)
from scoring.tools.builders.store import CorpusStore
from tasks.types.problems import (
    InputRefused,
    Problem,
    convert_to_unavailable,
    raise_if_any_problem_is_fatal,
)

#: The size in bytes of the parts into which large files of a corpus are divided.
#: A compressed or smaller file of a corpus is a single part.
PART_BYTES = 64 << 20
#: Increase the version if a change of the code changes a part's database.
PART_FORMAT_VERSION = 2
MANIFEST_FILE, LOCK_FILE, STORE_FILE, PARTS_FOLDER = (
    "work.json",
    "lock",
    "corpus",
    "parts",
)


@dataclass(frozen=True, kw_only=True)
class CorpusPart:
    """The task of one process, which reads a byte range of a file, or a whole corpus if
    the format cannot be divided.
    """

    path: Path
    form: str
    #: Settings of the database into which the part is read.
    settings: Mapping[str, Any]
    out: Path
    start: int = 0
    end: int | None = None


def split_into_parts(
    corpus: Path, form: CorpusLoader, folder: Path, settings: Mapping[str, Any]
) -> Iterator[CorpusPart]:
    stretches: list[tuple[Path, int, int | None]] = []
    for path in [corpus] if form.files is None else form.files(corpus):
        size = path.stat().st_size if form.files is not None and path.is_file() else 0
        if size <= PART_BYTES or path.suffix == ".gz":
            stretches.append((path, 0, None))
        else:
            stretches += [
                (path, start, min(start + PART_BYTES, size))
                for start in range(0, size, PART_BYTES)
            ]
    for number, (path, start, end) in enumerate(stretches):
        out = folder / f"{number:06d}"
        yield CorpusPart(
            path=path, form=form.name, settings=settings, out=out, start=start, end=end
        )


def read_part_into_store(part: CorpusPart) -> list[Problem]:
    path = make_unfinished_path(part.out)
    try:
        form = choose_loader(part.form, part.path)
        with closing(CorpusStore(path, **part.settings)) as store:
            if form.add is None:
                form.load(part.path, store)
            else:
                add_records(part.path, form.add, store, part.start, part.end)
            store.connection.commit()
    except InputRefused as refused:
        path.unlink(missing_ok=True)
        return refused.problems
    path.replace(part.out)
    return []


@contextmanager
def read_corpus(
    corpus: Path,
    form: str,
    workers: Workers,
    work: Path | None = None,
    *,
    with_texts: bool = False,
    around: int = 1,
    sentences: str = RULES_SPLITTER_NAME,
) -> Iterator[CorpusStore]:
    read = choose_loader(form, corpus)
    if sentences != RULES_SPLITTER_NAME and not read.has_paragraphs:
        message = f"a corpus of the form {read.name} has sentences already, which “{sentences}” cannot split"
        raise make_refusal(
            message, corpus, "no --sentences, or full texts (unarxive, s2orc)"
        )
    settings: dict[str, Any] = {
        "with_texts": with_texts,
        "around": around,
        "sentences": sentences,
    }
    with ExitStack() as stack:
        folder = work or Path(
            stack.enter_context(TemporaryDirectory(prefix="citeboard-build-"))
        )
        if work is not None:
            how = {
                "form": read.name,
                **settings,
                "sentences": choose_splitter(sentences).name,
            }
            stack.enter_context(_prepare_work_folder(work, corpus, how))
        path = folder / STORE_FILE
        path.unlink(missing_ok=True)
        store = stack.enter_context(closing(CorpusStore(path, **settings)))
        stack.callback(path.unlink)
        if work is None and workers.is_single_process:
            read.load(corpus, store)
        else:
            (folder / PARTS_FOLDER).mkdir(exist_ok=True)
            divided = list(
                split_into_parts(corpus, read, folder / PARTS_FOLDER, settings)
            )
            workers.run(read_part_into_store, divided)
            for part in divided:
                store.merge_part(part.out)
        yield store


@contextmanager
def _prepare_work_folder(
    work: Path, corpus: Path, how: Mapping[str, Any]
) -> Iterator[None]:
    work.mkdir(parents=True, exist_ok=True)
    manifest = work / MANIFEST_FILE
    files = (
        [corpus]
        if corpus.is_file()
        else sorted(filter(Path.is_file, corpus.rglob("*")))
    )
    stats = [(str(path.relative_to(corpus)), path.stat()) for path in files]
    listed = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
    wanted = {
        "version": PART_FORMAT_VERSION,
        **how,
        "part": PART_BYTES,
        "files": listed,
    }
    if manifest.is_file():
        try:
            there = json.loads(manifest.read_text(encoding="utf-8"))
        except ValueError:
            there = None
        if there != wanted:
            before = there if isinstance(there, dict) else {}
            differing = ", ".join(
                name for name in wanted if before.get(name) != wanted[name]
            )
            message = (
                f"the folder holds parts that were read otherwise: {differing} differ"
            )
            raise make_refusal(
                message, manifest, "the same corpus and options, or another folder"
            )
    elif any(work.iterdir()):
        raise make_refusal(
            "the folder has other files", work, "an empty one, or a new one"
        )
    unfinished = make_unfinished_path(manifest)
    unfinished.write_text(
        json.dumps(wanted, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    unfinished.replace(manifest)
    with work.joinpath(LOCK_FILE).open("w") as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as taken:
            raise make_refusal(
                "another build works in this folder", work, "one build at a time"
            ) from taken
        for unfinished in work.rglob(f"*{UNFINISHED_FILE_ENDING}"):
            unfinished.unlink()
        yield


#: Maximum number of restarts of all processes after the system killed a process.
MAX_POOL_RESTARTS = 5
UNFINISHED_FILE_ENDING = ".unfinished"
#: Maximum number of seconds to wait for the first answer of the cluster.
CLUSTER_TIMEOUT_SECONDS = 30

#: A function that runs a task in another process and writes the task's output file.
#: The function returns the problems that it finds in the task's input.
RunTask = Callable[[Any], list[Problem]]


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Runs tasks in ``jobs`` processes, or on the cluster at the address ``cluster``.

    Each task writes the output file ``out``.
    """

    jobs: int = 1
    cluster: str = ""

    @property
    def is_single_process(self) -> bool:
        return self.jobs == 1 and not self.cluster

    def run(self, run: RunTask, tasks: Sequence[Any]) -> None:
        open_tasks = [task for task in tasks if not task.out.exists()]
        if self.cluster:
            with convert_to_unavailable("--cluster needs the package distributed"):
                from distributed import Client
            with convert_to_unavailable(
                f"no cluster answers at {self.cluster}: {{}}", OSError, ValueError
            ):
                client = Client(self.cluster, timeout=CLUSTER_TIMEOUT_SECONDS)
            with client:
                for future in [
                    client.submit(run, task, pure=False) for task in open_tasks
                ]:
                    raise_if_any_problem_is_fatal(future.result())
        elif self.jobs > 1:
            _run_in_processes(run, open_tasks, self.jobs)
        else:
            for task in open_tasks:
                raise_if_any_problem_is_fatal(run(task))


#: Runs all tasks in the current process.
SINGLE_PROCESS = Workers()


def make_unfinished_path(out: Path) -> Path:
    """Return a unique temporary path for the file ``out``. The caller renames the
    temporary file to ``out`` when the file is complete.
    """
    return out.with_name(f"{out.name}.{uuid4().hex}{UNFINISHED_FILE_ENDING}")


def _run_in_processes(run: RunTask, tasks: Sequence[Any], jobs: int) -> None:
    for _ in range(MAX_POOL_RESTARTS):
        tasks = [task for task in tasks if not task.out.exists()]
        pool = ProcessPoolExecutor(
            jobs, mp_context=get_context("spawn"), initializer=_exit_when_parent_ends
        )
        try:
            for future in [pool.submit(run, task) for task in tasks]:
                raise_if_any_problem_is_fatal(future.result())
        except BrokenProcessPool:
            continue
        finally:
            pool.shutdown(cancel_futures=True)
        return
    message = (
        f"a process was killed {MAX_POOL_RESTARTS} times, perhaps for want of memory; "
        "what is done is kept"
    )
    raise make_refusal(message, expected="fewer processes (--jobs) or more memory")


def _exit_when_parent_ends() -> None:
    parent = parent_process()
    assert parent is not None, "called in a process that another one started"

    def wait_for_parent_to_end() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait_for_parent_to_end, daemon=True).start()
