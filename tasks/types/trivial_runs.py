"""Names and files of trivial runs, which do not use the gold answer of the answered
instance.
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Any

from tasks.types.files import Files, InputFile

EMPTY_RUN, CONSTANT_RUN, FIRST_ITEM_RUN, LONGEST_ITEM_RUN, INPUT_COPY_RUN = (
    "empty",
    "constant",
    "first",
    "longest",
    "input",
)
RANDOM_RUN, BEST_RANDOM_RUN = "random", "random_best"
TRIVIAL_RUN_NAMES = (
    EMPTY_RUN,
    CONSTANT_RUN,
    FIRST_ITEM_RUN,
    LONGEST_ITEM_RUN,
    INPUT_COPY_RUN,
    RANDOM_RUN,
    BEST_RANDOM_RUN,
)
RANDOM_RUN_DRAWS = 20

_REASON_ANSWER_IS_LABEL = "an answer is a label, which no shown text is"
_REASON_ANSWER_IS_NUMBER = "an answer is a number, which no shown text is"
_REASON_ANSWER_IS_RANKING = "an answer is a list of candidates, which a query is not"
_REASON_NO_CANDIDATES = "no candidates are given out"
_REASON_OWN_CANDIDATES = "each instance has candidates of its own"
_REASON_NEEDS_JUDGE = (
    "a report has scores once a judge has read it, and nobody has judged this run"
)

#: `REASONS_FOR_IMPOSSIBLE_RUNS` lists trivial runs that are impossible in a task type or form of task.
#: `REASONS_FOR_IMPOSSIBLE_RUNS` maps the name of each impossible trivial run to a reason.
#: Further trivial runs may be missing for a task, depending on the gold.
REASONS_FOR_IMPOSSIBLE_RUNS: Mapping[str, Mapping[str, str]] = {
    "clsumm-1a": {
        INPUT_COPY_RUN: "an answer is a sentence of the cited paper, which a citance is not"
    },
    "clsumm-1b": {
        FIRST_ITEM_RUN: _REASON_NO_CANDIDATES,
        LONGEST_ITEM_RUN: _REASON_ANSWER_IS_LABEL,
        INPUT_COPY_RUN: _REASON_ANSWER_IS_LABEL,
    },
    "clsumm-2": {CONSTANT_RUN: "no summary is of two papers"},
    "citation-text": {},
    "positional-citations": {
        CONSTANT_RUN: "no answer cites the passages of two questions"
    },
    "citation-recommendation": {
        LONGEST_ITEM_RUN: "a candidate is more than one text",
        INPUT_COPY_RUN: _REASON_ANSWER_IS_RANKING,
    },
    "citation-resolution": {
        CONSTANT_RUN: _REASON_OWN_CANDIDATES,
        LONGEST_ITEM_RUN: "candidates need no texts",
        INPUT_COPY_RUN: _REASON_ANSWER_IS_RANKING,
    },
    "cited-reports": dict.fromkeys(TRIVIAL_RUN_NAMES[1:], _REASON_NEEDS_JUDGE),
    "judge-leaderboards": {
        CONSTANT_RUN: "equal scores order no systems, as in the empty run",
        LONGEST_ITEM_RUN: "systems have names and no texts",
        INPUT_COPY_RUN: "participants are given names and no scores",
    },
    "labels": {
        LONGEST_ITEM_RUN: _REASON_ANSWER_IS_LABEL,
        INPUT_COPY_RUN: _REASON_ANSWER_IS_LABEL,
    },
    "numbers": {
        FIRST_ITEM_RUN: _REASON_NO_CANDIDATES,
        LONGEST_ITEM_RUN: _REASON_ANSWER_IS_NUMBER,
        INPUT_COPY_RUN: _REASON_ANSWER_IS_NUMBER,
    },
    "text": {},
    "ranking": {INPUT_COPY_RUN: _REASON_ANSWER_IS_RANKING},
    "spans": {
        FIRST_ITEM_RUN: _REASON_NO_CANDIDATES,
        INPUT_COPY_RUN: "the whole text as one span is the constant or the longest run",
        RANDOM_RUN: "spans that are drawn have no length of their own",
        BEST_RANDOM_RUN: "spans that are drawn have no length of their own",
    },
    "evidence": {
        FIRST_ITEM_RUN: "labels are no list that is given out",
        LONGEST_ITEM_RUN: _REASON_ANSWER_IS_LABEL,
        INPUT_COPY_RUN: _REASON_ANSWER_IS_LABEL,
    },
    "tags": {
        FIRST_ITEM_RUN: _REASON_NO_CANDIDATES,
        LONGEST_ITEM_RUN: _REASON_ANSWER_IS_LABEL,
        INPUT_COPY_RUN: "an answer is a tag for each token",
    },
}


@dataclass(frozen=True, kw_only=True)
class TrivialRunFiles:
    """The files of all trivial runs of a task, such as a run with the same label for
    all instances. The mapping `runs` contains runs by name, `constants` contains runs
    with a constant answer by this answer, and `draws` contains random runs.

    The trivial runs answer the instances of ``split``, such as the test set. For a
    quick check, ``split`` is only a sample of the gold instances.
    """

    split: Any
    runs: Mapping[str, Files] = field(default_factory=dict)
    constants: Mapping[str, Files] = field(default_factory=dict)
    draws: Sequence[Files] = ()


def make_run_file(lines: Iterable[Mapping[str, Any]], reading: int) -> list[InputFile]:
    """Return a list with a run file that contains the given JSON lines."""
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    name = "trivial.jsonl"
    return [InputFile(name, name, partial(BytesIO, data.encode()), reading)]


def make_seeded_random(draw: int) -> random.Random:
    return random.Random(draw)  # noqa: S311  (no secret)


def draw_row_numbers(count: int, most: int | None) -> list[int]:
    """Return at most ``most`` random row numbers below ``count``, sorted in ascending
    order, or all row numbers if ``most`` is None.
    """
    if most is None or count <= most:
        return list(range(count))
    return sorted(make_seeded_random(0).sample(range(count), most))
