import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import models, transaction
from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.core import audit
from citeboard.core.instants import (
    InvalidTimeText,
    is_endless_phase_end,
    parse_phase_end,
    parse_time,
    parse_time_zone,
)
from citeboard.core.query import MAX_UNKNOWN_NAMES_LISTED, shorten_for_message
from citeboard.core.words import join_names
from citeboard.teams.models import User
from tasks.models import Phase, Season, Task
from tasks.models.seasons import SEASON_DATE_FIELDS, ModelWithSettings
from tasks.seasons.access import get_organised_season_or_404, require_season_creator
from tasks.seasons.file import entries, export
from tasks.seasons.file.load import (
    Fault,
    InvalidSettings,
    load_season_from_values,
    load_settings_or_list_faults,
)
from tasks.seasons.file.tables import format_similar_name_hint
from tasks.seasons.organisers import add_organiser
from tasks.types import task_types

DEFAULT_TASK_SLUG = "main"
#: The form offers tasks of the newest MAX_EARLIER_SEASONS earlier seasons.
MAX_EARLIER_SEASONS = 20
#: In a phase without an end, DEFAULT_PUBLIC_PART_PERCENT per cent of a split form the public part.
#: Many runs can reveal the gold of a public part, as `bench/leak.py` shows.
DEFAULT_PUBLIC_PART_PERCENT = 30


@dataclass(frozen=True)
class PhasePlan:
    """A phase of a preset. ``opens`` and ``closes`` are names of dates that the preset
    asks for. If ``closes`` is empty, the phase has no end.
    """

    slug: str
    opens: str
    closes: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SeasonPreset:
    slug: str
    title: str | Promise
    summary: str | Promise
    dates: Mapping[str, Any]
    phases: tuple[PhasePlan, ...]
    earlier: tuple[tuple[str, str], ...] = ()


_SINGLE_TEST_PHASE = {"split": "test", "runs_in_total": 5, "board": "organisers"}
_PHASE_WITH_PUBLIC_PART = {"split": "test", "public_part": DEFAULT_PUBLIC_PART_PERCENT}
_SEMEVAL_PRESET = SeasonPreset(
    "semeval",
    _("Like SemEval"),
    _(
        "Practice on one split with the board in the open; an evaluation on another with five tries a team, "
        "of which the last counts, and a board that organisers alone see; then a leaderboard without an end, "
        "with scores on a public part of the split and ranks by the rest. Five runs with their scores can "
        "tell up to a fifth of a small test set; where that is too much, hide own scores in the evaluation."
    ),
    {
        "opens": _("Practice opens"),
        "evaluation": _("Evaluation opens"),
        "closes": _("Evaluation closes"),
    },
    (
        PhasePlan(
            "practice",
            "opens",
            "evaluation",
            {"split": "dev", "runs_per_day": 10, "shows_instances": True},
        ),
        PhasePlan(
            "evaluation",
            "evaluation",
            "closes",
            {**_SINGLE_TEST_PHASE, "counting": "last"},
        ),
        PhasePlan(
            "post-evaluation",
            "closes",
            settings={**_PHASE_WITH_PUBLIC_PART, "runs_per_day": 5},
        ),
    ),
)
_TREC_PRESET = SeasonPreset(
    "trec",
    _("Like TREC"),
    _(
        "The inputs are released first; then each team submits up to five runs and "
        "puts them into an order of priority, by which the first two count. Organisers "
        "alone see the board until they open it."
    ),
    {
        "inputs": _("Inputs are released"),
        "opens": _("Runs are accepted from"),
        "closes": _("Runs are accepted until"),
    },
    (
        PhasePlan(
            "runs",
            "opens",
            "closes",
            {**_SINGLE_TEST_PHASE, "counting": "priority", "priority_runs": 2},
        ),
    ),
)
_OPEN_PRESET = SeasonPreset(
    "open",
    _("Open leaderboard"),
    _(
        "One phase without an end: three runs a day for each team, the best counts, everybody sees the "
        "board. Scores are of a public part of the split; the rest ranks, at most once a month."
    ),
    {"opens": _("Opens")},
    (
        PhasePlan(
            "leaderboard",
            "opens",
            settings={**_PHASE_WITH_PUBLIC_PART, "runs_per_day": 3},
        ),
    ),
)
PRESETS_BY_SLUG = {
    preset.slug: preset for preset in (_SEMEVAL_PRESET, _TREC_PRESET, _OPEN_PRESET)
}


def get_preset_or_404(user: object, preset: str) -> SeasonPreset:
    require_season_creator(user)
    if preset not in PRESETS_BY_SLUG:
        raise Http404(gettext("The site's staff create seasons."))
    seasons = list(
        Season.objects.organised_by_user(user).order_by("-created_at")[
            :MAX_EARLIER_SEASONS
        ]
    )
    tasks = Task.objects.filter(
        season__in=seasons, is_reported_only=False
    ).select_related("season")
    earlier = [
        (f"{task.season.slug}/{task.slug}", f"{task}, {task.season}") for task in tasks
    ]
    return replace(PRESETS_BY_SLUG[preset], earlier=tuple(earlier))


def create_season_from_preset(
    *,
    preset: SeasonPreset,
    title: str,
    slug: str,
    task_type: str,
    time_zone: str,
    dates: Mapping[str, str],
    by: User,
    organisers: Sequence[User] = (),
) -> Season:
    """Create a season with the tasks and phases of a preset, a template for seasons.

    ``task_type`` is a list, separated by commas, of task types and of existing tasks in
    the form `SEASON/TASK`, whose settings are copied. All tasks of the new season get
    the same phases. If the new season has no tasks, the season stores the phases for
    tasks that are added later.
    """
    try:
        zone = parse_time_zone(time_zone)
    except ValueError as unknown:
        raise InvalidSettings([Fault("time_zone", str(unknown))]) from unknown
    instants: dict[str, dt.datetime] = {}
    faults: list[Fault] = []
    rest = {
        name: Season.get_date_field_label(name)
        for name in SEASON_DATE_FIELDS
        if dates.get(name)
    }
    known = [*preset.dates, *SEASON_DATE_FIELDS]
    for name in [shorten_for_message(name) for name in dates if name not in known][
        :MAX_UNKNOWN_NAMES_LISTED
    ]:
        message = gettext("the preset has no such date%(near)s") % {
            "near": format_similar_name_hint(name, known)
        }
        faults.append(Fault(name, message, join_names(known)))
    lasts = {plan.closes for plan in preset.phases} - {
        plan.opens for plan in preset.phases
    }
    for name, label in {**preset.dates, **rest}.items():
        try:
            at = (parse_phase_end if name in lasts else parse_time)(
                dates.get(name, ""), zone
            )
        except InvalidTimeText as refused:
            faults.append(Fault(name, str(refused)))
            continue
        if instants and at <= max(instants.values()):
            message = gettext("“%(date)s” is not after the date before it") % {
                "date": label
            }
            faults.append(Fault(name, message))
        instants[name] = at
    if faults:
        raise InvalidSettings(faults)
    inputs = {"inputs_from": instants["inputs"]} if "inputs" in instants else {}
    phases = [
        {
            "slug": plan.slug,
            "title": plan.slug.capitalize(),
            "opens": instants[plan.opens],
            **({"closes": instants[plan.closes]} if plan.closes else {}),
            "time_zone": time_zone,
            **plan.settings,
            **inputs,
        }
        for plan in preset.phases
    ]
    tasks = [{**task, "phases": phases} for task in _build_task_tables(task_type, by)]
    season = {"slug": slug, "title": title, "public": False, "time_zone": time_zone}
    season |= {name: instants[name] for name in rest}
    if not tasks:
        season["planned_phases"] = phases
    with transaction.atomic():
        made = load_settings_or_list_faults(
            {"season": season, "tasks": tasks}, by=by
        ).season
        for person in dict.fromkeys([by, *organisers]):
            add_organiser(season=made, user=person, by=by)
        facts = {"season": made, "preset": preset.title}
        audit.record_action(
            "season-made", actor=by, subject=made, place=made, facts=facts
        )
    return made


def _build_task_tables(named: str, by: User) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = []
    addresses = list(filter(None, map(str.strip, named.split(","))))
    for address in addresses:
        season, is_task, slug = address.partition("/")
        kind = task_types().get(address)
        name = DEFAULT_TASK_SLUG if len(addresses) == 1 else address
        table = {
            "slug": name,
            "title": kind.title if kind else address,
            "type": address,
        }
        if is_task:
            known = export.build_season_file_structure(
                get_organised_season_or_404(by, season)
            )["tasks"]
            found = [task for task in known if task["slug"] == slug]
            if not found:
                message = gettext("“%(season)s” has no task “%(task)s”") % {
                    "season": season,
                    "task": slug,
                }
                raise InvalidSettings([Fault("task_type", message)])
            table = found[0]
            remove_uninherited_settings(Task, table)
        tables.append(table)
    return tables


def remove_uninherited_settings(
    model: type[ModelWithSettings], table: dict[str, Any]
) -> None:
    """Remove from ``table`` the settings that a copy of a season does not inherit."""
    for name, setting in model.SETTINGS.items():
        if not setting.is_cloned:
            table.pop(model.key(name), None)


#: 364 days later, dates are one year later and on the same day of the week.
DAYS_IN_52_WEEKS = 364
MAX_POSTPONED_DAYS = 20 * 365

#: The fields in DISCLOSING_SETTINGS are settings by which organisers disclose data.
DISCLOSING_SETTINGS = (
    "board",
    "board_from",
    "board_then",
    "own_scores",
    "shows_instances",
    "gold_is_public",
    "gold_from",
)


def _find_settings_at_opening(season: Season) -> dict[str, dict[str, Any]]:
    """Return each phase's settings at the time of its opening, so that later
    disclosures and an early end are not copied to the next season.
    """
    phases = Phase.objects.filter(task__season=season).select_related("task")
    begun = {
        entries.make_phase_key_prefix(phase.task.slug, phase.slug): phase
        for phase in phases
    }
    names = {Phase.key(name): name for name in DISCLOSING_SETTINGS} | {
        name: name for name in DISCLOSING_SETTINGS
    }
    before: dict[str, dict[str, Any]] = {prefix: {} for prefix in begun}
    for entry in audit.find_history_of_place(season).order_by("at", "pk"):
        for change in entry.changes:
            prefix, _dot, name = str(change["key"]).rpartition(".")
            is_closing = entry.action == "phase-closed" and name == "closes"
            if prefix in begun and (
                is_closing or (name in names and entry.at >= begun[prefix].opens)
            ):
                known = Phase.field(names.get(name, name))
                before[prefix].setdefault(
                    Phase.key(known.name), known.to_python(change["before"])
                )
    return before


def _choose_stricter_settings(
    first: Mapping[str, Any], present: Mapping[str, Any]
) -> dict[str, Any]:
    """For each setting that discloses data, return the value at the opening of the
    phase or the present value, whichever is stricter.

    A board that opens at a certain time is less strict than a board that never opens.
    """
    found = dict(first)
    for name, choices in (
        ("board", Phase.Audience.values),
        ("own_scores", Phase.OwnRunDetail.values),
    ):
        default = Phase.field(name).get_default()
        given = [table.get(name, default) for table in (first, present)]
        if name in first and all(given):
            found[name] = min(given, key=choices.index)
    for name in ("shows_instances", "gold_public"):
        if name in first:
            found[name] = bool(first[name]) and bool(present.get(name))
    instants = [
        table["gold_from"] for table in (first, present) if table.get("gold_from")
    ]
    if "gold_from" in first and found.get("gold_public", present.get("gold_public")):
        found["gold_from"] = max(instants, default=None)
    is_hidden = present.get("board") in (
        Phase.Audience.NOBODY,
        Phase.Audience.ORGANISERS,
    )
    if "board_from" in first and is_hidden and not present.get("board_from"):
        found |= {"board_from": None, "board_then": ""}
    return found


def _postpone_phase_dates(table: Mapping[str, Any], by: dt.timedelta) -> dict[str, Any]:
    planned = dict(table)
    for name in Phase.SETTINGS:
        key = Phase.key(name)
        if key in planned and isinstance(Phase.field(name), models.DateTimeField):
            at = dt.datetime.fromisoformat(planned[key])
            if not is_endless_phase_end(key, at):
                planned[key] = audit.convert_to_json_value(at + by)
    return planned


def clone_season(
    *,
    season: Season,
    slug: str,
    title: str,
    days: int = DAYS_IN_52_WEEKS,
    by: User | None,
) -> Season:
    values = export.build_season_file_structure(season)
    values["season"] |= {"slug": slug, "title": title, "public": False}
    phases = []
    begun = _find_settings_at_opening(season)
    for task in values["tasks"]:
        for phase in task["phases"]:
            first = begun[entries.make_phase_key_prefix(task["slug"], phase["slug"])]
            was = phase | _choose_stricter_settings(first, phase)
            phase.clear()
            phase.update(
                (key, value) for key, value in was.items() if value not in (None, "")
            )
            phases.append(phase)
    for model, tables in (
        (Season, [values["season"]]),
        (Task, values["tasks"]),
        (Phase, phases),
    ):
        for table in tables:
            remove_uninherited_settings(model, table)
            for key, value in table.items():
                if isinstance(value, dt.datetime) and not is_endless_phase_end(
                    key, value
                ):
                    table[key] = value + dt.timedelta(days=days)
    later = dt.timedelta(days=days)
    planned = [_postpone_phase_dates(table, later) for table in season.planned_phases]
    values["season"] |= {"planned_phases": planned} if planned else {}
    with transaction.atomic():
        made = load_season_from_values(values, by=by).season
        if by is not None:
            add_organiser(season=made, user=by, by=by)
        facts = {"season": season, "clone": made}
        audit.record_action(
            "season-cloned", actor=by, subject=made, place=season, facts=facts
        )
    return made
