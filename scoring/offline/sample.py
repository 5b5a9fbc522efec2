"""Score the sample in a task folder and compare the scores with the declared scores."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoring.metrics import SoftwareUnavailable, build_metrics
from scoring.metrics.base import finite_or_none
from scoring.metrics.official import OfficialMeasure
from scoring.metrics.own import OwnMeasure
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from scoring.offline.marking import iterate_instances_with_marks
from tasks.types import InputRefused, Problem, TaskType
from tasks.types.base import Options, ShownInstance, Split
from tasks.types.declared.folder import open_sample_files
from tasks.types.files import InputFile, open_files_of_all_inputs, open_input_files
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import raise_if_any_problem_is_fatal
from tasks.types.registry import find_sample_folder
from tasks.types.runs import read_run
from tasks.types.text import make_json_error_message

SAMPLE_FOLDER, SAMPLE_SCORES_FILE, SAMPLE_RUN_FILE = (
    "sample/",
    "scores.json",
    "run.jsonl",
)
#: In the options of a sample, SAMPLE_FOLDER_PLACEHOLDER stands for the path of the sample's folder.
SAMPLE_FOLDER_PLACEHOLDER = "{sample}"
TaskFiles = Mapping[str, str]
#: Pages show at most MAX_SHOWN_SAMPLE_CHARS characters of a task's sample.
MAX_SHOWN_SAMPLE_CHARS = 1 << 18
#: Declared and computed scores of a sample must agree to COMPARED_DIGITS digits.
COMPARED_DIGITS = 9


def faults(task_type: TaskType, files: TaskFiles, shown: str) -> list[Problem]:
    """Return all problems in the sample of a task folder. ``shown`` is the name of the
    folder with the sample, for messages.
    """
    inside = (
        name.removeprefix(SAMPLE_FOLDER) for name in files if SAMPLE_FOLDER in name
    )
    names = {name.partition("/")[0].partition(".")[0] for name in inside}
    lacking = [
        name
        for name in ("gold.jsonl", "run.jsonl", SAMPLE_SCORES_FILE)
        if name.partition(".")[0] not in names
    ]
    if lacking:
        expected = f"a sample: gold, run.jsonl and {SAMPLE_SCORES_FILE}"
        return [
            Problem(file=shown, message=f"there is no {name}", expected=expected)
            for name in lacking
        ]
    place = f"{shown}/{SAMPLE_SCORES_FILE}"
    try:
        expected_scores: Any = read_json(files[f"{SAMPLE_FOLDER}{SAMPLE_SCORES_FILE}"])
    except ValueError as fault:
        return [
            Problem(
                file=place,
                line=getattr(fault, "lineno", getattr(fault, "line", None)),
                message=make_json_error_message(fault),
            )
        ]
    if not isinstance(expected_scores, dict) or not expected_scores.get(
        task_type.default_rule_set
    ):
        message = f"no scores under the rules {task_type.default_rule_set}"
        return [
            Problem(file=place, message=message, expected='{"RULES": {"MEASURE": 0.5}}')
        ]
    try:
        found = compute_sample_scores(task_type, files, shown)
    except InputRefused as refused:
        return [
            replace(problem, file=problem.file or shown) for problem in refused.problems
        ]
    except SoftwareUnavailable:
        # If a model is missing, the scores of the sample cannot be compared.
        return []
    return _find_score_differences(expected_scores, found, place)


def _find_score_differences(
    expected_scores: Mapping[str, Any],
    found: Mapping[str, Mapping[str, Any]],
    place: str,
) -> list[Problem]:
    """Return the differences between the declared and the computed scores of a task's
    sample. ``place`` is the name of the file with the declared scores, for messages.
    """
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
            elif not _is_same_score(value, found[rules][name]):
                message = f"“{name}” under {rules} is {value!r}; computed it is {found[rules][name]!r}"
                told.append(Problem(file=place, message=message))
    return told


def compute_sample_scores(
    task_type: TaskType, files: TaskFiles, shown: str = ""
) -> dict[str, dict[str, float]]:
    """Return the scores of a task's sample, keyed by rule set and metric.

    Raises InputRefused if the sample is invalid, and Unavailable if a model is missing.
    Rule sets with metrics of an official program are omitted, because the site runs
    such programs only for submissions.
    """
    split = task_type.read_gold(
        open_sample_files(
            files, f"{SAMPLE_FOLDER}gold", shown or SAMPLE_FOLDER.rstrip("/")
        ),
        {},
    )
    run = open_sample_files(
        files, f"{SAMPLE_FOLDER}run.jsonl", shown or SAMPLE_FOLDER.rstrip("/")
    )
    answers, problems = read_run(task_type, run, split.index, {})
    raise_if_any_problem_is_fatal(problems)
    scores = {}
    for rules in task_type.rules:
        if task_type.has_official_program_metrics(rules):
            continue
        pairs, none = (
            task_type.pair(split, answers, rules, {}),
            IntervalSettings(resamples=0),
        )
        found = evaluate_pairs(
            task_type,
            pairs,
            rules=rules,
            options={},
            gold=split.digest,
            resampling=none,
        )
        scores[rules] = {name: value.value for name, value in found.metrics.items()}
    return scores


def format_sample_scores(task_type: TaskType, files: TaskFiles) -> str:
    """Return the content of `scores.json`, which declares the scores of a task's
    sample. Undefined values are null.
    """
    by_rules = compute_sample_scores(task_type, files)
    values = {
        rules: dict(zip(of, map(finite_or_none, of.values()), strict=True))
        for rules, of in by_rules.items()
    }
    return json.dumps(values, indent=2) + "\n"


def _is_same_score(expected: object, value: float | None) -> bool:
    """Return True if the expected score and the computed score are equal up to
    rounding. Undefined values are null.
    """
    if value is None or math.isnan(value):
        return expected is None
    if isinstance(expected, bool) or not isinstance(expected, int | float):
        return False
    return math.isclose(
        expected, value, rel_tol=10.0**-COMPARED_DIGITS, abs_tol=10.0**-COMPARED_DIGITS
    )


def find_public_sample(task_type: TaskType) -> TaskFiles:
    """Return the files of a declared task's sample, or no files if the sample is not
    declared public or is too large.
    """
    if (declared := task_type.declared) is None or not declared.public_sample:
        return {}
    files = {
        name: text
        for name, text in declared.files.items()
        if name.startswith(SAMPLE_FOLDER)
    }
    return files if sum(map(len, files.values())) <= MAX_SHOWN_SAMPLE_CHARS else {}


def open_sample(
    task_type: TaskType, files: TaskFiles, *, has_files: bool = True
) -> tuple[Sequence[InputFile], Split, Options]:
    """Return the gold files of a task's sample, the parsed gold and the options. If
    ``has_files`` is False, options that name other files are removed.

    For a declared task, ``files`` are the files of the public sample.
    """
    if files:
        stated = task_type.validate_options({})
        gold = open_sample_files(files, f"{SAMPLE_FOLDER}gold")
        return gold, task_type.gold_of(gold, stated), stated
    folder = find_sample_folder(task_type.slug)
    assert folder is not None, f"{task_type.slug} ships no sample"
    options = folder / "options.json"
    stated = (
        json.loads(options.read_text(encoding="utf-8")) if options.is_file() else {}
    )
    usable = (
        name
        for name, value in stated.items()
        if has_files or SAMPLE_FOLDER_PLACEHOLDER not in value
    )
    checked = task_type.validate_options(
        {
            name: stated[name].replace(SAMPLE_FOLDER_PLACEHOLDER, str(folder))
            for name in usable
        }
    )
    gold = open_files_of_all_inputs(sorted(folder.glob("gold*")))
    return gold, task_type.gold_of(gold, checked), checked


def list_example_answers(task_type: TaskType) -> list[str]:
    """Return the lines of the run in a task's sample, or no lines without a public
    sample.
    """
    if files := find_public_sample(task_type):
        return files[f"{SAMPLE_FOLDER}{SAMPLE_RUN_FILE}"].splitlines()
    folder = find_sample_folder(task_type.slug)
    return (
        (folder / SAMPLE_RUN_FILE).read_text(encoding="utf-8").splitlines()
        if folder
        else []
    )


def iterate_sample_instances(
    task_type: TaskType, files: TaskFiles
) -> Iterator[ShownInstance]:
    """Yield the instances of a task's public sample with the answers of the run in the
    sample.
    """
    if (folder := find_sample_folder(task_type.slug)) is None and not files:
        return
    gold, split, checked = open_sample(task_type, files)
    run = (
        open_input_files(folder / SAMPLE_RUN_FILE)
        if folder
        else open_sample_files(files, f"{SAMPLE_FOLDER}{SAMPLE_RUN_FILE}")
    )
    answers, _ = read_run(task_type, run, split.index, checked)
    pairs = task_type.pairs_of(split, answers, task_type.default_rule_set, checked)
    shown = task_type.show_instances(gold, split, pairs, checked)
    try:
        every = build_metrics(task_type, task_type.default_rule_set, checked)
    except SoftwareUnavailable:
        every = []
    # Pages that show the sample must not run programs of the task.
    programs = OwnMeasure | OfficialMeasure
    metrics = [metric for metric in every if not isinstance(metric, programs)]
    yield from iterate_instances_with_marks(task_type, shown, metrics, pairs)
