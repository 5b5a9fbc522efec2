"""A season file as it stands: every value read and judged by itself, before anything else is looked at."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Field, Model
from django.utils.translation import gettext as _

from citeboard.core.instants import zone_of
from tasks.models import Phase, Season, Task
from tasks.models.run_cards import REQUIRABLE
from tasks.models.seasons import MIN_CLASS_SIZE, MIN_MEMORY_MB, validate_zone
from tasks.registration.entries import MAX_LENGTH, entry_lines, terms_text
from tasks.seasons.file.tables import Findings, KeyLines, Table, document, names_twice, near, one_of
from tasks.types import InputRefused, OptionRefused, Problem, TaskType, task_types
from tasks.types.base import current_rules

NAME = "season.toml"
#: What stands in addresses where the slug of a task or of a phase would.
RESERVED_TASKS, RESERVED_PHASES = ("organise", "overall", "submit"), ("published",)


@dataclass(frozen=True)
class Roots:
    """The folder of the season file, and where else its files may be; nothing outside of them is read."""

    folder: Path
    data: Path | None = None

    def file(self, table: Table, key: str, name: str) -> Path | None:
        """What a relative path means: it is looked for in the folder, then in the data root.

        Links are followed before it is judged where a path leads. What is wrong is noted on the key's line.
        """
        roots = [root for root in (self.folder, self.data) if root is not None]
        if not name or Path(name).is_absolute() or "\0" in name:
            words = _("“%(name)s” is not a relative path") % {"name": name}
            table.refuse(key, words, _("a path below %(folders)s") % {"folders": _either(roots)})
            return None
        leads_out = False
        for root in roots:
            path = root / name
            if not path.resolve().is_relative_to(root.resolve()):
                leads_out = True
            elif path.exists():
                return path
        if leads_out:
            words = _("%(name)s leads out of the folder") % {"name": name}
            table.refuse(key, words, _("a path below %(folders)s") % {"folders": _either(roots)})
        else:
            if self.data:
                expected = _("a file or folder below %(folders)s")
            else:
                expected = _("a file or folder below %(folders)s; --data names another folder to look in")
            words = _("there is no %(name)s") % {"name": name}
            table.refuse(key, words, expected % {"folders": _either(roots)})
        return None


class FileAlone(Roots):
    """A season file that came without its folder: of the files that it names nothing is read."""

    def __init__(self) -> None:
        super().__init__(Path())

    def file(self, table: Table, key: str, name: str) -> Path | None:
        return None


@dataclass(frozen=True, kw_only=True)
class PhaseEntry:
    table: Table
    slug: str
    title: str
    split: str
    opens: dt.datetime
    closes: dt.datetime
    inputs_from: dt.datetime | None
    late_until: dt.datetime | None
    time_zone: str
    runs_per_day: int | None
    runs_in_total: int | None
    board: str
    board_from: dt.datetime | None
    board_then: str
    frozen_from: dt.datetime | None
    frozen_until: dt.datetime | None
    own_scores: str
    shows_teams: bool
    shows_run_counts: bool
    counting: str
    priority_runs: int | None
    shows_contrastive: bool
    confirms_results: bool
    shows_instances: bool
    gold_is_public: bool
    gold_from: dt.datetime | None
    card_required: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GoldEntry:
    table: Table
    split: str
    paths: tuple[Path, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class BaselineEntry:
    """``phases`` are the slugs of those it stands in, empty for all phases of its task that have gold."""

    table: Table
    system: str
    description: str
    run: Path
    phases: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TaskEntry:
    table: Table
    slug: str
    title: str
    type: str
    summary: str
    rules: tuple[str, ...]
    options: dict[str, str]
    is_reported_only: bool
    min_class_size: int
    queue: str
    max_seconds: int | None
    max_memory_mb: int | None
    phases: tuple[PhaseEntry, ...]
    gold: tuple[GoldEntry, ...]
    baselines: tuple[BaselineEntry, ...]
    published: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True)
class SeasonEntry:
    """What the file says; each entry keeps the table it was read from, for what is found later."""

    table: Table
    findings: Findings
    slug: str
    title: str
    summary: str
    licence: str
    is_public: bool
    registration: str
    entry_list: tuple[str, ...]
    max_team_size: int | None
    members_until: dt.datetime | None
    merge_until: dt.datetime | None
    anonymous_until: dt.datetime | None
    time_zone: str
    allows_several_teams: bool
    shows_overall: bool
    terms: str
    organisers: tuple[str, ...]
    published: tuple[Path, ...]
    tasks: tuple[TaskEntry, ...]
    #: Whether the file came without the files that it names.
    is_alone: bool = False
    #: Whether it is a file at all, and not settings that were changed in the site.
    is_from_file: bool = True


def read_season_file(roots: Roots) -> SeasonEntry:
    """The file of the season's folder; what is wrong with it stands in the findings of what is returned.

    Raises InputRefused where it is missing, cannot be read, or is no TOML.
    """
    path = roots.folder / NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as missing:
        raise InputRefused([Problem(file=str(path), message=_("there is no such file"))]) from missing
    except OSError as fault:
        raise InputRefused([Problem(file=str(path), message=fault.strerror or str(fault))]) from fault
    return parse_season_file(content, roots)


def parse_season_file(content: bytes, roots: Roots) -> SeasonEntry:
    """The same of its bytes. Raises InputRefused where they are no TOML."""
    try:
        text = content.decode("utf-8-sig")
        values = tomllib.loads(text)
    except UnicodeDecodeError as fault:
        raise InputRefused([Problem(file=NAME, message=_("not UTF-8 text"))]) from fault
    except tomllib.TOMLDecodeError as fault:
        raise InputRefused([_no_toml(fault)]) from fault
    findings = Findings(NAME, KeyLines(text))
    return _season(Table(values, (), findings), findings, roots)


def _no_toml(fault: tomllib.TOMLDecodeError) -> Problem:
    """The reader gives the line at the end of its words alone."""
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(fault))
    if not found:
        return Problem(file=NAME, message=_("not TOML: %(fault)s") % {"fault": fault})
    words = _("not TOML: %(fault)s at column %(column)s")
    return Problem(file=NAME, line=int(found[2]), message=words % {"fault": found[1], "column": found[3]})


def _season(top: Table, findings: Findings, roots: Roots) -> SeasonEntry:
    table = top.table("season")
    time_zone = _zone(table)
    season = SeasonEntry(
        table=table,
        findings=findings,
        slug=table.slug("slug"),
        title=table.text("title", longest=120),
        summary=table.text("summary", ""),
        licence=table.text("licence", "", longest=200),
        is_public=table.boolean("public", default=True),
        registration=table.choice("registration", Season.Entry.values, Season.Entry.OPEN.value),
        entry_list=_entry_list(table),
        max_team_size=table.limit("max_team_size"),
        members_until=table.moment("members_until", zone_of(time_zone), None),
        merge_until=table.moment("merge_until", zone_of(time_zone), None),
        anonymous_until=table.moment("anonymous_until", zone_of(time_zone), None),
        time_zone=time_zone,
        allows_several_teams=table.boolean("several_teams", default=False),
        shows_overall=table.boolean("overall", default=False),
        terms=terms_text(table.text("terms", "", longest=MAX_LENGTH)),
        published=_files(table, "published", roots, ()),
        organisers=tuple(_addresses(table)),
        tasks=tuple(_task(task, roots) for task in top.tables("tasks")),
        is_alone=isinstance(roots, FileAlone),
    )
    table.close()
    top.close()
    _refuse_repeated((task.table, "slug", task.slug) for task in season.tasks)
    return season


def _files(table: Table, key: str, roots: Roots, *default: object) -> tuple[Path, ...]:
    return tuple(path for name in table.texts(key, *default) if (path := roots.file(table, key, name)))


def _addresses(table: Table) -> Iterable[str]:
    for address in table.texts("organisers", ()):
        try:
            validate_email(address)
        except ValidationError:
            words = _("“%(address)s” is not an e-mail address")
            table.refuse("organisers", words % {"address": address})
        else:
            yield address


def _entry_list(table: Table) -> tuple[str, ...]:
    try:
        return entry_lines(table.texts("entry_list", ()))
    except ValidationError as refused:
        for message in refused.messages:
            table.refuse("entry_list", message)
        return ()


def _files_of_options(
    table: Table, task_type: TaskType, options: Mapping[str, str], roots: Roots
) -> dict[str, str]:
    """Where the files lie that options name by relative paths; a name that is no such path stays as it is."""
    named = [option.name for option in task_type.options if option.may_be_file and option.name in options]
    if isinstance(roots, FileAlone):
        return {}
    folders = [root for root in (roots.folder, roots.data) if root is not None]
    return {
        name: str(found.resolve())
        for name in named
        if not Path(options[name]).is_absolute()
        and any((folder / options[name]).is_file() for folder in folders)
        and (found := roots.file(table, "options", options[name]))
    }


def _task(table: Table, roots: Roots) -> TaskEntry:
    slug, title = _free_slug(table, RESERVED_TASKS), table.text("title", longest=120)
    type_slug = table.choice("type", list(task_types()))
    task_type = task_types().get(type_slug)
    known_rules = list(task_type.rules) if task_type else []
    rules = _rules(table, known_rules) if task_type else table.texts("rules", ())
    if "rules" in table and not table.values["rules"]:
        words = _("“%(name)s” is empty") % {"name": "rules"}
        table.refuse("rules", words, _("the rule sets to score under, the ranking one first"))
    options = table.words("options")
    if task_type:
        options |= _files_of_options(table, task_type, options, roots)
        try:
            checked = task_type.checked_options(options)
            _refuse_no_ranking(table, task_type, rules, checked)
        except OptionRefused as refused:
            table.refuse("options", str(refused))
    task = TaskEntry(
        table=table,
        slug=slug,
        title=title,
        type=type_slug,
        summary=_summary(table, roots),
        rules=rules,
        options=options,
        is_reported_only=table.boolean("reported_only", default=False),
        min_class_size=table.limit("min_class_size") or MIN_CLASS_SIZE,
        queue=table.slug("queue", ""),
        max_seconds=table.limit("max_seconds", most=settings.SCORING_TIMEOUT),
        max_memory_mb=table.limit("max_memory_mb", least=MIN_MEMORY_MB, most=settings.SCORING_MEMORY_MB),
        phases=tuple(phase for entry in table.tables("phases") if (phase := _phase(entry))),
        gold=tuple(_gold(entry, roots) for entry in table.tables("gold")),
        baselines=tuple(run for baseline in table.tables("baselines") if (run := _baseline(baseline, roots))),
        published=tuple(table.tables("published")),
    )
    table.close()
    _refuse_contradictions(task)
    return task


def _refuse_no_ranking(
    table: Table, task_type: TaskType, rules: Sequence[str], options: Mapping[str, str]
) -> None:
    """Every team would be first where the metric that ranks can have no value."""
    if not rules or rules[0] not in task_type.rules:
        return
    ranking = task_type.metrics_of(rules[0], options)[0].name
    if option := task_type.without_value(rules[0], options).get(ranking):
        table.refuse(
            "options",
            _("rules “%(rules)s” rank by %(metric)s, which has no value without the option “%(option)s”")
            % {"rules": rules[0], "metric": ranking, "option": option},
            _("that option, or other rules first"),
        )


def _rules(table: Table, known: Sequence[str]) -> tuple[str, ...]:
    """The rule sets of the file, under their names of today."""
    given = table.texts("rules", known[:1])
    rules = [current_rules(name) for name in given]
    for name, own in zip(given, rules, strict=True):
        if own not in known:
            table.refuse(
                "rules",
                _("%(task_type)s has no rules “%(name)s”")
                % {"task_type": table.values["type"], "name": name},
                _some_of(known),
            )
        elif own != name and rules.count(own) > 1:
            table.refuse("rules", names_twice("rules", own))
    return tuple(dict.fromkeys(rules))


def _free_slug(table: Table, reserved: Sequence[str]) -> str:
    slug = table.slug("slug")
    if slug in reserved:
        words = _("“%(slug)s” leads to another page of the site") % {"slug": slug}
        table.refuse("slug", words, _("another name"))
    return slug


def _summary(table: Table, roots: Roots) -> str:
    """The task's own text, in the file or in a Markdown file beside it."""
    summary, card = table.text("summary", ""), table.text("card", "")
    if summary and card:
        table.refuse("card", _("“summary” and “card” are two texts for one place"), _("one of them"))
    path = roots.file(table, "card", card) if card else None
    if path is None:
        return summary
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        words = _("%(file)s cannot be read as UTF-8 text: %(fault)s")
        table.refuse("card", words % {"file": card, "fault": fault})
        return ""


def _phase(table: Table) -> PhaseEntry | None:
    """None where its times are not known; then there is nothing that the rest could be compared with."""
    time_zone = _zone(table)
    zone = zone_of(time_zone)
    opens, closes = (table.moment(name, zone) for name in ("opens", "closes"))
    inputs_from = table.moment("inputs_from", zone, None)
    late_until = table.moment("late_until", zone, None)
    board_from = table.moment("board_from", zone, None)
    board_then = table.choice("board_then", ["", *Phase.Audience.values], "")
    if (board_from is None) != (not board_then):
        table.refuse(
            "board_from",
            _("“board_from” and “board_then” say together when who sees the board"),
            _("both"),
        )
    frozen_from, frozen_until = (table.moment(name, zone, None) for name in ("frozen_from", "frozen_until"))
    if frozen_until is not None and (frozen_from is None or frozen_until <= frozen_from):
        table.refuse(
            "frozen_until",
            _("the board would be revealed before it is frozen"),
            _("a time after “frozen_from”"),
        )
    gold_is_public = table.boolean("gold_public", default=False)
    gold_from = table.moment("gold_from", zone, None)
    if gold_from is not None and not gold_is_public:
        table.refuse(
            "gold_from", _("the gold would not be given out at all"), _("“gold_public = true” beside it")
        )
    described = partial(
        PhaseEntry,
        table=table,
        slug=_free_slug(table, RESERVED_PHASES),
        title=table.text("title", longest=120),
        split=table.slug("split", "test"),
        board=table.choice("board", Phase.Audience.values, Phase.Audience.EVERYONE.value),
        board_from=board_from,
        board_then=board_then,
        frozen_from=frozen_from,
        frozen_until=frozen_until,
        own_scores=table.choice("own_scores", Phase.OwnRuns.values, ""),
        shows_teams=table.boolean("shows_teams", default=True),
        shows_run_counts=table.boolean("shows_run_counts", default=True),
        counting=table.choice("counting", Phase.Counting.values, Phase.Counting.BEST.value),
        priority_runs=table.limit("priority_runs"),
        shows_contrastive=table.boolean("shows_contrastive", default=False),
        confirms_results=table.boolean("confirms_results", default=False),
        shows_instances=table.boolean("shows_instances", default=False),
        gold_is_public=gold_is_public,
        gold_from=gold_from,
        card_required=_card_required(table),
        runs_per_day=table.limit("runs_per_day"),
        runs_in_total=table.limit("runs_in_total"),
        time_zone=time_zone,
    )
    table.close()
    if opens is None or closes is None:
        return None
    if closes <= opens:
        words = _("the phase closes at %(closes)s, which is not after it opens at %(opens)s")
        table.refuse("closes", words % {"closes": closes, "opens": opens})
    if inputs_from is not None and inputs_from > opens:
        table.refuse(
            "inputs_from", _("the inputs would come after the phase opens"), _("a time before it, or none")
        )
    if late_until is not None and late_until <= closes:
        table.refuse(
            "late_until", _("late runs would be taken no longer than others"), _("a time after the end")
        )
    return described(opens=opens, closes=closes, inputs_from=inputs_from, late_until=late_until)


def _card_required(table: Table) -> tuple[str, ...]:
    """In the order of the card."""
    given = table.texts("card_required", ())
    for name in given:
        if name not in REQUIRABLE:
            table.refuse(
                "card_required",
                _("a run card has no “%(name)s”%(near)s") % {"name": name, "near": near(name, REQUIRABLE)},
                one_of(REQUIRABLE),
            )
    return tuple(name for name in REQUIRABLE if name in given)


def _zone(table: Table) -> str:
    name = table.text("time_zone", "UTC", longest=60)
    try:
        validate_zone(name)
    except ValidationError as unknown:
        table.refuse("time_zone", str(unknown.message))
        return "UTC"
    return name


def _gold(table: Table, roots: Roots) -> GoldEntry:
    gold = GoldEntry(
        table=table,
        split=table.slug("split", "test"),
        paths=_files(table, "paths", roots),
        reason=table.text("reason", ""),
    )
    table.close()
    return gold


def _baseline(table: Table, roots: Roots) -> BaselineEntry | None:
    system, description = table.text("system", longest=80), table.text("description", "")
    name, phases = table.text("run"), table.texts("phases", ())
    table.close()
    run = roots.file(table, "run", name) if name else None
    if run is None:
        return None
    return BaselineEntry(table=table, system=system, description=description, run=run, phases=phases)


def _refuse_contradictions(task: TaskEntry) -> None:
    _refuse_repeated((phase.table, "slug", phase.slug) for phase in task.phases)
    _refuse_repeated((gold.table, "split", gold.split) for gold in task.gold)
    _refuse_repeated((baseline.table, "system", baseline.system) for baseline in task.baselines)
    if task.is_reported_only and task.gold:
        task.table.refuse(
            "reported_only", _("a task with gold is more than reported"), _("no [[tasks.gold]]")
        )
    slugs = [phase.slug for phase in task.phases]
    for baseline in task.baselines:
        for slug in baseline.phases:
            if slug not in slugs:
                baseline.table.refuse(
                    "phases", _("the task has no phase “%(phase)s”") % {"phase": slug}, _some_of(slugs)
                )


def _refuse_repeated(names: Iterable[tuple[Table, str, str]]) -> None:
    listed: Sequence[tuple[Table, str, str]] = list(names)
    counts = Counter(value for *rest, value in listed if value)
    seen: set[str] = set()
    for table, key, value in listed:
        if counts[value] > 1 and value in seen:
            words = _("%(key)s “%(value)s” is given a second time")
            table.refuse(key, words % {"key": key, "value": value})
        seen.add(value)


def _either(roots: list[Path]) -> str:
    return _(" or ").join(str(root) for root in roots)


def _some_of(names: Iterable[str]) -> str:
    return _("some of %(names)s") % {"names": ", ".join(names)}


#: The values of one row's fields.
Facts = dict[str, Any]
SEASON = "season"
#: Fields whose key in the file is not their name without ``is_``.
_KEYS = {
    "allows_several_teams": "several_teams",
    "shows_overall": "overall",
    "gold_is_public": "gold_public",
}


def task_prefix(task: str) -> str:
    return f"tasks.{task}"


def phase_prefix(task: str, phase: str) -> str:
    return f"tasks.{task}.phases.{phase}"


def gold_key(task: str, split: str) -> str:
    return f"tasks.{task}.gold.{split}"


def terms_key() -> str:
    return f"{SEASON}.terms"


def organiser_key(address: str) -> str:
    return f"{SEASON}.organisers.{address.lower()}"


def key_of(prefix: str, field: str) -> str:
    """What the file calls a field, such as `season.public`."""
    return f"{prefix}.{_KEYS.get(field, field.removeprefix('is_'))}"


def season_facts(entry: SeasonEntry) -> Facts:
    return {
        "title": entry.title,
        "summary": entry.summary,
        "licence": entry.licence,
        "is_public": entry.is_public,
        "registration": entry.registration,
        "entry_list": "\n".join(entry.entry_list),
        "max_team_size": entry.max_team_size,
        "members_until": entry.members_until,
        "merge_until": entry.merge_until,
        "anonymous_until": entry.anonymous_until,
        "time_zone": entry.time_zone,
        "allows_several_teams": entry.allows_several_teams,
        "shows_overall": entry.shows_overall,
    }


def task_facts(entry: TaskEntry, position: int, published: list[dict[str, Any]]) -> Facts:
    return {
        "title": entry.title,
        "type": entry.type,
        "summary": entry.summary,
        "rules": list(entry.rules),
        "options": entry.options,
        "is_reported_only": entry.is_reported_only,
        "min_class_size": entry.min_class_size,
        "queue": entry.queue,
        "max_seconds": entry.max_seconds,
        "max_memory_mb": entry.max_memory_mb,
        "published": published,
        "position": position,
    }


def phase_facts(entry: PhaseEntry, position: int) -> Facts:
    return {
        "title": entry.title,
        "split": entry.split,
        "opens": entry.opens,
        "closes": entry.closes,
        "inputs_from": entry.inputs_from,
        "late_until": entry.late_until,
        "time_zone": entry.time_zone,
        "runs_per_day": entry.runs_per_day,
        "runs_in_total": entry.runs_in_total,
        "board": entry.board,
        "board_from": entry.board_from,
        "board_then": entry.board_then,
        "frozen_from": entry.frozen_from,
        "frozen_until": entry.frozen_until,
        "own_scores": entry.own_scores,
        "shows_teams": entry.shows_teams,
        "shows_run_counts": entry.shows_run_counts,
        "counting": entry.counting,
        "priority_runs": entry.priority_runs,
        "shows_contrastive": entry.shows_contrastive,
        "confirms_results": entry.confirms_results,
        "shows_instances": entry.shows_instances,
        "gold_is_public": entry.gold_is_public,
        "gold_from": entry.gold_from,
        "card_required": list(entry.card_required),
        "position": position,
    }


def facts_of(entry: SeasonEntry, placements: Mapping[str, list[dict[str, Any]]]) -> dict[str, Facts]:
    """By prefix, in the order of the file. ``placements`` are the published tables of each task."""
    found = {SEASON: season_facts(entry)}
    for position, task in enumerate(entry.tasks):
        facts = task_facts(task, position, placements.get(task.slug, []))
        # What other files than the season file would say stays as the site has it.
        unread = {"published", *(["summary"] if "card" in task.table else [])} if entry.is_alone else set()
        found[task_prefix(task.slug)] = {name: own for name, own in facts.items() if name not in unread}
        for place, phase in enumerate(task.phases):
            found[phase_prefix(task.slug, phase.slug)] = phase_facts(phase, place)
    return found


def rows_of(season: Season, *, held: bool = True) -> dict[str, Model]:
    """The site's rows by the same prefixes, held until the transaction ends."""
    rows: dict[str, Model] = {SEASON: season}
    tasks = Task.objects.filter(season=season).order_by("pk")
    for task in tasks.select_for_update(of=("self",)) if held else tasks:
        rows[task_prefix(task.slug)] = task
    phases = Phase.objects.filter(task__season=season).select_related("task__season").order_by("pk")
    for phase in phases.select_for_update(of=("self",)) if held else phases:
        rows[phase_prefix(phase.task.slug, phase.slug)] = phase
    return rows


def default_of(prefix: str, field: str) -> Any:
    """What a field holds where nobody has said anything of it."""
    model = Phase if ".phases." in prefix else Task if prefix.startswith("tasks.") else Season
    known = model._meta.get_field(field)  # noqa: SLF001  (documented)
    assert isinstance(known, Field)
    return known.get_default()


#: What a file says by its order, or in tables of its own.
APART = ("position", "published")


def defaults_of(season: Season) -> dict[str, Facts]:
    """By the prefix of each row that the season has."""
    return _defaults(
        season.slug,
        {(task.slug, task.type): [phase.slug for phase in task.phases.all()] for task in season.tasks.all()},
    )


@cache
def settings_of(model: type[Model]) -> Facts:
    """The fields of a season, a task or a phase that can be set, in order, with their defaults."""
    kind = next(iter(task_types()))
    found = _defaults("season", {("task", kind): ["phase"]})
    prefix = {Season: SEASON, Task: task_prefix("task"), Phase: phase_prefix("task", "phase")}[model]
    return {name: value for name, value in found[prefix].items() if name not in APART}


def _defaults(season: str, tasks: dict[tuple[str, str], list[str]]) -> dict[str, Facts]:
    opens, closes = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2020, 2030))
    least = {
        "season": {"slug": season, "title": "-"},
        "tasks": [
            {
                "slug": task,
                "title": "-",
                "type": kind,
                "phases": [{"slug": slug, "title": "-", "opens": opens, "closes": closes} for slug in phases],
            }
            for (task, kind), phases in tasks.items()
        ],
    }
    entry = parse_season_file(document(least).encode(), FileAlone())
    return facts_of(entry, {task.slug: [] for task in entry.tasks})
