"""Read a folder with a `task.toml` as a task type. If the folder has faults, the error
lists every fault with file and line.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

from tasks.types.base import (
    CUTOFFS_OPTION_NAME,
    DECLARED_SLUG_PREFIX,
    DeclaredTaskProperties,
    Option,
    Options,
    TaskType,
    parse_cutoffs,
)
from tasks.types.declared.baselines import read_baselines
from tasks.types.declared.keys import (
    TomlTable,
    format_similar_name_hint,
    parse_toml_table,
)
from tasks.types.declared.mapping import read_mapping, refuse_unknown_values
from tasks.types.declared.measures import MeasureListReader
from tasks.types.declared.official_program import (
    PROGRAM_FILE_NAME,
    PROGRAM_TABLE_KEY,
    OfficialProgramWithLayout,
    add_suffix_to_official_metric_names,
    list_rule_sets_with_program_metrics,
    read_program_input_layout,
    validate_program_json,
)
from tasks.types.declared.own_measures import (
    MEASURES_FILE_NAME,
    is_trusted_measures_file,
    parse_measure_classes,
)
from tasks.types.declared.read_forms import GOLD_FORMATS_BY_FORM, READERS_BY_FORM
from tasks.types.declared.read_shapes import list_secret_gold_fields, read_gold_shape
from tasks.types.declared.read_view import VIEW_TABLE_KEY, read_instance_view
from tasks.types.files import InputFile
from tasks.types.forms.evidence import SingleVerdictTask
from tasks.types.forms.instances import GOLD_FILE_FORMATS, Dimension, InstanceTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.guarded.json_reader import read_json
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.jsonlines import format_as_json_lines
from tasks.types.problems import InputRefused, Problem, sort_problems
from tasks.types.references import MetricRef, import_referenced_object
from tasks.types.tables import DEFAULT_DELIMITERS_BY_FORMAT
from tasks.types.toml_lines import remove_toml_table

#: Only ranking tasks have the option `CUTOFFS_OPTION`, which adds rank cut-offs to metrics.
CUTOFFS_OPTION = Option(
    name=CUTOFFS_OPTION_NAME,
    default="",
    summary="Cut-offs besides the declared ones, such as 5,20.",
)
TOML, TASK_CARD_FILE_NAME, SAMPLE_FOLDER_NAME = "task.toml", "card.md", "sample"
#: `MAX_TASK_FOLDER_BYTES` is the maximum size of a task folder in bytes.
MAX_TASK_FOLDER_BYTES = 16 << 20
#: `SAMPLE_CHECK_FUNCTION` refers to the function that verifies the scores of a task's sample.
#: The function that `SAMPLE_CHECK_FUNCTION` refers to is imported only on first use.
SAMPLE_CHECK_FUNCTION = "scoring.offline.sample:faults"
REQUIRED_CARD_SECTIONS = ("Format", "Data", "Rules", "Citation")
#: `SLUG_PATTERN` matches valid URL names of tasks and valid names of rule sets.
SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
SLUG_DESCRIPTION = "lower-case letters, digits and single hyphens"
#: `KEYS_WITHOUT_EFFECT_ON_SCORES` lists keys of [task] that do not change scores, so the digest omits them.
KEYS_WITHOUT_EFFECT_ON_SCORES = (
    "title",
    "names",
    "baselines",
    "public_sample",
    VIEW_TABLE_KEY,
)
DIMENSION_READINGS = ("year", "words", "characters", "count")
DATE_READING_PATTERN = re.compile(r"before:\d{4}(-\d{2}){0,2}")

FileTextsByName = Mapping[str, str]


def read_folder(folder: Path) -> TaskType:
    """Read the task that a folder defines, and score the sample run of the folder.
    Raises InputRefused with all problems, including sample scores that differ from the
    scores in the folder.
    """
    return read_task_type_from_files(read_texts_of_folder(folder), str(folder))


def read_texts_of_folder(folder: Path) -> dict[str, str]:
    """Return a mapping from the path of each file in a folder to the file's text.
    Raises InputRefused.
    """
    shown = str(folder)
    files: dict[str, str] = {}
    size = 0
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        name = path.relative_to(folder).as_posix()
        is_hidden = any(part.startswith((".", "__")) for part in path.parts[-2:])
        if is_hidden or path.is_symlink() or not path.is_file():
            continue
        size += path.stat().st_size
        if size > MAX_TASK_FOLDER_BYTES:
            message = f"more than {MAX_TASK_FOLDER_BYTES >> 20} MB"
            raise InputRefused(
                [Problem(file=shown, message=message, expected="a small sample")]
            )
        try:
            files[name] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as fault:
            raise InputRefused(
                [Problem(file=str(path), message="no text in UTF-8")]
            ) from fault
        if "\0" in files[name]:
            raise InputRefused([Problem(file=str(path), message="a text with NUL")])
    if TOML not in files:
        message = f"there is no {TOML}"
        raise InputRefused(
            [Problem(file=shown, message=message, expected="the folder of a task")]
        )
    return files


def read_task_type_from_files(files: FileTextsByName, shown: str) -> TaskType:
    """Read a task from the files of a folder. ``shown`` is the name of the folder in
    error messages.
    """

    def format_file_path_for_messages(name: str) -> str:
        return f"{shown}/{name}" if shown else name

    task_type, faults = _read_task_type(files, format_file_path_for_messages)
    faults += _find_card_faults(
        files, format_file_path_for_messages(TASK_CARD_FILE_NAME), task_type
    )
    if not faults and task_type:
        check: Callable[[TaskType, FileTextsByName, str], list[Problem]] = (
            import_referenced_object(SAMPLE_CHECK_FUNCTION)
        )
        faults += check(
            task_type, files, format_file_path_for_messages(SAMPLE_FOLDER_NAME)
        )
    if faults or task_type is None:
        raise InputRefused(sort_problems(faults))
    return task_type


@lru_cache(maxsize=64)
def from_reference(reference: str) -> TaskType:
    """Return the task type that another process has encoded as JSON. The JSON contains
    the text of each file in the task folder that determines scores.
    """
    return read_declaration(read_json(reference), parses_program=False)


def read_declaration(
    files: FileTextsByName, *, parses_program: bool = True
) -> TaskType:
    """Read a task from `task.toml` without checking the description and the sample of
    the task. Raises InputRefused.

    Processes that serve pages set ``parses_program`` to False, since the parser uses
    much memory and the program has already been validated.
    """
    task_type, faults = _read_task_type(
        files, lambda name: name, parses_program=parses_program
    )
    if task_type is None or faults:
        raise InputRefused(faults)
    return task_type


def _read_task_type(
    files: FileTextsByName, place: Callable[[str], str], *, parses_program: bool = True
) -> tuple[TaskType | None, list[Problem]]:
    top, faults = parse_toml_table(files[TOML], place(TOML))
    if faults:
        return None, faults
    keys = top.table("task")
    top.close()
    slug, title = keys.text("slug"), keys.text("title")
    if slug and not SLUG_PATTERN.fullmatch(slug):
        keys.add_problem_at_key(
            "slug", f"“{slug}” cannot stand in an address", SLUG_DESCRIPTION
        )
    form = keys.choice("form", READERS_BY_FORM)
    unit = keys.text("unit", "")
    public_sample = keys.read_flag("public_sample")
    dimensions = tuple(_iterate_dimensions(keys))
    gold, answer = keys.table("gold"), keys.table("answer", {})
    names = _read_display_names(keys)
    baselines = keys.tables("baselines", [])
    rules = keys.tables("rules")
    if not form:
        return None, faults
    settings = {
        **_read_gold_settings(gold, form),
        **read_mapping(form, gold, answer),
        "unit": unit,
        "dimensions": dimensions,
    }
    task: InstanceTask | None = READERS_BY_FORM[form](settings, answer, keys, rules)
    if task is not None:
        refuse_unknown_values(task, gold, answer)
    for table in (gold, answer):
        table.close()
    own = (
        parse_measure_classes(
            files[MEASURES_FILE_NAME], place(MEASURES_FILE_NAME), faults
        )
        if MEASURES_FILE_NAME in files
        else None
    )
    rule_sets: dict[str, Any] = {}
    if task is not None:
        if own:
            task = replace(task, keeps_records=True)
        given = {**vars(task), "levels": getattr(task, "levels", ())}
        official = _read_official_program(
            keys,
            files,
            place(PROGRAM_FILE_NAME),
            form,
            given,
            faults,
            parses_program=parses_program,
        )
        naming = MeasureListReader(
            f"{form}-one" if isinstance(task, SingleVerdictTask) else form,
            given,
            own,
            official,
        )
        rule_sets = _read_rule_sets(rules, naming)
        _require_first_rules_without_program(rules, rule_sets)
        view = read_instance_view(keys, form, task)
    else:
        keys.value(VIEW_TABLE_KEY, None)
        keys.value(PROGRAM_TABLE_KEY, None)
    keys.close()
    if faults or task is None:
        return None, faults
    digest, text = _compute_scoring_digest(files), files.get(MEASURES_FILE_NAME, "")
    names = add_suffix_to_official_metric_names(rule_sets, names)
    facts: dict[str, Any] = {"display_names": names.pop("", {})}
    if isinstance(task, RankingTask):
        facts |= {
            "options": (CUTOFFS_OPTION,),
            "further_metrics": partial(
                _select_metrics_at_cutoffs, rule_sets, task.longest
            ),
        }
    declared = DeclaredTaskProperties(
        name=slug,
        form=form,
        digest=digest,
        files=files,
        translations=names,
        public_sample=public_sample,
        baselines=read_baselines(baselines, form, task, files, faults),
        own_measures="" if is_trusted_measures_file(text) else text,
        program=files.get(PROGRAM_FILE_NAME, ""),
        program_rules=list_rule_sets_with_program_metrics(rule_sets),
        view=view,
        toml_given_out=remove_toml_table(files[TOML], ("task", VIEW_TABLE_KEY)),
    )
    task_type = TaskType.of(
        task,
        slug=f"{DECLARED_SLUG_PREFIX}{slug}@{digest[:8]}",
        title=title,
        unit=unit.replace("_", " ") or "instance",
        rules=rule_sets,
        dimensions=tuple(dimension.name for dimension in task.dimensions),
        public_files=_add_declaration_to_public_files(task, declared),
        declared=declared,
        **facts,
    )
    return task_type, faults


def _read_official_program(
    keys: TomlTable,
    files: FileTextsByName,
    shown: str,
    form: str,
    given: Mapping[str, Any],
    faults: list[Problem],
    *,
    parses_program: bool,
) -> OfficialProgramWithLayout | None:
    """Return the official scoring program of a task and the layout of the program's
    input files. Return None if the folder has no official program or the program has a
    fault.
    """
    if PROGRAM_TABLE_KEY not in keys:
        keys.value(PROGRAM_TABLE_KEY, None)
        return None
    layout = read_program_input_layout(keys.table(PROGRAM_TABLE_KEY), form, given)
    if PROGRAM_FILE_NAME not in files:
        keys.add_problem_at_key(
            PROGRAM_TABLE_KEY,
            f"there is no {PROGRAM_FILE_NAME}",
            "the program beside task.toml",
        )
        return None
    program = validate_program_json(
        files[PROGRAM_FILE_NAME], shown, faults, parses_code=parses_program
    )
    if layout is None or program is None:
        return None
    return OfficialProgramWithLayout(program.text, layout)


def _require_first_rules_without_program(
    rules: Iterable[TomlTable], rule_sets: Mapping[str, tuple[MetricRef, ...]]
) -> None:
    """Refuse `task.toml` if the first rule set contains metrics of the official
    program, because every site must be able to compute the first rule set.
    """
    first = next(iter(rules), None)
    if first is not None and next(
        iter(rule_sets), ""
    ) in list_rule_sets_with_program_metrics(rule_sets):
        message = "the first rule set has columns of the official program"
        expected = "them in a rule set of their own, behind the first"
        first.add_problem_at_key("measures", message, expected)


def _read_rule_sets(
    rules: Iterable[TomlTable], naming: MeasureListReader
) -> dict[str, Any]:
    """Return a mapping from the name of each rule set to the metrics of the rule set.
    Refuse two rule sets with the same name, and invalid names of rule sets.
    """
    rule_sets: dict[str, Any] = {}
    for rule in rules:
        name = rule.text("name")
        if name and not SLUG_PATTERN.fullmatch(name):
            rule.add_problem_at_key("name", f"“{name}” is no name", SLUG_DESCRIPTION)
        elif name in rule_sets:
            rule.add_problem_at_key("name", f"two rule sets are called “{name}”")
        rule_sets[name] = naming.metrics(rule)
        rule.close()
    return rule_sets


def _select_metrics_at_cutoffs(
    rule_sets: Mapping[str, tuple[MetricRef, ...]],
    longest: int,
    rules: str,
    options: Options,
) -> tuple[MetricRef, ...]:
    """Return the metrics of a rule set at each rank cut-off, such as 5 or 20, that the
    task's options list.
    """
    known = {metric.name: metric for metric in rule_sets[rules]}
    found: dict[str, MetricRef] = {}
    for name, metric in known.items():
        for cut in (
            parse_cutoffs(options, longest)
            if "cut" in metric.arguments and "@" in name
            else ()
        ):
            other = f"{name.partition('@')[0]}@{cut}"
            found[other] = replace(
                metric, name=other, arguments={**metric.arguments, "cut": cut}
            )
    return tuple(metric for name, metric in found.items() if name not in known)


def _add_declaration_to_public_files(
    task: InstanceTask, declared: DeclaredTaskProperties
) -> Callable[..., Any]:
    """Return a function that yields the task's public files, `task.toml`, and the
    sample. Participants can validate and score runs offline with `task.toml` and the
    sample.

    The yielded sample contains the sample run and the public fields of the sample's
    instances.
    """
    files = {**declared.files, **declared.scoring_files}

    def public_files(*given: Any) -> Any:
        yield from task.public_files(*given)
        for name in (
            TOML,
            MEASURES_FILE_NAME,
            PROGRAM_FILE_NAME,
            TASK_CARD_FILE_NAME,
            f"{SAMPLE_FOLDER_NAME}/run.jsonl",
        ):
            if name in files:
                yield name.replace("/", "-"), files[name].encode()
        if gold := open_sample_files(files, f"{SAMPLE_FOLDER_NAME}/gold"):
            instances = task.content(gold, with_gold=True).instances
            yield (
                f"{SAMPLE_FOLDER_NAME}-instances.jsonl",
                format_as_json_lines(map(task.public, instances)),
            )

    return public_files


def open_sample_files(
    files: FileTextsByName, beginning: str, shown: str = SAMPLE_FOLDER_NAME
) -> list[InputFile]:
    return [
        InputFile(inside, f"{shown}/{inside}", partial(BytesIO, text.encode()))
        for name, text in files.items()
        if name.startswith(beginning)
        and (inside := name.removeprefix(f"{SAMPLE_FOLDER_NAME}/"))
    ]


def _read_gold_settings(gold: TomlTable, task_form: str) -> dict[str, Any]:
    form = gold.choice(
        "files",
        GOLD_FORMATS_BY_FORM.get(task_form, GOLD_FILE_FORMATS),
        GOLD_FILE_FORMATS[0],
    )
    delimiter = gold.text("delimiter", "")
    quotes = gold.read_flag("quotes") if "quotes" in gold else None
    if quotes is not None and form not in DEFAULT_DELIMITERS_BY_FORMAT:
        gold.add_problem_at_key(
            "quotes", f"“quotes” says nothing of {form}", "files of csv or tsv"
        )
    if delimiter and (form not in DEFAULT_DELIMITERS_BY_FORMAT or len(delimiter) > 1):
        gold.add_problem_at_key(
            "delimiter", f"“{delimiter}” parts no {form}", "one character, for csv"
        )
    shown, hidden, key = (
        gold.texts("shown", ()),
        gold.texts("hidden", ()),
        gold.text("id", "id"),
    )
    for path in hidden:
        if (head := path.partition(".")[0]) not in shown:
            gold.add_problem_at_key(
                "hidden",
                f"“{path}” is in no field that is shown{format_similar_name_hint(head, shown)}",
            )
    field = gold.text("field")
    shape = read_gold_shape(gold, task_form, form)
    for name, secret in product(shown, list_secret_gold_fields(shape, field)):
        if secret == name or (secret.startswith(f"{name}.") and secret not in hidden):
            gold.add_problem_at_key(
                "shown",
                f"“{name}” shows the answer, which is “{secret}”",
                "fields without it",
            )
    settings: dict[str, Any] = {"id": key, "field": field, "files": form}
    settings |= {"delimiter": delimiter}
    settings |= {"quotes": quotes, "shown": shown, "hidden": hidden, "shape": shape}
    return settings


def _iterate_dimensions(keys: TomlTable) -> Any:
    said, example = (
        keys.value("dimensions", []),
        '{ name = "year", field = "published" }',
    )
    if not isinstance(said, list):
        keys.add_problem_at_key(
            "dimensions", "“dimensions” is no list", f'["section", {example}]'
        )
        return
    names: set[str] = set()
    for entry in said:
        own = keys.entry("dimensions", entry)
        if own is None:
            keys.add_problem_at_key(
                "dimensions", "a dimension is no text and no table", example
            )
            continue
        name = own.text("name")
        if name in names:
            own.add_problem_at_key("name", f"two dimensions are called “{name}”")
        names.add(name)
        reading = own.text("as", "")
        if (
            reading
            and reading not in DIMENSION_READINGS
            and not DATE_READING_PATTERN.fullmatch(reading)
        ):
            expected = f"one of {', '.join(DIMENSION_READINGS)}, before:2026-01-31"
            own.add_problem_at_key("as", f"“{reading}” is not known here", expected)
        cuts = own.value("cuts", [])
        are_numbers = isinstance(cuts, list) and all(
            type(cut) in (int, float) for cut in cuts
        )
        if not are_numbers or cuts != sorted(set(cuts)):
            own.add_problem_at_key(
                "cuts", "“cuts” is no list of rising numbers", "[20, 40]"
            )
            cuts = []
        joined = own.value("with", {})
        if not isinstance(joined, dict) or not all(
            isinstance(value, str) for value in joined.values()
        ):
            own.add_problem_at_key(
                "with", "“with” is no table of texts", '{ label = "VALID" }'
            )
            joined = {}
        yield Dimension(
            name=name,
            field=own.text("field", name or "-"),
            reading=reading,
            cuts=tuple(cuts),
            absent=own.text("absent", ""),
            joined=joined,
        )
        own.close()


def _read_display_names(keys: TomlTable) -> dict[str, dict[str, str]]:
    """Return the display names of metrics and classes for each language that
    `task.toml` contains. Names that are directly in the table [task.names] belong to no
    language, and have an empty key in the result.
    """
    said = keys.table("names", {})
    names: dict[str, dict[str, str]] = {"": {}}
    for name, value in said.values.items():
        if isinstance(value, dict) and all(
            isinstance(words, str) for words in value.values()
        ):
            names[name] = value
        elif isinstance(value, str):
            names[""][name] = value
        else:
            said.add_problem_at_key(
                name,
                f"“{name}” is no text",
                "a name in quotes, or a table of names for a language",
            )
    return names


def _compute_scoring_digest(files: FileTextsByName) -> str:
    """Return the SHA-256 of the files in a task folder that determine scores."""
    task = {
        name: value
        for name, value in read_toml(files[TOML])["task"].items()
        if name not in KEYS_WITHOUT_EFFECT_ON_SCORES
    }
    text = json.dumps(
        task, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )
    content = f"{text}\n{files.get(MEASURES_FILE_NAME, '')}"
    if PROGRAM_FILE_NAME in files:
        content = f"{content}\n{files[PROGRAM_FILE_NAME]}"
    return hashlib.sha256(content.encode()).hexdigest()


def _find_card_faults(
    files: FileTextsByName, shown: str, task_type: TaskType | None
) -> list[Problem]:
    if TASK_CARD_FILE_NAME not in files:
        expected = "what is asked, format, data, rules, citation"
        return [Problem(file=shown, message="there is no card", expected=expected)]
    headings = {line.rstrip() for line in files[TASK_CARD_FILE_NAME].split("\n")}
    return [
        Problem(
            file=shown,
            message=f"there is no section “## {section}”",
            expected=", ".join(REQUIRED_CARD_SECTIONS),
        )
        for section in REQUIRED_CARD_SECTIONS
        if f"## {section}" not in headings
    ] + [
        Problem(
            file=shown,
            message=f"the rule set {rules} is not described",
            expected=f"### `{rules}`",
        )
        for rules in (task_type.rules if task_type else ())
        if f"### `{rules}`" not in headings
    ]
