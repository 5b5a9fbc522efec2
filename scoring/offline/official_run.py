"""Score the official sample run of a declared task, and compare the scores with the
score that the official scorer reports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from scoring.offline.evaluate import Resampling, evaluate
from tasks.types import InputRefused, Split, TaskType
from tasks.types.declared.folder import read_declaration
from tasks.types.files import InputFile, open_input
from tasks.types.problems import Unavailable, as_values, fatal, in_order
from tasks.types.runs import read_run

#: A sandboxed process reads the sample run under the file name SAMPLE_RUN.
SAMPLE_RUN = "sample_run"
PERCENT = 100

#: Scores map a rule set and a metric to the value and the scale of the score.
Scores = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An official score and the score by this package, on the same scale and with the
    same number of decimals.
    """

    measure: str
    official: Decimal
    here: Decimal

    @property
    def difference(self) -> Decimal:
        return self.here - self.official

    @property
    def is_equal(self) -> bool:
        return not self.difference


#: Decimals of MAX_PRECISION digits represent all numbers that a web form accepts.
MAX_PRECISION = 400


def compared(measure: str, official: Decimal, value: float, scale: float) -> Comparison:
    """Compare an official score with the value that this package computes. The value is
    taken unchanged, as a share or as a percentage, whichever is closest to the official
    score.
    """
    share = value / scale
    unit = Decimal(1).scaleb(int(official.as_tuple().exponent))
    readings = (Decimal(repr(one)) for one in (value, share, share * PERCENT))
    nearest = min(readings, key=lambda one: abs(one - official))
    here = nearest.quantize(min(unit, Decimal(1)), context=Context(prec=MAX_PRECISION))
    return Comparison(measure=measure, official=official, here=here)


def scores_of_sample(
    task_files: Mapping[str, str], gold: Sequence[InputFile], filename: str
) -> dict[str, Any]:
    """Return the value and scale of each metric on the sample run under each rule set,
    and the problems of the run's file. Raises InputRefused if the declaration or the
    gold is invalid.
    """
    task_type = read_declaration(task_files)
    split = task_type.gold_of(gold, {})
    try:
        files = open_input(Path(SAMPLE_RUN), shown=filename)
        run, problems = read_run(task_type, files, split.index, {}, name=filename)
    except InputRefused as refused:
        run, problems = None, in_order(refused.problems)
    told: dict[str, Any] = {"problems": as_values(problems), "scores": {}}
    if not fatal(problems):
        told["scores"] = scores_by_rules(task_type, split, run)
    return told


def scores_by_rules(task_type: TaskType, split: Split, run: Any) -> Scores:
    """Return the value and scale of each metric on the run under each rule set.
    Undefined values are omitted.

    Raises Unavailable if the default rule set needs a missing dependency, but skips
    other rule sets with missing dependencies.
    """
    found: Scores = {}
    for rules in task_type.rules:
        try:
            scores = evaluate(
                task_type,
                task_type.pairs_of(split, run, rules, {}),
                rules=rules,
                options={},
                gold=split.digest,
                resampling=Resampling(resamples=0),
            )
        except Unavailable:
            if rules == task_type.default_rules:
                raise
            continue
        found[rules] = {
            name: {"value": value["value"], "scale": value["scale"]}
            for name, metric in scores.metrics.items()
            if (value := metric.as_dict())["value"] is not None
        }
    return found


def comparisons(
    scores: Scores, measure: str, official: Decimal
) -> dict[str, Comparison]:
    """Return the comparison with the official score under each rule set that contains
    the measure.
    """
    return {
        rules: compared(
            measure, official, score[measure]["value"], score[measure]["scale"]
        )
        for rules, score in scores.items()
        if measure in score
    }
