"""Propose a task for gold that an organiser has uploaded, with the files of the task
folder and a preview of the board. The preview scores the gold as a run, a damaged copy
of the gold, and the baselines. The module's entry functions take and return JSON
values.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from scoring.metrics.own import trust_measures_code
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from scoring.offline.official_run import SAMPLE_RUN_KEY, score_sample_run
from scoring.offline.sample import format_sample_scores
from tasks.types import InputRefused, Problem, TaskType
from tasks.types.base import SCORING_FILE_NAMES
from tasks.types.declared.folder import (
    SAMPLE_FOLDER_NAME,
    TASK_CARD_FILE_NAME,
    TOML,
    open_sample_files,
    read_declaration,
    read_task_type_from_files,
)
from tasks.types.declared.proposals import (
    TaskProposal,
    format_task_toml,
    propose_declaration,
)
from tasks.types.declared.recognised import SettingGuess
from tasks.types.files import InputFile, open_input_files
from tasks.types.forms.bio import BIO, SentenceRecordKeys, format_bio_sentences
from tasks.types.forms.instances import TREC, InstancesAndPool, TaskInstance
from tasks.types.forms.shapes import (
    ONE_INSTANCE_PER_ROW_LAYOUT,
    convert_records_to_keyed_object,
)
from tasks.types.jsonlines import format_as_json_lines
from tasks.types.problems import (
    ProblemList,
    convert_problems_to_dicts,
    raise_if_any_problem_is_fatal,
    select_fatal_problems,
)
from tasks.types.runs import read_run
from tasks.types.tables import (
    DEFAULT_DELIMITERS_BY_FORMAT,
    TABLE_FORMATS_BY_SUFFIX,
    TSV_FORMAT,
    TableFormat,
    format_table,
)
from tasks.types.trivial import get_instance_task

#: A sandboxed process reads the file UPLOADED_FILE_NAME and calls the function SANDBOXED_FUNCTION.
UPLOADED_FILE_NAME, SANDBOXED_FUNCTION = "upload", "scoring.offline.proposing:propose"
#: The argument RUNS_MEASURES_ARGUMENT allows the process to run the task's `measures.py`.
RUNS_MEASURES_ARGUMENT = "runs_measures"
GOLD_RUN_NAME, DAMAGED_RUN_NAME = "gold", "damaged"
#: In a damaged copy of the gold, one of ANSWERS_PER_DAMAGED_ANSWER successive answers is wrong.
ANSWERS_PER_DAMAGED_ANSWER = 3
#: A sample has between FEW and MAX_SAMPLE_INSTANCES instances.
MIN_SAMPLE_INSTANCES, MAX_SAMPLE_INSTANCES = 4, 8
#: The document pool of a sample has UNNAMED_SAMPLE_DOCUMENTS documents that the gold does not name.
UNNAMED_SAMPLE_DOCUMENTS = 5
CARD_TEMPLATE = """# {title}

{asked}

## Format

One JSON object a line for each instance:

    {example}

## Rules

### `{rules}`

{missing}

## Data

{instances} instances. Participants get {shown} of each; all else is secret.

## Citation

None is given yet.
"""
RunLine = dict[str, Any]


def propose(given: Mapping[str, Any]) -> dict[str, Any]:
    """Propose a task for uploaded gold, within a sandboxed process. The argument `task`
    is the table of an existing task declaration, or None.
    """
    try:
        files = open_input_files(
            Path(UPLOADED_FILE_NAME),
            shown=given["filename"],
            encoding=given["encoding"],
        )
        found = propose_declaration(
            given["form"],
            given["slug"],
            given["title"],
            files,
            given["task"],
            given["delimiter"],
        )
    except InputRefused as refused:
        return {
            "problems": convert_problems_to_dicts(
                _set_file_of_problems(refused.problems, given["filename"])
            )
        }
    told: dict[str, Any] = {**asdict(found), "problems": [], "board": [], "files": {}}
    task_files = {
        TASK_CARD_FILE_NAME: draft_card(found),
        **given["files"],
        TOML: format_task_toml(found.task),
    }
    told["card"] = task_files[TASK_CARD_FILE_NAME]
    try:
        raise_if_any_problem_is_fatal(found.lacks)
        # The process may run `measures.py`, because it ends after the proposal.
        with (
            trust_measures_code()
            if given.get(RUNS_MEASURES_ARGUMENT)
            else nullcontext()
        ):
            told["board"], told["files"] = preview_board(task_files, found, files)
            read_task_type_from_files(told["files"], "")
            if sample_run := given.get(SAMPLE_RUN_KEY):
                told[SAMPLE_RUN_KEY] = score_sample_run(task_files, files, sample_run)
    except InputRefused as refused:
        told["problems"] = convert_problems_to_dicts(refused.problems)
    return told


def check_folder(given: Mapping[str, Any]) -> list[Any]:
    """Return the problems of the ``files`` of a task folder as JSON values, within a
    sandboxed process.
    """
    files = given["files"]
    has_sample = any(name.startswith(f"{SAMPLE_FOLDER_NAME}/") for name in files)
    try:
        with (
            trust_measures_code()
            if given.get(RUNS_MEASURES_ARGUMENT)
            else nullcontext()
        ):
            read_task_type_from_files(files, "") if has_sample else read_declaration(
                files
            )
    except InputRefused as refused:
        return convert_problems_to_dicts(refused.problems)
    return []


@dataclass(frozen=True)
class ProposedFolder:
    """The files of a proposed task folder, keyed by name, and the guesses on which the
    proposal is based.
    """

    files: dict[str, str]
    guesses: Sequence[SettingGuess]


def propose_folder(form: str, slug: str, gold: Path) -> ProposedFolder:
    """Return the task folder that the site proposes for this gold. Raises InputRefused."""
    files = open_input_files(gold)
    try:
        found = propose_declaration(
            form, slug, slug.replace("-", " ").capitalize(), files
        )
        raise_if_any_problem_is_fatal(found.lacks)
    except InputRefused as refused:
        raise InputRefused(
            _set_file_of_problems(refused.problems, str(gold))
        ) from refused
    task_files = {
        TASK_CARD_FILE_NAME: draft_card(found),
        TOML: format_task_toml(found.task),
    }
    _, folder = preview_board(task_files, found, files)
    return ProposedFolder(folder, found.guesses)


def _set_file_of_problems(problems: Iterable[Problem], name: str) -> list[Problem]:
    return [replace(problem, file=problem.file or name) for problem in problems]


def preview_board(
    task_files: Mapping[str, str], found: TaskProposal, files: Sequence[InputFile]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the rows of the previewed board, and the files of the task folder
    including a sample. Raises InputRefused.
    """
    task_type = read_declaration(task_files)
    split = task_type.gold_of(files, {})
    instances: Sequence[TaskInstance] = split.content.instances
    itself = [_build_gold_run_line(found.task, instance) for instance in instances]
    runs: dict[str, Iterable[Any]] = {
        GOLD_RUN_NAME: itself,
        DAMAGED_RUN_NAME: damage_answers(found.task, itself),
    }
    for baseline in task_type.declared.baselines if task_type.declared else ():
        runs[baseline.name] = baseline.answers(files)
    board = []
    for name, lines in runs.items():
        try:
            run = InputFile(
                "run.jsonl", "run.jsonl", partial(BytesIO, format_as_json_lines(lines))
            )
            answers, problems = read_run(task_type, [run], split.index, {})
        except ImportError:
            # The preview omits a baseline whose packages are not installed.
            continue
        if wrong := select_fatal_problems(problems):
            raise InputRefused(wrong)
        rules = task_type.default_rule_set
        scores = evaluate_pairs(
            task_type,
            task_type.pair(split, answers, rules, {}),
            rules=rules,
            options={},
            gold=split.digest,
            resampling=IntervalSettings(),
        )
        values = {metric: value.as_dict() for metric, value in scores.metrics.items()}
        for facts in values.values():
            endless = [
                key
                for key, fact in facts.items()
                if isinstance(fact, float) and not math.isfinite(fact)
            ]
            facts.update(dict.fromkeys(endless))
        board.append({"system": name, "scores": values})
    return board, _add_sample(task_type, task_files, found, split.content, files)


def damage_answers(task: Mapping[str, Any], lines: Sequence[RunLine]) -> list[RunLine]:
    """Return the gold answers, of which every third is replaced by a wrong answer. A
    wrong answer is the answer of another instance, or a missing answer if the task form
    does not allow the other answer.
    """
    key = _find_run_id_key(task)
    moves = task["form"] in ("labels", "numbers", "text", "evidence") or (
        task["form"] == "ranking" and "candidates" not in task.get("answer", {})
    )
    found = []
    for index, line in enumerate(lines):
        is_wrong = index % ANSWERS_PER_DAMAGED_ANSWER == 0
        # Neighbouring answers are often equal, so take the next different answer.
        others = (
            {**lines[(index + by) % len(lines)], key: line[key]}
            for by in range(1, len(lines))
        )
        other = next((own for own in others if own != line), line) if is_wrong else line
        if moves or not is_wrong:
            found.append(other)
    return found


def draft_card(found: TaskProposal) -> str:
    """Return the draft of a task card, which describes a task for readers, for
    organisers to complete.
    """
    task = found.task
    shown = (
        ", ".join(f"`{name}`" for name in task["gold"].get("shown", ())) or "the ids"
    )
    return CARD_TEMPLATE.format(
        title=task["title"],
        asked=f"Systems answer each instance from {shown}.",
        example=json.dumps(_build_gold_run_line(task, None), ensure_ascii=False),
        rules=task["rules"][0]["name"],
        missing="An instance without an answer is left out."
        if task["rules"][0].get("missing") == "left-out"
        else "An instance without an answer is wrong.",
        instances=f"{found.instances:,}",
        shown=shown,
    )


def _find_run_id_key(task: Mapping[str, Any]) -> str:
    """Return the JSON key of the instance id in run files."""
    gold_key = task["gold"].get("id", "id")
    return str(task.get("answer", {}).get("id", gold_key))


def _build_gold_run_line(
    task: Mapping[str, Any], instance: TaskInstance | None
) -> RunLine:
    """Return a line of a run with the gold answer of the instance, or an example line
    without an instance.
    """
    form, said, gold = task["form"], task.get("answer", {}), task["gold"]
    key, default = (
        _find_run_id_key(task),
        {"ranking": "ranking", "text": "text"}.get(form, gold["field"]),
    )
    field = said.get("field", default)
    values: dict[str, Any] = {}
    if instance is None:
        examples = {
            "labels": said.get("labels", [""])[0],
            "ranking": ["d9", "d3"],
            "text": "…",
            "spans": [[4, 9]],
            "tags": ["O", f"B-{(said.get('labels') or ['X'])[0]}"],
        }
        value: Any = examples.get(form, 3.5 if form == "numbers" else {})
        return {key: "s1", field: [value] if said.get("several") else value}
    own = instance.gold
    if form == "labels":
        value = (
            list(own)
            if said.get("several")
            else str(own[0] if said.get("any_of") else own)
        )
    elif form == "ranking":
        value = [
            name
            for name, grade in sorted(own.items(), key=lambda one: -one[1])
            if grade
        ]
    elif form == "text":
        value = own[0]
    elif form == "evidence" and said["shape"] == "sets":
        value = {
            name: {"sentences": sorted(sets[0]), "label": label}
            for name, (label, sets) in own.items()
        }
    elif form == "evidence":
        values["label"], value = (
            own.label,
            [name for sets in own.sentences[:1] for name in sorted(sets)],
        )
    else:
        value = own if form == "numbers" else instance.record[gold["field"]]
    return {key: instance.id, **values, field: value}


def _add_sample(
    task_type: TaskType,
    task_files: Mapping[str, str],
    found: TaskProposal,
    content: InstancesAndPool,
    files: Sequence[InputFile],
) -> dict[str, str]:
    """Return the proposed task folder with a sample of a few instances, and the
    computed scores of the sample.
    """
    chosen: dict[str, TaskInstance] = {}
    answers: set[str] = set()
    for index, instance in enumerate(content.instances):
        if len(chosen) < MAX_SAMPLE_INSTANCES and (
            index < MIN_SAMPLE_INSTANCES or str(instance.gold) not in answers
        ):
            chosen[instance.id] = instance
            answers.add(str(instance.gold))
    task, own = found.task, list(chosen.values())
    sample = _format_sample_gold(task_type, task, own, files)
    if name := task.get("pool", {}).get("file"):
        sample[f"sample/gold/{name}"] = _format_sample_pool(task, own, content, name)
    # If instance ids are row numbers, the sample numbers its instances anew.
    sampled = task_type.gold_of(
        open_sample_files(sample, f"{SAMPLE_FOLDER_NAME}/gold"), {}
    )
    instances = sampled.content.instances
    lines = damage_answers(
        task, [_build_gold_run_line(task, instance) for instance in instances]
    )
    sample["sample/run.jsonl"] = format_as_json_lines(lines).decode()
    folder = {
        **{
            name: text
            for name, text in task_files.items()
            if name in (*SCORING_FILE_NAMES, TASK_CARD_FILE_NAME)
        },
        **sample,
    }
    return {**folder, "sample/scores.json": format_sample_scores(task_type, folder)}


def _format_sample_pool(
    task: Mapping[str, Any],
    instances: Sequence[TaskInstance],
    content: InstancesAndPool,
    name: str,
) -> str:
    """Return the documents that the gold of the sample names, and a few other
    documents.
    """
    gold = task["gold"]
    named = json.dumps([instance.record[gold["field"]] for instance in instances])
    kept = [
        record
        for index, (key, record) in enumerate(content.pool.items())
        if index < UNNAMED_SAMPLE_DOCUMENTS or key in named
    ]
    kind = name.rpartition(".")[2]
    is_gold_kind = kind == gold.get("files", "jsonl")
    quotes = gold.get("quotes") if is_gold_kind else None
    return _format_rows(kept, TableFormat(kind, quotes=quotes))


def _format_sample_gold(
    task_type: TaskType,
    task: Mapping[str, Any],
    instances: Sequence[TaskInstance],
    files: Sequence[InputFile],
) -> dict[str, str]:
    """Return the files of gold and queries for these instances only, in the original
    format.
    """
    gold, reader = task["gold"], get_instance_task(task_type)
    kind = gold.get("files", "jsonl")
    names = {instance.id for instance in instances}
    sample: dict[str, str] = {}
    if name := gold.get("queries"):
        fields = {gold["field"]}
        queries = [
            {head: cell for head, cell in instance.record.items() if head not in fields}
            for instance in instances
        ]
        sample[f"sample/gold/{name}"] = _format_queries(queries, name)
    if kind == TREC:
        lines = [
            f"{instance.id} 0 {document} {grade}\n"
            for instance in instances
            for document, grade in instance.record[gold["field"]].items()
        ]
        sample["sample/gold/gold.qrels"] = "".join(lines)
        return sample
    if kind == BIO:
        tokens = task.get("answer", {}).get("tokens", SentenceRecordKeys.tokens)
        keys = SentenceRecordKeys(
            gold.get("id", SentenceRecordKeys.id), tokens, gold["field"]
        )
        records = [dict(instance.record) for instance in instances]
        sample[f"sample/gold/gold.{BIO}"] = format_bio_sentences(records, keys)
        return sample
    if gold.get("keyed"):
        key, field = gold["id"], gold["field"]
        rows = convert_records_to_keyed_object(
            [instance.record for instance in instances], key, field
        )
        sample["sample/gold/gold.json"] = json.dumps(rows, ensure_ascii=False)
        return sample
    table = TableFormat(kind, gold.get("delimiter") or "", gold.get("quotes"))
    given = [dict(instance.record) for instance in instances]
    if reader is not None and reader.shape != ONE_INSTANCE_PER_ROW_LAYOUT:
        given = [
            dict(row.value)
            for file in files
            if reader.is_instances_file(file.name)
            for row in reader.iterate_file_rows(file, ProblemList())
            if reader.shape.get_instance_id(row, reader.id) in names
        ]
    sample[f"sample/gold/gold.{kind}"] = _format_rows(given, table)
    return sample


def _format_queries(queries: Sequence[Mapping[str, Any]], name: str) -> str:
    kind = TABLE_FORMATS_BY_SUFFIX.get(f".{name.rpartition('.')[2]}", "")
    if not kind and not name.endswith((".json", ".jsonl")):
        kind = TSV_FORMAT
    return _format_rows(queries, TableFormat(kind or name.rpartition(".")[2]))


def _format_rows(rows: Sequence[Mapping[str, Any]], form: TableFormat) -> str:
    if form.kind not in DEFAULT_DELIMITERS_BY_FORMAT:
        return (
            json.dumps(rows)
            if form.kind == "json"
            else format_as_json_lines(rows).decode()
        )
    heads = dict.fromkeys(name for row in rows for name in row)
    return format_table(rows, list(heads), form)
