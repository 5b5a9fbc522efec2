"""Organisers of another season who have the texts of a running one and guess at its labels."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from attacking.besieged import (
    API,
    Besieged,
    Row,
    lead_of,
    make_phase,
    make_season,
    make_team,
    organiser_of,
)

#: What differs between two seasons by itself: numbers, times, digests and forms' secrets.
PASSING = re.compile(
    r"\bv\d+\b|(?<=/)\d+(?=/)|id=\d+|\d{4}-\d\d-\d\d[T ][\d:.+Z]+|\d\d:\d\d(?::\d\d)?|[0-9a-f]{12,64}"
    r'|value="[A-Za-z0-9]{64}"|nonce="[^"]*"|nonce-[^\';]*|/gold/\d+/|"id": ?\d+|why-\d+|\d+/test'
)

#: What the rival reads of the own season.
PAGES = ("secrecy.json", "secrecy/", "gold/", "launch/")


def attacks(site: Besieged) -> Iterator[Row]:
    yield oracle(site, is_public=True)
    yield oracle(site, is_public=False)
    yield darkening(site, is_public=True)
    yield darkening(site, is_public=False)


def retold(files: Mapping[str, str], word: str) -> dict[str, str]:
    """Return gold whose texts no other season on the site has."""
    return {name: text.replace("Reed", word) for name, text in files.items()}


def _victim(site: Besieged, word: str) -> tuple[Any, Any, Any]:
    """Return a running phase with a scored run on its board, its small task, and the team's lead."""
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("victim")
    phase = make_phase(
        season, small, retold(small.gold_files(), word), board="everyone"
    )
    lead = lead_of(make_team(season))
    site.submit(phase, lead, small.run(small.answers(12)))
    site.wait_for_score(phase)
    return phase, small, lead


def oracle(site: Besieged, *, is_public: bool) -> Row:
    """Publish guesses that are all right but one, then all wrong, and compare every answer."""
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    right = [small.wrong[0], *small.right[1:]]
    wrong = [small.wrong[0], *small.wrong[1:]]
    told: list[list[str]] = []
    for guesses in (right, wrong):
        word = f"Reed{time.monotonic_ns()}"
        _victim(site, word)
        season = make_season("rival", is_public=is_public)
        rival = organiser_of(season)
        files = retold(small.files(guesses), word)
        phase = make_phase(season, small, files)
        place = f"{API}/tasks/{phase.task_id}/gold/"
        file = {"file": ("gold.zip", _zipped(files))}
        words = [
            site.post(place, rival, {"reason": "A guess.", **rehearsed}, file).body
            for rehearsed in ({"dry_run": "true"}, {})
        ]
        words += [
            site.get_signed_in(f"/seasons/{season.slug}/organise/{page}", rival).body
            for page in PAGES
        ]
        names = [season.slug, season.title, phase.slug, phase.title]
        names += [word, phase.task.slug, phase.task.title, rival.name]
        told.append([_masked(own.decode("utf-8", "replace"), names) for own in words])
    answers = ("the dry run", "the publication", *PAGES)
    changed = [
        name for name, one, other in zip(answers, *told, strict=True) if one != other
    ]
    draft = "" if is_public else ", from a draft that nobody sees"
    return Row(
        f"a rival organiser publishes guesses of hidden labels{draft}",
        f"depend on how many are right: {', '.join(changed) or 'no answer'}",
        not changed,
    )


def darkening(site: Besieged, *, is_public: bool) -> Row:
    """Publish the very gold in a season that shows nothing before 2090."""
    import datetime as dt

    word = f"Reed{time.monotonic_ns()}"
    phase, small, lead = _victim(site, word)
    paths = {
        "board": (f"{API}/phases/{phase.pk}/leaderboard/", None),
        "own scores": (f"{API}/submissions/", lead),
        "inputs": (
            f"/seasons/{phase.task.season.slug}/{phase.task.slug}/{phase.slug}/inputs/",
            None,
        ),
    }

    def found() -> dict[str, tuple[int, int]]:
        answers = {name: site.get(path, user) for name, (path, user) in paths.items()}
        return {name: (own.status, len(own.body)) for name, own in answers.items()}

    before = found()
    season = make_season("rival", is_public=is_public)
    at = dt.datetime(2090, 1, 1, tzinfo=dt.UTC)
    make_phase(
        season, small, retold(small.gold_files(), word), board="nobody", own_scores="nothing",
        opens=at, closes=at + dt.timedelta(days=1),
    )  # fmt: skip
    after = found()
    lost = [name for name in paths if after[name] != before[name]]
    draft = "" if is_public else " and is a draft"
    return Row(
        f"a rival organiser publishes the same gold in a season that shows nothing{draft}",
        f"changed in the first season: {', '.join(lost) or 'nothing'}",
        not lost,
    )


def _masked(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace(name, "NAME")
    return PASSING.sub("", text)


def _zipped(files: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()
