"""Start the site and its workers, restart each process if the process exits or hangs,
and end all processes together.
"""

import logging
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
from django.conf import settings
from django.db import DatabaseError, connections

from citeboard.core.confined.pool import THREAD_COUNT_VARIABLES
from citeboard.core.confined.turns import MAX_READ_REQUESTS_PER_SLOT
from citeboard.core.confinement import find_reason_for_refusing_uploads
from citeboard.core.database import (
    UnusableSchema,
    fetch_database_time,
    raise_if_schema_unusable,
)
from citeboard.core.instruments import (
    PROMETHEUS_FOLDER_VARIABLE,
    count_answered_requests,
    create_metrics_folder,
    remove_metrics_folders,
)
from citeboard.core.processes import ProcessGroup
from citeboard.core.upload_queue import MAX_UPLOADS_BEFORE_REJECTION
from citeboard.core.writability import write_heartbeats_until
from citeboard.ops.pruning import (
    post_mails_and_events_until,
    run_step_safely,
    run_sweep_steps,
)
from tasks.jobs.engine import expire_leases_of_owner, wake_unclaimed_jobs
from tasks.jobs.queue_choice import WorkerGroupWatchdog, delete_worker_group
from tasks.jobs.sweeper import sweep_jobs
from tasks.submissions.uploads import remove_incomplete_uploads

SITE_PROCESS_KIND, WORKER_PROCESS_KIND = "site", "worker"
SUPERVISED_PROCESS_KINDS = (SITE_PROCESS_KIND, WORKER_PROCESS_KIND)

CHECK_INTERVAL_SECONDS = 0.1  # seconds between checks of the processes
STOP_TIMEOUT_SECONDS = 10  # seconds until remaining processes are killed
HANG_TIMEOUT_SECONDS = (
    2  # seconds until the remaining processes of a part that hangs are killed
)
MAX_FAILED_STARTS = 5  # number of consecutive failed starts after which `serve` exits

#: The modification time of the file WORKERS_WATCHED_FILE is the time of the last check of workers.
#: The script `scripts/healthcheck.py` reads the modification time of the file WORKERS_WATCHED_FILE.
WORKERS_WATCHED_FILE = "workers-watched"

REPOSITORY_FOLDER = Path(__file__).resolve().parents[3]

log = logging.getLogger(__name__)


class ServingFailed(Exception):
    pass


class SiteSupervisor:
    def __init__(
        self, parts: Collection[str], *, announce: Callable[[str], object]
    ) -> None:
        self._address = f"{settings.BIND}-{settings.PORT}"
        variables = build_process_environment()
        if SITE_PROCESS_KIND in parts:
            variables[PROMETHEUS_FOLDER_VARIABLE] = self._counts = (
                create_metrics_folder(self._address)
            )
        self.groups = {
            part: ProcessGroup(part, build_process_command(part), variables)
            for part in parts
        }
        self.announce = announce
        self._ending, self._signals = threading.Event(), 0
        self._hangs = {part: threading.Event() for part in parts}
        self._failure = ""
        self._newer_schema: UnusableSchema | None = None

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._handle_end_signal)
        for group in self.groups.values():
            group.start()
        threads = self._start_threads()
        if reason := find_reason_for_refusing_uploads():
            self.announce(
                f"{reason[:1].upper()}{reason[1:]}. `manage.py doctor` says what can be done."
            )
        try:
            while not (self._signals or self._ending.is_set()):
                for part in self.groups:
                    self._supervise_process_group(part)
                reap_orphans({group.pid for group in self.groups.values()})
                gone = [thread.name for thread in threads if not thread.is_alive()]
                if gone and not self._ending.is_set():
                    self._record_failure_and_end(
                        f"Nobody looks after the {gone[0]} any more; the log says why."
                    )
                time.sleep(CHECK_INTERVAL_SECONDS)
        finally:
            self._ending.set()
            self._end_process_groups(self.groups, within=STOP_TIMEOUT_SECONDS)
            if SITE_PROCESS_KIND in self.groups:
                remove_metrics_folders(self._address)
        if self._newer_schema:
            raise self._newer_schema
        if self._failure:
            raise ServingFailed(self._failure)

    def _start_threads(self) -> list[threading.Thread]:
        keepers = {
            SITE_PROCESS_KIND: self._restart_hanging_site,
            WORKER_PROCESS_KIND: self._sweep_jobs_until_ended,
        }
        threads = [
            threading.Thread(target=keepers[part], name=part, daemon=True)
            for part in self.groups
        ]
        threads.append(
            threading.Thread(
                target=self._end_site_if_schema_is_newer, name="schema", daemon=True
            )
        )
        threads.append(
            threading.Thread(
                target=write_heartbeats_until,
                args=(self._ending,),
                name="heartbeat",
                daemon=True,
            )
        )
        if WORKER_PROCESS_KIND in self.groups:
            # Slow mail servers and webhooks must not delay sweeps.
            post = partial(post_mails_and_events_until, self._ending)
            threads.append(threading.Thread(target=post, name="posting", daemon=True))
        for thread in threads:
            thread.start()
        return threads

    def _handle_end_signal(self, number: int, frame: object) -> None:
        """Count the signals to end. At the first signal all processes end, and at the
        second signal the program exits at once.
        """
        self._signals += 1

    def _record_failure_and_end(self, reason: str) -> None:
        self._failure = reason
        self._ending.set()

    def _supervise_process_group(self, part: str) -> None:
        group = self.groups[part]
        if self._hangs[part].is_set():
            log.error("The %s hangs and is started anew", part)
            self._end_process_groups([part], within=HANG_TIMEOUT_SECONDS)
            self._hangs[part].clear()
        if not group.is_over():
            return
        if group.failures >= MAX_FAILED_STARTS:
            self._record_failure_and_end(
                f"The {part} ended {group.failures} times in a row as soon as it was started."
            )
        else:
            group.start_when_due()

    def _end_process_groups(self, parts: Collection[str], *, within: float) -> None:
        groups = [self.groups[part] for part in parts]
        if SITE_PROCESS_KIND in parts:
            self.groups[SITE_PROCESS_KIND].terminate_leader()
        if WORKER_PROCESS_KIND in parts:
            # The workers receive a signal, at which busy workers release their jobs.
            # The shutdown of Django Q would wait until the workers' jobs are done.
            self.groups[WORKER_PROCESS_KIND].terminate_followers()
        until = time.monotonic() + within
        # The method `is_over` also kills the processes that remain in a group.
        while [group for group in groups if not group.is_over()]:
            if self._signals > 1 or time.monotonic() > until:
                log.warning(
                    "What has not ended in time is killed: %s", ", ".join(parts)
                )
                break
            time.sleep(CHECK_INTERVAL_SECONDS)
        for group in groups:
            group.kill()

    def _sweep_jobs_until_ended(self) -> None:
        ready = f"The worker is ready: {settings.WORKERS} at a time."
        known, watchdog = None, WorkerGroupWatchdog("", workers=settings.PROCESSES)
        while not self._ending.is_set():
            name = self.groups[WORKER_PROCESS_KIND].group_name
            if (
                name is not None
                and name != known
                and run_step_safely(partial(_requeue_jobs_of_ended_process, known))
            ):
                known, watchdog = (
                    name,
                    WorkerGroupWatchdog(name, workers=settings.PROCESSES),
                )
            done = run_sweep_steps()
            if known == self.groups[WORKER_PROCESS_KIND].group_name and run_step_safely(
                watchdog.is_stuck
            ):
                self._hangs[WORKER_PROCESS_KIND].set()
            if done and ready and SITE_PROCESS_KIND not in self.groups:
                self.announce(ready)
            ready = ready if not done else ""
            touch_workers_watched_file()
            until = time.monotonic() + settings.SWEEP_SECONDS
            while time.monotonic() < until and not self._ending.wait(
                CHECK_INTERVAL_SECONDS
            ):
                if self.groups[WORKER_PROCESS_KIND].group_name not in (None, known):
                    break

    def _end_site_if_schema_is_newer(self) -> None:
        """End all processes of the site if its database belongs to a newer release.

        The newer release has removed a table or column that this release uses.
        """
        while not self._ending.wait(settings.SWEEP_SECONDS):
            try:
                raise_if_schema_unusable()
            except UnusableSchema as newer:
                self._newer_schema = newer
                self._ending.set()
            except DatabaseError:
                # Requests report an outage of the database, so the thread logs none.
                connections.close_all()

    def _restart_hanging_site(self) -> None:
        probe = SiteLivenessProbe(
            settings.BIND, settings.PORT, partial(count_answered_requests, self._counts)
        )
        known, ready = (
            None,
            f"Citeboard is ready on {settings.BASE_URL} (Ctrl-C ends it).",
        )
        patience = StartTimeLimit(settings.START_SECONDS)
        while not self._ending.wait(probe.pause if known else CHECK_INTERVAL_SECONDS):
            if (pid := self.groups[SITE_PROCESS_KIND].pid) is not None and pid != known:
                patience.start_clock()
                if probe.wait_for_answer(
                    partial(patience.is_start_overdue, pid), self._ending
                ):
                    known = pid
                    patience.reset_limit()
                    if ready:
                        self.announce(ready)
                    ready = ""
                elif not self._ending.is_set():
                    log.error(
                        "The site did not answer and computed nothing for %.0f s of its start",
                        patience.seconds,
                    )
                    patience.double()
                    self._hangs[SITE_PROCESS_KIND].set()
            elif pid is not None and probe.is_site_hanging():
                self._hangs[SITE_PROCESS_KIND].set()
            elif probe.is_refused:
                # All web processes have ended. The limit for starts applies to the new ones.
                known = None
            elif WORKER_PROCESS_KIND not in self.groups:
                # The thread that watches the workers must continue after disk errors.
                with suppress(OSError):
                    remove_incomplete_uploads()


def touch_workers_watched_file() -> None:
    with suppress(OSError):
        settings.WORK_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        (settings.WORK_DIR / WORKERS_WATCHED_FILE).touch()


def build_process_command(part: str) -> list[str]:
    manage = str(REPOSITORY_FOLDER / "manage.py")
    if part == WORKER_PROCESS_KIND:
        return [sys.executable, manage, "qcluster"]
    uploads = (
        MAX_UPLOADS_BEFORE_REJECTION + MAX_READ_REQUESTS_PER_SLOT * settings.CHECKS
    )
    options = {
        "host": settings.BIND,
        "port": settings.PORT,
        "workers": settings.WEB_WORKERS,
        "interface": "wsgi",
        # Pages need free threads while uploads wait, so each upload adds a thread.
        "blocking-threads": min(8, 2 * (os.cpu_count() or 1) + 1) + uploads,
        "respawn-interval": 0.5,
        "workers-kill-timeout": STOP_TIMEOUT_SECONDS // 2,
        # At levels below `error`, granian logs hints for people who start it by hand.
        "log-level": "error",
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    start = [
        sys.executable,
        "-P",
        "-m",
        "granian",
        *given,
        "--respawn-failed-workers",
        "--no-ws",
    ]
    return [*start, "citeboard.wsgi:application"]


def build_process_environment() -> dict[str, str]:
    path = os.pathsep.join(
        [str(REPOSITORY_FOLDER / "platform"), str(REPOSITORY_FOLDER)]
    )
    # Each web process uses one processor and leaves the other processors to scoring.
    single = dict.fromkeys(THREAD_COUNT_VARIABLES, "1")
    return {
        **single,
        # With an arena for each thread, glibc keeps more freed memory than it reuses.
        "MALLOC_ARENA_MAX": "2",
        **os.environ,
        "PYTHONPATH": path,
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
    }


def reap_orphans(own: Collection[int | None]) -> None:
    """Wait for exited orphaned processes, but not for the site's own processes ``own``.

    In a container, this process has id 1 and becomes the parent of all orphans.
    """
    if os.getpid() != 1:
        return
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in own:
            return
        os.waitpid(ended.si_pid, 0)


def _requeue_jobs_of_ended_process(gone: str | None) -> bool:
    if gone is not None:
        expire_leases_of_owner(gone)
        delete_worker_group(gone)
        sweep_jobs()
    wake_unclaimed_jobs(before=fetch_database_time())
    return True


class StartTimeLimit:
    """A limit on the time for which a starting web process may idle.

    Each time a starting process is killed, the limit is doubled, so that a slow machine
    has more time to start.
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first = self.seconds = seconds
        self._clock = clock
        self.start_clock()

    def start_clock(self) -> None:
        self._computed, self._since = -1.0, self._clock()

    def is_over(self, computed: float) -> bool:
        """Return True if a starting web process has idled for too long.

        ``computed`` is the processor time in seconds that the web process has used so
        far.
        """
        if computed > self._computed + MIN_PROCESSOR_SECONDS:
            self._computed, self._since = computed, self._clock()
        return self._clock() - self._since > self.seconds

    def is_start_overdue(self, group: int) -> bool:
        return self.is_over(measure_processor_seconds(group))

    def double(self) -> None:
        self.seconds *= 2

    def reset_limit(self) -> None:
        self.seconds = self._first


#: A process that only polls computes less than MIN_PROCESSOR_SECONDS seconds between checks.
MIN_PROCESSOR_SECONDS = 0.05


def measure_processor_seconds(group: int) -> float:
    """Return the processor seconds that a process group has used, including ended
    children.
    """
    seconds = 0.0
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group:
                times = process.cpu_times()
                seconds += times.user + times.system
                seconds += times.children_user + times.children_system
    return seconds


#: The site counts as hanging if MAX_UNANSWERED_RECENT_CHECKS of the last RECENT_CHECKS checks failed.
#: A single failed check does not count, because a working site can answer slowly once.
RECENT_CHECKS, MAX_UNANSWERED_RECENT_CHECKS = 6, 3


class SiteLivenessProbe:
    pause = 2.0  # seconds between two checks
    patience = 5.0  # seconds that an answer may take

    #: True if no web process listened at the last check, because all of them are starting.
    is_refused = False

    def __init__(
        self, address: str, port: int, answered_so_far: Callable[[], int]
    ) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, address)  # noqa: S104
        self._url = f"http://{host}:{port}/health/live"
        # The probe sends requests only to this machine and needs no proxy.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._recent_checks: deque[bool] = deque(maxlen=RECENT_CHECKS)
        self._answered_so_far = answered_so_far
        self._answered: int | None = None

    def answers(self) -> bool:
        # The site accepts the host `localhost` whatever its public name is.
        request = urllib.request.Request(self._url, headers={"Host": "localhost"})  # noqa: S310
        self.is_refused = False
        try:
            with self._opener.open(request, timeout=self.patience) as answer:
                return bool(answer.status == 200)
        except urllib.error.URLError as error:
            self.is_refused = isinstance(error.reason, ConnectionRefusedError)
            return False
        except OSError:
            return False

    def wait_for_answer(
        self, is_given_up: Callable[[], bool], ending: threading.Event
    ) -> bool:
        """Wait until the site answers a request.

        Returns False if ``is_given_up`` returns True or the program ends before an
        answer.
        """
        self._recent_checks.clear()
        while not ending.wait(0.1):
            if self.answers():
                return True
            if is_given_up():
                return False
        return False

    def is_site_hanging(self) -> bool:
        """Return True if the site answers neither the probe nor other requests.

        A site counts as busy, not as hanging, if it answers other requests while the
        probe waits. A site that refuses connections is starting.
        """
        is_answered = self.answers()
        if self.is_refused:
            return False
        if not is_answered:
            before, self._answered = self._answered, self._answered_so_far()
            is_answered = before is not None and self._answered > before
        self._recent_checks.append(is_answered)
        return self._recent_checks.count(False) >= MAX_UNANSWERED_RECENT_CHECKS
