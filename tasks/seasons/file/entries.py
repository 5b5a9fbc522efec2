"""Parse a season file and validate each value by itself, before any comparison with the
site.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, validate_email
from django.db import models
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.instants import (
    format_utc_minute,
    parse_phase_end,
    parse_time,
    parse_time_zone,
)
from tasks.models import Organiser, Phase, Season, Task
from tasks.models.run_cards import REQUIRABLE_FIELD_LABELS
from tasks.models.seasons import ModelWithSettings, validate_zone
from tasks.registration.entries import (
    MAX_TERMS_CHARACTERS,
    normalise_terms_text,
    parse_entry_list,
)
from tasks.seasons.file.licences import validate_licence
from tasks.seasons.file.tables import (
    REQUIRED_VALUE,
    CheckedTable,
    SeasonFileProblems,
    describe_choices,
    format_duplicate_name_message,
    format_similar_name_hint,
)
from tasks.seasons.own_measures import (
    MeasuresRefused,
    store_uploaded_measures,
    store_uploaded_program,
)
from tasks.types import (
    InputRefused,
    OptionRefused,
    Options,
    Problem,
    TaskType,
    task_types,
)
from tasks.types.base import (
    ACCEPT_OPTION_NAME,
    CUTOFFS_OPTION_NAME,
    remove_judge_from_rule_set,
    replace_old_rule_set_name,
)
from tasks.types.declared.official_program import PROGRAM_FILE_NAME
from tasks.types.declared.own_measures import MEASURES_FILE_NAME
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.judge_views import (
    MAX_VIEW_NAME_CHARACTERS,
    get_first_judge_name,
    get_judge_in_view_name,
    is_valid_view_name,
    replaced_judges,
)
from tasks.types.registry import find_stored_task_type, load_task_type_of_folder
from tasks.types.stored_judges import (
    LEDGER_JUDGE_OPTIONS as JUDGE_OPTIONS,
    list_ledger_judges,
)
from tasks.types.toml_lines import TomlKeyLines

SEASON_FILE_NAME = "season.toml"
#: RESERVED_TASK_SLUGS and RESERVED_PHASE_SLUGS cannot be slugs, as pages have these URLs.
RESERVED_TASK_SLUGS, RESERVED_PHASE_SLUGS = (
    ("organise", "overall", "submit"),
    ("published",),
)
SettingValues = dict[str, Any]
SEASON_KEY_PREFIX = "season"


@dataclass
class SeasonFileFolders:
    folder: Path
    data: Path | None = None
    #: `is_sent` is True for the files of an archive that a user has uploaded.
    is_sent: ClassVar[bool] = False

    def file(self, table: CheckedTable, key: str, name: str) -> Path | None:
        """Return the file with the relative path ``name``, from the folder of the
        season file or the data root.
        """
        roots = [root for root in (self.folder, self.data) if root is not None]
        folders = {"folders": _(" or ").join(str(root) for root in roots)}
        if not name or Path(name).is_absolute() or "\0" in name:
            message = _("“%(name)s” is not a relative path") % {"name": name}
            table.add_problem_at_key(
                key, message, _("a path below %(folders)s") % folders
            )
            return None
        leads_out = False
        for root in roots:
            path = root / name
            if not path.resolve().is_relative_to(root.resolve()):
                leads_out = True
            elif path.exists():
                return path
        if leads_out:
            message = _("%(name)s leads out of the folder") % {"name": name}
            table.add_problem_at_key(
                key, message, _("a path below %(folders)s") % folders
            )
            return None
        if self.data:
            expected = _("a file or folder below %(folders)s")
        else:
            expected = _(
                "a file or folder below %(folders)s; --data names another folder to look in"
            )
        table.add_problem_at_key(
            key, _("there is no %(name)s") % {"name": name}, expected % folders
        )
        return None


class UploadedSeasonFile(SeasonFileFolders):
    """A season file that was uploaded without the other files that it names. ``types``
    maps the slugs of existing tasks of the season to their declared task types.
    """

    def __init__(self, types: Mapping[str, TaskType] | None = None) -> None:
        super().__init__(Path())
        self.types = types or {}

    def file(self, table: CheckedTable, key: str, name: str) -> Path | None:
        return None

    def find_declared_task_type(
        self, table: CheckedTable, name: str
    ) -> TaskType | None:
        """Return the declared type of the existing task, because the task's folder is
        not part of the upload.
        """
        if present := self.types.get(str(table.values.get("slug"))):
            return present
        message = _("“%(name)s” is a folder") % {"name": name}
        table.add_problem_at_key(
            "type", message, _("a season.zip that holds the folder")
        )
        return None


@dataclass(frozen=True, kw_only=True)
class PhaseInSeasonFile:
    table: CheckedTable
    slug: str
    values: SettingValues

    @property
    def split(self) -> str:
        return str(self.values["split"])


@dataclass(frozen=True, kw_only=True)
class GoldInSeasonFile:
    table: CheckedTable
    split: str
    paths: tuple[Path, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class BaselineInSeasonFile:
    """A baseline system that a season file lists with a file of its run. ``phases`` are
    slugs of phases. If ``phases`` is empty, the baseline belongs to all phases of the
    task that have gold.
    """

    table: CheckedTable
    system: str
    description: str
    run: Path
    phases: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TaskInSeasonFile:
    table: CheckedTable
    slug: str
    #: `task_type` is None if the type is unknown or the folder of the type is invalid.
    task_type: TaskType | None
    values: SettingValues
    phases: tuple[PhaseInSeasonFile, ...]
    gold: tuple[GoldInSeasonFile, ...]
    baselines: tuple[BaselineInSeasonFile, ...]
    published: tuple[CheckedTable, ...]

    @property
    def type(self) -> str:
        return str(self.values["type"])

    @property
    def has_task_folder(self) -> bool:
        return bool(
            self.task_type
            and self.task_type.declared
            and self.table.values["type"] != self.type
        )

    @property
    def options(self) -> dict[str, str]:
        options: dict[str, str] = self.values["options"]
        return options


#: ROLES_BY_KEY maps keys of the season file to roles, and a person in both is an organiser.
ROLES_BY_KEY = {
    "organisers": Organiser.Role.ORGANISER.value,
    "helpers": Organiser.Role.HELPER.value,
}


@dataclass(frozen=True, kw_only=True)
class ParsedSeasonFile:
    table: CheckedTable
    findings: SeasonFileProblems
    slug: str
    values: SettingValues
    terms: str
    #: ``roles`` maps the e-mail address of each helper and organiser to a role.
    roles: Mapping[str, str]
    published: tuple[Path, ...]
    tasks: tuple[TaskInSeasonFile, ...]
    is_alone: bool
    roots: SeasonFileFolders
    #: `is_from_file` is False for settings that were changed on pages of the site.
    is_from_file: bool = True


def read_season_file(roots: SeasonFileFolders) -> ParsedSeasonFile:
    path = roots.folder / SEASON_FILE_NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as missing:
        raise InputRefused(
            [Problem(file=str(path), message=_("there is no such file"))]
        ) from missing
    except OSError as fault:
        raise InputRefused(
            [Problem(file=str(path), message=fault.strerror or str(fault))]
        ) from fault
    return parse_season_file(content, roots)


def parse_season_file(content: bytes, roots: SeasonFileFolders) -> ParsedSeasonFile:
    try:
        text = content.decode("utf-8-sig")
        values = read_toml(text)
    except UnicodeDecodeError as fault:
        raise InputRefused(
            [Problem(file=SEASON_FILE_NAME, message=_("not UTF-8 text"))]
        ) from fault
    except TextUnreadable as fault:
        words = (
            _("not TOML: %(fault)s at column %(column)s")
            if fault.column
            else _("not TOML: %(fault)s")
        )
        facts = {"fault": fault.message, "column": fault.column}
        problem = Problem(file=SEASON_FILE_NAME, line=fault.line, message=words % facts)
        raise InputRefused([problem]) from fault
    findings = SeasonFileProblems(SEASON_FILE_NAME, TomlKeyLines(text))
    top = CheckedTable(values, (), findings)
    table = top.table("season")
    slug = table.slug("slug")
    roles: dict[str, str] = {}
    for key, role in ROLES_BY_KEY.items():
        for address in table.texts(key, ()):
            try:
                validate_email(address)
            except ValidationError:
                table.add_problem_at_key(
                    key,
                    _("“%(address)s” is not an e-mail address") % {"address": address},
                )
            roles.setdefault(address, role)
    entry_list: tuple[str, ...] = ()
    try:
        entry_list = parse_entry_list(table.texts("entry_list", ()))
    except ValidationError as refused:
        for message in refused.messages:
            table.add_problem_at_key("entry_list", message)
    licence = table.text("licence", "", longest=Season.field("licence").max_length)
    try:
        licence = validate_licence(licence)
    except ValueError as unknown:
        table.add_problem_at_key("licence", str(unknown))
    season = ParsedSeasonFile(
        table=table,
        findings=findings,
        slug=slug,
        values=_read_settings(
            table,
            Season,
            {
                "entry_list": "\n".join(entry_list),
                "licence": licence,
                "planned_phases": _read_planned_phases(table),
            },
        ),
        terms=normalise_terms_text(
            table.text("terms", "", longest=MAX_TERMS_CHARACTERS)
        ),
        published=_read_files(table, "published", roots, ()),
        roles=roles,
        tasks=tuple(_read_task(task, roots) for task in top.tables("tasks")),
        is_alone=isinstance(roots, UploadedSeasonFile),
        roots=roots,
    )
    table.close()
    top.close()
    _refuse_repeated_names((task.table, "slug", task.slug) for task in season.tasks)
    return season


def _read_settings(
    table: CheckedTable, model: type[ModelWithSettings], besides: SettingValues
) -> SettingValues:
    zone, values = parse_time_zone("UTC"), dict[str, Any]()
    if "time_zone" in model.SETTINGS:
        values["time_zone"] = table.text("time_zone", "UTC", longest=60)
        try:
            validate_zone(values["time_zone"])
        except ValidationError as unknown:
            table.add_problem_at_key("time_zone", str(unknown.message))
            values["time_zone"] = "UTC"
        zone = parse_time_zone(values["time_zone"])
    values |= besides
    return {
        key: values[key] if key in values else _read_setting(table, model, key, zone)
        for key in model.SETTINGS
    }


def _read_setting(
    table: CheckedTable, model: type[ModelWithSettings], name: str, zone: ZoneInfo
) -> Any:
    field, setting = model.field(name), model.SETTINGS[name]
    key = model.key(name)
    default = REQUIRED_VALUE if model.is_required(name) else field.get_default()
    if isinstance(field, models.BooleanField):
        return table.read_boolean(key, default=bool(default))
    if isinstance(field, models.DateTimeField):
        return table.read_instant(
            key, zone, default, parse_phase_end if name == "closes" else parse_time
        )
    if isinstance(field, models.PositiveIntegerField):
        least = next(
            (
                low.limit_value
                for low in field.validators
                if isinstance(low, MinValueValidator)
            ),
            1,
        )
        end = getattr(settings, setting.at_most) if setting.at_most else setting.most
        return (
            table.limit(key, least=max(1, least), **{"most": end} if end else {})
            or default
        )
    if field.choices:
        return table.choice(
            key, [str(value) for value, _ in field.flatchoices], default
        )
    if setting.is_slug:
        return table.slug(key, default)
    return table.text(key, default, longest=field.max_length)


def _read_files(
    table: CheckedTable, key: str, roots: SeasonFileFolders, *default: object
) -> tuple[Path, ...]:
    return tuple(
        path
        for name in table.texts(key, *default)
        if (path := roots.file(table, key, name))
    )


def _read_task(table: CheckedTable, roots: SeasonFileFolders) -> TaskInSeasonFile:
    slug = _read_unreserved_slug(table, RESERVED_TASK_SLUGS)
    task_type = _read_task_type(table, roots)
    options = table.words("options")
    rules = _read_rule_sets(table, task_type, options)
    rank_by, shown = (
        table.text("rank_by", "", longest=80),
        list(table.texts("shown_measures", ())),
    )
    if task_type:
        options |= _read_cutoffs(table, task_type) | _read_accepted_findings(
            table, task_type
        )
        options |= _read_option_files(table, task_type, options, roots)
        try:
            checked = task_type.validate_options(options)
            _refuse_unknown_metrics(
                table,
                "rank_by",
                [rank_by] if rank_by else [],
                task_type,
                rules[:1],
                checked,
            )
            _refuse_unknown_metrics(
                table, "shown_measures", shown, task_type, rules, checked
            )
            _refuse_missing_ranking(
                table,
                task_type.with_ranking_and_main_metrics(rank_by, shown),
                rules,
                checked,
            )
        except OptionRefused as refused:
            table.add_problem_at_key("options", str(refused))
    special = {
        "type": task_type.slug if task_type else "",
        "rules": rules,
        "options": options,
    }
    special |= {
        "rank_by": rank_by,
        "shown_measures": shown,
        "summary": _read_summary(table, roots),
    }
    task = TaskInSeasonFile(
        table=table,
        slug=slug,
        task_type=task_type,
        values=_read_settings(table, Task, special),
        phases=tuple(map(_read_phase, table.tables("phases"))),
        gold=tuple(_read_gold(entry, roots) for entry in table.tables("gold")),
        baselines=tuple(
            run
            for baseline in table.tables("baselines")
            if (run := _read_baseline(baseline, roots))
        ),
        published=tuple(table.tables("published")),
    )
    table.close()
    _refuse_repeated_names((phase.table, "slug", phase.slug) for phase in task.phases)
    _refuse_repeated_names((gold.table, "split", gold.split) for gold in task.gold)
    _refuse_repeated_names(
        (baseline.table, "system", baseline.system) for baseline in task.baselines
    )
    if task.values["is_reported_only"] and task.gold:
        message = _("a task with gold is more than reported")
        table.add_problem_at_key("reported_only", message, _("no [[tasks.gold]]"))
    slugs = [phase.slug for phase in task.phases]
    for baseline in task.baselines:
        for name in baseline.phases:
            if name not in slugs:
                message = _("the task has no phase “%(phase)s”") % {"phase": name}
                baseline.table.add_problem_at_key(
                    "phases", message, _format_choice_of_names(slugs)
                )
    return task


def _read_task_type(table: CheckedTable, roots: SeasonFileFolders) -> TaskType | None:
    """Return the task type that a task of the season file names, which is a built-in
    type or is declared by a folder. If the folder is faulty, the faults are recorded in
    ``table``, and None is returned.
    """
    name = table.text("type")
    if name.startswith("./"):
        if isinstance(roots, UploadedSeasonFile):
            return roots.find_declared_task_type(table, name)
        if folder := roots.file(table, "type", name):
            try:
                if (own := folder / MEASURES_FILE_NAME).is_file():
                    store_uploaded_measures(
                        own.read_text(encoding="utf-8", errors="replace"), by=None
                    )
                if (official := folder / PROGRAM_FILE_NAME).is_file():
                    store_uploaded_program(
                        official.read_text(encoding="utf-8", errors="replace"), by=None
                    )
                return load_task_type_of_folder(folder)
            except MeasuresRefused as refused:
                table.add_problem_at_key("type", str(refused))
            except InputRefused as refused:
                table.findings.problems += refused.problems
        return None
    if not name:
        return None
    return find_stored_task_type(name) or task_types().get(
        table.choice("type", list(task_types()))
    )


def _read_rule_sets(
    table: CheckedTable, task_type: TaskType | None, options: Options
) -> list[str]:
    if "rules" in table and not table.values["rules"]:
        message = _("“%(name)s” is empty") % {"name": "rules"}
        table.add_problem_at_key(
            "rules", message, _("the rule sets to score under, the ranking one first")
        )
    if task_type is None:
        return list(table.texts("rules", ()))
    offered = list(task_type.rules)
    names = table.texts("rules", offered[:1])
    rules = [replace_old_rule_set_name(name) for name in names]
    for index, (name, present) in enumerate(zip(names, rules, strict=True)):
        if index and is_valid_view_name(present, set(offered) & set(rules), options):
            continue
        if (
            get_judge_in_view_name(present)
            and remove_judge_from_rule_set(present) in offered
        ):
            table.add_problem_at_key(
                "rules", *_describe_invalid_judge(present, index, task_type, options)
            )
        elif present not in offered:
            message = _("%(task_type)s has no rules “%(name)s”") % {
                "task_type": task_type.slug,
                "name": name,
            }
            table.add_problem_at_key("rules", message, _format_choice_of_names(offered))
        elif present != name and rules.count(present) > 1:
            table.add_problem_at_key(
                "rules", format_duplicate_name_message("rules", present)
            )
    return list(dict.fromkeys(rules))


def _describe_invalid_judge(
    rules: str, place: int, task_type: TaskType, options: Options
) -> tuple[str, str]:
    """Return an error message and the expected value if a rule set cannot use an
    additional judge.
    """
    message = _("no further judge can decide “%(rules)s”") % {"rules": rules}
    if not place:
        return message, _("the rule sets to score under, the ranking one first")
    if not (first := get_first_judge_name(options)):
        own = [one.name for one in JUDGE_OPTIONS if one in task_type.options]
        names = own or [one.name for one in JUDGE_OPTIONS]
        expected = _(
            "a first judge whose labels the site stores: %(option)s = store:JUDGE"
        )
        return message, expected % {"option": _(" or ").join(names)}
    if replaced := replaced_judges(rules, options):
        first = replaced[0].name
    words = _(
        "rules of the task, @, and a judge besides “%(first)s”: at most %(most)s letters, digits, “.”, “_” "
        "and “-”"
    )
    expected = words % {"most": MAX_VIEW_NAME_CHARACTERS, "first": first}
    kinds = [judge.kind for judge in list_ledger_judges(options)]
    if len(kinds) > 1:
        words = _(
            "%(expected)s; for one kind of labels alone, @ and %(kinds)s at the end"
        )
        facts = {"expected": expected, "kinds": _(" or ").join(kinds)}
        expected = words % facts
    return message, expected


def _read_option_files(
    table: CheckedTable, task_type: TaskType, options: Options, roots: SeasonFileFolders
) -> dict[str, str]:
    if isinstance(roots, UploadedSeasonFile):
        return {}
    folders = [root for root in (roots.folder, roots.data) if root is not None]
    return {
        name: str(path.resolve())
        for name in (option.name for option in task_type.options if option.may_be_file)
        if name in options
        and not Path(options[name]).is_absolute()
        and any((folder / options[name]).is_file() for folder in folders)
        and (path := roots.file(table, "options", options[name]))
    }


def _read_cutoffs(table: CheckedTable, task_type: TaskType) -> dict[str, str]:
    cutoffs = table.value("cutoffs", [])
    if cutoffs == []:
        return {}
    if CUTOFFS_OPTION_NAME not in [option.name for option in task_type.options]:
        message = _("%(task_type)s has no option for cut-offs") % {
            "task_type": task_type.slug
        }
        table.add_problem_at_key(
            "cutoffs", message, _("rules with measures at these cut-offs")
        )
        return {}
    if not isinstance(cutoffs, list):
        table.add_problem_at_key(
            "cutoffs",
            table.describe_wrong_value("cutoffs", cutoffs),
            _("a list such as [5, 20]"),
        )
        return {}
    return {CUTOFFS_OPTION_NAME: ",".join(map(str, cutoffs))}


def _read_accepted_findings(table: CheckedTable, task_type: TaskType) -> dict[str, str]:
    """Return the option `accept`, which lists the categories of findings that are only
    warnings, with its value.
    """
    categories = table.texts("accept", ())
    if not categories:
        return {}
    if ACCEPT_OPTION_NAME not in [option.name for option in task_type.options]:
        message = _("%(task_type)s has no findings to accept") % {
            "task_type": task_type.slug
        }
        table.add_problem_at_key(
            "accept", message, _("a type with the option “accept”")
        )
        return {}
    return {ACCEPT_OPTION_NAME: ",".join(categories)}


def _refuse_unknown_metrics(
    table: CheckedTable,
    key: str,
    names: Sequence[str],
    task_type: TaskType,
    rules: Sequence[str],
    options: Options,
) -> None:
    own = [name for name in rules if task_type.has_rule_set(name)]
    metrics = {
        metric.name: (name, metric)
        for name in own
        for metric in task_type.list_metrics_of_rule_set(name, options)
    }
    for name in names:
        if name not in metrics:
            message = _("rules “%(rules)s” have no metric “%(metric)s”")
            table.add_problem_at_key(
                key,
                message % {"rules": ", ".join(own), "metric": name},
                _format_choice_of_names(list(metrics)),
            )
        elif (
            key == "rank_by"
            and metrics[name][1]
            .build_metric(metrics[name][0], options)
            .higher_is_better
            is None
        ):
            message = _("of “%(metric)s” neither more nor less is better") % {
                "metric": name
            }
            table.add_problem_at_key(key, message, _("a metric that ranks"))


def _refuse_missing_ranking(
    table: CheckedTable, task_type: TaskType, rules: Sequence[str], options: Options
) -> None:
    if not rules or not task_type.has_rule_set(rules[0]):
        return
    ranking = task_type.get_ranking_metric_name(rules[0], options)
    if option := task_type.without_value(rules[0], options).get(ranking):
        words = _(
            "rules “%(rules)s” rank by %(metric)s, which has no value without the option “%(option)s”"
        )
        words %= {"rules": rules[0], "metric": ranking, "option": option}
        table.add_problem_at_key(
            "options", words, _("that option, or other rules first")
        )


def _read_unreserved_slug(table: CheckedTable, reserved: Sequence[str]) -> str:
    slug = table.slug("slug")
    if slug in reserved:
        message = _("“%(slug)s” leads to another page of the site") % {"slug": slug}
        table.add_problem_at_key("slug", message, _("another name"))
    return slug


def _read_summary(table: CheckedTable, roots: SeasonFileFolders) -> str:
    summary, card = table.text("summary", ""), table.text("card", "")
    if summary and card:
        table.add_problem_at_key(
            "card",
            _("“summary” and “card” are two texts for one place"),
            _("one of them"),
        )
    path = roots.file(table, "card", card) if card else None
    if path is None:
        return summary
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        message = _("%(file)s cannot be read as UTF-8 text: %(fault)s")
        table.add_problem_at_key("card", message % {"file": card, "fault": fault})
        return ""


def _read_phase(table: CheckedTable) -> PhaseInSeasonFile:
    slug = _read_unreserved_slug(table, RESERVED_PHASE_SLUGS)
    names = table.texts("card_required", ())
    for name in names:
        if name not in REQUIRABLE_FIELD_LABELS:
            message = _("a run card has no “%(name)s”%(near)s") % {
                "name": name,
                "near": format_similar_name_hint(name, REQUIRABLE_FIELD_LABELS),
            }
            table.add_problem_at_key(
                "card_required", message, describe_choices(REQUIRABLE_FIELD_LABELS)
            )
    values = _read_settings(
        table,
        Phase,
        {"card_required": [name for name in REQUIRABLE_FIELD_LABELS if name in names]},
    )
    table.close()
    phase = Phase(**values)
    if (phase.board_from is None) != (not phase.board_then):
        message = _(
            "“board_from” and “board_then” say together when who sees the board"
        )
        table.add_problem_at_key("board_from", message, _("both"))
    frozen_from, frozen_until = phase.frozen_from, phase.frozen_until
    if frozen_until is not None and (
        frozen_from is None or frozen_until <= frozen_from
    ):
        message = _("the board would be revealed before it is frozen")
        table.add_problem_at_key(
            "frozen_until", message, _("a time after “frozen_from”")
        )
    if phase.gold_from is not None and not phase.gold_is_public:
        message = _("the gold would not be released at all")
        table.add_problem_at_key(
            "gold_from", message, _("“gold_public = true” beside it")
        )
    opens, closes = values["opens"], values["closes"]
    if opens and closes and closes <= opens:
        message = _(
            "the phase closes at %(closes)s, which is not after it opens at %(opens)s"
        )
        instants = {
            "closes": format_utc_minute(closes),
            "opens": format_utc_minute(opens),
        }
        table.add_problem_at_key("closes", message % instants)
    if opens and phase.inputs_from is not None and phase.inputs_from > opens:
        message = _("the inputs would come after the phase opens")
        table.add_problem_at_key("inputs_from", message, _("a time before it, or none"))
    if closes and phase.late_until is not None and phase.late_until <= closes:
        message = _("late runs would be taken no longer than others")
        table.add_problem_at_key("late_until", message, _("a time after the end"))
    return PhaseInSeasonFile(table=table, slug=slug, values=values)


def _read_planned_phases(table: CheckedTable) -> list[SettingValues]:
    """Return the planned phases of a season without tasks, as JSON objects. Each object
    contains only the keys that the season file sets.
    """
    planned = [_read_phase(row) for row in table.tables("planned_phases")]
    _refuse_repeated_names((phase.table, "slug", phase.slug) for phase in planned)
    return [
        {"slug": phase.slug}
        | {
            key: audit.convert_to_json_value(phase.values[name])
            for name in Phase.SETTINGS
            if (key := Phase.key(name)) in phase.table
        }
        for phase in planned
    ]


def _read_gold(table: CheckedTable, roots: SeasonFileFolders) -> GoldInSeasonFile:
    split, paths = table.slug("split", "test"), _read_files(table, "paths", roots)
    reason = table.text("reason", "")
    table.close()
    return GoldInSeasonFile(table=table, split=split, paths=paths, reason=reason)


def _read_baseline(
    table: CheckedTable, roots: SeasonFileFolders
) -> BaselineInSeasonFile | None:
    system, description = (
        table.text("system", longest=80),
        table.text("description", ""),
    )
    name, phases = table.text("run"), table.texts("phases", ())
    table.close()
    run = roots.file(table, "run", name) if name else None
    if run is None:
        return None
    return BaselineInSeasonFile(
        table=table, system=system, description=description, run=run, phases=phases
    )


def _refuse_repeated_names(names: Iterable[tuple[CheckedTable, str, str]]) -> None:
    seen: set[str] = set()
    for table, key, value in names:
        if value and value in seen:
            table.add_problem_at_key(
                key,
                _("%(key)s “%(value)s” is given a second time")
                % {"key": key, "value": value},
            )
        seen.add(value)


def _format_choice_of_names(names: Iterable[str]) -> str:
    return _("some of %(names)s") % {"names": ", ".join(names)}


def make_task_key_prefix(task: str) -> str:
    return f"tasks.{task}"


def make_phase_key_prefix(task: str, phase: str) -> str:
    return f"tasks.{task}.phases.{phase}"


def make_gold_key(task: str, split: str) -> str:
    return f"tasks.{task}.gold.{split}"


def make_organiser_key(address: str) -> str:
    return f"{SEASON_KEY_PREFIX}.organisers.{address.lower()}"


SEASON_TERMS_KEY = f"{SEASON_KEY_PREFIX}.terms"


def get_model_of_key_prefix(prefix: str) -> type[ModelWithSettings]:
    return (
        Phase
        if ".phases." in prefix
        else Task
        if prefix.startswith("tasks.")
        else Season
    )


def make_setting_key(prefix: str, field: str) -> str:
    return f"{prefix}.{get_model_of_key_prefix(prefix).key(field)}"


def collect_values_by_key_prefix(
    entry: ParsedSeasonFile, placements: Mapping[str, list[dict[str, Any]]]
) -> dict[str, SettingValues]:
    facts = {SEASON_KEY_PREFIX: dict(entry.values)}
    if entry.is_from_file and "public" not in entry.table:
        # Without `public`, new seasons are drafts, and other seasons do not change.
        del facts[SEASON_KEY_PREFIX]["is_public"]
    if entry.roots.is_sent and "entry_list" not in entry.table:
        # An uploaded zip archive does not change the list of addresses that may enter.
        del facts[SEASON_KEY_PREFIX]["entry_list"]
    for position, task in enumerate(entry.tasks):
        values = {
            **task.values,
            "published": placements.get(task.slug, []),
            "position": position,
        }
        # Values that come from files are not changed if the files were not uploaded.
        unread = {"published"} if entry.is_alone else set()
        unread |= (
            {"summary"}
            if entry.is_alone and "card" in task.table and not entry.roots.is_sent
            else set()
        )
        facts[make_task_key_prefix(task.slug)] = {
            name: value for name, value in values.items() if name not in unread
        }
        for index, phase in enumerate(task.phases):
            facts[make_phase_key_prefix(task.slug, phase.slug)] = {
                **phase.values,
                "position": index,
            }
    return facts


def load_rows_by_key_prefix(
    season: Season, *, held: bool = True
) -> dict[str, ModelWithSettings]:
    rows: dict[str, ModelWithSettings] = {SEASON_KEY_PREFIX: season}
    tasks = Task.objects.filter(season=season).order_by("pk")
    for task in tasks.select_for_update(of=("self",)) if held else tasks:
        rows[make_task_key_prefix(task.slug)] = task
    phases = (
        Phase.objects.filter(task__season=season)
        .select_related("task__season")
        .order_by("pk")
    )
    for phase in phases.select_for_update(of=("self",)) if held else phases:
        rows[make_phase_key_prefix(phase.task.slug, phase.slug)] = phase
    return rows
