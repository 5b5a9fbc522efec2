"""The least that is valid; a test states only what matters to it.

Gold is the small corpus of `tests.tasks.types.corpus`, packed and recorded as the site does it.
"""

import datetime as dt
import json
import tempfile
from functools import cache
from pathlib import Path

from allauth.account.models import EmailAddress
from django.conf import settings
from django.utils import timezone

from citeboard.teams.models import Membership, Team, User
from tasks.gold.gold_files import record_gold_version, store_prepared_gold
from tasks.gold.packing import PreparedGold, prepare_gold
from tasks.models import (
    Gold,
    Job,
    Organiser,
    Phase,
    Registration,
    Season,
    Submission,
    Task,
)
from tasks.registration.entries import draw_free_team_alias
from tasks.submissions.submit import submit_baseline, submit_run
from tasks.submissions.uploads import UploadedRunFile
from tasks.types import task_type
from tasks.types.files import open_files_of_all_inputs
from tests.numbering import OF_ROWS
from tests.tasks.types.corpus import CITANCES, write_topic

TOPICS = ("D01-0001", "D01-0002")
PASSWORD = "a password for tests"


def make_user(**fields) -> User:
    """A person whose address is verified, so that they can sign in."""
    number = next(OF_ROWS)
    user = User.objects.create_user(
        **{
            "email": f"person{number}@example.org",
            "password": PASSWORD,
            "name": f"Person {number}",
            **fields,
        }
    )
    EmailAddress.objects.create(
        user=user, email=user.email, verified=True, primary=True
    )
    return user


def make_season(*, organiser: User | None = None, **fields) -> Season:
    number = next(OF_ROWS)
    season = Season.objects.create(
        **{
            "slug": f"season-{number}",
            "title": f"Season {number}",
            "is_public": True,
            **fields,
        }
    )
    if organiser:
        Organiser.objects.create(season=season, user=organiser)
    return season


def make_task(*, season: Season | None = None, **fields) -> Task:
    number = next(OF_ROWS)
    defaults = {
        "slug": f"task-{number}",
        "title": f"Task {number}",
        "type": "clsumm-1a",
        "rules": ["corrected"],
        # The small corpus has no class of five instances.
        "min_class_size": 1,
    }
    return Task.objects.create(season=season or make_season(), **{**defaults, **fields})


def lasting_day() -> str:
    """A time zone whose day does not end while a test counts its runs: UTC, but for its last hour."""
    return "Etc/GMT+6" if timezone.now().hour == 23 else "UTC"


def make_phase(*, task: Task | None = None, with_gold: bool = True, **fields) -> Phase:
    """A phase that opened yesterday and closes in a month; its split has gold unless that is not wanted."""
    number = next(OF_ROWS)
    defaults = {
        "slug": f"phase-{number}",
        "title": f"Phase {number}",
        "opens": timezone.now() - dt.timedelta(days=1),
        "closes": timezone.now() + dt.timedelta(days=30),
    }
    if "runs_per_day" in fields:
        defaults["time_zone"] = lasting_day()
    phase = Phase.objects.create(task=task or make_task(), **{**defaults, **fields})
    if with_gold and Gold.objects.current(phase) is None:
        make_gold(phase=phase)
    return phase


def make_gold(
    *, phase: Phase, citances=CITANCES, topics=TOPICS, reason: str = "first release"
) -> Gold:
    """The gold of a phase's split; other citances than before make a new version."""
    task = phase.task
    prepared = _prepared(task.type, json.dumps([task.options, citances, topics]))
    gold, _ = record_gold_version(
        task=task, split=phase.split, kept=store_prepared_gold(prepared), reason=reason
    )
    return gold


@cache
def _prepared(slug: str, of: str) -> PreparedGold:
    """As `load_gold` packs it, once in a process; the files go with the folder of the test run."""
    options, citances, topics = json.loads(of)
    folder = Path(tempfile.mkdtemp(dir=settings.DATA_DIR))
    corpus = write_corpus(folder / "corpus", citances=citances, topics=topics)
    return prepare_gold(
        task_type(slug), open_files_of_all_inputs([corpus]), options, folder
    )


def write_corpus(folder: Path, *, citances=CITANCES, topics=TOPICS) -> Path:
    for topic in topics:
        write_topic(folder, topic, citances)
    return folder


def make_team(
    *, season: Season | None = None, lead: User | None = None, members=(), **fields
) -> Team:
    """A team with a lead; with a season, it is registered there and approved."""
    number = next(OF_ROWS)
    team = Team.objects.create(
        **{"name": f"Team {number}", "slug": f"team-{number}", **fields}
    )
    Membership.objects.create(
        team=team, user=lead or make_user(), role=Membership.Role.LEAD
    )
    for member in members:
        Membership.objects.create(team=team, user=member)
    if season:
        Registration.objects.create(
            season=season, team=team, alias=draw_free_team_alias(season)
        )
    return team


def answers(
    *, sentences=("1",), facets=("Method",), topics=TOPICS, citances=CITANCES
) -> list[dict]:
    """Answers to every citance of the small corpus, the same to each."""
    return [
        {
            "topic": topic,
            "citing": citing,
            "marker": marker,
            "sentences": list(sentences),
            "facets": list(facets),
        }
        for topic in topics
        for citing, marker, _, _ in citances
    ]


def run_bytes(records: list[dict] | None = None, **fields) -> bytes:
    """A run as JSON lines; each call without arguments gives the same bytes."""
    lines = records if records is not None else answers(**fields)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def other_run(number: int) -> bytes:
    """A valid run whose bytes differ from those of every other number."""
    return run_bytes() + b" " * number + b"\n"


def make_upload(
    content: bytes | None = None, filename: str = "run.jsonl"
) -> UploadedRunFile:
    """A run on disk; the file goes with the folder of the test run."""
    with tempfile.NamedTemporaryFile(dir=settings.DATA_DIR, delete=False) as file:
        file.write(run_bytes() if content is None else content)
    return UploadedRunFile(Path(file.name), filename)


def make_submission(
    *,
    phase: Phase | None = None,
    team: Team | None = None,
    content: bytes | None = None,
    **fields,
) -> Submission:
    """A run that was sent through the site's own door, and waits; ``fields`` are set afterwards."""
    phase = phase or make_phase()
    team = team or make_team(season=phase.task.season)
    given = {
        name: fields.pop(name)
        for name in ("system", "description", "kind", "user")
        if name in fields
    }
    lead = team.memberships.get(role=Membership.Role.LEAD).user
    submission = submit_run(
        phase=phase,
        team=team,
        upload=make_upload(other_run(next(OF_ROWS)) if content is None else content),
        **{"system": f"System {next(OF_ROWS)}", "user": lead, **given},
    )
    return _changed(submission, fields)


def make_job(kind: str, **facts) -> Job:
    """Of what is no run; whatever it works on names it."""
    facts = {
        "priority": Job.Priority.POST,
        "due_at": timezone.now() - dt.timedelta(days=1),
        **facts,
    }
    return Job.all_kinds.create(kind=kind, **facts)


def make_baseline(
    *, phase: Phase, content: bytes | None = None, **fields
) -> Submission:
    submission = submit_baseline(
        phase=phase,
        upload=make_upload(content),
        system=fields.pop("system", f"Baseline {next(OF_ROWS)}"),
    )
    return _changed(submission, fields)


def _changed(submission: Submission, fields: dict) -> Submission:
    for name, value in fields.items():
        setattr(submission, name, value)
    submission.save()
    return submission
