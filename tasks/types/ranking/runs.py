"""Runs that rank candidates, as JSON lines or as TREC run files: checked line by line and kept as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tasks.types.base import Index
from tasks.types.files import InputFile
from tasks.types.jsonlines import MAX_COUNTED
from tasks.types.problems import InputRefused, Problem, Problems, TooManyProblems
from tasks.types.ranking.choices import Choices
from tasks.types.ranking.forms import FORMS
from tasks.types.ranking.gathering import Gathering, RankedRun, RunLimits
from tasks.types.ranking.json_runs import read_json_run
from tasks.types.ranking.trec_runs import read_trec_run

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_ranked_run(
    files: Sequence[InputFile], index: Index, limits: RunLimits
) -> tuple[RankedRun, list[Problem]]:
    """The rankings, and everything that is wrong with the files.

    The run is only meant where nothing is fatal.
    """
    problems = Problems(counts=MAX_COUNTED)
    gathering = Gathering(Choices(index))
    try:
        for file in _run_files(files, problems):
            read = read_json_run if _is_json(file) else read_trec_run
            read(file, gathering, limits, problems)
    except TooManyProblems:
        raise
    except InputRefused as refused:
        problems.extend(refused.problems)
    run = gathering.run()
    if not problems.has_errors:
        problems.extend(_missing(run, gathering.choices))
    return run, problems


def _run_files(files: Sequence[InputFile], problems: Problems) -> Iterator[InputFile]:
    """The files that can hold rankings; notes beside them are passed over."""
    readable = []
    for file in files:
        if not file.stem.lower().startswith("readme"):
            readable.append(file)
        else:
            problems.append(
                Problem(
                    file=file.shown, message="passed over: it holds no rankings", expected=FORMS, fatal=False
                )
            )
    if not readable:
        problems.append(Problem(message="the input holds no file that can be a run", expected=FORMS))
    yield from readable


def _is_json(file: InputFile) -> bool:
    """By its first character: no line of a TREC run begins with a brace or bracket."""
    for line in file.lines():
        if start := line.removeprefix(BYTE_ORDER_MARK).lstrip():
            return start.startswith((b"{", b"["))
    return True


def _missing(run: RankedRun, choices: Choices) -> Iterator[Problem]:
    if run.missing == len(choices):
        yield Problem(message="no instance of the split is answered", expected="an id of the split")
    elif run.missing:
        first = choices.instances[int(np.flatnonzero(~run.lists.present)[0])]
        yield Problem(
            message=f"{run.missing:,} of {len(choices):,} instances have no answer and score 0, "
            f"the first is “{first}”",
            fatal=False,
        )
    if run.empty:
        yield Problem(message=f"{run.empty:,} rankings are empty and score 0", fatal=False)
