"""The same season several times, with a task of each form: hidden answers differ from world to world.

Chance, the clock and the digests of gold are the same in all, so that whatever differs in
an answer of the site follows from hidden gold.
"""

import datetime as dt
import hashlib
import io
import os
import random
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import connection, transaction
from django.http import HttpResponseBase
from django.test import Client
from django.utils import timezone

from citeboard.archive.write import write_archive
from citeboard.core import api, database
from citeboard.core.storage import downloads
from scoring.exchange import data_sets
from scoring.models import Snapshot
from scoring.offline import receipts
from scoring.results.board.snapshots import save_snapshot
from scoring.results.board.standings import compute_board
from tasks.delivery.webhooks.posting import encode_payload
from tasks.gold.gold_files import load_gold
from tasks.gold.publishing import compare_new_publications
from tasks.jobs.mails import build_email_message
from tasks.models import Delivery, ExtraTries, Notification, Phase
from tasks.types.digests import compute_salted_digest
from tests import factories
from tests.access.scene import Scene, make_scene, mount_archive
from tests.api.sending import score
from tests.declared import small_reports, small_tasks
from tests.declared.small_tasks import (
    SMALL_TASKS,
    Secrets,
    declare,
    publish_gold,
)
from tests.numbering import EVERY, positions
from tests.scoring import sheets

#: The task whose phase shows neither its board nor a team's own scores. A run on it scores
#: otherwise in the second world; on all other tasks each run scores the same in both.
HIDDEN = "hidden"
#: A task of cited reports, hidden likewise: its nuggets and judgements differ from world to world.
REPORTS = "reports"
SEED = 20260401


@dataclass
class World:
    """``parts`` has for each form the scene of its task; ``rival`` that of another season."""

    scene: Scene
    parts: dict[str, Scene]
    rival: "RivalScene"
    run: bytes


@dataclass
class RivalScene(Scene):
    """The season of another organiser, who has the texts of the first one and guesses its labels."""

    guesses: bytes = b""

    @cached_property
    def values(self) -> dict[str, object]:
        task = self.phase.task
        return {
            "season": task.season.slug,
            "task": task.slug,
            "phase": self.phase.slug,
            "slug": task.season.slug,
            "gold": task.gold.get().pk,
            "rest": "nowhere",
            "annotator": 0,
            "report": 0,
        }

    @cached_property
    def last_entry(self) -> int:
        """No number of an entry: the season's history begins with what the rival does."""
        return 0


def make_world(secrets: Secrets, folder: Path) -> World:
    scene = make_scene()
    small = SMALL_TASKS["labels"]
    parts = {form: _make_part(scene, form, secrets, folder) for form in SMALL_TASKS}
    parts[HIDDEN] = _make_hidden(scene, secrets, folder)
    parts[REPORTS] = _make_reports(scene, secrets, folder)
    rival = _make_rival(scene, folder)
    # What publishing does once its transaction is through, which it never is here.
    compare_new_publications()
    return World(scene, parts, rival, small.run(small.answers(9)))


def _make_part(scene: Scene, form: str, secrets: Secrets, folder: Path) -> Scene:
    small = SMALL_TASKS[form]
    task = declare(small, scene.phase.task.season, slug=f"form-{form}")
    phase = factories.make_phase(task=task, with_gold=False, board="everyone")
    publish_gold(phase, small.gold_files(secrets), folder / form)
    runs = [small.run(small.answers(right)) for right in (12, 18, 6)]
    return _with_runs(scene, phase, runs)


def _make_hidden(scene: Scene, secrets: Secrets, folder: Path) -> Scene:
    task = factories.make_task(season=scene.phase.task.season, slug=HIDDEN)
    phase = factories.make_phase(
        task=task, with_gold=False, board="nobody", own_scores="nothing"
    )
    corpus = small_tasks.write_corpus(folder / HIDDEN, secrets)
    load_gold(task=task, split=phase.split, paths=[corpus], reason="first release")
    return _with_runs(scene, phase, [small_tasks.corpus_run(n) for n in (12, 9, 6)])


def _make_reports(scene: Scene, secrets: Secrets, folder: Path) -> Scene:
    task = factories.make_task(
        season=scene.phase.task.season, slug=REPORTS, type="cited-reports"
    )
    phase = factories.make_phase(
        task=task, with_gold=False, board="nobody", own_scores="nothing"
    )
    gold = small_reports.write_gold(folder / REPORTS, secrets)
    load_gold(task=task, split=phase.split, paths=[gold], reason="first release")
    runs = [small_reports.run(right) for right in (4, 6, 3)]
    return _with_runs(scene, phase, runs)


def _with_runs(scene: Scene, phase: Phase, contents: list[bytes]) -> Scene:
    """Score two runs of the member's team and one of another, and make what addresses name."""
    other = phase.task.season.registrations.get(team__slug="another-team").team
    runs = [
        factories.make_submission(phase=phase, team=team, content=content)
        for team, content in zip((scene.team, other, scene.team), contents, strict=True)
    ]
    for run in runs:
        score(run)
    run, organiser = runs[0], scene.people["organiser"]
    run.acknowledgements.create(failed_at=run.status_since, note="Seen.", by=organiser)
    ExtraTries.objects.create(
        phase=phase, team=scene.team, tries=2, reason="An outage."
    )
    sheet = sheets.make_sheet(
        phase, {"r-1": {run: "A text."}}, annotators=[scene.people["reader"]]
    )
    kept = (
        save_snapshot(compute_board(phase, None), Snapshot.Occasion.CITED) or scene.kept
    )
    return replace(scene, phase=phase, run=run, sheet=sheet, kept=kept)


def _make_rival(scene: Scene, folder: Path) -> RivalScene:
    organiser, small = scene.people["elsewhere"], SMALL_TASKS["labels"]
    season = factories.make_season(slug="rival", organiser=organiser)
    phase = factories.make_phase(task=declare(small, season), with_gold=False)
    # Whole digests of gold would tell a guess that is right in all.
    guesses = small.files([*small.wrong[:1], *small.right[1:]])
    publish_gold(phase, guesses, folder / "rival")
    facts = {name: getattr(scene, name) for name in Scene.__dataclass_fields__}
    return RivalScene(
        **{**facts, "phase": phase}, guesses=guesses["gold.jsonl"].encode()
    )


class Chance:
    """Randomness that begins anew wherever it is told to, the same in all worlds."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)

    def begin(self, key: str) -> None:
        self._random.seed(f"{SEED} {key}")

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


#: What stands for the digest of gold while answers are compared: a number in the order of
#: loading. A public digest of gold is a commitment, which may differ between the worlds.
class NumberedDigests:
    """Number digests in the order in which a world computes them."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def begin(self) -> None:
        self._numbers.clear()

    def __call__(self, digest: str) -> str:
        if digest in self._numbers.values():
            return digest
        number = hashlib.sha256(b"gold %d" % len(self._numbers)).hexdigest()
        return self._numbers.setdefault(digest, number)


@dataclass
class Laboratory:
    """Build a world, and hand it to whoever looks at it."""

    chance: Chance
    digests: NumberedDigests
    #: Of the rows that factories make.
    first_numbers: list[int] = field(default_factory=positions)

    @contextmanager
    def world(self, secrets: Secrets) -> Iterator[World]:
        """Roll everything back at the end."""
        self.digests.begin()
        self.chance.begin("world")
        for numbers, first in zip(EVERY, self.first_numbers, strict=True):
            numbers.next = first
        forget()
        mount_archive()
        with tempfile.TemporaryDirectory() as folder, transaction.atomic():
            begin_counters()
            yield make_world(secrets, Path(folder))
            transaction.set_rollback(True)
        forget()


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every clock of the site stand still, whatever has imported it by name."""
    at = timezone.now()

    def now() -> dt.datetime:
        return stopped_at  # type: ignore[name-defined]  # noqa: F821

    def from_now(seconds: float = 0) -> dt.datetime:
        return stopped_at + dt.timedelta(seconds=seconds)  # type: ignore[name-defined]  # noqa: F821

    for function, stopped in (
        (timezone.now, now),
        (database.fetch_database_time, now),
        (database.database_time_expression, from_now),
    ):
        monkeypatch.setitem(function.__globals__, "stopped_at", at)
        monkeypatch.setattr(function, "__code__", stopped.__code__)
    monkeypatch.setattr(time, "time", at.timestamp)


def even_out_keys(monkeypatch: pytest.MonkeyPatch, keys: "NumberedDigests") -> None:
    """Give keys of gold, validators of files and commitments of receipts the same values in all worlds.

    They are HMACs and digests with a nonce or the secret of the site: a reader without it learns nothing from
    values that differ.
    """

    def key(digest: str, nonce: str) -> str:
        return numbered_keys(digest)  # type: ignore[name-defined]  # noqa: F821

    monkeypatch.setitem(compute_salted_digest.__globals__, "numbered_keys", keys)
    monkeypatch.setattr(compute_salted_digest, "__code__", key.__code__)

    def validator(salt: str, name: str, *, algorithm: str):
        return hashlib.new(algorithm, keys(name).encode())

    for module in (downloads, data_sets):
        monkeypatch.setattr(module, "salted_hmac", validator)

    def commitment(nonce: bytes, text: str) -> str:
        return keys(f"{nonce.hex()} {text}")

    monkeypatch.setattr(receipts, "compute_commitment", commitment)


@pytest.fixture
def laboratory(db, monkeypatch) -> Laboratory:
    # What a process does once: a first page, and the draw by which temporary files are named.
    Client().get("/health/ready")
    tempfile.NamedTemporaryFile().close()
    stop_clock(monkeypatch)
    chance, digests = Chance(), NumberedDigests()
    monkeypatch.setattr(os, "urandom", chance.bytes)
    monkeypatch.setattr(random, "_urandom", chance.bytes)
    even_out_keys(monkeypatch, digests)
    return Laboratory(chance, digests)


def begin_counters() -> None:
    """Give the rows of all worlds the same numbers; SQLite does so by itself."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT schemaname || '.' || sequencename FROM pg_sequences")
        for [name] in cursor.fetchall():
            cursor.execute(f"ALTER SEQUENCE {name} RESTART")


def forget() -> None:
    """Empty what knows rows by their numbers, and whether files are there already."""
    for name in ("pages", "results", "boards"):
        caches[name].clear()
    api._REQUEST_COUNTS.clear()
    shutil.rmtree(settings.FILES_DIR, ignore_errors=True)


class Request(NamedTuple):
    """``part`` is the form of a task, HIDDEN, ``rival``, or empty for what is of no task.

    What the site sends by itself has the method SENT.
    """

    role: str
    method: str
    part: str
    name: str
    query: str = ""


SENT = "SENT"


class Answer(NamedTuple):
    status: int
    headers: str
    body: str


#: Headers that follow from a body, or from the time.
PASSING_HEADERS = (
    "Content-Length",
    "Date",
    "Expires",
    "Last-Modified",
    "Server-Timing",
)
TIMES = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::[\d.]+)?)?|\b\d\d?:\d\d(?::\d\d(?:\.\d+)?)?\b"
)


def without_times(text: str) -> str:
    return TIMES.sub("TIME", text)


def answer_of(response: HttpResponseBase) -> Answer:
    headers = {
        name: value for name, value in response.items() if name not in PASSING_HEADERS
    }
    headers |= {f"cookie {name}": own.value for name, own in response.cookies.items()}
    lines = "\n".join(f"{name}: {headers[name]}" for name in sorted(headers))
    body = without_times(readable(response.getvalue()))
    return Answer(response.status_code, without_times(lines), body)


def sent_by(world: World) -> dict[Request, Answer]:
    """Return the mails, what is posted to programs, and the files of the archive of the season."""
    found: dict[Request, Answer] = {}
    roles = {person: role for role, person in world.scene.people.items()}

    def keep_sent(role: str, name: str, text: str) -> None:
        found[Request(role, SENT, "", name)] = Answer(200, "", without_times(text))

    for told in Notification.objects.order_by("pk"):
        letter = build_email_message(told)
        text = f"{letter.subject}\n{letter.body}\n{letter.extra_headers}"
        keep_sent(roles.get(told.user, "others"), f"mail {told.pk}", text)
    for delivery in Delivery.objects.order_by("pk"):
        text = encode_payload(delivery.payload).decode()
        keep_sent("webhook", f"delivery {delivery.pk}", text)
    season = world.scene.phase.task.season
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "archive"
        write_archive(season, folder, version="0", with_gold=False)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                name = str(file.relative_to(folder))
                keep_sent("archive", name, readable(file.read_bytes()))
    return found


def readable(body: bytes) -> str:
    """Return the text of an answer, and of each file of an archive."""
    if not body.startswith(b"PK\x03\x04"):
        return body.decode("utf-8", "backslashreplace")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(
            f"{name}\n{readable(archive.read(name))}" for name in archive.namelist()
        )


def difference(one: Answer, other: Answer) -> str:
    """Return the first place in which two answers differ, with some text around it."""
    if one.status != other.status:
        return f"status {one.status} and {other.status}"
    for a, b in ((one.body, other.body), (one.headers, other.headers)):
        if a != b:
            ends = zip(a, b, strict=False)
            place = next(
                (at for at, (x, y) in enumerate(ends) if x != y), min(len(a), len(b))
            )
            return (
                f"…{a[max(0, place - 80) : place + 60]!r} and {b[place : place + 60]!r}"
            )
    return ""
