"""The sample of a declared task: scored, and held against the scores that it should have."""

import math
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from scoring.metrics import Unavailable
from scoring.offline.evaluate import Resampling, evaluate
from tasks.types import InputRefused, Problem, TaskType
from tasks.types.files import InputFile
from tasks.types.problems import fatal
from tasks.types.runs import read_run
from tasks.types.text import decoded_json, json_fault

FOLDER, SCORES = "sample/", "scores.json"
Files = Mapping[str, str]
#: Values are equal to so many digits.
DIGITS = 9


def faults(task_type: TaskType, files: Files, shown: str) -> list[Problem]:
    """Everything that is wrong with the sample; ``shown`` is what messages call its folder."""
    names = {
        name.removeprefix(FOLDER).partition("/")[0].partition(".")[0] for name in files if FOLDER in name
    }
    lacking = [name for name in ("gold.jsonl", "run.jsonl", SCORES) if name.partition(".")[0] not in names]
    if lacking:
        expected = f"a sample: gold, run.jsonl and {SCORES}"
        return [Problem(file=shown, message=f"there is no {name}", expected=expected) for name in lacking]
    place = f"{shown}/{SCORES}"
    try:
        expected_scores: Any = decoded_json(files[f"{FOLDER}{SCORES}"])
    except (ValueError, RecursionError) as fault:
        return [Problem(file=place, line=getattr(fault, "lineno", None), message=json_fault(fault))]
    if not isinstance(expected_scores, dict) or not expected_scores.get(task_type.default_rules):
        message = f"no scores under the rules {task_type.default_rules}"
        return [Problem(file=place, message=message, expected='{"RULES": {"MEASURE": 0.5}}')]
    try:
        found = sample_scores(task_type, files, shown)
    except InputRefused as refused:
        return list(refused.problems)
    except Unavailable:
        # Where a model is missing, the sample is scored where it is there.
        return []
    told = []
    for rules, values in expected_scores.items():
        if rules not in found or not isinstance(values, dict):
            expected = ", ".join(found)
            told.append(Problem(file=place, message=f"there are no rules “{rules}”", expected=expected))
            continue
        for name, value in values.items():
            if name not in found[rules]:
                message = f"there is no measure “{name}” under {rules}"
                told.append(Problem(file=place, message=message, expected=", ".join(found[rules])))
            elif not _is_same(value, found[rules][name]):
                message = f"“{name}” under {rules} is {value!r}; computed it is {found[rules][name]!r}"
                told.append(Problem(file=place, message=message))
    return told


def sample_scores(task_type: TaskType, files: Files, shown: str = "") -> dict[str, dict[str, float]]:
    """By rule set and measure. Raises InputRefused, and Unavailable where a model is missing."""
    opened = {
        name: InputFile(
            name.removeprefix(FOLDER),
            f"{shown}/{name.removeprefix(FOLDER)}",
            lambda text=text: BytesIO(text.encode()),  # type: ignore[misc]
        )
        for name, text in files.items()
        if name.startswith(FOLDER)
    }
    gold = [file for name, file in opened.items() if name.startswith(f"{FOLDER}gold")]
    split = task_type.read_gold(gold, {})
    answers, problems = read_run(task_type, [opened[f"{FOLDER}run.jsonl"]], split.index, {})
    if fatal(problems):
        raise InputRefused(problems)
    scores = {}
    for rules in task_type.rules:
        values = evaluate(
            task_type,
            task_type.pair(split, answers, rules, {}),
            rules=rules,
            options={},
            gold=split.digest,
            resampling=Resampling(resamples=0),
        ).metrics
        scores[rules] = {name: value.value for name, value in values.items()}
    return scores


def _is_same(expected: object, value: float | None) -> bool:
    """Undefined is null."""
    if value is None or math.isnan(value):
        return expected is None
    if isinstance(expected, bool) or not isinstance(expected, int | float):
        return False
    return math.isclose(expected, value, rel_tol=10.0**-DIGITS, abs_tol=10.0**-DIGITS)
