"""Whether a run looks as if it asked for the gold; `scoring.board.leak_budget` says it in words."""

import zipfile

import numpy as np
from numpy.typing import NDArray

from citeboard.core import storage
from scoring.metrics import Metric
from scoring.models import Evaluation
from scoring.offline.evaluate import Statistics, load_statistics
from tasks.models import Job

#: Earlier runs of its team that a run is held against; a run of more rows against none.
EARLIER, MAX_ROWS = 4, 20_000
#: So small a share of answers says what the gold of single instances is.
FEW_ANSWERS = 0.02
#: A near copy differs from an earlier run in so small a share of the instances.
NEAR_COPY = 0.01
#: Of fewer units nothing is said of how two runs go together.
MIN_UNITS = 20
#: What two systems have right goes together by more than this; what random lists have does not.
UNRELATED, MIN_UNRELATED = 0.2, 3


def probe(job: Job, metric: Metric, run: Statistics, part: str) -> str:
    """Empty where it does not. Differences are looked for in the scores of single rows."""
    count, total = int(run.answered.sum()), len(run.answered)
    if count <= max(1, FEW_ANSWERS * total) < total:
        return f"few {count} {total}"
    if not MIN_UNITS <= total <= MAX_ROWS:
        return ""
    own, unrelated = _values(metric, run), []
    for number, before in _earlier(job, metric, part):
        if len(before) != len(own):
            continue
        differing = int((own != before).sum())
        if 0 < differing <= max(1, NEAR_COPY * total):
            return f"copy {number} {differing} {total}"
        is_flat = not (own.std() and before.std())
        if not is_flat and float(np.corrcoef(own, before)[0, 1]) < UNRELATED:
            unrelated.append(number)
    return f"random {len(unrelated)}" if len(unrelated) >= MIN_UNRELATED else ""


def _earlier(job: Job, metric: Metric, part: str) -> list[tuple[int, NDArray[np.float64]]]:
    same = Evaluation.objects.filter(
        phase=job.submission.phase_id, rules=job.rules, gold=job.gold, team=job.submission.team_id
    )
    before = same.exclude(submission=job.submission_id).exclude(statistics="").select_related("submission")
    found = []
    for other in before.order_by("-submitted_at")[:EARLIER]:
        try:
            with storage.statistics.open(other.statistics) as kept:
                statistics = load_statistics(kept, [metric.statistic])
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            continue
        if other.part == part and metric.statistic in statistics.matrices:
            found.append((other.submission.number, _values(metric, statistics)))
    return found


def _values(metric: Metric, run: Statistics) -> NDArray[np.float64]:
    """Row by row what the metric's matrix says, as one number."""
    stats = run.matrices[metric.statistic]
    if metric.per_unit:
        return np.asarray(stats[:, 0], dtype=np.float64)
    return np.nan_to_num(np.asarray(metric.aggregate(stats), dtype=np.float64))
