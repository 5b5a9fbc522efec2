"""A season of as many runs as are wanted, and whoever looks at it."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.utils import timezone

from citeboard.teams.models import Team
from scoring.models import Evaluation, Score, Signature
from tasks.jobs import tallies
from tasks.models import Gold, Job, Phase, Registration, Submission
from tests.factories import make_phase, make_season, make_task, make_team, make_user

TEAMS, DAYS = 40, 60
#: Runs and jobs of the last week: as many whatever the size.
LATELY = 200
#: One run in so many has failed; each is followed by a better one of its team, so that none is marked.
FAILED = 50


def make_runs(size: int) -> Phase:
    organiser = make_user(is_staff=True, is_superuser=True)
    season = make_season(organiser=organiser, slug="large", is_public=True)
    phase = make_phase(task=make_task(season=season, slug="task"), slug="phase")
    fill(phase, size)
    return phase


def fill(phase: Phase, size: int) -> None:
    now, gold = timezone.now(), Gold.objects.current(phase)
    season = phase.task.season
    own = make_team(season=season, slug="own")
    teams = [
        own,
        *Team.objects.bulk_create(
            Team(name=f"T {n:03}", slug=f"t-{n}") for n in range(TEAMS - 1)
        ),
    ]
    Registration.objects.bulk_create(
        Registration(season=season, team=team, alias=10**6 + team.pk)
        for team in teams[1:]
    )
    week, old = dt.timedelta(days=7), max(size - LATELY, 1)

    def sent(n: int) -> dt.datetime:
        if n < size - LATELY:
            return now - week - dt.timedelta(days=DAYS - 7) * (1 - n / old)
        return now - week * ((size - n) / (LATELY + 1))

    runs = Submission.objects.bulk_create(
        (
            Submission(
                phase=phase, team=teams[n % TEAMS], number=n // TEAMS + 1, system=f"System {n}", file=f"f{n}",
                filename="run.jsonl", sha256=f"{n:064}", size=1, submitted_at=sent(n), status_since=sent(n),
                status="failed" if is_failed(n, size) else "scored",
            )
            for n in range(size)
        ),
        batch_size=2000,
    )  # fmt: skip
    Job.objects.bulk_create(
        (
            Job(
                submission=run, gold=gold, rules="corrected", sets_status=True, options_digest="d",
                state="failed" if run.status == "failed" else "done", created_at=run.submitted_at,
                started_at=run.submitted_at, finished_at=run.submitted_at + dt.timedelta(seconds=9),
            )
            for run in runs
        ),
        batch_size=2000,
    )  # fmt: skip
    evaluations = Evaluation.objects.bulk_create(
        (
            Evaluation(
                submission=run, gold=gold, rules="corrected", options_digest="d", phase=phase, team=run.team,
                rank_value=(n * 7919 % 10007) / 10007, submitted_at=run.submitted_at, statistics="s",
                seconds=1, attempt=1, answers_digest=f"{n:064}",
            )
            for n, run in enumerate(runs) if run.status == "scored"
        ),
        batch_size=2000,
    )  # fmt: skip
    metric = phase.task.task_type.rules["corrected"][0].name
    column = f"{metric}|rules:corrected|average:micro|gold:0123456789ab|v:1"
    [shared] = Signature.objects.get_or_insert_ids(
        [
            Signature(
                metric=metric, column=column, position=0, text=f"{column}|n:*|missing:*"
            )
        ]
    )
    Score.objects.bulk_create(
        (
            Score(
                evaluation=row,
                shared_id=shared,
                n=600,
                low=0.1,
                high=0.9,
                value=row.rank_value,
            )
            for row in evaluations
        ),
        batch_size=2000,
    )
    analyse()


def analyse() -> None:
    """As PostgreSQL does by itself, and SQLite never does on a site; a sweep adds up."""
    tallies.merge_tallied_rows()
    if connection.vendor == "postgresql":
        # Nothing but the sums, as after a vacuum, which no transaction may do.
        connection.cursor().execute("TRUNCATE tasks_tallied")
        tallies.correct_tallied_counts()
        connection.cursor().execute("ANALYZE")


def is_failed(n: int, size: int) -> bool:
    return n % FAILED == 1 and n < size - LATELY


def doors(phase: Phase) -> dict[str, Callable[[], Any]]:
    """Each page by its name, asked for as by whoever has kept nothing."""
    season = phase.task.season
    organiser, member = Client(SERVER_NAME="localhost"), Client(SERVER_NAME="localhost")
    organiser.force_login(season.organisers.get().user)
    member.force_login(Team.objects.get(slug="own").memberships.get().user)
    here = f"/seasons/{season.slug}/organise/"

    def asked(client: Client, path: str) -> Callable[[], Any]:
        def ask() -> Any:
            for name in ("pages", "results", "boards"):
                caches[name].clear()
            answer = client.get(path)
            body = (
                answer.getvalue()
                if not answer.streaming
                else b"".join(answer.streaming_content)
            )
            assert answer.status_code == 200, (path, answer.status_code, body[:300])
            return body

        return ask

    pages = {
        "API, runs": "/api/v1/submissions/",
        "API, runs of a phase": f"/api/v1/submissions/?phase={phase.pk}",
        "API, runs of a team": "/api/v1/submissions/?team=own",
        "organiser's first page": here,
        "how it goes": f"{here}progress/",
        "runs, organiser's list": f"{here}runs/",
        "operate": "/operate/",
        "metrics": "/metrics",
        **{f"admin, {name}": f"/admin/{name}/" for name in (
            "tasks/submission", "tasks/job", "scoring/evaluation", "core/auditentry", "tasks/registration",
            "teams/team", "teams/user", "tasks/phase",
        )},
    }  # fmt: skip
    own = {
        "API, runs, by a member": "/api/v1/submissions/",
        "API, board": f"/api/v1/phases/{phase.pk}/leaderboard/",
    }
    return {
        **{name: asked(organiser, path) for name, path in pages.items()},
        **{name: asked(member, path) for name, path in own.items()},
        "CSV of runs": asked(organiser, f"{here}runs.csv"),
    }


def make_waiting(phase: Phase, size: int, teams: int) -> list[Submission]:
    """Runs that wait, of so many teams in turn; teams of which there are more than runs have none."""
    gold, season = Gold.objects.current(phase), phase.task.season
    names = [f"w-{size}-{n}" for n in range(teams)]
    rows = Team.objects.bulk_create(Team(name=name, slug=name) for name in names)
    Registration.objects.bulk_create(
        Registration(season=season, team=team, alias=10**6 + team.pk) for team in rows
    )
    now = timezone.now() - dt.timedelta(hours=1)
    runs = Submission.objects.bulk_create(
        Submission(
            phase=phase, team=rows[n % teams], number=n // teams + 1, system=f"System {n}", file="f",
            submitted_at=now, status="queued",
        )
        for n in range(size)
    )  # fmt: skip
    Job.objects.bulk_create(
        Job(
            submission=run, gold=gold, rules="corrected", sets_status=True, season=season.pk,
            team=run.team_id, turn=n // teams, created_at=now + dt.timedelta(milliseconds=n),
        )
        for n, run in enumerate(runs)
    )  # fmt: skip
    analyse()
    return runs
