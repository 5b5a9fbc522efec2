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
    CUTOFFS,
    DECLARED,
    Declared,
    Option,
    Options,
    TaskType,
    cutoffs,
)
from tasks.types.declared.baselines import read_baselines
from tasks.types.declared.keys import Keys, near, read_keys
from tasks.types.declared.mapping import read_mapping, refuse_unknown_values
from tasks.types.declared.measures import Naming
from tasks.types.declared.official_program import (
    PROGRAM,
    TABLE,
    Official,
    marked_names,
    read_layout,
    read_program,
    rules_of_program,
)
from tasks.types.declared.own_measures import MEASURES, is_trusted, read_measures
from tasks.types.declared.read_forms import FILES_OF, FORMS
from tasks.types.declared.read_shapes import read_shape, secret_fields
from tasks.types.declared.read_view import VIEW, read_view
from tasks.types.files import InputFile
from tasks.types.forms.evidence import EvidenceOfOne
from tasks.types.forms.instances import FILE_FORMS, Dimension, InstanceTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.guarded.json_reader import read_json
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.jsonlines import as_lines
from tasks.types.problems import InputRefused, Problem, in_order
from tasks.types.references import MetricRef, referenced
from tasks.types.tables import TABLES
from tasks.types.toml_lines import without_table

#: Only ranking tasks have the option `CUTS`, which adds rank cut-offs to metrics.
CUTS = Option(
    name=CUTOFFS,
    default="",
    summary="Cut-offs besides the declared ones, such as 5,20.",
)
TOML, CARD, SAMPLE = "task.toml", "card.md", "sample"
#: `MAX_BYTES` is the maximum size of a task folder in bytes.
MAX_BYTES = 16 << 20
#: `SAMPLE_CHECK` refers to the function that verifies the scores of a task's sample.
#: The function that `SAMPLE_CHECK` refers to is imported only on first use.
SAMPLE_CHECK = "scoring.offline.sample:faults"
SECTIONS = ("Format", "Data", "Rules", "Citation")
#: `SLUG` matches valid URL names of tasks and valid names of rule sets.
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
SLUG_WORDS = "lower-case letters, digits and single hyphens"
#: `WORDS` lists keys of [task] that do not change scores, so the digest omits them.
WORDS = ("title", "names", "baselines", "public_sample", VIEW)
READINGS = ("year", "words", "characters", "count")
DATE = re.compile(r"before:\d{4}(-\d{2}){0,2}")

Files = Mapping[str, str]


def read_folder(folder: Path) -> TaskType:
    """Read the task that a folder defines, and score the sample run of the folder.
    Raises InputRefused with all problems, including sample scores that differ from the
    scores in the folder.
    """
    return read_files(folder_files(folder), str(folder))


def folder_files(folder: Path) -> dict[str, str]:
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
        if size > MAX_BYTES:
            message = f"more than {MAX_BYTES >> 20} MB"
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


def read_files(files: Files, shown: str) -> TaskType:
    """Read a task from the files of a folder. ``shown`` is the name of the folder in
    error messages.
    """

    def place(name: str) -> str:
        return f"{shown}/{name}" if shown else name

    task_type, faults = _read_task_type(files, place)
    faults += _find_card_faults(files, place(CARD), task_type)
    if not faults and task_type:
        check: Callable[[TaskType, Files, str], list[Problem]] = referenced(
            SAMPLE_CHECK
        )
        faults += check(task_type, files, place(SAMPLE))
    if faults or task_type is None:
        raise InputRefused(in_order(faults))
    return task_type


@lru_cache(maxsize=64)
def from_reference(reference: str) -> TaskType:
    """Return the task type that another process has encoded as JSON. The JSON contains
    the text of each file in the task folder that determines scores.
    """
    return read_declaration(read_json(reference), parses_program=False)


def read_declaration(files: Files, *, parses_program: bool = True) -> TaskType:
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
    files: Files, place: Callable[[str], str], *, parses_program: bool = True
) -> tuple[TaskType | None, list[Problem]]:
    top, faults = read_keys(files[TOML], place(TOML))
    if faults:
        return None, faults
    keys = top.table("task")
    top.close()
    slug, title = keys.text("slug"), keys.text("title")
    if slug and not SLUG.fullmatch(slug):
        keys.refuse("slug", f"“{slug}” cannot stand in an address", SLUG_WORDS)
    form = keys.choice("form", FORMS)
    unit = keys.text("unit", "")
    public_sample = keys.flag("public_sample")
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
    task: InstanceTask | None = FORMS[form](settings, answer, keys, rules)
    if task is not None:
        refuse_unknown_values(task, gold, answer)
    for table in (gold, answer):
        table.close()
    own = (
        read_measures(files[MEASURES], place(MEASURES), faults)
        if MEASURES in files
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
            place(PROGRAM),
            form,
            given,
            faults,
            parses_program=parses_program,
        )
        naming = Naming(
            f"{form}-one" if isinstance(task, EvidenceOfOne) else form,
            given,
            own,
            official,
        )
        rule_sets = _read_rule_sets(rules, naming)
        _require_first_rules_without_program(rules, rule_sets)
        view = read_view(keys, form, task)
    else:
        keys.value(VIEW, None)
        keys.value(TABLE, None)
    keys.close()
    if faults or task is None:
        return None, faults
    digest, text = _compute_scoring_digest(files), files.get(MEASURES, "")
    names = marked_names(rule_sets, names)
    facts: dict[str, Any] = {"display_names": names.pop("", {})}
    if isinstance(task, RankingTask):
        facts |= {
            "options": (CUTS,),
            "further_metrics": partial(
                _select_metrics_at_cutoffs, rule_sets, task.longest
            ),
        }
    declared = Declared(
        name=slug,
        form=form,
        digest=digest,
        files=files,
        translations=names,
        public_sample=public_sample,
        baselines=read_baselines(baselines, form, task, files, faults),
        own_measures="" if is_trusted(text) else text,
        program=files.get(PROGRAM, ""),
        program_rules=rules_of_program(rule_sets),
        view=view,
        toml_given_out=without_table(files[TOML], ("task", VIEW)),
    )
    task_type = TaskType.of(
        task,
        slug=f"{DECLARED}{slug}@{digest[:8]}",
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
    keys: Keys,
    files: Files,
    shown: str,
    form: str,
    given: Mapping[str, Any],
    faults: list[Problem],
    *,
    parses_program: bool,
) -> Official | None:
    """Return the official scoring program of a task and the layout of the program's
    input files. Return None if the folder has no official program or the program has a
    fault.
    """
    if TABLE not in keys:
        keys.value(TABLE, None)
        return None
    layout = read_layout(keys.table(TABLE), form, given)
    if PROGRAM not in files:
        keys.refuse(TABLE, f"there is no {PROGRAM}", "the program beside task.toml")
        return None
    program = read_program(files[PROGRAM], shown, faults, parses_code=parses_program)
    if layout is None or program is None:
        return None
    return Official(program.text, layout)


def _require_first_rules_without_program(
    rules: Iterable[Keys], rule_sets: Mapping[str, tuple[MetricRef, ...]]
) -> None:
    """Refuse `task.toml` if the first rule set contains metrics of the official
    program, because every site must be able to compute the first rule set.
    """
    first = next(iter(rules), None)
    if first is not None and next(iter(rule_sets), "") in rules_of_program(rule_sets):
        message = "the first rule set has columns of the official program"
        expected = "them in a rule set of their own, behind the first"
        first.refuse("measures", message, expected)


def _read_rule_sets(rules: Iterable[Keys], naming: Naming) -> dict[str, Any]:
    """Return a mapping from the name of each rule set to the metrics of the rule set.
    Refuse two rule sets with the same name, and invalid names of rule sets.
    """
    rule_sets: dict[str, Any] = {}
    for rule in rules:
        name = rule.text("name")
        if name and not SLUG.fullmatch(name):
            rule.refuse("name", f"“{name}” is no name", SLUG_WORDS)
        elif name in rule_sets:
            rule.refuse("name", f"two rule sets are called “{name}”")
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
            cutoffs(options, longest)
            if "cut" in metric.arguments and "@" in name
            else ()
        ):
            other = f"{name.partition('@')[0]}@{cut}"
            found[other] = replace(
                metric, name=other, arguments={**metric.arguments, "cut": cut}
            )
    return tuple(metric for name, metric in found.items() if name not in known)


def _add_declaration_to_public_files(
    task: InstanceTask, declared: Declared
) -> Callable[..., Any]:
    """Return a function that yields the task's public files, `task.toml`, and the
    sample. Participants can validate and score runs offline with `task.toml` and the
    sample.

    The yielded sample contains the sample run and the public fields of the sample's
    instances.
    """
    files = {**declared.files, **declared.referenced}

    def public_files(*given: Any) -> Any:
        yield from task.public_files(*given)
        for name in (TOML, MEASURES, PROGRAM, CARD, f"{SAMPLE}/run.jsonl"):
            if name in files:
                yield name.replace("/", "-"), files[name].encode()
        if gold := sample_files(files, f"{SAMPLE}/gold"):
            instances = task.content(gold, with_gold=True).instances
            yield f"{SAMPLE}-instances.jsonl", as_lines(map(task.public, instances))

    return public_files


def sample_files(files: Files, beginning: str, shown: str = SAMPLE) -> list[InputFile]:
    return [
        InputFile(inside, f"{shown}/{inside}", partial(BytesIO, text.encode()))
        for name, text in files.items()
        if name.startswith(beginning) and (inside := name.removeprefix(f"{SAMPLE}/"))
    ]


def _read_gold_settings(gold: Keys, task_form: str) -> dict[str, Any]:
    form = gold.choice("files", FILES_OF.get(task_form, FILE_FORMS), FILE_FORMS[0])
    delimiter = gold.text("delimiter", "")
    quotes = gold.flag("quotes") if "quotes" in gold else None
    if quotes is not None and form not in TABLES:
        gold.refuse("quotes", f"“quotes” says nothing of {form}", "files of csv or tsv")
    if delimiter and (form not in TABLES or len(delimiter) > 1):
        gold.refuse(
            "delimiter", f"“{delimiter}” parts no {form}", "one character, for csv"
        )
    shown, hidden, key = (
        gold.texts("shown", ()),
        gold.texts("hidden", ()),
        gold.text("id", "id"),
    )
    for path in hidden:
        if (head := path.partition(".")[0]) not in shown:
            gold.refuse(
                "hidden", f"“{path}” is in no field that is shown{near(head, shown)}"
            )
    field = gold.text("field")
    shape = read_shape(gold, task_form, form)
    for name, secret in product(shown, secret_fields(shape, field)):
        if secret == name or (secret.startswith(f"{name}.") and secret not in hidden):
            gold.refuse(
                "shown",
                f"“{name}” shows the answer, which is “{secret}”",
                "fields without it",
            )
    settings: dict[str, Any] = {"id": key, "field": field, "files": form}
    settings |= {"delimiter": delimiter}
    settings |= {"quotes": quotes, "shown": shown, "hidden": hidden, "shape": shape}
    return settings


def _iterate_dimensions(keys: Keys) -> Any:
    said, example = (
        keys.value("dimensions", []),
        '{ name = "year", field = "published" }',
    )
    if not isinstance(said, list):
        keys.refuse("dimensions", "“dimensions” is no list", f'["section", {example}]')
        return
    names: set[str] = set()
    for entry in said:
        own = keys.entry("dimensions", entry)
        if own is None:
            keys.refuse("dimensions", "a dimension is no text and no table", example)
            continue
        name = own.text("name")
        if name in names:
            own.refuse("name", f"two dimensions are called “{name}”")
        names.add(name)
        reading = own.text("as", "")
        if reading and reading not in READINGS and not DATE.fullmatch(reading):
            expected = f"one of {', '.join(READINGS)}, before:2026-01-31"
            own.refuse("as", f"“{reading}” is not known here", expected)
        cuts = own.value("cuts", [])
        are_numbers = isinstance(cuts, list) and all(
            type(cut) in (int, float) for cut in cuts
        )
        if not are_numbers or cuts != sorted(set(cuts)):
            own.refuse("cuts", "“cuts” is no list of rising numbers", "[20, 40]")
            cuts = []
        joined = own.value("with", {})
        if not isinstance(joined, dict) or not all(
            isinstance(value, str) for value in joined.values()
        ):
            own.refuse("with", "“with” is no table of texts", '{ label = "VALID" }')
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


def _read_display_names(keys: Keys) -> dict[str, dict[str, str]]:
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
            said.refuse(
                name,
                f"“{name}” is no text",
                "a name in quotes, or a table of names for a language",
            )
    return names


def _compute_scoring_digest(files: Files) -> str:
    """Return the SHA-256 of the files in a task folder that determine scores."""
    task = {
        name: value
        for name, value in read_toml(files[TOML])["task"].items()
        if name not in WORDS
    }
    text = json.dumps(
        task, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )
    content = f"{text}\n{files.get(MEASURES, '')}"
    if PROGRAM in files:
        content = f"{content}\n{files[PROGRAM]}"
    return hashlib.sha256(content.encode()).hexdigest()


def _find_card_faults(
    files: Files, shown: str, task_type: TaskType | None
) -> list[Problem]:
    if CARD not in files:
        expected = "what is asked, format, data, rules, citation"
        return [Problem(file=shown, message="there is no card", expected=expected)]
    headings = {line.rstrip() for line in files[CARD].split("\n")}
    return [
        Problem(
            file=shown,
            message=f"there is no section “## {section}”",
            expected=", ".join(SECTIONS),
        )
        for section in SECTIONS
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
