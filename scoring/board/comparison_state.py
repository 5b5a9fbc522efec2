"""Who compares the rows of a board, and since which version of its phase nothing is missing."""

import datetime as dt
from typing import ClassVar

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from citeboard.core.database import database_now, from_now
from scoring.models import BoardOrder, Evaluation
from tasks.jobs.engine import COMPARE, Kind, give_wake
from tasks.models import Phase

#: Boards asked about in one sweep.
MAX_ASKED = 20


class Boards(Kind[BoardOrder]):
    """A board's row stays; it waits while ``asked_at`` says that the queue holds a wake for it."""

    model = BoardOrder
    related = ("phase__task",)
    #: Longer than the longest comparison takes.
    lease = 120
    state, attempt = "", ""
    when_idle: ClassVar = {"lease_owner": "", "asked_at": None}


BOARDS = Boards()


def ask(phase_id: int, rules: str) -> bool:
    order, _ = BoardOrder.objects.get_or_create(phase_id=phase_id, rules=rules)
    lost = from_now(-settings.LEASE_SECONDS)
    unasked = BoardOrder.objects.filter(Q(asked_at=None) | Q(asked_at__lt=lost), pk=order.pk)
    if not unasked.update(asked_at=from_now()):
        return False
    give_wake(COMPARE, order.pk, name="board")
    return True


def next_asked() -> int | None:
    free = BoardOrder.objects.filter(_is_free(), asked_at__isnull=False)
    return free.order_by("asked_at", "pk").values_list("pk", flat=True).first()


def ask_again() -> int:
    orders = {(order.phase_id, order.rules): order for order in BoardOrder.objects.all()}
    now, ordered = database_now(), 0
    scored = Evaluation.objects.filter(phase=OuterRef("pk"))
    phases = Phase.objects.filter(Exists(scored)).order_by("pk")
    for pk, version, rule_sets in phases.values_list("pk", "version", "task__rules"):
        for rules in rule_sets:
            order = orders.get((pk, rules))
            is_leased = order and order.lease_expires_at is not None and order.lease_expires_at > now
            is_behind = order is None or (order.version != version and not is_leased)
            if is_behind and ordered < MAX_ASKED:
                ordered += ask(pk, rules)
    return ordered


def claim(order_id: int, owner: str) -> BoardOrder | None:
    """Take the board; None if another worker has it, who then looks again before it ends."""
    return BOARDS.claim(BoardOrder.objects.filter(_is_free()), order_id, owner, asked_at=None)


def _is_free() -> Q:
    return Q(lease_expires_at=None) | Q(lease_expires_at__lt=from_now())


def classes_seen(phase_id: int) -> list[tuple[str, dt.datetime | None]]:
    orders = BoardOrder.objects.filter(phase=phase_id).order_by("rules")
    return list(orders.values_list("rules", "classes_at"))


def finish(order: BoardOrder, version: int) -> bool:
    """Nothing is missing at this version. False where somebody has asked meanwhile: it is looked at again."""
    done = BOARDS.leased(order).filter(asked_at=None)
    if done.update(lease_owner="", lease_expires_at=None, version=version):
        return True
    return not BOARDS.leased(order).update(asked_at=None)


def release(order: BoardOrder) -> None:
    BOARDS.end_lease(order)
