"""Recompute the evaluations (the scores of runs) in an archive, and compare the results
with the archived evaluations and boards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scoring.offline.scoring import ScoringRequest, score
from scoring.offline.verify.commitments import check_gold_digest
from scoring.offline.verify.files import ArchivedFileMissing, PathOutsideArchive
from scoring.offline.verify.numbers import (
    NO_METRIC_NUMBERS,
    MetricNumbers,
    has_earlier_version,
    has_intervals_of_version,
    numbers,
    read_interval_version,
    select_number_fields,
)
from scoring.offline.verify.packages import compare_with_packages
from scoring.offline.verify.report import VerificationReport
from scoring.offline.verify.scorings import build_scoring_request
from scoring.stats.signature import LADDER_STEP_KEY, parse_signature
from tasks.types import InputRefused, OptionRefused, TaskType, UnknownTaskType
from tasks.types.declared.own_measures import MeasureFailed
from tasks.types.problems import SoftwareUnavailable

#: OLD_INTERVALS_REASON and similar messages explain why a number is not checked.
OLD_INTERVALS_REASON = "intervals of another version, which is not computed here"
OLD_METRIC_REASON = (
    "numbers of an earlier version of the metric, which is not computed here"
)
NO_GOLD_REASON = "the gold is not in the archive"
WITHHELD_REASON = "withheld, or rounded by the Ladder"
NO_RUN_REASON = "the run is not in the archive"
NO_SCORER_REASON = "no metric of the scorer has them (human evaluation)"
OTHER_GOLD_REASON = "the board stands on another version of the gold than the scores"
WITHDRAWN_REASON = (
    "withdrawn: such a metric means little on the instances of one gold label"
)
INTERVAL_END_FIELDS = ("low", "high")

ArchivedEvaluation = Mapping[str, Any]
ArchivedGold = Mapping[str, Any]
RunAndRules = tuple[int, str]


@dataclass
class RescoredRuns:
    """The archived evaluations (scores of runs), and the requests to the scorer that
    recomputed the evaluations.
    """

    evaluations: dict[RunAndRules, ArchivedEvaluation] = field(default_factory=dict)
    scorings: dict[RunAndRules, ScoringRequest] = field(default_factory=dict)


def check_evaluation(
    archive: Path,
    run: Mapping[str, Any],
    evaluation: ArchivedEvaluation,
    gold: ArchivedGold | None,
    draw: str,
    verified: VerificationReport,
) -> ScoringRequest | None:
    """Recompute an archived evaluation (the scores of a run) and compare the numbers.
    Return the request to the scorer that recomputed the evaluation, or None if nothing
    can be recomputed. ``draw`` is the nonce of the public part's random sample, or an
    empty text.
    """
    printed = dict(numbers(evaluation))
    count = sum(len(place.values) for place in printed.values())
    if not run["file"] or gold is None or not gold["file"]:
        verified.unchecked[NO_GOLD_REASON if run["file"] else NO_RUN_REASON] += count
        return None
    try:
        scoring = build_scoring_request(archive, run["file"], evaluation, gold, draw)
        again = score(scoring)
    except (
        MeasureFailed,
        SoftwareUnavailable,
        OptionRefused,
        UnknownTaskType,
    ) as missing:
        verified.unchecked[str(missing)] += count
        return None
    except ArchivedFileMissing as missing:
        verified.differs(str(missing))
        return None
    except PathOutsideArchive:
        raise
    except InputRefused as fault:
        verified.differs(f"run {run['id']}: {fault}")
        return None
    head = f"run {run['id']} {evaluation['rules']}"
    check_gold_digest(gold, again["gold"], verified)
    _check_columns(head, evaluation, again, verified)
    expected = dict(numbers(again))
    reasons = _find_paths_not_comparable(
        evaluation, scoring.task_type, printed, expected
    )
    reasons |= _find_paths_of_earlier_versions(evaluation, again, printed)
    for place, reason in reasons.items():
        verified.unchecked[reason] += len(printed.pop(place).values)
        expected.pop(place, None)
    _compare_numbers(head, evaluation, again, printed, expected, verified)
    compare_with_packages(head, scoring, printed, verified)
    return scoring


def check_board(
    path: str,
    board: Mapping[str, Any],
    evaluations: Mapping[RunAndRules, ArchivedEvaluation],
    verified: VerificationReport,
) -> None:
    """Compare the scores on an archived board with the archived evaluations of the
    runs.
    """
    metrics = {column["name"]: column["metric"] for column in board["columns"]}
    # The function `check_means` compares the means over seeds of a board.
    rows = [run for row in board["rows"] for run in row.get("runs") or [row]]
    for row in rows:
        verified.unchecked["teams report them"] += len(row["team_reported"])
        evaluation = evaluations.get((row["submission"], board["rules"]))
        for name, cell in row["scores"].items():
            metric = evaluation["metrics"].get(metrics[name]) if evaluation else None
            if evaluation is None or metric is None:
                verified.unchecked[
                    NO_SCORER_REASON if evaluation else NO_RUN_REASON
                ] += len(cell)
            elif evaluation["gold"]["sha256"] != board["gold"]["sha256"]:
                verified.unchecked[OTHER_GOLD_REASON] += len(cell)
            else:
                verified.compare(
                    f"{path} {row['system']} {name}",
                    select_number_fields(cell, *INTERVAL_END_FIELDS),
                    select_number_fields(metric, *INTERVAL_END_FIELDS),
                )


def _check_columns(
    head: str,
    evaluation: ArchivedEvaluation,
    again: ArchivedEvaluation,
    verified: VerificationReport,
) -> None:
    """Check that the recomputed evaluation has the archived digest of the run file and
    the archived column keys.
    """
    if evaluation["run"]["sha256"] != again["run"]["sha256"]:
        verified.differs(f"{head}: not the file that was scored")
    for name, metric in evaluation["metrics"].items():
        column = again["metrics"].get(name, {}).get("column", "")
        if metric["column"] != column and not has_earlier_version(metric, column):
            verified.differs(
                f"{head} {name}: a number of {metric['column']}; computed again of {column}"
            )


def _compare_numbers(
    head: str,
    evaluation: ArchivedEvaluation,
    again: ArchivedEvaluation,
    printed: Mapping[str, MetricNumbers],
    expected: Mapping[str, MetricNumbers],
    verified: VerificationReport,
) -> None:
    for place in dict.fromkeys([*printed, *expected]):
        archived = printed.get(place, NO_METRIC_NUMBERS)
        values = archived.values
        expected_values = expected.get(place, NO_METRIC_NUMBERS).values
        name = place.removeprefix("metrics ")
        metric, today = (one["metrics"].get(name) for one in (evaluation, again))
        if (
            metric
            and today
            and not has_intervals_of_version(metric, read_interval_version(today))
        ):
            verified.unchecked[OLD_INTERVALS_REASON] += len(INTERVAL_END_FIELDS)
            values = _remove_interval(values)
            expected_values = _remove_interval(expected_values)
        # Archives do not contain the scores of classes with few instances.
        if values or not place.startswith("breakdowns"):
            verified.compare(
                f"{head} {place}", values, expected_values, is_model=archived.is_model
            )


def _remove_interval(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: number
        for name, number in values.items()
        if name not in INTERVAL_END_FIELDS
    }


def _find_paths_of_earlier_versions(
    evaluation: ArchivedEvaluation,
    again: ArchivedEvaluation,
    printed: Mapping[str, MetricNumbers],
) -> dict[str, str]:
    """Return the paths of archived numbers whose computation has changed since the
    archive was made, each with the reason.
    """
    old = {
        name
        for name, metric in evaluation["metrics"].items()
        if has_earlier_version(metric, again["metrics"].get(name, {}).get("column", ""))
    }
    return {
        place: OLD_METRIC_REASON for place in printed if place.split(" ")[-1] in old
    }


def _find_paths_not_comparable(
    evaluation: ArchivedEvaluation,
    kind: TaskType,
    printed: Mapping[str, MetricNumbers],
    expected: Mapping[str, MetricNumbers],
) -> dict[str, str]:
    """Return the paths of archived numbers that are withheld, rounded or withdrawn,
    each with the reason.
    """
    by_label = tuple(f"breakdowns {dimension} " for dimension in kind.label_dimensions)
    reasons = {
        place: WITHDRAWN_REASON
        for place in printed
        if place.startswith(by_label) and place not in expected
    }
    for dimension, classes in evaluation["breakdowns"].items():
        for label, cells in classes.items():
            for name, cell in cells.items():
                if cell.get("withheld"):
                    reasons[f"breakdowns {dimension} {label} {name}"] = WITHHELD_REASON
    for name, metric in evaluation["metrics"].items():
        if metric.get("withheld") or LADDER_STEP_KEY in parse_signature(
            metric["signature"]
        ):
            reasons[f"metrics {name}"] = WITHHELD_REASON
    return reasons
