"""A person's own notifications on the site."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from citeboard.teams.mailed_invitations import invitations_for
from citeboard.teams.models import User
from tasks.models import Notification
from tasks.models.notifications import NotificationQuerySet

_KEPT = "_citeboard_unread"


def notifications_of(user: User) -> NotificationQuerySet:
    """What the person may read now, newest first."""
    own = Notification.objects.filter(user=user).readable()
    return own.select_related("season", "team", "phase__task", "submission")


def mark_read(*, user: User, ids: Iterable[int] | None = None) -> int:
    """Those of these numbers, or all; how many were unread."""
    own = Notification.objects.filter(user=user).unread()
    if ids is not None:
        own = own.filter(pk__in=list(ids))
    return own.update(read_at=timezone.now())


def unread(request: HttpRequest) -> int:
    """How many the reader of a page has not read, and invitations that wait; counted once a request."""
    if not isinstance(request.user, User):
        return 0
    found: int | None = getattr(request, _KEPT, None)
    if found is None:
        found = notifications_of(request.user).unread().count() + invitations_for(request.user).count()
        setattr(request, _KEPT, found)
    return found


def unread_messages(request: HttpRequest) -> dict[str, Any]:
    """For the head of every page, which asks where somebody is signed in."""
    return {"unread_messages": lambda: unread(request)}
