"""Score the official sample run of a declared task and compare the scores with the
official score.
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

#: The sample run has this file name in a sandboxed process.
SAMPLE_RUN = "sample_run"
PERCENT = 100

#: Rule set and metric are the keys of a score's value and scale.
Scores = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The official number, and this package's number on the official scale with the
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


#: This decimal precision suffices for all numbers that a form accepts.
MAX_PRECISION = 400


def compared(measure: str, official: Decimal, value: float, scale: float) -> Comparison:
    """Compare an official number with this package's value. The value is compared
    unchanged, as a share or as a percentage, whichever is closest to the official
    number.
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
    """Return value and scale of the sample run for each rule set and metric, and the
    problems of the sample's file.

    Raises InputRefused for an invalid declaration or gold.
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
    """Return value and scale of a run for each rule set and metric. Undefined values
    are omitted.

    Raises Unavailable if the default rules need a missing dependency. Other rule sets
    with missing dependencies are skipped.
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
    """Return the comparison with the official number under each rule set that includes
    the measure.
    """
    return {
        rules: compared(
            measure, official, score[measure]["value"], score[measure]["scale"]
        )
        for rules, score in scores.items()
        if measure in score
    }
