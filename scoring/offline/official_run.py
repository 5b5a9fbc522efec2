"""An official sample run of a task that is declared: its numbers here beside the official one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from scoring.offline.evaluate import Resampling, evaluate
from tasks.types import InputRefused
from tasks.types.declared.folder import read_declaration
from tasks.types.files import InputFile, open_input
from tasks.types.problems import as_values, fatal, in_order
from tasks.types.runs import read_run

#: What a confined process calls the file of the sample run.
SAMPLE_RUN = "sample_run"
PERCENT = 100


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The official number and the number here on the official scale, to as many decimals."""

    measure: str
    official: Decimal
    here: Decimal

    @property
    def difference(self) -> Decimal:
        return self.here - self.official

    @property
    def is_equal(self) -> bool:
        return not self.difference


#: Digits of a number with as many decimals as a form takes.
MAX_PRECISION = 400


def compared(measure: str, official: Decimal, value: float, scale: float) -> Comparison:
    """Return both numbers; the one here as it is, as a share or in percent, whichever is nearest."""
    share = value / scale
    unit = Decimal(1).scaleb(int(official.as_tuple().exponent))
    readings = (Decimal(repr(one)) for one in (value, share, share * PERCENT))
    nearest = min(readings, key=lambda one: abs(one - official))
    here = nearest.quantize(min(unit, Decimal(1)), context=Context(prec=MAX_PRECISION))
    return Comparison(measure=measure, official=official, here=here)


def scores_of_sample(
    task_files: Mapping[str, str], gold: Sequence[InputFile], filename: str
) -> dict[str, Any]:
    """Return by metric value and scale of the sample run, and everything that is wrong with its file.

    Raises InputRefused for the declaration and the gold.
    """
    task_type = read_declaration(task_files)
    split = task_type.gold_of(gold, {})
    try:
        files = open_input(Path(SAMPLE_RUN), shown=filename)
        run, problems = read_run(task_type, files, split.index, {}, name=filename)
    except InputRefused as refused:
        run, problems = None, in_order(refused.problems)
    told: dict[str, Any] = {"problems": as_values(problems), "scores": {}}
    if fatal(problems):
        return told
    scores = evaluate(
        task_type,
        task_type.pairs_of(split, run, task_type.default_rules, {}),
        rules=task_type.default_rules,
        options={},
        gold=split.digest,
        resampling=Resampling(resamples=0),
    )
    told["scores"] = {
        name: {"value": value["value"], "scale": value["scale"]}
        for name, metric in scores.metrics.items()
        if (value := metric.as_dict())["value"] is not None
    }
    return told
