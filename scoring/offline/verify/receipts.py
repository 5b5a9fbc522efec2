"""Check the signed receipts in an archive, and compare the newest receipts with the
archived numbers.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.offline.receipts import check_receipt, select_committed_scores
from scoring.offline.verify.files import LOG_FILE_NAME, read_json
from scoring.offline.verify.report import VerificationReport

ArchivedEvaluation = Mapping[str, Any]


def check_receipts(
    archive: Path,
    season: Mapping[str, Any],
    run: Mapping[str, Any],
    evaluations: Sequence[ArchivedEvaluation],
    pinned_keys: Collection[str],
    verified: VerificationReport,
) -> None:
    """Check the signature, the commitments and the log entry of each receipt of a run.
    Compare the newest receipt of each rule set with the archived numbers of the run.
    """
    if "receipts" not in run:
        verified.without_receipt += len(evaluations)
        return
    keys = set(pinned_keys)
    if not keys:
        keys = {key["public"] for key in read_json(archive, LOG_FILE_NAME)["keys"]}
    newest = _read_newest_receipts(archive, run, keys, verified)
    for evaluation in evaluations:
        opened = newest.get(evaluation["rules"])
        if opened is None:
            verified.without_receipt += 1
        else:
            _compare_receipt(opened, season, run, evaluation, verified)


def _read_newest_receipts(
    archive: Path,
    run: Mapping[str, Any],
    keys: Collection[str],
    verified: VerificationReport,
) -> dict[str, Mapping[str, Any]]:
    """Return the content of the newest valid receipt of a run for each rule set."""
    newest: dict[str, Mapping[str, Any]] = {}
    for receipt in read_json(archive, run["receipts"]):
        checked = check_receipt(receipt, keys)
        for fault in checked.faults:
            verified.differs(f"run {run['id']}, a receipt: {fault}")
        if not checked.faults:
            verified.receipts += 1
            verified.keys.add(checked.key)
            newest[checked.opened["task"]["rules"]] = checked.opened
    return newest


def _compare_receipt(
    opened: Mapping[str, Any],
    season: Mapping[str, Any],
    run: Mapping[str, Any],
    evaluation: ArchivedEvaluation,
    verified: VerificationReport,
) -> None:
    place = (season["season"]["slug"], run["task"], run["phase"])
    signed_place = tuple(opened["task"][name] for name in ("season", "task", "phase"))
    run_digest = evaluation["run"]["sha256"]
    signed_run_digest = opened.get("run", {}).get("sha256", run_digest)
    agrees = {
        "task": signed_place == place,
        "run": signed_run_digest == run_digest,
        "gold": opened["gold"]["sha256"] == evaluation["gold"]["sha256"],
        "scores": opened["scores"] == select_committed_scores(evaluation["metrics"]),
    }
    for name, is_equal in agrees.items():
        if not is_equal:
            verified.differs(
                f"run {run['id']} {evaluation['rules']}: its receipt is of another {name}"
            )
