"""Attacks that need no request: guesses against published digests, and answers from the public part."""

from __future__ import annotations

import hashlib
import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attacking.besieged import (
    API,
    Besieged,
    Row,
    lead_of,
    make_phase,
    make_season,
    make_team,
)

#: Labels that the attacker does not know yet; all others count as found out elsewhere.
UNKNOWN = 6
#: Swaps of two answers by which a draw is tried, and its seeds.
SWAPS, SEEDS = 20, range(1, 6)
HEX = re.compile(rb"[0-9a-f]{12,128}")


def attacks(site: Besieged) -> Iterator[Row]:
    yield digests(site)
    yield draws()


def digests(site: Besieged) -> Row:
    """Hash every set of labels, and look for the hash among all that the site publishes."""
    from tests.declared.small_tasks import SMALL_TASKS

    small = SMALL_TASKS["labels"]
    season = make_season("digests")
    phase = make_phase(season, small, small.gold_files(), board="everyone")
    team = make_team(season)
    lead = lead_of(team)
    site.submit(phase, lead, small.run(small.answers(12)))
    site.wait_for_score(phase)
    published = set()
    for user in (None, lead):
        for path in _pages(phase, lead, is_team=user is not None):
            answer = site.get(path, user)
            heads = " ".join(answer.headers.values()).encode()
            published.update(own.decode() for own in HEX.findall(answer.body + heads))
    candidates = 0
    found: list[str] = []
    labels = sorted({*small.right})
    for guess in itertools.product(labels, repeat=UNKNOWN):
        candidates += 1
        answers = [*guess, *small.right[UNKNOWN:]]
        if any(_is_published(own, published) for own in _hashes(phase, small, answers)):
            found = answers
            break
    right = sum(a == b for a, b in zip(found, small.right, strict=False))
    told = f"{right} of {len(small.right)} labels confirmed" if found else "none fits"
    return Row(
        f"guesses of {UNKNOWN} labels against {len(published)} published hashes",
        f"{told}, after {candidates} guesses",
        not found,
    )


def _pages(phase: Any, lead: Any, *, is_team: bool) -> Iterator[str]:
    season, task = phase.task.season.slug, phase.task
    run = phase.submissions.get()
    board = f"/seasons/{season}/{task.slug}/{phase.slug}"
    yield from (f"{API}/seasons/{season}/", f"{API}/tasks/{task.pk}/", "/log/")
    yield from (f"{API}/phases/{phase.pk}/", f"{API}/phases/{phase.pk}/leaderboard/")
    yield from (f"{board}/", f"{board}/board.json", f"{board}/board.csv", f"{API}/log/")
    yield from (f"{board}/gold-changes/", f"{board}/croissant.json", f"{board}/inputs/")
    if is_team:
        yield from (f"{API}/submissions/{run.pk}/", f"{API}/submissions/")
        yield f"{API}/submissions/{run.pk}/receipts/"


def _hashes(phase: Any, small: Any, answers: list[str]) -> Iterator[str]:
    """Yield the digests of the gold with these answers: of its content, and of its file."""
    from tasks.types.files import open_files_of_all_inputs

    files = small.files(answers)
    yield from (hashlib.sha256(text.encode()).hexdigest() for text in files.values())
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        yield phase.task.task_type.gold_of(
            open_files_of_all_inputs([Path(folder)]), {}
        ).digest


def _is_published(digest: str, published: set[str]) -> bool:
    return digest in published or any(
        digest.startswith(own) for own in published if len(own) < len(digest)
    )


def draws() -> Row:
    """Swap two hidden answers, draw the public part again, and see whether it is another one."""
    from tests.declared.small_tasks import INSTANCES, SMALL_TASKS

    followed = []
    for form, small in SMALL_TASKS.items():
        changed = tried = 0
        for place in range(SWAPS):
            one, other = place % INSTANCES, (7 * place + 5) % INSTANCES
            answers = list(small.right)
            if answers[one] == answers[other]:
                continue
            answers[one], answers[other] = answers[other], answers[one]
            for seed in SEEDS:
                tried += 1
                parts = [
                    _public_part(small, small.files(own), seed)
                    for own in (small.right, answers)
                ]
                changed += parts[0] != parts[1]
        if changed:
            followed.append(f"{form} {changed} of {tried}")
    return Row(
        "the draw of the public part after two hidden answers are swapped",
        f"another part: {', '.join(followed) or 'never'}",
        not followed,
    )


def _public_part(small: Any, files: Mapping[str, str], seed: int) -> set[str]:
    from scoring.offline.parts import draw_units_by_nonce
    from tasks.types.declared.folder import read_declaration
    from tasks.types.files import open_files_of_all_inputs, open_input_files
    from tasks.types.runs import read_run

    kind = read_declaration({"task.toml": small.toml, "card.md": ""})
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        split = kind.gold_of(open_files_of_all_inputs([Path(folder)]), {})
        run = Path(folder) / "run.jsonl"
        run.write_bytes(small.run(small.answers(0)))
        options = kind.validate_options({})
        answers, _ = read_run(
            kind, open_input_files(run), split.index, options, name="run"
        )
    whole = kind.pairs_of(split, answers, kind.default_rule_set, options)
    return draw_units_by_nonce(kind, whole, 30, f"{seed:064x}")
