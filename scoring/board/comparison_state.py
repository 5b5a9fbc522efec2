"""Who compares the rows of a board, and since which version of its phase nothing is missing.

As with jobs, the queue only wakes: a lease decides who works on a board, and a sweep asks again where a wake
was lost, a worker died, or a board changed without a run being scored.
"""

from __future__ import annotations

import datetime as dt
import logging

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django_q.tasks import async_task

from citeboard.core.database import database_now, from_now
from scoring.models import BoardOrder, Evaluation
from tasks.jobs.queue import COMPARE
from tasks.models import Job, Phase

#: Seconds; longer than the longest comparison takes.
LEASE = 120
#: Boards asked about in one sweep.
MAX_ASKED = 20

log = logging.getLogger(__name__)


def ask(phase_id: int, rules: str) -> bool:
    """Have the board's rows compared as far as they are not; False where a wake for it is under way."""
    order, _ = BoardOrder.objects.get_or_create(phase_id=phase_id, rules=rules)
    lost = from_now(-settings.LEASE_SECONDS)
    unasked = BoardOrder.objects.filter(Q(asked_at=None) | Q(asked_at__lt=lost), pk=order.pk)
    if not unasked.update(asked_at=from_now()):
        return False
    async_task(COMPARE, order.pk, task_name=f"board-{order.pk}", cluster=Job.LIGHT)
    return True


def next_asked() -> int | None:
    """The board that has waited longest since somebody asked, for workers whose wakes are lost."""
    free = BoardOrder.objects.filter(_is_free(), asked_at__isnull=False)
    return free.order_by("asked_at", "pk").values_list("pk", flat=True).first()


def ask_again() -> int:
    """Ask about the boards that have changed since they were compared; returns about how many."""
    known = {(state.phase_id, state.rules): state for state in BoardOrder.objects.all()}
    now = database_now()
    asked = 0
    scored = Evaluation.objects.filter(phase=OuterRef("pk"))
    phases = Phase.objects.filter(Exists(scored)).order_by("pk")
    for pk, version, rule_sets in phases.values_list("pk", "version", "task__rules"):
        for rules in rule_sets:
            order = known.get((pk, rules))
            if (order is None or _is_behind(order, version, now)) and asked < MAX_ASKED:
                asked += ask(pk, rules)
    return asked


def _is_behind(order: BoardOrder, version: int, now: dt.datetime) -> bool:
    is_held = order.lease_expires_at is not None and order.lease_expires_at > now
    return order.version != version and not is_held


def claim(order_id: int, owner: str) -> BoardOrder | None:
    """Take the board; None if another worker has it, who then looks again before it ends."""
    free = BoardOrder.objects.filter(_is_free(), pk=order_id)
    if not free.update(lease_owner=owner, lease_expires_at=from_now(LEASE), asked_at=None):
        return None
    return BoardOrder.objects.select_related("phase__task").get(pk=order_id)


def _is_free() -> Q:
    return Q(lease_expires_at=None) | Q(lease_expires_at__lt=from_now())


def renew(order: BoardOrder) -> bool:
    """False once the board is no longer ours."""
    return bool(_held(order).update(lease_expires_at=from_now(LEASE)))


def renew_after_classes(order: BoardOrder) -> bool:
    """The same, and pages of classes are made anew."""
    return bool(_held(order).update(lease_expires_at=from_now(LEASE), classes_at=from_now()))


def classes_seen(phase_id: int) -> list[tuple[str, dt.datetime | None]]:
    """For each rule set when something was last found of the classes: another page stands there since."""
    orders = BoardOrder.objects.filter(phase=phase_id).order_by("rules")
    return list(orders.values_list("rules", "classes_at"))


def finish(order: BoardOrder, version: int) -> bool:
    """Nothing is missing at this version. False where somebody has asked meanwhile: it is looked at again."""
    done = _held(order).filter(asked_at=None)
    if done.update(lease_owner="", lease_expires_at=None, version=version):
        return True
    return not _held(order).update(asked_at=None)


def release(order: BoardOrder) -> None:
    """There is more to compare, later."""
    _held(order).update(lease_owner="", lease_expires_at=None, asked_at=None)


def held_by(owner: str) -> int:
    """How many boards the workers hold whose names begin so."""
    return BoardOrder.objects.filter(lease_owner__startswith=owner, lease_expires_at__gt=from_now()).count()


def end_leases(owner: str) -> int:
    """What the processes of this group held, when the group is known to be gone."""
    return BoardOrder.objects.filter(lease_owner__startswith=owner).update(
        lease_owner="", lease_expires_at=None, asked_at=None
    )


def _held(order: BoardOrder) -> QuerySet[BoardOrder]:
    return BoardOrder.objects.filter(pk=order.pk, lease_owner=order.lease_owner)
