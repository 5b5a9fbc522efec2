"""Compute trivial leaderboards, which do not depend on the texts of the evaluated
systems.
"""

from collections.abc import Sequence

from tasks.types.base import Options, Split
from tasks.types.files import Files
from tasks.types.judge_leaderboards import JUDGE_MEASURE
from tasks.types.judge_leaderboards.rows import ALL
from tasks.types.trivial_runs import DRAWS, FIRST, TrivialRuns, random_of, run_file

#: Leaderboards with more than `MOST` systems are not part of quick checks.
MOST = 200


def trivial_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRuns:
    """Return a leaderboard that ranks the systems in their public order, and
    leaderboards that rank them in random orders.
    """
    names: Sequence[str] = split.index["instances"]
    topics: Sequence[str] = split.index["topics"]
    measure = options.get(JUDGE_MEASURE.name) or "trivial"
    if is_quick and len(names) > MOST:
        return TrivialRuns(split=split)

    def make_ordered_leaderboard(order: Sequence[str]) -> Files:
        """Return a leaderboard file that ranks the systems in the given order, on each
        topic and overall.
        """
        lines = (
            {
                "run_id": name,
                "topic_id": topic,
                "measure": measure,
                "value": len(order) - index,
            }
            for index, name in enumerate(order)
            for topic in (*topics, ALL)
        )
        return run_file(lines, split.reading)

    return TrivialRuns(
        split=split,
        runs={FIRST: make_ordered_leaderboard(names)},
        draws=[
            make_ordered_leaderboard(random_of(draw).sample(names, len(names)))
            for draw in range(DRAWS)
        ],
    )
