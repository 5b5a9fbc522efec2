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

EMPTY, CONSTANT, FIRST, LONGEST, INPUT = (
    "empty",
    "constant",
    "first",
    "longest",
    "input",
)
RANDOM, RANDOM_BEST = "random", "random_best"
RUNS = (EMPTY, CONSTANT, FIRST, LONGEST, INPUT, RANDOM, RANDOM_BEST)
DRAWS = 20

_REASON_ANSWER_IS_LABEL = "an answer is a label, which no shown text is"
_REASON_ANSWER_IS_NUMBER = "an answer is a number, which no shown text is"
_REASON_ANSWER_IS_RANKING = "an answer is a list of candidates, which a query is not"
_REASON_NO_CANDIDATES = "no candidates are given out"
_REASON_OWN_CANDIDATES = "each instance has candidates of its own"
_REASON_NEEDS_JUDGE = (
    "a report has scores once a judge has read it, and nobody has judged this run"
)

#: `LEFT_OUT` lists trivial runs that are impossible in a task type or form of task.
#: `LEFT_OUT` maps the name of each impossible trivial run to a reason.
#: Further trivial runs may be missing for a task, depending on the gold.
LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "clsumm-1a": {
        INPUT: "an answer is a sentence of the cited paper, which a citance is not"
    },
    "clsumm-1b": {
        FIRST: _REASON_NO_CANDIDATES,
        LONGEST: _REASON_ANSWER_IS_LABEL,
        INPUT: _REASON_ANSWER_IS_LABEL,
    },
    "clsumm-2": {CONSTANT: "no summary is of two papers"},
    "citation-text": {},
    "positional-citations": {CONSTANT: "no answer cites the passages of two questions"},
    "citation-recommendation": {
        LONGEST: "a candidate is more than one text",
        INPUT: _REASON_ANSWER_IS_RANKING,
    },
    "citation-resolution": {
        CONSTANT: _REASON_OWN_CANDIDATES,
        LONGEST: "candidates need no texts",
        INPUT: _REASON_ANSWER_IS_RANKING,
    },
    "cited-reports": dict.fromkeys(RUNS[1:], _REASON_NEEDS_JUDGE),
    "judge-leaderboards": {
        CONSTANT: "equal scores order no systems, as in the empty run",
        LONGEST: "systems have names and no texts",
        INPUT: "participants are given names and no scores",
    },
    "labels": {LONGEST: _REASON_ANSWER_IS_LABEL, INPUT: _REASON_ANSWER_IS_LABEL},
    "numbers": {
        FIRST: _REASON_NO_CANDIDATES,
        LONGEST: _REASON_ANSWER_IS_NUMBER,
        INPUT: _REASON_ANSWER_IS_NUMBER,
    },
    "text": {},
    "ranking": {INPUT: _REASON_ANSWER_IS_RANKING},
    "spans": {
        FIRST: _REASON_NO_CANDIDATES,
        INPUT: "the whole text as one span is the constant or the longest run",
        RANDOM: "spans that are drawn have no length of their own",
        RANDOM_BEST: "spans that are drawn have no length of their own",
    },
    "evidence": {
        FIRST: "labels are no list that is given out",
        LONGEST: _REASON_ANSWER_IS_LABEL,
        INPUT: _REASON_ANSWER_IS_LABEL,
    },
    "tags": {
        FIRST: _REASON_NO_CANDIDATES,
        LONGEST: _REASON_ANSWER_IS_LABEL,
        INPUT: "an answer is a tag for each token",
    },
}


@dataclass(frozen=True, kw_only=True)
class TrivialRuns:
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


def run_file(lines: Iterable[Mapping[str, Any]], reading: int) -> list[InputFile]:
    """Return a list with a run file that contains the given JSON lines."""
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    name = "trivial.jsonl"
    return [InputFile(name, name, partial(BytesIO, data.encode()), reading)]


def random_of(draw: int) -> random.Random:
    return random.Random(draw)  # noqa: S311  (no secret)


def drawn_rows(count: int, most: int | None) -> list[int]:
    """Return at most ``most`` random row numbers below ``count``, sorted in ascending
    order, or all row numbers if ``most`` is None.
    """
    if most is None or count <= most:
        return list(range(count))
    return sorted(random_of(0).sample(range(count), most))
