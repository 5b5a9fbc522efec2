"""Compute trivial leaderboards, which do not depend on the texts of the evaluated
systems.
"""

from collections.abc import Sequence

from tasks.types.base import Options, Split
from tasks.types.files import Files
from tasks.types.judge_leaderboards import JUDGE_MEASURE_OPTION
from tasks.types.judge_leaderboards.rows import ALL_TOPICS
from tasks.types.trivial_runs import (
    FIRST_ITEM_RUN,
    RANDOM_RUN_DRAWS,
    TrivialRunFiles,
    make_run_file,
    make_seeded_random,
)

#: Leaderboards with more than `MAX_INSTANCES_IN_QUICK_TRIAL` systems are not part of quick checks.
MAX_INSTANCES_IN_QUICK_TRIAL = 200


def trivial_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
    """Return a leaderboard that ranks the systems in their public order, and
    leaderboards that rank them in random orders.
    """
    names: Sequence[str] = split.index["instances"]
    topics: Sequence[str] = split.index["topics"]
    measure = options.get(JUDGE_MEASURE_OPTION.name) or "trivial"
    if is_quick and len(names) > MAX_INSTANCES_IN_QUICK_TRIAL:
        return TrivialRunFiles(split=split)

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
            for topic in (*topics, ALL_TOPICS)
        )
        return make_run_file(lines, split.reading)

    return TrivialRunFiles(
        split=split,
        runs={FIRST_ITEM_RUN: make_ordered_leaderboard(names)},
        draws=[
            make_ordered_leaderboard(make_seeded_random(draw).sample(names, len(names)))
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )
