"""Boards made by hand: the rows that a scored run leaves behind, without scoring one."""

import datetime as dt

from django.urls import reverse

from citeboard.teams.models import Team, User
from scoring.models import Breakdown, Evaluation, Score, Signature, save_breakdowns
from scoring.worker.recording import save_scores
from tasks.models import Gold, Phase, Season, Submission
from tests import factories
from tests.numbering import OF_RUNS

START = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)


def make_phase(
    season: Season | None = None, *, rules=("corrected", "official-2017"), **fields
) -> Phase:
    """A phase with gold that is a row alone."""
    task = factories.make_task(
        rules=list(rules), **({"season": season} if season else {})
    )
    phase = factories.make_phase(task=task, with_gold=False, **fields)
    make_gold(phase)
    return phase


def make_gold(phase: Phase, number: int = 1, reason: str = "First version") -> Gold:
    return Gold.objects.create(
        task=phase.task, split=phase.split, number=number, digest=f"{number:064d}", instances=10, file="g",
        index="i", public="p", reason=reason,
    )  # fmt: skip


def make_team(phase: Phase, name: str, *members: User) -> Team:
    lead, *others = members or (None,)
    slug = name.lower().replace(" ", "-")
    return factories.make_team(
        season=phase.task.season, lead=lead, members=others, name=name, slug=slug
    )


def make_run(
    phase: Phase, team: Team | None, status: str = "scored", **fields
) -> Submission:
    number = next(OF_RUNS)
    given = {
        "system": f"system-{number}",
        "kind": "primary" if team else "baseline",
        "submitted_at": START + dt.timedelta(minutes=number),
        "has_failed": status == "failed",
    } | fields
    return Submission.objects.create(
        phase=phase, team=team, number=number, file="f", filename="run.jsonl", sha256="0" * 64, size=1,
        status=status, **given,
    )  # fmt: skip


def score(
    run: Submission,
    value: float | None,
    *,
    rules="corrected",
    gold=None,
    column=None,
    **others,
) -> Evaluation:
    """What a worker records of a run: the ranking metric with its value, and other metrics by name."""
    gold = gold or Gold.objects.get(task=run.phase.task, number=1)
    evaluation = Evaluation.objects.create(
        submission=run, gold=gold, rules=rules, options_digest="d", phase=run.phase, team=run.team,
        rank_value=value, submitted_at=run.submitted_at, statistics="s", missing=0, seconds=0.1, attempt=1,
    )  # fmt: skip
    said = {}
    for metric, number in {"overlap_f1_micro": value, **others}.items():
        key = (
            column if not said else None
        ) or f"{metric}|rules:{rules}|gold:{gold.number}|v:1"
        said[metric] = {
            "value": number, "low": None if number is None else number - 0.05,
            "high": None if number is None else number + 0.05, "n": 10, "scale": 1, "column": key,
            "signature": f"{key}|n:10|missing:0|resamples:1000|interval:percentile|seed:7",
        }  # fmt: skip
    save_scores(evaluation, said)
    return evaluation


def scored_run(
    phase: Phase, team: Team | None, value: float | None, **fields
) -> Submission:
    run = make_run(phase, team, **fields)
    score(run, value)
    return run


def by_class(
    run: Submission, dimension: str, values: dict[str, float | None], n: int = 5
) -> None:
    """The ranking metric of a run by class."""
    said = {
        label: {"overlap_f1_micro": {"value": value, "n": n + place}}
        for place, (label, value) in enumerate(values.items())
    }
    save_breakdowns(
        [Breakdown.of(run.evaluations.get(rules="corrected"), dimension, said)]
    )


def set_version_0(score: Score) -> None:
    """As an earlier version of the metric would have left it."""
    set_column(score, score.column.rpartition("|v:")[0] + "|v:0")


def set_column(score: Score, column: str) -> None:
    earlier = Signature(
        metric=score.metric, column=column, position=score.shared.position, text=column
    )
    [key] = Signature.objects.get_or_insert_ids([earlier])
    Score.objects.filter(pk=score.pk).update(shared=key)


def address(name: str, phase: Phase) -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])
