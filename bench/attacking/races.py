"""Requests at the same moment, and pages that one person must not get because another did."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

from clients import Answer

from attacking.besieged import (
    API,
    Besieged,
    Row,
    lead_of,
    make_phase,
    make_season,
    make_team,
    named,
    organiser_of,
)

AT_ONCE, PHASES = 32, 4
TAKEN = (201, 202)


def attacks(site: Besieged) -> Iterator[Row]:
    yield one_try(site)
    yield shared_try(site)
    yield one_key(site)
    yield caches(site)


def at_once(count: int, send: Callable[[int], Answer]) -> list[int]:
    """Send so many requests, which all begin together; return their statuses."""
    start, found, lock = threading.Barrier(count), [], threading.Lock()

    def one(number: int) -> None:
        start.wait()
        status = send(number).status
        with lock:
            found.append(status)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _told(statuses: list[int]) -> str:
    counts = sorted(Counter(statuses).items())
    return ", ".join(f"{count} × {status}" for status, count in counts)


def one_try(site: Besieged) -> Row:
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("race")
    phase = make_phase(season, small, small.gold_files(), runs_per_day=1)
    lead = lead_of(make_team(season))
    run = small.run(small.answers(12))
    statuses = at_once(
        AT_ONCE, lambda number: site.submit(phase, lead, run + b"\n" * number)
    )
    taken = phase.submissions.count()
    return Row(
        f"{AT_ONCE} uploads at once where one is left", _told(statuses), taken == 1
    )


def shared_try(site: Besieged) -> Row:
    """Several phases on the same gold whose tries count together."""
    from tasks.models import Submission
    from tests import factories
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("race")
    first = make_phase(
        season, small, small.gold_files(), runs_in_total=1, shares_tries=True
    )
    facts = {"split": first.split, "runs_in_total": 1, "shares_tries": True}
    others = [
        factories.make_phase(task=first.task, with_gold=False, **named(facts))
        for _ in range(PHASES - 1)
    ]
    phases = [first, *others]
    lead = lead_of(make_team(season))
    run = small.run(small.answers(12))
    statuses = at_once(
        AT_ONCE,
        lambda number: site.submit(phases[number % PHASES], lead, run + b"\n" * number),
    )
    taken = Submission.objects.filter(phase__task=first.task).count()
    return Row(
        f"{AT_ONCE} uploads at once to {PHASES} phases that share one try",
        _told(statuses),
        taken == 1,
    )


def one_key(site: Besieged) -> Row:
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("race")
    phase = make_phase(season, small, small.gold_files())
    lead = lead_of(make_team(season))
    run = {"run": ("run.jsonl", small.run(small.answers(12)))}
    place, key = f"{API}/phases/{phase.pk}/submissions/", {"Idempotency-Key": "one"}
    statuses = at_once(
        12, lambda _number: site.post(place, lead, {"system": "One"}, run, **key)
    )
    taken = phase.submissions.count()
    return Row("12 uploads at once with one key", _told(statuses), taken == 1)


def caches(site: Besieged) -> Row:
    """Read a hidden board as its organiser, in each language, then as everybody else."""
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("caches")
    phase = make_phase(season, small, small.gold_files(), board="organisers")
    organiser, lead = organiser_of(season), lead_of(make_team(season))
    site.submit(phase, lead, small.run(small.answers(12)), "A hidden system")
    site.wait_for_score(phase)
    board = f"/seasons/{season.slug}/{phase.task.slug}/{phase.slug}/"
    pages = [board, f"{board}board.json", f"{board}board.csv", f"{board}differences/"]
    leaks, mixed, seen = [], [], 0
    for page in pages:
        for language in ("de", "en"):
            by_organiser = site.get_signed_in(page, organiser, language)
            seen += b"A hidden system" in by_organiser.body
            validator = by_organiser.headers.get("etag", "")
            for user in (None, lead):
                for more in ({}, {"If-None-Match": validator}):
                    if more and not validator:
                        continue
                    answer = _ask(site, page, user, language, more)
                    if b"A hidden system" in answer.body or answer.status == 304:
                        leaks.append(page)
                    word = b'lang="%s"' % language.encode()
                    if b"<html" in answer.body and word not in answer.body:
                        mixed.append(page)
    return Row(
        "a hidden board, read by its organiser in two languages and then by others",
        f"{len(leaks)} answers with its rows, {len(mixed)} in another language; "
        f"the organiser saw {seen} of {2 * len(pages)}",
        not leaks and not mixed and seen > 0,
    )


def _ask(
    site: Besieged, page: str, user: object, language: str, more: dict[str, str]
) -> Answer:
    from clients import signed_in

    headers = {"Accept-Language": language, **more}
    if user is not None:
        headers["Cookie"] = f"sessionid={signed_in(user)[0]}"
    return site.client.ask("GET", page, headers=headers)
