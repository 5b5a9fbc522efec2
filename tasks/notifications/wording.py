"""A notification in words, as its reader may know it now. No score is ever part of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from citeboard.core.words import counted
from citeboard.teams.models import Team
from tasks.models import Notification, Organiser, Submission
from tasks.models.notifications import Kind

#: Anywhere on Earth: a day has passed when it has passed everywhere.
AOE = dt.timezone(dt.timedelta(hours=-12), "AoE")


@dataclass(frozen=True)
class Words:
    """A line, what there is to say besides, and the path of the page where it is seen."""

    title: str
    text: str
    path: str


def words_of(told: Notification) -> Words:
    return _WRITERS[Kind(told.kind)](told)


def _scored(told: Notification) -> Words:
    return Words(
        f"{_run(told)} was scored", "Its page shows what its team may see of it now.", _page_of_run(told)
    )


def _failed(told: Notification) -> Words:
    reason = told.submission.reason if told.submission else ""
    text = f"{reason}\n\nIts page says what you can do.".strip()
    return Words(f"{_run(told)} could not be scored", text, _page_of_run(told))


def _refused(told: Notification) -> Words:
    text = (
        "The file was checked after it was sent, and cannot be scored as it is. Its page lists every problem "
        "by line. It has not used up a try."
    )
    return Words(f"{_run(told)} was refused", text, _page_of_run(told))


def _rescored(told: Notification) -> Words:
    title = f"Runs of {told.team} in {_phase(told)} were scored again"
    text = f"They are scored against version {told.facts['gold']} of the gold. Nothing has to be sent again."
    return Words(title, text, reverse("own-runs"))


def _deadline(told: Notification) -> Words:
    title = f"{_phase(told)} closes at {_instant(told.facts['closes'])}"
    return Words(title, "Runs whose upload begins before that count.", _board(told))


def _moved(told: Notification) -> Words:
    after = told.facts["after"]
    text = f"Before, it was {_instant(told.facts['before'])}."
    return Words(f"{_phase(told)} closes at {_instant(after)} now", text, _board(told))


def _limits(told: Notification) -> Words:
    text = f"It was {_limit(told.facts['before'])}; it is {_limit(told.facts['after'])} now."
    return Words(f"How many runs a team may send to {_phase(told)} was changed", text, _board(told))


def _tries(told: Notification) -> Words:
    title = f"{told.team} may send {counted(told.facts['tries'], 'more run')} to {_phase(told)}"
    return Words(title, f"The organisers say: {told.facts['reason']}", _board(told))


def _excluded(told: Notification) -> Words:
    exclusion, reason = told.facts["exclusion"], told.facts["reason"]
    did = f"was {Submission.Exclusion(exclusion).label}" if exclusion else "was reinstated"
    text = f"The organisers say: {reason}" if reason else "The organisers have decided so."
    return Words(f"{_run(told)} {did}", text, _page_of_run(told))


def _announced(told: Notification) -> Words:
    return Words(f"Announcement of {told.season}", told.facts["text"], _season(told))


def _decided(told: Notification) -> Words:
    verb = "takes part in" if told.facts["is_approved"] else "does not take part in"
    reason = told.facts["reason"]
    text = f"An organiser has decided.{f' The organisers say: {reason}' if reason else ''}"
    return Words(f"{told.team} {verb} {told.season}", text, _season(told))


def _role(told: Notification) -> Words:
    role = Organiser.Role(told.facts["role"])
    what = "an organiser" if role == Organiser.Role.ORGANISER else "a helper"
    text = "Its pages for organisers are open to you."
    return Words(f"You are {what} of {told.season} now", text, reverse("organise", args=[_slug(told)]))


def _sheet(told: Notification) -> Words:
    text = "You see texts without the names of the systems that wrote them, and rate each."
    return Words(
        f"Texts of {_phase(told)} wait for your ratings",
        text,
        reverse("annotate", args=[told.facts["sheet"]]),
    )


def _asked(told: Notification) -> Words:
    message = told.facts["message"]
    text = f"It says: {message}" if message else "It sends no runs until somebody approves it."
    address = reverse("organise-teams", args=[_slug(told)])
    return Words(f"{told.team} asks to take part in {told.season}", text, address)


def _join_asked(told: Notification) -> Words:
    message = told.facts["message"]
    text = f"They say: {message}" if message else "Any member of the team can accept or decline."
    address = f"{reverse('team', args=[_team(told).slug])}#members"
    return Words(f"{told.facts['person']} asks to join {told.team}", text, address)


def _join_decided(told: Notification) -> Words:
    if told.facts["is_accepted"]:
        title, path = f"You are in {told.team} now", reverse("team", args=[_team(told).slug])
        return Words(title, "A member of the team has accepted you.", path)
    text = "You can enter the season with a team of your own, or ask another."
    return Words(f"{told.team} has declined that you join", text, _season(told))


def _merge_asked(told: Notification) -> Words:
    text = (
        f"If you accept, its members come into your team, and its runs and tries in {told.season} become "
        "yours. You can decline."
    )
    address = f"{reverse('team', args=[_team(told).slug])}#merge"
    return Words(f"{told.facts['other']} asks to merge into {told.team}", text, address)


def _merged(told: Notification) -> Words:
    reason = told.facts["reason"]
    text = f"Members, runs and tries in {told.season} are those of one team now, called {told.team}."
    text += f"\n\nThe organisers say: {reason}" if reason else ""
    path = reverse("team", args=[_team(told).slug])
    return Words(f"{told.facts['other']} was merged into {told.team}", text, path)


def _question(told: Notification) -> Words:
    address = reverse("organise-questions", args=[_slug(told)])
    return Words(f"A question on {told.season}", told.facts["text"], address)


def _answered(told: Notification) -> Words:
    text = f"You asked:\n\n{told.facts['question']}\n\nThe organisers say:\n\n{told.facts['answer']}"
    address = reverse("questions", args=[_slug(told)])
    return Words(f"Your question on {told.season} was answered", text, address)


def _reported(told: Notification) -> Words:
    about = f"About {told.facts['address']}.\n\n" if told.facts["address"] else ""
    return Words("Abuse is reported", f"{about}{told.facts['text']}", reverse("operate-reports"))


_WRITERS: dict[Kind, Callable[[Notification], Words]] = {
    Kind.SCORED: _scored,
    Kind.FAILED: _failed,
    Kind.REFUSED: _refused,
    Kind.RESCORED: _rescored,
    Kind.DEADLINE: _deadline,
    Kind.MOVED: _moved,
    Kind.LIMITS: _limits,
    Kind.TRIES: _tries,
    Kind.EXCLUDED: _excluded,
    Kind.ANNOUNCED: _announced,
    Kind.DECIDED: _decided,
    Kind.ROLE: _role,
    Kind.SHEET: _sheet,
    Kind.ASKED: _asked,
    Kind.JOIN_ASKED: _join_asked,
    Kind.JOIN_DECIDED: _join_decided,
    Kind.MERGE_ASKED: _merge_asked,
    Kind.MERGED: _merged,
    Kind.QUESTION: _question,
    Kind.ANSWERED: _answered,
    Kind.REPORTED: _reported,
}


def _run(told: Notification) -> str:
    run = told.submission
    return f"Run {run.number}, “{run.system}”, of {told.team}" if run else f"A run of {told.team}"


def _page_of_run(told: Notification) -> str:
    return reverse("submission", args=[told.submission_id])


def _phase(told: Notification) -> str:
    assert told.phase is not None
    return f"{told.phase.task}, {told.phase}"


def _board(told: Notification) -> str:
    assert told.phase is not None
    return reverse("board", args=[_slug(told), told.phase.task.slug, told.phase.slug])


def _season(told: Notification) -> str:
    return reverse("season", args=[_slug(told)])


def _instant(written: str) -> str:
    at = dt.datetime.fromisoformat(written)
    aoe = f"{at.astimezone(AOE):%Y-%m-%d %H:%M} AoE"
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC ({aoe})"


def _limit(limits: list[Any]) -> str:
    a_day, in_total = limits
    parts = [f"{counted(a_day, 'run')} a day"] if a_day is not None else []
    parts += [f"{counted(in_total, 'run')} in total"] if in_total is not None else []
    return " and ".join(parts) or "any number"


def _team(told: Notification) -> Team:
    assert told.team is not None
    return told.team


def _slug(told: Notification) -> str:
    assert told.season is not None
    return told.season.slug
