"""Making the demo season, once; then it is left to those who play with it."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from citeboard.teams.models import User
from scoring.demo.people import ORGANISER, PARTICIPANT, ROLES, account, join, secret_of, token_of
from scoring.demo.runs import entered, send_runs
from scoring.demo.sheet import publish_ratings
from scoring.tools.demo.systems import LEAD, write_demo
from scoring.worker.entailment_labels import import_labels
from tasks.models import Organiser, Phase, Season
from tasks.seasons.file.load import load_season
from tasks.seasons.file.plan import read_published_results

EXAMPLES: Path = settings.BASE_DIR / "examples"
SEASON = "demo"
#: The participant leads it.
TEAM = "Fulmar"
#: Seasons that show what publications report, beside the one that runs can be sent to.
PUBLISHED = (
    "cl-summ-2014", "citation-resolution-2014", "citebench-2023", "citation-recommendation-2024",
    "aliice-2025",
)  # fmt: skip
#: The runs that could be sent to the demo season of releases without a task of positional citations.
EARLIER = {"1a": "lead.jsonl", "1b": "lead.jsonl", "citation-texts": "texts/first-sentences.jsonl"}
NEWEST_TASK = "positional"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What someone needs to try the site; ``example_runs`` has a file for each open phase."""

    users: dict[str, User]
    passwords: dict[str, str]
    token: str
    example_runs: dict[Phase, Path]


def prepare_demo() -> Demo:
    users = {role: account(role) for role in ROLES}
    files = _files()
    season = Season.objects.filter(slug=SEASON).first() or _made(files, users[ORGANISER])
    bring_published()
    Organiser.objects.get_or_create(season=season, user=users[ORGANISER])
    join(users[PARTICIPANT], entered(TEAM, season))
    return Demo(
        users=users,
        passwords={role: secret_of(role, "password") for role in ROLES},
        token=token_of(users[PARTICIPANT]),
        example_runs=_example_runs(season, files),
    )


def _files() -> Path:
    """The invented part of the season, written where it stays: workers read the parses there."""
    folder: Path = settings.DATA_DIR / "demo"
    if not folder.exists():
        by_hand = [path.parent for path in (EXAMPLES / "demo-season").glob("*/annotation")]
        draft = Path(tempfile.mkdtemp(prefix="demo-", dir=settings.DATA_DIR))
        try:
            write_demo(draft, by_hand)
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return folder


def _made(files: Path, organiser: User) -> Season:
    """As one step, so that a start that is interrupted leaves no half a season to the next."""
    with transaction.atomic():
        load_season(EXAMPLES / "demo-season", data=files)
        season = Season.objects.get(slug=SEASON)
        labels = files / NEWEST_TASK / "labels.jsonl"
        import_labels(path=labels, filename=labels.name, by=None, season=season)
        send_runs(season, files / "runs")
        publish_ratings(season, organiser)
    return season


def bring_published() -> None:
    """The seasons are loaded once; their figures are brought to those of this release, where they differ."""
    present = set(Season.objects.filter(slug__in=PUBLISHED).values_list("slug", flat=True))
    for slug in PUBLISHED:
        if slug not in present:
            load_season(EXAMPLES / slug)
            continue
        read_published_results(sorted((EXAMPLES / slug).glob("*.json"))).store()


def _example_runs(season: Season, files: Path) -> dict[Phase, Path]:
    now = timezone.now()
    phases = Phase.objects.filter(task__season=season, opens__lte=now, closes__gt=now)
    ordered = phases.select_related("task__season").order_by("task__position", "position")
    if not season.tasks.filter(slug=NEWEST_TASK).exists():
        return {
            phase: EXAMPLES / "runs" / EARLIER[phase.task.slug]
            for phase in ordered
            if phase.task.slug in EARLIER
        }
    runs = {phase: files / "runs" / phase.task.slug / f"{LEAD.slug}.jsonl" for phase in ordered}
    return {phase: run.resolve() for phase, run in runs.items() if run.exists()}
