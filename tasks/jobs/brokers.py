"""Brokers store wake-ups, by which worker groups learn that a job is waiting. Each
queue has a list of wake-ups, and worker groups take wake-ups from the lists.

The brokers of this module differ from django-q's brokers. A worker group reads the
lists of several queues, times come from the database's clock instead of each machine's
clock, and groups are notified instead of polling. A wake-up does not name a job, so one
waiting wake-up per list is enough. While Redis is unavailable, worker groups query the
database for waiting jobs.

PostgreSQL notifies listeners. With SQLite, each worker group reads a named pipe in the
machine's work folder. A worker group that cannot receive notifications, for example
behind a transaction pooler, polls for jobs once per second.
"""

import errno
import os
import secrets
import select
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol

import redis
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.brokers.redis_broker import Redis
from django_q.conf import Conf
from django_q.humanhash import uuid
from django_q.signing import SignedPackage
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from citeboard.core.commits import call_after_commit
from citeboard.core.database import database_time_expression
from citeboard.core.env import create_private_folder
from citeboard.core.outages import REDIS_SERVICE, log_outage, log_recovery
from citeboard.core.processes import build_process_group_name
from tasks.jobs.engine import WAKEUP_FUNCTION
from tasks.jobs.interruptions import default_on_database_error
from tasks.jobs.queue_choice import WorkerGroupHeartbeat, list_claimable_jobs

POSTGRESQL_NOTIFY_CHANNEL = "citeboard_wakes"


class WakeupListener(Protocol):
    def wait_for_wakeup(self, *, within: float) -> bool:
        """Return True if a wake-up arrived, or may have arrived before this process
        started to listen.
        """


class PostgresqlWakeupListener:
    def __init__(self) -> None:
        self._listening: Any = None

    def wait_for_wakeup(self, *, within: float) -> bool:
        connection.ensure_connection()
        if self._listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {POSTGRESQL_NOTIFY_CHANNEL}")
            self._listening = connection.connection
            return True
        with connection.wrap_database_errors:
            return any(
                True for _ in self._listening.notifies(timeout=within, stop_after=1)
            )


class NamedPipeWakeupListener:
    def __init__(self) -> None:
        self._end: int | None = None

    def wait_for_wakeup(self, *, within: float) -> bool:
        if self._end is None:
            with suppress(OSError):
                # The pipe is opened before the renaming, as unread pipes are removed.
                create_private_folder(settings.WORK_DIR)
                _get_pipe_folder().mkdir(mode=0o700, exist_ok=True)
                draft = _get_pipe_folder() / f"{secrets.token_hex(8)}.new"
                os.mkfifo(draft, 0o600)
                # The reader also opens the pipe for writing, to read no end-of-file.
                end = os.open(draft, os.O_RDWR | os.O_NONBLOCK)
                draft.rename(draft.with_suffix(".pipe"))
                self._end = end
                return True
            time.sleep(within)
            return False
        if not select.select([self._end], [], [], within)[0]:
            return False
        os.read(self._end, select.PIPE_BUF)
        return True


def make_wakeup_listener() -> WakeupListener:
    return (
        PostgresqlWakeupListener()
        if connection.vendor == "postgresql"
        else NamedPipeWakeupListener()
    )


def notify_worker_groups() -> None:
    """Notify the worker groups in the transaction that adds the wake-up. The
    notification and the wake-up are committed or rolled back together.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {POSTGRESQL_NOTIFY_CHANNEL}")
    else:
        call_after_commit(_write_to_pipes)


def _get_pipe_folder() -> Path:
    return settings.WORK_DIR / "wakes"


def _write_to_pipes() -> None:
    for pipe in _get_pipe_folder().glob("*.pipe"):
        try:
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as reason:
            if reason.errno == errno.ENXIO:
                pipe.unlink(missing_ok=True)
            continue
        try:
            # A full pipe already contains bytes that wake up the reader.
            with suppress(BlockingIOError):
                os.write(end, b".")
        finally:
            os.close(end)


#: REDIS_TIMEOUT_SECONDS, the Redis timeout in seconds, includes a wait of one second for wake-ups.
#: Workers pause for REDIS_PAUSE_SECONDS seconds after Redis did not answer.
#: Groups without notifications look for work every DATABASE_POLL_SECONDS seconds.
REDIS_TIMEOUT_SECONDS, REDIS_PAUSE_SECONDS, DATABASE_POLL_SECONDS = 3.0, 5.0, 1.0
#: REDIS_RECOVERY_SECONDS seconds after an outage, every process knows that Redis is available again.
#: During these REDIS_RECOVERY_SECONDS seconds, worker groups also look for jobs in the database.
REDIS_RECOVERY_SECONDS = 30.0

IdsAndWakeupPayloads = list[tuple[Any, bytes | str]]
_DATABASE_DOWN_RESULT: Any = object()


def _call_unless_database_down(action: Callable[[], Any]) -> Any:
    """Call the action, or return None while the database is unavailable, because an
    exception would end the process that reads the queue.
    """
    answer = default_on_database_error(
        action, _DATABASE_DOWN_RESULT, "the queue cannot be read or written"
    )
    if answer is not _DATABASE_DOWN_RESULT:
        return answer
    time.sleep(DATABASE_POLL_SECONDS)
    return None


class DatabaseWakeupBroker(ORM):
    _sign: WorkerGroupHeartbeat | None = None
    _bell: WakeupListener | None = None

    def enqueue(self, task: str) -> int:
        with transaction.atomic():
            notify_worker_groups()
            waiting = self.get_connection().filter(
                key=self.list_key, lock__lte=database_time_expression()
            )
            # A group can take the locked wake-up only after the job is committed.
            same = waiting.select_for_update(skip_locked=True).order_by("pk").first()
            row = same or self.get_connection().create(
                key=self.list_key, payload=task, lock=database_time_expression()
            )
        return int(row.pk)

    def dequeue(self) -> IdsAndWakeupPayloads | None:
        wakes: IdsAndWakeupPayloads | None = _call_unless_database_down(
            self._dequeue_wakeup
        )
        return wakes

    def acknowledge(self, task_id: int) -> None:
        _call_unless_database_down(
            lambda: super(DatabaseWakeupBroker, self).acknowledge(task_id)
        )

    def _dequeue_wakeup(self) -> IdsAndWakeupPayloads | None:
        self._sign = self._sign or WorkerGroupHeartbeat(os.getpgrp())
        self._sign.record_if_due()
        self._bell = self._bell or make_wakeup_listener()
        wakes = self.get_connection().filter(lock__lte=database_time_expression())
        if settings.QUEUES:
            wakes = wakes.filter(key__in=settings.QUEUES)
        wake = wakes.order_by("pk").first()
        if wake is None:
            return (
                None
                if self._bell.wait_for_wakeup(within=DATABASE_POLL_SECONDS)
                else _make_wakeup_if_jobs_claimable()
            )
        # If two worker groups read the same wake-up, only one group takes the wake-up.
        same = self.get_connection().filter(pk=wake.pk, lock=wake.lock)
        return (
            [(wake.pk, wake.payload)]
            if same.update(lock=database_time_expression(Conf.RETRY))
            else None
        )


class RedisWakeupBroker(Redis):
    """Wake-ups in Redis. If Redis does not accept a wake-up, the wake-up is lost, but
    the job remains in the database.
    """

    #: The Redis set LISTS has the names of all lists, for groups that serve all queues.
    LISTS: ClassVar[str] = f"django_q:{Conf.PREFIX}:lists"
    #: All objects of a process share `away_until`, so only one object waits for Redis.
    away_until: ClassVar[float] = -REDIS_RECOVERY_SECONDS
    _sign: WorkerGroupHeartbeat | None = None

    @staticmethod
    def get_connection(list_key: str | None = None) -> redis.Redis:
        # Redis may have closed an idle connection, so each command has two attempts.
        waits: dict[str, Any] = dict.fromkeys(
            ("socket_timeout", "socket_connect_timeout"), REDIS_TIMEOUT_SECONDS
        )
        return redis.from_url(settings.REDIS_URL, retry=Retry(NoBackoff(), 1), **waits)

    def ping(self) -> bool:
        try:
            return bool(self.connection.ping())
        except RedisError as reason:
            log_outage(REDIS_SERVICE, f"Redis does not answer: {reason}")
            return False

    def enqueue(self, task: str) -> int:
        if time.monotonic() < RedisWakeupBroker.away_until:
            return 0
        try:
            with self.connection.pipeline() as all_of_it:
                all_of_it.sadd(self.LISTS, self.list_key)
                all_of_it.rpush(self.list_key, task)
                all_of_it.ltrim(self.list_key, 0, 0)
                return int(all_of_it.execute()[1])
        except RedisError as reason:
            _stop_using_redis_for_a_while(reason)
            return 0

    def dequeue(self) -> IdsAndWakeupPayloads | None:
        self._sign = self._sign or WorkerGroupHeartbeat(os.getpgrp())
        self._sign.record_if_due()
        if time.monotonic() >= RedisWakeupBroker.away_until:
            try:
                wakes = self._pop_wakeup_from_lists()
            except RedisError as reason:
                _stop_using_redis_for_a_while(reason)
            else:
                log_recovery(REDIS_SERVICE)
                if (
                    wakes
                    or time.monotonic()
                    > RedisWakeupBroker.away_until + REDIS_RECOVERY_SECONDS
                ):
                    return wakes
        time.sleep(DATABASE_POLL_SECONDS)
        found: IdsAndWakeupPayloads | None = _call_unless_database_down(
            _make_wakeup_if_jobs_claimable
        )
        return found

    def _pop_wakeup_from_lists(self) -> IdsAndWakeupPayloads | None:
        lists = [f"django_q:{queue}:q" for queue in settings.QUEUES]
        lists = lists or [self.list_key, *sorted(self.connection.smembers(self.LISTS))]
        # A wait lasts at most one second, because a new list may be created meanwhile.
        wake = self.connection.blpop(lists, 1)
        return [(None, wake[1])] if wake else None


def _stop_using_redis_for_a_while(reason: RedisError) -> None:
    RedisWakeupBroker.away_until = time.monotonic() + REDIS_PAUSE_SECONDS
    log_outage(
        REDIS_SERVICE,
        f"Redis does not answer, workers look for what waits in the database: {reason}",
    )


def _make_wakeup_if_jobs_claimable() -> IdsAndWakeupPayloads | None:
    if not list_claimable_jobs(build_process_group_name(os.getpgrp())).exists():
        return None
    name, key = uuid()
    wake = {
        "id": key,
        "name": name,
        "func": WAKEUP_FUNCTION,
        "args": (),
        "kwargs": {},
        "started": timezone.now(),
    }
    return [(None, SignedPackage.dumps(wake))]
