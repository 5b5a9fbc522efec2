"""What stands on the demo's boards: the teams' runs, those of an earlier phase, and built-in baselines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils import timezone

from citeboard.teams.models import Team
from scoring.tools.demo.systems import SYSTEMS, System
from scoring.worker.baseline_runs import ask
from tasks.models import Phase, Registration, Season
from tasks.registration.entries import draw_alias
from tasks.submissions.submit import Upload, submit_run

PRACTICE, EVALUATION, PILOT = "practice", "evaluation", "pilot"
#: Who takes part in every phase; the others practise.
IN_ALL_PHASES = ("Avocet", "Bittern", "Curlew")
#: By task, of the built-in baselines those that take a moment.
BASELINES = {
    "1a": ("clsumm-tfidf-top1", "clsumm-mq-mmr"),
    "1b": ("clsumm-tfidf-top1", "clsumm-mq-mmr"),
    "2": ("clsumm-lead", "clsumm-mq-summary-tfidf"),
    "citation-texts": ("citation-text-lead", "citation-text-lexrank"),
    "recommendation": ("tfidf-cosine", "bm25-okapi"),
    "resolution": ("references-tfidf-10-10", "references-tfidf-30-30"),
}


#: Data sets of the task on citation texts that its teams say their systems were trained on.
TRAINED_ON = {"Draft and check": "paragraphs", "Retrieve and edit": "sentences", "Last sentences": "none"}


def send_runs(season: Season, files: Path) -> None:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    for phase in phases.order_by("task__position", "position"):
        with _open(phase):
            for system in SYSTEMS[phase.task.slug]:
                if phase.slug == PRACTICE or system.team in IN_ALL_PHASES:
                    _send(phase, system, files)
        if phase.slug == PRACTICE and phase.task.slug in BASELINES:
            ask(phase=phase, names=BASELINES[phase.task.slug], by=None)


def entered(name: str, season: Season) -> Team:
    """The team, registered for the season."""
    team, _ = Team.objects.get_or_create(slug=name.lower(), defaults={"name": name})
    if not Registration.objects.filter(season=season, team=team).exists():
        Registration.objects.create(season=season, team=team, alias=draw_alias(season))
    return team


@contextmanager
def _open(phase: Phase) -> Iterator[None]:
    """A phase that is over takes the runs that were sent while it was open; nobody sees it open meanwhile."""
    closes = phase.closes
    if closes > timezone.now():
        yield
        return
    own = Phase.objects.filter(pk=phase.pk)
    own.update(closes=timezone.now() + dt.timedelta(days=1))
    phase.refresh_from_db(fields=["closes"])
    yield
    own.update(closes=closes)
    phase.submissions.update(submitted_at=closes - dt.timedelta(days=2))


def _send(phase: Phase, system: System, files: Path) -> None:
    name = f"{system.slug}.jsonl"
    submit_run(
        phase=phase,
        team=entered(system.team, phase.task.season),
        user=None,
        upload=Upload(files / phase.task.slug / name, name),
        system=system.name,
        description=system.description,
        card={"trained_on": TRAINED_ON.get(system.name, "")},
    )
