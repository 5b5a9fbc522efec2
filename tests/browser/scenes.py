"""A season worth looking at: a board with many rows, runs in every state, people to look with."""

import datetime as dt
from dataclasses import dataclass

from django.utils import timezone

from citeboard.teams.models import Team, User
from tasks.models import Phase, Submission
from tests import factories
from tests.scoring import boards

METRICS = (
    "overlap_precision_micro",
    "overlap_recall_micro",
    "overlap_f1_macro",
    "rouge_l_f1",
)
TOPICS = ("C90-2039", "C94-2154", "E03-1020", "H05-1115")


@dataclass
class Scene:
    """An open phase with scored runs, and the member of a team that takes part in it."""

    phase: Phase
    team: Team
    run: Submission
    member: User
    reader: User

    def address(self, name: str) -> str:
        return boards.address(name, self.phase)


def make_scene(teams: int = 6) -> Scene:
    member, reader = (
        factories.make_user(name="Ada Morel"),
        factories.make_user(name="Rosa Reader"),
    )
    season = factories.make_season(
        title="A season", summary="**Everything** here is made up.", licence="CC0"
    )
    task = factories.make_task(
        season=season, title="Cited text spans", rules=["corrected", "official-2017"]
    )
    phase = factories.make_phase(task=task, runs_per_day=5, title="Test phase")
    factories.make_phase(
        task=task, closes=timezone.now() + dt.timedelta(days=3), title="Practice"
    )
    team = factories.make_team(
        season=season, lead=member, name="The team", slug="the-team"
    )
    run = scored(
        factories.make_submission(phase=phase, team=team, system="My system"), 0.44
    )
    for number in range(teams - 1):
        other = factories.make_team(season=season, name=f"Team {chr(65 + number)}")
        scored(
            factories.make_submission(
                phase=phase, team=other, system=f"System {chr(65 + number)}"
            ),
            0.1 * number,
        )
    scored(factories.make_baseline(phase=phase, system="Lead"), 0.05)
    return Scene(phase=phase, team=team, run=run, member=member, reader=reader)


def scored(run: Submission, value: float) -> Submission:
    """What the worker would leave behind, under both rule sets and by two dimensions."""
    gold = run.phase.task.gold.get()
    others = {
        metric: value + 0.03 * place for place, metric in enumerate(METRICS, start=1)
    }
    boards.score(run, value, gold=gold, **others)
    boards.score(run, value + 0.01, gold=gold, rules="official-2017")
    boards.by_class(
        run,
        "topic",
        {topic: value + 0.05 * place for place, topic in enumerate(TOPICS)},
    )
    boards.by_class(run, "facet", {"Method": value, "Results": value / 2, "None": None})
    now = timezone.now()
    run.jobs.update(state="done", started_at=now, finished_at=now, progress=1)
    Submission.objects.filter(pk=run.pk).update(status="scored", status_since=now)
    run.refresh_from_db()
    return run
