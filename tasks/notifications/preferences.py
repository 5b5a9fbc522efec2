"""How a person is told of each kind of event, and the link that ends e-mails of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.core.signing import BadSignature, Signer

from citeboard.teams.models import User
from tasks.models import NotificationChoice
from tasks.models.notifications import Channel, Kind

#: What nobody has to act on, and comes often.
_WITHOUT_MAIL = (Kind.SCORED,)
_SIGNER = Signer(salt="tasks.notifications.unsubscribe", sep=".")


class LinkNotValid(Exception):
    """The link to unsubscribe was mistyped, or its account is gone."""


def default_channel(kind: str) -> Channel:
    return Channel.SITE if kind in _WITHOUT_MAIL else Channel.MAIL


def channels(people: Iterable[int], kind: str) -> dict[int, Channel]:
    """How each of these people is told of this kind of event, by id."""
    chosen = NotificationChoice.objects.filter(user__in=list(people), kind=kind)
    by_person = {person: Channel(channel) for person, channel in chosen.values_list("user_id", "channel")}
    return {person: by_person.get(person, default_channel(kind)) for person in people}


def choices_of(user: User) -> dict[Kind, Channel]:
    """Of every kind, in the order of pages."""
    chosen = dict(NotificationChoice.objects.filter(user=user).values_list("kind", "channel"))
    return {kind: Channel(chosen.get(kind, default_channel(kind))) for kind in Kind}


def choose(*, user: User, wanted: Mapping[str, str]) -> None:
    """Keep how the person wants to be told, by kind; kinds that are left out stay as they are."""
    for kind, channel in wanted.items():
        NotificationChoice.objects.update_or_create(
            user=user, kind=Kind(kind), defaults={"channel": Channel(channel)}
        )


def unsubscribe_secret(user: User, kind: str) -> str:
    """What stands at the end of the link: it ends mails of one kind to one person, and does nothing else."""
    return _SIGNER.sign(f"{user.pk}-{kind}")


def subscription_of(secret: str) -> tuple[User, Kind]:
    """Whose mails of which kind a link is for. Raises LinkNotValid."""
    try:
        number, _, kind = _SIGNER.unsign(secret).partition("-")
        return User.objects.get(pk=int(number)), Kind(kind)
    except (BadSignature, ValueError, User.DoesNotExist) as unknown:
        raise LinkNotValid from unknown


def unsubscribe(user: User, kind: Kind) -> None:
    """No more mails of this kind; the site goes on telling. Whoever is told nothing stays so."""
    if choices_of(user)[kind] == Channel.MAIL:
        choose(user=user, wanted={kind: Channel.SITE})
