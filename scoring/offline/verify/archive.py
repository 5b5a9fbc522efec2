"""Verify the archive of a season, with all its files, scores, receipts, boards and
ranks.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from scoring.offline.verify.battles import check_battles
from scoring.offline.verify.commitments import check_draw_commitments
from scoring.offline.verify.estimates import check_estimates
from scoring.offline.verify.files import (
    ArchivedFileMissing,
    build_refusal,
    iterate_changed_files,
    read_json,
    read_season,
)
from scoring.offline.verify.judgements import check_judgements
from scoring.offline.verify.means import check_means
from scoring.offline.verify.ranks import check_ranks
from scoring.offline.verify.receipts import check_receipts
from scoring.offline.verify.report import VerificationReport
from scoring.offline.verify.scores import RescoredRuns, check_board, check_evaluation

ArchivedSeason = Mapping[str, Any]


def verify(
    archive: Path,
    progress: Callable[[float], None] = lambda done: None,
    keys: Collection[str] = (),
) -> VerificationReport:
    """Without ``keys``, the public keys in the archive verify its receipts. Raises
    InputRefused if the folder is not the archive of a season or refers to files outside
    of the folder.
    """
    season = read_season(archive)
    verified = VerificationReport()
    for line in iterate_changed_files(archive):
        verified.differs(line)
    try:
        rescored = _check_runs(archive, season, progress, keys, verified)
        check_judgements(archive, season, rescored.evaluations.values(), verified)
        _check_boards(archive, season, rescored, verified)
        check_battles(archive, season, verified)
        check_estimates(archive, season, rescored, verified)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise build_refusal(
            archive, f"not as an archive is written: {type(fault).__name__} {fault}"
        ) from fault
    return verified


def _check_runs(
    archive: Path,
    season: ArchivedSeason,
    progress: Callable[[float], None],
    keys: Collection[str],
    verified: VerificationReport,
) -> RescoredRuns:
    rescored = RescoredRuns()
    golds = {
        (task["slug"], gold["sha256"]): gold
        for task in season["tasks"]
        for gold in task["gold"]
    }
    draws = check_draw_commitments(season, verified)
    for done, run in enumerate(season["runs"]):
        progress(done / len(season["runs"]))
        try:
            evaluations = read_json(archive, run["scores"])
        except ArchivedFileMissing as missing:
            verified.differs(str(missing))
            continue
        for evaluation in evaluations:
            key = run["id"], evaluation["rules"]
            rescored.evaluations[key] = evaluation
            gold = golds.get((run["task"], evaluation["gold"]["sha256"]))
            draw = draws.get((run["task"], run.get("phase")), "")
            scoring = check_evaluation(archive, run, evaluation, gold, draw, verified)
            if scoring is not None:
                rescored.scorings[key] = scoring
        check_receipts(archive, season, run, evaluations, keys, verified)
    return rescored


def _check_boards(
    archive: Path,
    season: ArchivedSeason,
    rescored: RescoredRuns,
    verified: VerificationReport,
) -> None:
    paths = [
        path
        for task in season["tasks"]
        for phase in task["phases"]
        for path in phase["boards"]
    ]
    for path in paths:
        try:
            board = read_json(archive, path)
            check_board(path, board, rescored.evaluations, verified)
            check_means(path, board, rescored, verified)
            check_ranks(archive, path, board, rescored, verified)
        except ArchivedFileMissing as missing:
            verified.differs(str(missing))
