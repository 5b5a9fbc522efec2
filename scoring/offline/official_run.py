"""Score the official sample run of a declared task, and compare the scores with the
score that the official scorer reports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from tasks.types import InputRefused, Split, TaskType
from tasks.types.declared.folder import read_declaration
from tasks.types.files import InputFile, open_input_files
from tasks.types.problems import (
    SoftwareUnavailable,
    convert_problems_to_dicts,
    select_fatal_problems,
    sort_problems,
)
from tasks.types.runs import read_run

#: A sandboxed process reads the sample run under the file name SAMPLE_RUN_KEY.
SAMPLE_RUN_KEY = "sample_run"
PERCENT_SCALE = 100

#: Scores map a rule set and a metric to the value and the scale of the score.
ScoresByRules = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True, kw_only=True)
class OfficialComparison:
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


#: Decimals of MAX_DECIMAL_PRECISION digits represent all numbers that a web form accepts.
MAX_DECIMAL_PRECISION = 400


def compare_with_official_score(
    measure: str, official: Decimal, value: float, scale: float
) -> OfficialComparison:
    """Compare an official score with the value that this package computes. The value is
    taken unchanged, as a share or as a percentage, whichever is closest to the official
    score.
    """
    share = value / scale
    unit = Decimal(1).scaleb(int(official.as_tuple().exponent))
    readings = (Decimal(repr(one)) for one in (value, share, share * PERCENT_SCALE))
    nearest = min(readings, key=lambda one: abs(one - official))
    here = nearest.quantize(
        min(unit, Decimal(1)), context=Context(prec=MAX_DECIMAL_PRECISION)
    )
    return OfficialComparison(measure=measure, official=official, here=here)


def score_sample_run(
    task_files: Mapping[str, str], gold: Sequence[InputFile], filename: str
) -> dict[str, Any]:
    """Return the value and scale of each metric on the sample run under each rule set,
    and the problems of the run's file. Raises InputRefused if the declaration or the
    gold is invalid.
    """
    task_type = read_declaration(task_files)
    split = task_type.gold_of(gold, {})
    try:
        files = open_input_files(Path(SAMPLE_RUN_KEY), shown=filename)
        run, problems = read_run(task_type, files, split.index, {}, name=filename)
    except InputRefused as refused:
        run, problems = None, sort_problems(refused.problems)
    told: dict[str, Any] = {
        "problems": convert_problems_to_dicts(problems),
        "scores": {},
    }
    if not select_fatal_problems(problems):
        told["scores"] = score_run_by_rules(task_type, split, run)
    return told


def score_run_by_rules(task_type: TaskType, split: Split, run: Any) -> ScoresByRules:
    """Return the value and scale of each metric on the run under each rule set.
    Undefined values are omitted.

    Raises Unavailable if the default rule set needs a missing dependency, but skips
    other rule sets with missing dependencies.
    """
    found: ScoresByRules = {}
    for rules in task_type.rules:
        try:
            scores = evaluate_pairs(
                task_type,
                task_type.pairs_of(split, run, rules, {}),
                rules=rules,
                options={},
                gold=split.digest,
                resampling=IntervalSettings(resamples=0),
            )
        except SoftwareUnavailable:
            if rules == task_type.default_rule_set:
                raise
            continue
        found[rules] = {
            name: {"value": value["value"], "scale": value["scale"]}
            for name, metric in scores.metrics.items()
            if (value := metric.as_dict())["value"] is not None
        }
    return found


def compare_by_rules(
    scores: ScoresByRules, measure: str, official: Decimal
) -> dict[str, OfficialComparison]:
    """Return the comparison with the official score under each rule set that contains
    the measure.
    """
    return {
        rules: compare_with_official_score(
            measure, official, score[measure]["value"], score[measure]["scale"]
        )
        for rules, score in scores.items()
        if measure in score
    }
