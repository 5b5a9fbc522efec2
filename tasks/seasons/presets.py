import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from citeboard.core import audit
from citeboard.core.instants import NoInstant, read_instant, zone_of
from citeboard.teams.models import User
from tasks.models import Phase, Season, Task
from tasks.models.seasons import NO_END
from tasks.seasons.access import creator_of_seasons
from tasks.seasons.file.export import structure_of
from tasks.seasons.file.load import Fault, SettingsRefused, load_settings, load_values
from tasks.seasons.organisers import add_organiser
from tasks.types import task_types

#: A phase that closes then is open without an end.
WITHOUT_END = dt.datetime(2099, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
TASK = "main"
#: Per cent of a split whose gold may come out in a phase without an end (`bench/leak.py`).
PUBLIC_PART = 30


@dataclass(frozen=True)
class PhasePlan:
    """``opens`` and ``closes`` name dates of the preset; an empty one is no end."""

    slug: str
    title: str
    opens: str
    closes: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """Its words are English; ``title``, ``summary`` and ``dates`` have them in the language of who reads."""

    slug: str
    name: str
    about: str
    asked: Mapping[str, str]
    phases: tuple[PhasePlan, ...]

    @property
    def title(self) -> str:
        return gettext(self.name)

    @property
    def summary(self) -> str:
        return gettext(self.about)

    @property
    def dates(self) -> dict[str, str]:
        return {name: gettext(label) for name, label in self.asked.items()}


_SEMEVAL = Preset(
    "semeval",
    _("Like SemEval"),
    _(
        "Practice on one split with the board in the open; an evaluation on another with five tries a team, "
        "of which the last counts, and a board that organisers alone see; then a leaderboard without an end, "
        "with scores on a public part of the split and ranks by the rest."
    ),
    {"opens": _("Practice opens"), "evaluation": _("Evaluation opens"), "closes": _("Evaluation closes")},
    (
        PhasePlan(
            "practice",
            "Practice",
            "opens",
            "evaluation",
            {"split": "dev", "runs_per_day": 10, "shows_instances": True},
        ),
        PhasePlan(
            "evaluation",
            "Evaluation",
            "evaluation",
            "closes",
            {"split": "test", "runs_in_total": 5, "counting": "last", "board": "organisers"},
        ),
        PhasePlan(
            "post-evaluation",
            "Post-evaluation",
            "closes",
            settings={"split": "test", "runs_per_day": 5, "public_part": PUBLIC_PART},
        ),
    ),
)
_TREC = Preset(
    "trec",
    _("Like TREC"),
    _(
        "The inputs are given out first; then each team sends up to five runs and puts them into an order "
        "of priority, by which the first two count. Organisers alone see the board until they open it."
    ),
    {
        "inputs": _("Inputs are given out"),
        "opens": _("Runs are taken from"),
        "closes": _("Runs are taken until"),
    },
    (
        PhasePlan(
            "runs",
            "Runs",
            "opens",
            "closes",
            {
                "split": "test",
                "runs_in_total": 5,
                "counting": "priority",
                "priority_runs": 2,
                "board": "organisers",
            },
        ),
    ),
)
_OPEN = Preset(
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
            "Leaderboard",
            "opens",
            settings={"split": "test", "runs_per_day": 3, "public_part": PUBLIC_PART},
        ),
    ),
)
PRESETS = {preset.slug: preset for preset in (_SEMEVAL, _TREC, _OPEN)}


def preset_for(user: object, preset: str) -> Preset:
    creator_of_seasons(user)
    if preset not in PRESETS:
        raise Http404(gettext("Seasons are created by staff of the site."))
    return PRESETS[preset]


def season_from(
    *,
    preset: Preset,
    title: str,
    slug: str,
    task_type: str,
    time_zone: str,
    dates: Mapping[str, str],
    by: User,
) -> Season:
    try:
        zone = zone_of(time_zone)
    except ValueError as unknown:
        raise SettingsRefused([Fault("time_zone", str(unknown))]) from unknown
    instants: dict[str, dt.datetime] = {}
    faults = []
    for name, label in preset.dates.items():
        try:
            at = read_instant(dates.get(name, ""), zone)
        except NoInstant as refused:
            faults.append(Fault(name, str(refused)))
            continue
        if instants and at <= max(instants.values()):
            faults.append(
                Fault(name, gettext("“%(date)s” is not after the date before it") % {"date": label})
            )
        instants[name] = at
    if faults:
        raise SettingsRefused(faults)
    kind = task_types().get(task_type)
    inputs = {"inputs_from": instants["inputs"]} if "inputs" in instants else {}
    phases = [
        {
            "slug": plan.slug,
            "title": plan.title,
            "opens": instants[plan.opens],
            "closes": instants.get(plan.closes, WITHOUT_END),
            "time_zone": time_zone,
            **plan.settings,
            **inputs,
        }
        for plan in preset.phases
    ]
    task = {"slug": TASK, "title": kind.title if kind else task_type, "type": task_type, "phases": phases}
    season = {"slug": slug, "title": title, "public": False, "time_zone": time_zone}
    with transaction.atomic():
        made = load_settings({"season": season, "tasks": [task]}, by=by).season
        add_organiser(season=made, user=by, by=by)
        facts = {"season": made, "preset": preset.name}
        audit.record("season-made", actor=by, subject=made, place=made, facts=facts)
    return made


#: The same day of the week, a year later.
A_YEAR = 364
MAX_DAYS = 20 * 365


def clone_season(*, season: Season, slug: str, title: str, days: int = A_YEAR, by: User | None) -> Season:
    values = structure_of(season)
    values["season"] |= {"slug": slug, "title": title, "public": False}
    phases = [phase for task in values["tasks"] for phase in task["phases"]]
    # A phase without an end stays without.
    no_end = dt.datetime.now(dt.UTC) + NO_END
    for model, tables in ((Season, [values["season"]]), (Task, values["tasks"]), (Phase, phases)):
        stays_behind = {model.key(name) for name, setting in model.SETTINGS.items() if not setting.is_cloned}
        for table in tables:
            for key, value in list(table.items()):
                if key in stays_behind:
                    del table[key]
                elif isinstance(value, dt.datetime) and value < no_end:
                    table[key] = value + dt.timedelta(days=days)
    with transaction.atomic():
        made = load_values(values, by=by).season
        if by is not None:
            add_organiser(season=made, user=by, by=by)
        facts = {"season": season, "clone": made}
        audit.record("season-cloned", actor=by, subject=made, place=season, facts=facts)
    return made
