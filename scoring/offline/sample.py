"""Samples of tasks: of a declared one scored, and held against the scores that it should have."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoring.metrics import Unavailable
from scoring.metrics.base import finite
from scoring.offline.evaluate import Resampling, evaluate
from tasks.types import InputRefused, Problem, TaskType
from tasks.types.base import Options, ShownInstance, Split
from tasks.types.declared.folder import sample_files
from tasks.types.files import InputFile, open_input, open_inputs
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import refuse
from tasks.types.registry import shipped_folder
from tasks.types.runs import read_run
from tasks.types.text import json_fault

FOLDER, SCORES, RUN = "sample/", "scores.json", "run.jsonl"
#: In the options of a sample: its folder.
PLACE = "{sample}"
Files = Mapping[str, str]
#: Characters of a sample that pages show.
MAX_SHOWN = 1 << 18
#: Values are equal to so many digits.
DIGITS = 9


def faults(task_type: TaskType, files: Files, shown: str) -> list[Problem]:
    """Everything that is wrong with the sample; ``shown`` is what messages call its folder."""
    inside = (name.removeprefix(FOLDER) for name in files if FOLDER in name)
    names = {name.partition("/")[0].partition(".")[0] for name in inside}
    lacking = [
        name
        for name in ("gold.jsonl", "run.jsonl", SCORES)
        if name.partition(".")[0] not in names
    ]
    if lacking:
        expected = f"a sample: gold, run.jsonl and {SCORES}"
        return [
            Problem(file=shown, message=f"there is no {name}", expected=expected)
            for name in lacking
        ]
    place = f"{shown}/{SCORES}"
    try:
        expected_scores: Any = read_json(files[f"{FOLDER}{SCORES}"])
    except ValueError as fault:
        return [
            Problem(
                file=place,
                line=getattr(fault, "lineno", getattr(fault, "line", None)),
                message=json_fault(fault),
            )
        ]
    if not isinstance(expected_scores, dict) or not expected_scores.get(
        task_type.default_rules
    ):
        message = f"no scores under the rules {task_type.default_rules}"
        return [
            Problem(file=place, message=message, expected='{"RULES": {"MEASURE": 0.5}}')
        ]
    try:
        found = sample_scores(task_type, files, shown)
    except InputRefused as refused:
        return [replace(one, file=one.file or shown) for one in refused.problems]
    except Unavailable:
        # Where a model is missing, the sample is scored where it is there.
        return []
    return _differences(expected_scores, found, place)


def _differences(
    expected_scores: Mapping[str, Any],
    found: Mapping[str, Mapping[str, Any]],
    place: str,
) -> list[Problem]:
    """Compare the expected scores of the file at ``place`` with the computed ones."""
    told = []
    for rules, values in expected_scores.items():
        if rules not in found or not isinstance(values, dict):
            expected = ", ".join(found)
            told.append(
                Problem(
                    file=place,
                    message=f"there are no rules “{rules}”",
                    expected=expected,
                )
            )
            continue
        for name, value in values.items():
            if name not in found[rules]:
                message = f"there is no measure “{name}” under {rules}"
                told.append(
                    Problem(
                        file=place, message=message, expected=", ".join(found[rules])
                    )
                )
            elif not _is_same(value, found[rules][name]):
                message = f"“{name}” under {rules} is {value!r}; computed it is {found[rules][name]!r}"
                told.append(Problem(file=place, message=message))
    return told


def sample_scores(
    task_type: TaskType, files: Files, shown: str = ""
) -> dict[str, dict[str, float]]:
    """By rule set and measure. Raises InputRefused, and Unavailable where a model is missing."""
    split = task_type.read_gold(
        sample_files(files, f"{FOLDER}gold", shown or FOLDER.rstrip("/")), {}
    )
    run = sample_files(files, f"{FOLDER}run.jsonl", shown or FOLDER.rstrip("/"))
    answers, problems = read_run(task_type, run, split.index, {})
    refuse(problems)
    scores = {}
    for rules in task_type.rules:
        pairs, none = task_type.pair(split, answers, rules, {}), Resampling(resamples=0)
        found = evaluate(
            task_type,
            pairs,
            rules=rules,
            options={},
            gold=split.digest,
            resampling=none,
        )
        scores[rules] = {name: value.value for name, value in found.metrics.items()}
    return scores


def written_scores(task_type: TaskType, files: Files) -> str:
    """What its file of scores has to say. Undefined is null."""
    by_rules = sample_scores(task_type, files)
    values = {
        rules: dict(zip(of, map(finite, of.values()), strict=True))
        for rules, of in by_rules.items()
    }
    return json.dumps(values, indent=2) + "\n"


def _is_same(expected: object, value: float | None) -> bool:
    """Undefined is null."""
    if value is None or math.isnan(value):
        return expected is None
    if isinstance(expected, bool) or not isinstance(expected, int | float):
        return False
    return math.isclose(expected, value, rel_tol=10.0**-DIGITS, abs_tol=10.0**-DIGITS)


def public_sample(task_type: TaskType) -> Files:
    """Of a declared task whose folder says that everybody may have it, and that is small."""
    if (declared := task_type.declared) is None or not declared.public_sample:
        return {}
    files = {
        name: text for name, text in declared.files.items() if name.startswith(FOLDER)
    }
    return files if sum(map(len, files.values())) <= MAX_SHOWN else {}


def open_sample(
    task_type: TaskType, files: Files, *, has_files: bool = True
) -> tuple[Sequence[InputFile], Split, Options]:
    """The files of its gold, what they hold, and its options; without those that name files beside it.

    Of a declared task ``files`` are its public sample.
    """
    if files:
        stated = task_type.checked_options({})
        gold = sample_files(files, f"{FOLDER}gold")
        return gold, task_type.gold_of(gold, stated), stated
    folder = shipped_folder(task_type.slug)
    assert folder is not None, f"{task_type.slug} ships no sample"
    options = folder / "options.json"
    stated = (
        json.loads(options.read_text(encoding="utf-8")) if options.is_file() else {}
    )
    usable = (name for name, value in stated.items() if has_files or PLACE not in value)
    checked = task_type.checked_options(
        {name: stated[name].replace(PLACE, str(folder)) for name in usable}
    )
    gold = open_inputs(sorted(folder.glob("gold*")))
    return gold, task_type.gold_of(gold, checked), checked


def example_answers(task_type: TaskType) -> list[str]:
    """The lines of the run that comes with its sample; none where no sample does."""
    if files := public_sample(task_type):
        return files[f"{FOLDER}{RUN}"].splitlines()
    folder = shipped_folder(task_type.slug)
    return (folder / RUN).read_text(encoding="utf-8").splitlines() if folder else []


def shown_sample(task_type: TaskType, files: Files) -> Iterator[ShownInstance]:
    """The instances of the sample that everybody may have, each with its answer."""
    if (folder := shipped_folder(task_type.slug)) is None and not files:
        return
    gold, split, checked = open_sample(task_type, files)
    run = open_input(folder / RUN) if folder else sample_files(files, f"{FOLDER}{RUN}")
    answers, _ = read_run(task_type, run, split.index, checked)
    pairs = task_type.pairs_of(split, answers, task_type.default_rules, checked)
    yield from task_type.show_instances(gold, split, pairs, checked)
