"""One of everything that an address can name, and one of each kind of person."""

import datetime as dt
import re
import tempfile
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from citeboard.core import audit
from citeboard.teams.membership import (
    invite_by_mail,
    remove_member,
    renew_invitation,
    sign_invitation_secret,
)
from citeboard.teams.models import Team, Token, User
from citeboard.web.guides import find_site_wheel_name
from scoring.exchange.mounted import find_mounted_archive, verify_and_mount_archive
from scoring.models import (
    BackgroundJob,
    EstimateSheet,
    Sheet,
    SheetInstance,
    SheetPair,
    SheetText,
    Snapshot,
)
from scoring.results.board.public_results import build_system_slug
from scoring.results.board.snapshots import save_snapshot
from scoring.results.board.standings import compute_board
from tasks.delivery.webhooks.services import make_webhook
from tasks.gold.gold_files import load_gold
from tasks.models import (
    Bundle,
    Claim,
    Delivery,
    ExtraTries,
    Gold,
    MeasuresFile,
    MergeProposal,
    Notification,
    Organiser,
    Phase,
    Report,
    Season,
    Submission,
)
from tasks.registration.entries import ask_to_join
from tasks.seasons.announcements import announce, ask, report_abuse
from tests import factories
from tests.archive import archives
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards, sheets
from tests.scoring.publications import BESIDE, PLACEMENTS, keep_publication

#: A reader is in no team, a stranger in another team of the season, `removed` was in the member's team when
#: its run was sent, and `elsewhere` organises another season.
ROLES = (
    "visitor",
    "reader",
    "stranger",
    "removed",
    "member",
    "organiser",
    "elsewhere",
    "staff",
)

#: A helper of the season has no column of their own: `tests.access.table.HELPED` says what is theirs.
EVERY_ROLE = (*ROLES, "helper")
#: As whom `make test` asks; `.ci/run` asks as every role.
ASKED_FIRST = ("visitor", "member", "organiser")


def asked_as(roles: Iterable[str]) -> list[pytest.ParameterSet]:
    """Mark the roles that `make test` leaves to `.ci/run`."""
    return [
        pytest.param(role, marks=() if role in ASKED_FIRST else pytest.mark.whole_table)
        for role in roles
    ]


#: What nobody may find who may not see it: in the gold, in inputs of a phase that has not opened, in the name
#: of a run, and a score as pages and exports begin to write it.
GOLD, INPUTS, SYSTEM, SCORE = "Canary annotator", "D77-7777", "Canary system", 0.734159
SCORE_SHOWN = "0.734"

INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[\d.]+")


def without_instants(said: str) -> str:
    """What an answer says but for its times, whose seconds may read like a number that is looked for."""
    return INSTANT.sub("", said)


@dataclass
class Scene:
    """A season with an open phase and a run of the member's team that stands on its board.

    ``later`` is a phase of the same task that has gold and opens in a month.
    """

    phase: Phase
    later: Phase
    team: Team
    run: Submission
    bundle: Bundle
    sheet: Sheet
    token: Token
    kept: Snapshot
    job: BackgroundJob
    people: dict[str, User | None]

    @cached_property
    def values(self) -> dict[str, object]:
        """What stands for each part of an address, by its name in the pattern; asked for once."""
        task = self.phase.task
        return {
            "season": task.season.slug,
            "task": task.slug,
            "phase": self.phase.slug,
            "submission": self.run.pk,
            "slug": task.season.slug,
            "rest": "nowhere",
            "name": "json",
            "guide": "api",
            "archive": archives.SLUG,
            "file": find_site_wheel_name(),
            "key": "no-such-key",
            "uidb36": "x",
            "url": "nowhere",
            "content_type_id": 1,
            "object_id": 1,
            "app_label": "teams",
            "secret": sign_invitation_secret(self.team.invitation),
            "member": self.people["mate"].pk,
            "number": 1,
            "invited": self.team.mailed_invitations.get().pk,
            "asked": self.team.join_requests.get().pk,
            "proposal": MergeProposal.objects.get().pk,
            "digest": self.kept.short,
            "system": build_system_slug(self.run.system),
            "entry": self.team.registrations.get().pk,
            "sheet": self.sheet.pk,
            "pairs": Sheet.objects.pairs().latest("pk").pk,
            "estimates": EstimateSheet.objects.latest("pk").pk,
            "question": task.season.questions.latest("pk").pk,
            "report": Report.objects.latest("pk").pk,
            "measures": MeasuresFile.objects.latest("pk").pk,
            "claim": Claim.objects.latest("pk").pk,
            "webhook": task.season.webhooks.get().pk,
            "delivery": Delivery.objects.latest("pk").pk,
            "announcement": task.season.announcements.latest("pk").pk,
            "annotator": self.sheet.annotators.get().pk,
            "acknowledgement": self.run.acknowledgements.get().pk,
            "gold": Gold.objects.get(task=task, split=self.phase.split).pk,
            "given": self.phase.extra_tries.get().pk,
            "preset": "semeval",
            "prefix": f"tasks.{task.slug}",
            "job": self.job.pk,
            "organiser": task.season.organisers.get(role=Organiser.Role.HELPER).pk,
        }

    @cached_property
    def last_entry(self) -> int:
        """The number of the season's last entry in the history."""
        return audit.find_history_of_place(self.phase.task.season).latest("pk").pk


def make_scene() -> Scene:
    people: dict[str, User | None] = {
        role: factories.make_user() for role in (*EVERY_ROLE[1:], "mate")
    }
    people["visitor"] = None
    staff = people["staff"]
    User.objects.filter(pk=staff.pk).update(is_staff=True, is_superuser=True)
    season = factories.make_season(organiser=people["organiser"])
    Organiser.objects.create(
        season=season, user=people["helper"], role=Organiser.Role.HELPER
    )
    Claim.objects.create(
        season=factories.make_season(organiser=people["elsewhere"]), later=season
    )
    task = factories.make_task(season=season, published=[BESIDE, *PLACEMENTS])
    phase = factories.make_phase(task=task, with_gold=False)
    _load(phase, factories.TOPICS)
    keep_publication()
    team = factories.make_team(
        season=season,
        lead=people["member"],
        members=[people["mate"], people["removed"]],
        slug="the-team",
    )
    other = factories.make_team(
        season=season, lead=people["stranger"], slug="another-team"
    )
    season.merge_until = timezone.now() + dt.timedelta(days=1)
    season.save()
    MergeProposal.objects.create(
        season=season, team=other, into=team, proposed_by=people["stranger"]
    )
    run = factories.make_submission(
        phase=phase, team=team, user=people["removed"], system=SYSTEM, status="scored"
    )
    remove_member(team=team, user=people["removed"], by=people["member"])
    renew_invitation(team=team, by=people["member"])
    invite_by_mail(team=team, address="invited@example.org", by=people["member"])
    ask_to_join(season=season, team=team, user=people["reader"], message="")
    evaluation = boards.score(run, SCORE, gold=Gold.objects.get(task=phase.task))
    boards.by_class(run, "topic", {"C90-2039": SCORE})
    assert evaluation.pk
    bundle = Bundle.objects.create(
        season=season, team=team, filename="runs.zip", sha256="0" * 64
    )
    run.acknowledgements.create(
        failed_at=run.status_since, note="Seen.", by=people["organiser"]
    )
    ExtraTries.objects.create(
        phase=phase, team=team, tries=2, reason="The site was away."
    )
    sheet = sheets.make_sheet(
        phase, {"r-1": {run: "A text."}}, annotators=[people["reader"]]
    )
    _pairs_for(phase, run, people["reader"])
    sheets.make_estimates(phase, [run])
    make_webhook(season=season, url="https://bot.example.org/", by=people["organiser"])
    announce(season=season, text="Welcome.", by=people["organiser"])
    ask(season=season, text="When does it end?", by=people["reader"])
    MeasuresFile.objects.create(
        digest="0" * 64, text="", season=season, brought_by=people["organiser"]
    )
    report_abuse(address="", text="This is an insult.", by=people["reader"])
    audit.record_action(
        "member-joined", actor=people["organiser"], subject=phase, place=season
    )
    mount_archive()
    # What the others have not read would be counted on each of their pages.
    Notification.objects.exclude(user=people["member"]).update(read_at=timezone.now())
    token, _ = Token.objects.create_token(user=people["member"], name="of the member")
    return Scene(
        phase=phase,
        later=_later(task),
        team=team,
        run=run,
        bundle=bundle,
        sheet=sheet,
        token=token,
        kept=save_snapshot(compute_board(phase, None), Snapshot.Occasion.CITED),
        job=_background_job(season, people["organiser"]),
        people=people,
    )


def _pairs_for(phase: Phase, run: Submission, judge: User) -> None:
    """Create a sheet with one pair of two texts of one run, because the scene has a single run."""
    sheet = Sheet.objects.create(phase=phase, kind=Sheet.Kind.PAIRS, seed=0)
    left, right = (
        SheetText.objects.create(
            instance=SheetInstance.objects.create(
                sheet=sheet, position=position, name=f"p-{position}", sources=[]
            ),
            position=1,
            code=f"scene{position}",
            submission=run,
            text="A text.",
        )
        for position in (1, 2)
    )
    SheetPair.objects.create(instance=left.instance, position=1, left=left, right=right)
    sheet.annotators.create(name="a judge", user=judge)


def beside(scene: Scene, slug: str) -> Scene:
    """The same of everything that a season has, and another one of what a phase has, with gold of its own."""
    people = scene.people
    phase = factories.make_phase(
        task=scene.phase.task, with_gold=False, slug=slug, split=slug
    )
    topics = [f"{slug}-{topic}" for topic in factories.TOPICS]
    _load(phase, topics)
    run = factories.make_submission(
        phase=phase,
        team=scene.team,
        user=people["mate"],
        status="scored",
        content=factories.run_bytes(topics=topics),
    )
    run.acknowledgements.create(
        failed_at=run.status_since, note="Seen.", by=people["organiser"]
    )
    ExtraTries.objects.create(
        phase=phase, team=scene.team, tries=2, reason="The site was away."
    )
    sheet = sheets.make_sheet(
        phase, {"r-1": {run: "A text."}}, annotators=[people["reader"]]
    )
    return replace(scene, phase=phase, run=run, sheet=sheet)


def score_beside(scene: Scene, system: str, score: float) -> None:
    """Its run, and the board that is kept with it."""
    scene.run.system = system
    scene.run.save()
    boards.score(
        scene.run,
        score,
        gold=Gold.objects.get(task=scene.phase.task, split=scene.phase.split),
    )
    boards.by_class(scene.run, "topic", {"C90-2039": score})
    scene.kept = save_snapshot(
        compute_board(scene.phase, None), Snapshot.Occasion.CITED
    )


def mount_archive() -> None:
    if find_mounted_archive(archives.SLUG) is None:
        with tempfile.TemporaryDirectory() as folder:
            verify_and_mount_archive(
                archives.write_small_archive(Path(folder) / "archive")
            )


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scene, django_db_blocker)


@pytest.fixture
def scene(db, kept_scene) -> Scene:
    mount_archive()
    return kept_scene()


def _background_job(season: Season, asked_by: User) -> BackgroundJob:
    """One that has failed, and so stays as it is."""
    job = factories.make_job(
        "background", state="failed", reason="This file cannot be taken."
    )
    facts = {"job": job, "filename": "labels.jsonl", "finished_at": timezone.now()}
    return BackgroundJob.objects.create(
        kind="labels", season=season, asked_by=asked_by, **facts
    )


def _later(task) -> Phase:
    now = timezone.now()
    later = factories.make_phase(
        task=task,
        slug="later",
        split="later",
        opens=now + dt.timedelta(days=30),
        closes=now + dt.timedelta(days=60),
        with_gold=False,
        position=1,
    )
    _load(later, [INPUTS])
    return later


def _load(phase: Phase, topics: Sequence[str]) -> None:
    """Gold in which an annotator's name says where it came from."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = factories.write_corpus(Path(folder) / "corpus", topics=topics)
        for file in corpus.glob("*/annotation/*.txt"):
            file.write_text(
                file.read_text().replace("Annotator: us", f"Annotator: {GOLD}")
            )
        load_gold(
            task=phase.task, split=phase.split, paths=[corpus], reason="first release"
        )


def routes() -> dict[str, URLPattern]:
    """Every address that the site answers, by name; those without one by their pattern. Each has the
    converters of what it stands below too.
    """
    found: dict[str, URLPattern] = {}

    def walk(
        resolver: URLResolver,
        names: tuple[str, ...],
        path: str,
        above: dict[str, object],
    ) -> None:
        for pattern in map(copy, resolver.url_patterns):
            pattern.pattern = copy(pattern.pattern)
            pattern.pattern.converters = above | pattern.pattern.converters
            if isinstance(pattern, URLResolver):
                inner = (*names, pattern.namespace) if pattern.namespace else names
                walk(
                    pattern,
                    inner,
                    path + str(pattern.pattern),
                    pattern.pattern.converters,
                )
            else:
                found[
                    ":".join((*names, pattern.name or path + str(pattern.pattern)))
                ] = pattern

    walk(get_resolver(), (), "", {})
    return found
