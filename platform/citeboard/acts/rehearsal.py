"""Rehearse an organiser's action in a transaction that is rolled back.

An action that does not affect people runs immediately. Actions that affect people
require a confirmation. If the action is final, affects confirmed results, or breaks an
embargo, the organiser must also type a name and a reason.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.acts.declared import UserAction
from citeboard.acts.effects import (
    ActionEffects,
    find_highest_primary_key,
    find_new_season_effects,
    simulate_action_effects,
)
from citeboard.core import audit
from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from citeboard.ops.undoing import record_sent_messages
from citeboard.teams.models import User
from tasks.delivery.webhooks.services import delay_messages_until_undo_ends
from tasks.gold.early import ConfirmedDisclosure, EmbargoBreach, confirm_disclosure
from tasks.models import Notification, Season
from tasks.seasons.file.load import SeasonLoadResult
from tasks.seasons.file.plan import UndecidedLoadConflicts


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """The predicted effects of an action that was rolled back.

    Organisers type the text ``name`` to confirm the action.
    """

    name: str = ""
    effects: ActionEffects = field(default_factory=ActionEffects)
    early: EmbargoBreach | None = None
    is_final: bool = False
    is_of_new_season: bool = False
    jobs: list[str] = field(default_factory=list)

    @property
    def asks(self) -> bool:
        return self.asks_for_name or self.effects.affects_other_people

    @property
    def asks_for_name(self) -> bool:
        return bool(self.is_final or self.effects.scores.confirmed or self.early)

    @property
    def digest(self) -> str:
        """Return a digest of the effects of the action. The digest omits times, which
        differ between rehearsals.
        """
        steps, scores = self.effects.steps, self.effects.scores
        facts = [
            steps.made,
            self.effects.disclosure,
            [(told.kind, told.people) for told in self.effects.messages.told],
            scores.gold,
            scores.scored,
            scores.moved,
            scores.confirmed,
            [(change["key"], change["before"]) for change in steps.changes],
            [(early.phase.pk, early.kind) for early in self.early.told]
            if self.early
            else [],
        ]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]

    @property
    def lets_out(self) -> list[dict[str, object]]:
        return [early.as_dict() for early in self.early.told] if self.early else []


class NeedsConfirmation(ActionRefused):
    """The action did not run, because the user must confirm the action first."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal = rehearsal
        message = _(
            "this touches what is settled; to go on, type “%(name)s” and a reason"
        )
        super().__init__(message % {"name": rehearsal.name})


@dataclass(frozen=True)
class ActionConfirmation:
    """The user's confirmation of an action, as sent in a request.

    ``shown`` is the digest of the effects that the confirmation page showed. ``shown``
    is None for API requests, because the API has no confirmation page. ``typed``
    contains the name and the reason that the user typed.
    """

    shown: str | None = None
    typed: ConfirmedDisclosure = field(
        default_factory=lambda: ConfirmedDisclosure("", "")
    )

    def is_sufficient_for(self, rehearsal: Rehearsal) -> bool:
        if rehearsal.asks_for_name and (
            self.typed.task != rehearsal.name or not self.typed.reason
        ):
            return False
        return (
            self.shown is None or not rehearsal.asks or self.shown == rehearsal.digest
        )


def perform_confirmed_action(
    act: UserAction,
    thing: Any,
    by: User,
    filled: Mapping[str, Any],
    said: ActionConfirmation,
) -> Any:
    """Run the action if it needs no confirmation or if the organiser confirmed it.

    Raises NeedsConfirmation.
    """
    if not act.is_rehearsed:
        return act(thing, by, **filled)
    do = partial(act, thing, by, **act.ready(thing, filled, by))
    if not act.makes_season:
        return perform_confirmed_callable(
            find_season_of_object(thing),
            by,
            do,
            said,
            is_final=act.is_final,
            asks=not act.skips_confirmation(thing),
        )
    if not said.is_sufficient_for(rehearsal := _rehearse_new_season(do)):
        raise NeedsConfirmation(rehearsal)
    return do()


def rehearse_user_action(
    act: UserAction, thing: Any, by: User, filled: Mapping[str, Any]
) -> Rehearsal:
    do = partial(act, thing, by, **act.ready(thing, filled, by))
    return (
        _rehearse_new_season(do)
        if act.makes_season
        else simulate_action(find_season_of_object(thing), do, is_final=act.is_final)
    )


def perform_confirmed_callable(
    season: Season,
    by: User,
    do: Callable[[], Any],
    said: ActionConfirmation,
    *,
    is_final: bool = False,
    asks: bool = True,
) -> Any:
    rehearsal = simulate_action(season, do, is_final=is_final) if asks else Rehearsal()
    if not said.is_sufficient_for(rehearsal):
        # API clients get a separate error message about the breach of an embargo.
        raise (
            rehearsal.early
            if rehearsal.early and said.shown is None
            else NeedsConfirmation(rehearsal)
        )
    last = find_highest_primary_key(AuditEntry)
    with delay_messages_until_undo_ends() as events:
        made = do()
    confirmed = rehearsal.effects.scores.confirmed
    if confirmed and not rehearsal.early:
        facts = {"what": "; ".join(confirmed), "reason": said.typed.reason}
        audit.record_action(
            "went-on", actor=by, subject=season, place=season, facts=facts
        )
    record_sent_messages(season, last, events)
    return made


def find_season_of_object(thing: Any) -> Season:
    while not isinstance(thing, Season):
        thing = next(
            getattr(thing, name)
            for name in ("season", "task", "phase")
            if hasattr(thing, name)
        )
    return thing


def simulate_action(
    season: Season, do: Callable[[], Any], *, is_final: bool = False
) -> Rehearsal:
    """Return the effects of an action without changing the database. Raises every error
    that the action raises.
    """
    try:
        # The confirmation is empty, because effects must not depend on a confirmation.
        with confirm_disclosure("", ""):
            effects = simulate_action_effects(season, do)
        return Rehearsal(name=season.title, effects=effects, is_final=is_final)
    except EmbargoBreach as early:
        with confirm_disclosure(early.task, "-"):
            effects = simulate_action_effects(season, do)
        return Rehearsal(
            name=early.task, effects=effects, early=early, is_final=is_final
        )


def rehearse_season_load(
    season: Season | None, load: Callable[[], SeasonLoadResult]
) -> Rehearsal | None:
    """Return the effects of loading a season file without changing the database.

    Returns None if the organiser must first resolve conflicts between the file and the
    season.
    """
    with suppress(UndecidedLoadConflicts):
        return (
            simulate_action(season, load)
            if season
            else _rehearse_new_season(lambda: load().season)
        )
    return None


def _rehearse_new_season(do: Callable[[], Season]) -> Rehearsal:
    """Return the effects of creating a season without changing the database."""
    with transaction.atomic():
        last = find_highest_primary_key(Notification)
        made = do()
        rehearsal = Rehearsal(
            name=made.title,
            effects=find_new_season_effects(made, last),
            is_of_new_season=True,
        )
        transaction.set_rollback(True)
    return rehearsal
