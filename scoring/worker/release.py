"""Decide which scores of a run are published and which only organisers see.

Pages and exports show only the published scores. The module also detects runs that seem
to be submitted to find out the gold (see `scoring.results.board.limit_texts`).
"""

import logging
import math
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from citeboard.core import storage
from scoring.metrics import Metric, build_metric_if_known
from scoring.metrics.base import Floats, build_unit_rows
from scoring.models import SUPPORT_OF_WITHHELD_SCORE, Evaluation, WithholdingReason
from scoring.offline.evaluate import StoredStatistics, load_statistics
from scoring.results.board.differences import select_classes_to_hide
from scoring.stats.breakdown import find_instances_by_class
from scoring.stats.leakage import (
    compute_ladder_step,
    correlate_row_values,
    count_differing_rows,
    round_score_by_ladder,
)
from scoring.stats.signature import build_withheld_signature
from tasks.models import Job, Phase, Submission
from tasks.models.seasons import LADDER_RESTRICTION_NAME, PUBLIC_AND_PRIVATE_PART_NAMES
from tasks.registration.entries import lock_approved_entry
from tasks.types.digests import NONCE_BYTES

log = logging.getLogger(__name__)

MetricResultsByName = Mapping[str, Mapping[str, Any]]
#: Fields of a withheld score that are stored for the organisers.
ORGANISER_SCORE_FIELDS = ("value", "low", "high", "n", "scale")
#: A run is compared with at most MAX_EARLIER_RUNS_COMPARED older runs of the same team.
#: A run with more than MAX_INSTANCES_FOR_PROBE_CHECK instances is not compared with older runs.
MAX_EARLIER_RUNS_COMPARED, MAX_INSTANCES_FOR_PROBE_CHECK = 4, 20_000
#: If a run answers at most this share of instances, its score reveals their gold.
FEW_ANSWERS_SHARE = 0.02
#: A run that differs from an earlier run in at most this share is nearly a copy.
NEAR_COPY_SHARE = 0.01
#: Minimum number of instances for which the correlation of two runs is computed.
MIN_UNITS_FOR_CORRELATION = 20
#: A run seems random if its rows correlate less than this with several earlier runs.
MAX_CORRELATION_OF_UNRELATED_RUNS, MIN_UNRELATED_EARLIER_RUNS = 0.2, 3


def find_part_scored_now(phase: Phase) -> str:
    """Return the name of the part of the split on which runs of the phase are scored
    now.

    When the first run is scored, the part is sampled and its secret seed is stored.
    Phases with the same instances share one part.
    """
    undrawn = Phase.objects.filter(pk=phase.pk, part_seed=None, part_nonce="")
    if phase.public_part and undrawn.exists():
        others = Phase.objects.sharing_instances_with(phase).exclude(pk=phase.pk)
        drawn = others.exclude(part_seed=None, part_nonce="").order_by("pk").first()
        if drawn is None:
            undrawn.update(part_nonce=secrets.token_hex(NONCE_BYTES))
        else:
            undrawn.update(part_seed=drawn.part_seed, part_nonce=drawn.part_nonce)
    phase.refresh_from_db(fields=["part_seed", "part_nonce"])
    part = phase.get_scored_part_at(timezone.now())
    if not phase.part_nonce or not part:
        return part
    return f"{part.rpartition('-')[0]}-{phase.part_nonce}"


@dataclass(frozen=True, kw_only=True)
class PublishedScores:
    """The scores of a run that are published, and the reasons for withholding scores.

    ``untold`` has the scores that only organisers see, and ``step`` is the rounded
    standard error of the ranking metric.
    """

    metrics: MetricResultsByName
    breakdowns: Mapping[str, Any]
    release: str = ""
    withheld: str = ""
    probe: str = ""
    untold: Mapping[str, Any] = field(default_factory=dict)
    step: float = math.nan
    #: If scores may be withheld, the number of instances in the scored part.
    instances: int = 0


def select_published_scores(
    job: Job, result: Mapping[str, Any], path: Path
) -> PublishedScores:
    """Select the scores of a result that are published.

    The caller must call the function before the transaction that saves the scores. In
    the transaction that saves the scores, `withhold_scores_by_ladder` may withhold more scores.
    """
    phase, run = job.submission.phase, job.submission
    # Use the part that the scorer reports, because the phase may have closed meanwhile.
    part = result.get("part", "")
    told = PublishedScores(
        metrics=result["metrics"], breakdowns=result["breakdowns"], release=part
    )
    if run.kind == Submission.Kind.HUMAN:
        return told
    words = [
        word
        for word in phase.get_score_restrictions_at(timezone.now()).split()
        if not word.startswith(PUBLIC_AND_PRIVATE_PART_NAMES)
    ]
    release = " ".join([part, *words] if part else words)
    told = replace(
        told,
        release=release,
        untold=_select_organiser_only_scores(result["other_part"]["metrics"])
        if part
        else {},
    )
    is_secret = run.team_id is not None and not phase.shows_instances
    is_watched = (
        is_secret
        and is_ranking_job(job)
        and job.gold.instances <= MAX_INSTANCES_FOR_PROBE_CHECK
    )
    if not (words or is_watched):
        return told
    kind = phase.task.task_type
    name = find_ranking_metric_name(told.metrics, phase.task.rank_by)
    metric = build_metric_if_known(
        kind, name, job.rules, kind.validate_options(job.options)
    )
    assert metric is not None, f"{name} has just been computed"
    with path.open("rb") as kept:
        statistics = load_statistics(kept, [metric.statistic])
    answered = statistics.answered
    told = replace(told, instances=len(answered))
    if is_watched:
        try:
            told = replace(told, probe=find_probe_signs(job, metric, statistics, part))
        except Exception:
            # The check for probing is only a hint, so its errors must not stop the run.
            log.exception(
                "Job %s: whether the run looks like a probe is not known", job.pk
            )
    if phase.min_answered:
        few = (
            WithholdingReason.FEW_ANSWERS if answered.sum() < phase.min_answered else ""
        )
        shown = _hide_classes_with_few_answers(
            told.breakdowns, statistics, answered, phase.min_answered
        )
        told = replace(told, breakdowns={} if few else shown, withheld=few)
    if 100 * answered.sum() < (phase.min_answered_share or 0) * len(answered):
        reason = WithholdingReason.FEW_ANSWERS
        return replace(
            told,
            metrics=_remove_values_of_withheld_metrics(told, reason),
            breakdowns={},
            withheld=reason,
        )
    if LADDER_RESTRICTION_NAME in words:
        by = statistics.units if metric.per_unit else statistics.resampled_units[1]
        rows = build_unit_rows(metric, statistics.matrices[metric.statistic], by)
        told = replace(told, step=compute_ladder_step(metric, rows))
    return told


def find_ranking_metric_name(metrics: Mapping[str, Any], rank_by: str) -> str:
    """Return the metric ``rank_by``, or the first metric if the scores do not include
    ``rank_by``.
    """
    return rank_by if rank_by in metrics else next(iter(metrics))


def is_ranking_job(job: Job) -> bool:
    return job.rules == job.submission.phase.task.ranking_rules


def withhold_scores_by_ladder(job: Job, told: PublishedScores) -> PublishedScores:
    """Publish only the score of the ranking metric, rounded, and only if the score is
    more than one step better than the team's best published score. The method is the
    Ladder mechanism (Blum and Hardt 2015), which is applied in the transaction that
    saves the scores.

    The function locks the row of the team in the phase, so that two concurrent runs
    cannot both exceed the same best score.
    """
    if LADDER_RESTRICTION_NAME not in told.release.split():
        return told
    known = Evaluation.objects.filter(
        phase=job.submission.phase_id, rules=job.rules, gold=job.gold
    )
    known = known.filter(release__contains=LADDER_RESTRICTION_NAME)
    part = told.release.split()[0]
    if part.startswith(PUBLIC_AND_PRIVATE_PART_NAMES):
        # Scores on different samples of the public part are not comparable.
        known = known.filter(release__startswith=f"{part} ")
    name = find_ranking_metric_name(told.metrics, job.submission.phase.task.rank_by)
    said = told.metrics[name]
    metrics = _remove_values_of_withheld_metrics(told, WithholdingReason.RANKING_ONLY)
    if is_ranking_job(job):
        team, sign = job.submission.team, -1 if said["higher_is_better"] is False else 1
        if team is not None:
            lock_approved_entry(job.submission.phase, team)
        metrics[name]["withheld"] = told.withheld or WithholdingReason.LADDER
        best = (
            known.filter(team=team)
            .exclude(submission=job.submission_id)
            .exclude(rank_value=None)
        )
        highest = (
            best.order_by("-rank_value").values_list("rank_value", flat=True).first()
            if team
            else None
        )
        value = round_score_by_ladder(said["value"], told.step, highest, sign)
        if before := known.filter(submission=job.submission_id).first():
            # A run that is scored again keeps its value and so reveals nothing new.
            value = None if before.rank_value is None else sign * before.rank_value
        if value is not None:
            signature = (
                f"{metrics[name]['signature']}|{LADDER_RESTRICTION_NAME}:{told.step:g}"
            )
            metrics[name] |= {"value": value, "withheld": "", "signature": signature}
    reason = told.withheld or WithholdingReason.RANKING_ONLY
    untold = told.untold or _select_organiser_only_scores(told.metrics)
    return replace(told, metrics=metrics, breakdowns={}, withheld=reason, untold=untold)


def _select_organiser_only_scores(
    metrics: MetricResultsByName,
) -> dict[str, dict[str, Any]]:
    return {
        name: {key: said[key] for key in ORGANISER_SCORE_FIELDS}
        for name, said in metrics.items()
    }


def _remove_values_of_withheld_metrics(
    told: PublishedScores, reason: str
) -> dict[str, dict[str, Any]]:
    """Return the metrics without their values, and without counts and parts of
    signatures from which values could be computed.
    """
    nothing = {
        "n": told.instances,
        "value": None,
        "low": None,
        "high": None,
        "infinite": False,
        "withheld": reason,
    }
    return {
        name: {
            **said,
            **nothing,
            "signature": build_withheld_signature(said["signature"], told.instances),
        }
        for name, said in told.metrics.items()
    }


def _hide_classes_with_few_answers(
    breakdowns: Mapping[str, Any],
    statistics: StoredStatistics,
    answered: NDArray[np.bool_],
    least: int,
) -> dict[str, Any]:
    """Hide the scores of classes with few answers, and the scores of other classes from
    which the hidden scores could be computed.
    """
    shown = {}
    for dimension, numbers in breakdowns.items():
        rows = find_instances_by_class(statistics.features.get(dimension, ()))
        hidden = select_classes_to_hide(
            {label: int(answered[own].sum()) for label, own in rows.items()}, least
        )
        untold = {"value": None, "n": SUPPORT_OF_WITHHELD_SCORE}
        shown[dimension] = {
            label: dict.fromkeys(number, untold) if label in hidden else number
            for label, number in numbers.items()
        }
    return shown


def find_probe_signs(job: Job, metric: Metric, run: StoredStatistics, part: str) -> str:
    """Return the reason for which the run seems to be submitted to find out the gold,
    or an empty text for other runs.
    """
    count, total = int(run.answered.sum()), len(run.answered)
    if count <= max(1, FEW_ANSWERS_SHARE * total) < total:
        return f"few {count} {total}"
    if not MIN_UNITS_FOR_CORRELATION <= total <= MAX_INSTANCES_FOR_PROBE_CHECK:
        return ""
    stats = run.matrices[metric.statistic]
    earlier = [
        (number, before)
        for number, before in _load_statistics_of_earlier_runs(job, metric, part)
        if len(before) == len(stats)
    ]
    for number, before in earlier:
        differing = count_differing_rows(metric, stats, before)
        if 0 < differing <= max(1, NEAR_COPY_SHARE * total):
            return f"copy {number} {differing} {total}"
    if len(earlier) < MIN_UNRELATED_EARLIER_RUNS:
        return ""
    unrelated = sum(
        correlate_row_values(metric, stats, before) < MAX_CORRELATION_OF_UNRELATED_RUNS
        for _, before in earlier
    )
    return f"random {unrelated}" if unrelated >= MIN_UNRELATED_EARLIER_RUNS else ""


def _load_statistics_of_earlier_runs(
    job: Job, metric: Metric, part: str
) -> list[tuple[int, Floats]]:
    """Return the numbers and statistics of the latest earlier runs of the team on the
    same gold.
    """
    same = Evaluation.objects.filter(
        phase=job.submission.phase_id, rules=job.rules, gold=job.gold
    )
    same = same.filter(team=job.submission.team_id)
    before = (
        same.exclude(submission=job.submission_id)
        .exclude(statistics="")
        .select_related("submission")
    )
    found = []
    for other in before.order_by("-submitted_at")[:MAX_EARLIER_RUNS_COMPARED]:
        try:
            with storage.statistics_file_storage.open(other.statistics) as kept:
                statistics = load_statistics(kept, [metric.statistic])
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            continue
        if other.part == part and metric.statistic in statistics.matrices:
            matrix = statistics.matrices[metric.statistic]
            found.append((other.submission.number, matrix))
    return found
