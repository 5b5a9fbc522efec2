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

from citeboard.core.commits import after_commit
from citeboard.core.database import database_time_after
from citeboard.core.env import create_private_folder
from citeboard.core.outages import REDIS, note_outage, note_recovery
from citeboard.core.processes import group_name
from tasks.jobs.engine import WAKEUP_FUNCTION
from tasks.jobs.interruptions import default_on_database_error
from tasks.jobs.queue_choice import GroupHeartbeat, claimable_jobs

NOTIFICATION_CHANNEL = "citeboard_wakes"


class WakeupListener(Protocol):
    def is_heard(self, *, within: float) -> bool:
        """Return True if a wake-up arrived, or may have arrived before this process
        started to listen.
        """


class PostgresqlListener:
    def __init__(self) -> None:
        self._listening: Any = None

    def is_heard(self, *, within: float) -> bool:
        connection.ensure_connection()
        if self._listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {NOTIFICATION_CHANNEL}")
            self._listening = connection.connection
            return True
        with connection.wrap_database_errors:
            return any(
                True for _ in self._listening.notifies(timeout=within, stop_after=1)
            )


class NamedPipeListener:
    def __init__(self) -> None:
        self._end: int | None = None

    def is_heard(self, *, within: float) -> bool:
        if self._end is None:
            with suppress(OSError):
                # The pipe is opened before the renaming, as unread pipes are removed.
                create_private_folder(settings.WORK_DIR)
                _pipe_folder().mkdir(mode=0o700, exist_ok=True)
                draft = _pipe_folder() / f"{secrets.token_hex(8)}.new"
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
        PostgresqlListener()
        if connection.vendor == "postgresql"
        else NamedPipeListener()
    )


def notify_worker_groups() -> None:
    """Notify the worker groups in the transaction that adds the wake-up. The
    notification and the wake-up are committed or rolled back together.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {NOTIFICATION_CHANNEL}")
    else:
        after_commit(_write_to_pipes)


def _pipe_folder() -> Path:
    return settings.WORK_DIR / "wakes"


def _write_to_pipes() -> None:
    for pipe in _pipe_folder().glob("*.pipe"):
        try:
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as reason:
            if reason.errno == errno.ENXIO:
                pipe.unlink(missing_ok=True)
            continue
        try:
            # If the pipe is full, the reader will wake up without this byte.
            with suppress(BlockingIOError):
                os.write(end, b".")
        finally:
            os.close(end)


#: REDIS_TIMEOUT_SECONDS, the Redis timeout in seconds, includes a wait of one second for wake-ups.
#: Workers pause for REDIS_PAUSE_SECONDS seconds after Redis did not answer.
#: Groups without notifications look for work every POLL_SECONDS seconds.
REDIS_TIMEOUT_SECONDS, REDIS_PAUSE_SECONDS, POLL_SECONDS = 3.0, 5.0, 1.0
#: RECOVERY_SECONDS seconds after an outage, every process knows that Redis is available again.
#: During these RECOVERY_SECONDS seconds, worker groups also look for jobs in the database.
RECOVERY_SECONDS = 30.0

Wakes = list[tuple[Any, bytes | str]]
_DATABASE_DOWN: Any = object()


def _call_unless_database_down(action: Callable[[], Any]) -> Any:
    """Call the action, or return None while the database is unavailable, because an
    exception would end the process that reads the queue.
    """
    answer = default_on_database_error(
        action, _DATABASE_DOWN, "the queue cannot be read or written"
    )
    if answer is not _DATABASE_DOWN:
        return answer
    time.sleep(POLL_SECONDS)
    return None


class DatabaseWakes(ORM):
    _sign: GroupHeartbeat | None = None
    _bell: WakeupListener | None = None

    def enqueue(self, task: str) -> int:
        with transaction.atomic():
            notify_worker_groups()
            waiting = self.get_connection().filter(
                key=self.list_key, lock__lte=database_time_after()
            )
            # A group can take the locked wake-up only after the job is committed.
            same = waiting.select_for_update(skip_locked=True).order_by("pk").first()
            row = same or self.get_connection().create(
                key=self.list_key, payload=task, lock=database_time_after()
            )
        return int(row.pk)

    def dequeue(self) -> Wakes | None:
        wakes: Wakes | None = _call_unless_database_down(self._dequeue)
        return wakes

    def acknowledge(self, task_id: int) -> None:
        _call_unless_database_down(
            lambda: super(DatabaseWakes, self).acknowledge(task_id)
        )

    def _dequeue(self) -> Wakes | None:
        self._sign = self._sign or GroupHeartbeat(os.getpgrp())
        self._sign.give()
        self._bell = self._bell or make_wakeup_listener()
        wakes = self.get_connection().filter(lock__lte=database_time_after())
        if settings.QUEUES:
            wakes = wakes.filter(key__in=settings.QUEUES)
        wake = wakes.order_by("pk").first()
        if wake is None:
            return (
                None
                if self._bell.is_heard(within=POLL_SECONDS)
                else _wakeup_if_claimable()
            )
        # If two worker groups read the same wake-up, only one group takes the wake-up.
        same = self.get_connection().filter(pk=wake.pk, lock=wake.lock)
        return (
            [(wake.pk, wake.payload)]
            if same.update(lock=database_time_after(Conf.RETRY))
            else None
        )


class RedisWakes(Redis):
    """Wake-ups in Redis. If Redis does not accept a wake-up, the wake-up is lost, but
    the job remains in the database.
    """

    #: The Redis set LISTS has the names of all lists, for groups that serve all queues.
    LISTS: ClassVar[str] = f"django_q:{Conf.PREFIX}:lists"
    #: All objects of a process share `away_until`, so only one object waits for Redis.
    away_until: ClassVar[float] = -RECOVERY_SECONDS
    _sign: GroupHeartbeat | None = None

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
            note_outage(REDIS, f"Redis does not answer: {reason}")
            return False

    def enqueue(self, task: str) -> int:
        if time.monotonic() < RedisWakes.away_until:
            return 0
        try:
            with self.connection.pipeline() as all_of_it:
                all_of_it.sadd(self.LISTS, self.list_key)
                all_of_it.rpush(self.list_key, task)
                all_of_it.ltrim(self.list_key, 0, 0)
                return int(all_of_it.execute()[1])
        except RedisError as reason:
            _pause_redis(reason)
            return 0

    def dequeue(self) -> Wakes | None:
        self._sign = self._sign or GroupHeartbeat(os.getpgrp())
        self._sign.give()
        if time.monotonic() >= RedisWakes.away_until:
            try:
                wakes = self._fetched()
            except RedisError as reason:
                _pause_redis(reason)
            else:
                note_recovery(REDIS)
                if wakes or time.monotonic() > RedisWakes.away_until + RECOVERY_SECONDS:
                    return wakes
        time.sleep(POLL_SECONDS)
        found: Wakes | None = _call_unless_database_down(_wakeup_if_claimable)
        return found

    def _fetched(self) -> Wakes | None:
        lists = [f"django_q:{queue}:q" for queue in settings.QUEUES]
        lists = lists or [self.list_key, *sorted(self.connection.smembers(self.LISTS))]
        # A wait lasts at most one second, because a new list may be created meanwhile.
        wake = self.connection.blpop(lists, 1)
        return [(None, wake[1])] if wake else None


def _pause_redis(reason: RedisError) -> None:
    RedisWakes.away_until = time.monotonic() + REDIS_PAUSE_SECONDS
    note_outage(
        REDIS,
        f"Redis does not answer, workers look for what waits in the database: {reason}",
    )


def _wakeup_if_claimable() -> Wakes | None:
    if not claimable_jobs(group_name(os.getpgrp())).exists():
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
