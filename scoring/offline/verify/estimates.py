"""Recompute the estimated scores in an archive from the runs and people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scoring.offline.estimates import (
    LabellingPlan,
    compute_estimates_as_json,
    group_labels_of_people,
    read_labelled_run,
    read_people_rows,
)
from scoring.offline.scoring import ScoringRequest
from scoring.offline.verify.files import find_archived_file
from scoring.offline.verify.report import VerificationReport
from scoring.offline.verify.scores import RescoredRuns
from tasks.types import InputRefused, OptionRefused
from tasks.types.problems import SoftwareUnavailable

#: RUN_NOT_RECOMPUTED_REASON and similar messages explain why some estimates are not checked.
RUN_NOT_RECOMPUTED_REASON = "estimates of runs that are not computed again"
JUDGE_NOT_ARCHIVED_REASON = "estimates whose judge is not in the archive"
COMPARED_ESTIMATE_FIELDS = (
    "judge",
    "estimated",
    "low",
    "high",
    "judge_weight",
    "worth",
    "labels",
)


def check_estimates(
    archive: Path,
    season: Mapping[str, Any],
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> None:
    """Compare each archived estimate of a score with an estimate recomputed from the
    sample and people's labels.
    """
    for entry in season.get("estimates", ()):
        archived = _collect_estimates_by_key(entry["measures"])
        scorings = _find_scoring_requests_by_run(entry, rescored)
        checked = {
            key: line
            for key, line in archived.items()
            if scorings.keys() >= {name for name in key[1:] if name}
        }
        verified.unchecked[RUN_NOT_RECOMPUTED_REASON] += len(archived) - len(checked)
        if not checked:
            continue
        try:
            computed = _collect_estimates_by_key(
                _recompute_measures(archive, entry, scorings)
            )
        except (InputRefused, OptionRefused, SoftwareUnavailable):
            verified.unchecked[JUDGE_NOT_ARCHIVED_REASON] += len(checked)
            continue
        for key, line in checked.items():
            place = f"estimates {' '.join(filter(None, key))}"
            again = computed.get(key, {})
            verified.compare(
                place,
                {name: line[name] for name in COMPARED_ESTIMATE_FIELDS},
                {name: again.get(name) for name in COMPARED_ESTIMATE_FIELDS},
            )


def _find_scoring_requests_by_run(
    entry: Mapping[str, Any], rescored: RescoredRuns
) -> dict[str, ScoringRequest]:
    """Return the recomputed results of runs under the rule set and gold of the archived
    estimates, keyed by the name of the run.
    """
    return {
        str(run): replace(scoring, run_name=str(run))
        for (run, rules), scoring in rescored.scorings.items()
        if rules == entry["rules"]
        and rescored.evaluations[run, rules]["gold"]["sha256"] == entry["gold"]
        and any(
            line["run"] == str(run)
            for facts in entry["measures"].values()
            for line in facts["systems"]
        )
    }


def _recompute_measures(
    archive: Path, entry: Mapping[str, Any], scorings: Mapping[str, ScoringRequest]
) -> Mapping[str, Any]:
    plan = LabellingPlan(of=entry["of"], labels=entry["labels"], seed=entry["seed"])
    rows = read_people_rows(find_archived_file(archive, entry["people"]), plan.of)
    people = group_labels_of_people(rows, plan.of)
    runs = [
        (scoring, read_labelled_run(scoring, plan.of)) for scoring in scorings.values()
    ]
    measures: Mapping[str, Any] = compute_estimates_as_json(plan, runs, people)[
        "measures"
    ]
    return measures


EstimateKey = tuple[str, str, str]


def _collect_estimates_by_key(
    measures: Mapping[str, Any],
) -> dict[EstimateKey, Mapping[str, Any]]:
    """Return the archived estimates of scores, keyed by metric and run, or by metric
    and two runs.
    """
    return dict(_iterate_keyed_estimates(measures))


def _iterate_keyed_estimates(
    measures: Mapping[str, Any],
) -> Iterator[tuple[EstimateKey, Mapping[str, Any]]]:
    for name, facts in measures.items():
        for line in facts["systems"]:
            yield (name, line["run"], ""), line
        for line in facts["differences"]:
            first, second = sorted((line["first"], line["second"]))
            is_turned = first != line["first"]
            yield (
                (name, first, second),
                _reverse_difference(line) if is_turned else line,
            )


def _reverse_difference(line: Mapping[str, Any]) -> dict[str, Any]:
    ends = {"low": line["high"], "high": line["low"]}
    signed = {name: line[name] for name in ("judge", "estimated")} | ends
    minus = {name: None if value is None else -value for name, value in signed.items()}
    return {**line, **minus}
