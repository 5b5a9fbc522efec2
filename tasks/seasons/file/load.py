"""Loading a season from its file or from settings chosen in the site; once more, it changes nothing."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.gold.gold_files import KeptGold, keep_gold, record_gold
from tasks.jobs.leases import rescore
from tasks.models import Gold, Phase, Season, SeasonFile, Submission, Task
from tasks.models.seasons import bump_version, bump_versions
from tasks.notifications.events import PhaseFacts, tell_changed_phase
from tasks.registration.entries import current_terms, publish_terms
from tasks.seasons.file.entries import (
    SEASON,
    BaselineEntry,
    FileAlone,
    GoldEntry,
    PhaseEntry,
    Roots,
    SeasonEntry,
    TaskEntry,
    gold_key,
    organiser_key,
    parse_season_file,
    phase_prefix,
    read_season_file,
    rows_of,
    task_prefix,
    terms_key,
)
from tasks.seasons.file.export import structure_of
from tasks.seasons.file.plan import (
    ALL,
    UNDECIDED,
    Decisions,
    Difference,
    KeyNotKnown,
    LoadConflicts,
    Plan,
    make_plan,
)
from tasks.seasons.file.tables import KeyLines, KeyPath, document
from tasks.seasons.organisers import add_organiser
from tasks.submissions.run_acts import replace as give_way
from tasks.submissions.submit import Upload, submit_baseline
from tasks.submissions.uploads import checksum
from tasks.types import InputRefused, Problem

FIRST_RELEASE = "First release."

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A season as it now stands on the site; no changes mean that it stood there already.

    ``differences`` are the settings that were changed, each with what it was. Of a dry run nothing is written
    and ``conflicts`` may be there.
    """

    season: Season
    changes: list[str]
    notices: list[str]
    differences: list[Difference]
    conflicts: list[Difference] = field(default_factory=list)


def load_season(
    folder: Path,
    *,
    data: Path | None = None,
    reason: str = "",
    decisions: Decisions = UNDECIDED,
    dry_run: bool = False,
) -> Loaded:
    """Bring the site to what the folder's season file says; its files are in the folder or in ``data``.

    Raises InputRefused with everything that is wrong, LoadConflicts where it would undo what was changed in
    the site, and KeyNotKnown; then nothing is written.
    """
    entry = read_season_file(Roots(folder, data))
    return apply_entry(entry, reason=reason, decisions=decisions, dry_run=dry_run, by=None)


def load_season_text(
    text: bytes,
    *,
    by: User,
    slug: str = "",
    decisions: Decisions = UNDECIDED,
    dry_run: bool = False,
) -> Loaded:
    """The same for a season file that was sent alone: the files that it names stay as the site has them.

    ``slug`` names the season that it has to be of; without one it has to be new. Raises as load_season does.
    """
    return apply_entry(_alone(text, slug), reason="", decisions=decisions, dry_run=dry_run, by=by)


def load_values(values: dict[str, Any], *, by: User | None, slug: str = "") -> Loaded:
    """The same for settings that were chosen in the site, in the form of a season file."""
    entry = _alone(document(values).encode(), slug)
    return apply_entry(
        replace(entry, is_from_file=False),
        reason="",
        decisions=Decisions(frozenset({ALL})),
        dry_run=False,
        by=by,
    )


def _alone(text: bytes, slug: str) -> SeasonEntry:
    entry = parse_season_file(text, FileAlone())
    if slug and entry.slug and entry.slug != slug:
        words = _("the file is of season “%(season)s”") % {"season": entry.slug}
        entry.table.refuse("slug", words, f"“{slug}”")
    if not slug and Season.objects.filter(slug=entry.slug).exists():
        words = _("there is a season “%(season)s” already") % {"season": entry.slug}
        entry.table.refuse("slug", words, _("another name"))
    return entry


def apply_entry(
    entry: SeasonEntry, *, reason: str, decisions: Decisions, dry_run: bool, by: User | None
) -> Loaded:
    with tempfile.TemporaryDirectory(prefix="citeboard-season-") as scratch:
        plan = make_plan(entry, reason=reason, scratch=Path(scratch), decisions=decisions)
        if dry_run:
            return _previewed(plan)
        kept = {key: keep_gold(prepared) for key, prepared in plan.gold.items()}
    with transaction.atomic():
        season = Season.objects.select_for_update().filter(slug=entry.slug).first() or Season(slug=entry.slug)
        found = plan.differences(season)
        _refuse_undecided(found, plan, decisions)
        settled = replace(plan, stays=frozenset(row.key for row in found if _stays(row, decisions)))
        changes = _write(season, settled, kept, reason, by)
        applied = [row for row in found if row.key not in settled.stays]
        if changes:
            _note_load(season, changes, applied, by, is_from_file=entry.is_from_file)
    for task in entry.tasks:
        for baseline in task.baselines:
            changes += _write_baseline(season, task, baseline, plan)
    return Loaded(
        season=season, changes=changes, notices=list(_notices(season, entry, plan)), differences=applied
    )


def _stays(row: Difference, decisions: Decisions) -> bool:
    return row.is_conflict and decisions.keeps(row.key)


def _refuse_undecided(found: list[Difference], plan: Plan, decisions: Decisions) -> None:
    if unknown := decisions.unknown(plan.said()):
        raise KeyNotKnown(unknown)
    if open_ones := [row for row in found if row.is_conflict and not decisions.decides(row.key)]:
        raise LoadConflicts(open_ones)


def _previewed(plan: Plan) -> Loaded:
    """What a load would do, found out by doing it and taking all of it back."""
    entry = plan.entry
    with transaction.atomic():
        season = Season.objects.filter(slug=entry.slug).first() or Season(slug=entry.slug)
        found = plan.differences(season)
        rows = rows_of(season) if season.pk else {}
        changes = [f"{prefix}: new" for prefix in plan.facts if prefix not in rows]
        changes += [f"{key}: new" for key in plan.new_gold()]
        changes += plan.results.store()
        changes += plan.new_baselines()
        transaction.set_rollback(True)
    return Loaded(
        season=season,
        changes=changes,
        notices=[],
        differences=[row for row in found if not row.is_conflict],
        conflicts=[row for row in found if row.is_conflict],
    )


def _write(
    season: Season, plan: Plan, kept: dict[tuple[str, str], KeptGold], reason: str, by: User | None
) -> list[str]:
    entry = plan.entry
    was_public = Season.objects.filter(slug=season.slug, is_public=True).exists()
    season, created, changed = _written(season, **plan.facts_for(SEASON))
    if was_public or season.is_public:
        Season.objects.filter(pk=season.pk).update(was_public=True)
    changes = [*_described(f"season {season.slug}", created, changed), *_organisers(season, plan, by)]
    changes += _terms(season, plan, by)
    for task in entry.tasks:
        changes += _write_task(season, task, kept, plan, reason, by)
    changes += plan.results.store()
    if changes:
        bump_versions(season)
    if entry.is_from_file:
        said = {**_remembered(season), **plan.said()} if entry.is_alone else plan.said()
        SeasonFile.objects.update_or_create(
            season=season, defaults={"values": said, "loaded_at": timezone.now(), "loaded_by": by}
        )
    return changes


def _remembered(season: Season) -> dict[str, Any]:
    """A file that came alone says nothing of gold and of other files."""
    kept = SeasonFile.objects.filter(season=season).first()
    return kept.values if kept else {}


def _note_load(
    season: Season, changes: list[str], applied: list[Difference], by: User | None, *, is_from_file: bool
) -> None:
    words = f"{'loaded the season file' if is_from_file else 'changed the settings'}: {'; '.join(changes)}"
    is_of_phases = bool(applied) and all(".phases." in row.key for row in applied)
    changed = "phase-changed" if is_of_phases else "settings-changed"
    audit.note(
        actor=by,
        action="season-loaded" if is_from_file else changed,
        words=words,
        subject=season,
        place=season,
        changes=[audit.Change(row.key, row.site, row.file) for row in applied],
    )


def _organisers(season: Season, plan: Plan, by: User | None) -> Iterator[str]:
    """Organisers are added here and taken away in the site: it is the file that may be out of date."""
    for address in plan.entry.organisers:
        user = User.objects.filter(email__iexact=address).first()
        if user is None or organiser_key(address) in plan.stays:
            continue
        if add_organiser(season=season, user=user, by=by):
            yield f"organiser {address}: added"


def _terms(season: Season, plan: Plan, by: User | None) -> Iterator[str]:
    text, before = plan.entry.terms, current_terms(season)
    if not text or terms_key() in plan.stays:
        return
    published = publish_terms(season=season, text=text, by=by)
    if published != before:
        yield f"terms: version {published.number}"


def _write_task(
    season: Season,
    entry: TaskEntry,
    kept: dict[tuple[str, str], KeptGold],
    plan: Plan,
    reason: str,
    by: User | None,
) -> Iterator[str]:
    task, created, changed = _written(
        Task.objects.filter(season=season, slug=entry.slug).first() or Task(season=season, slug=entry.slug),
        **plan.facts_for(task_prefix(entry.slug)),
    )
    yield from _described(f"task {task.slug}", created, changed)
    is_scored_anew = bool({"rules", "options"} & set(changed))
    for phase in entry.phases:
        yield from _write_phase(task, phase, plan, by)
    for gold in entry.gold:
        own = kept.get((entry.slug, gold.split))
        if own is None or gold_key(entry.slug, gold.split) in plan.stays:
            continue
        version, is_new = _write_gold(task, gold, own, reason)
        if is_new:
            is_scored_anew = True
            yield f"gold {task.slug}/{gold.split}: version {version.number}, {version.instances} instances"
    if is_scored_anew:
        jobs = [job for phase in task.phases.all() for job in rescore(phase)]
        if jobs:
            yield f"task {task.slug}: {len(jobs)} scorings queued for the runs it has"


def _write_gold(task: Task, entry: GoldEntry, kept: KeptGold, reason: str) -> tuple[Gold, bool]:
    why = reason or entry.reason or FIRST_RELEASE
    return record_gold(task=task, split=entry.split, kept=kept, reason=why)


def _write_phase(task: Task, entry: PhaseEntry, plan: Plan, by: User | None) -> Iterator[str]:
    present = Phase.objects.filter(task=task, slug=entry.slug).first()
    before = PhaseFacts.of(present) if present else None
    phase, created, changed = _written(
        present or Phase(task=task, slug=entry.slug), **plan.facts_for(phase_prefix(task.slug, entry.slug))
    )
    if before is not None:
        tell_changed_phase(phase, before, at=timezone.now(), by=by)
    yield from _described(f"phase {task.slug}/{phase.slug}", created, changed)


def _write_baseline(season: Season, task: TaskEntry, entry: BaselineEntry, plan: Plan) -> Iterator[str]:
    """A baseline is known by its name: another file under it is a new run, which replaces the one before."""
    sha256 = checksum(entry.run)
    for slug in plan.phases_of(task, entry):
        phase = Phase.objects.select_related("task__season").get(
            task__season=season, task__slug=task.slug, slug=slug
        )
        named = Submission.objects.filter(
            phase=phase, kind=Submission.Kind.BASELINE, built_in="", system=entry.system
        ).order_by("-number")
        before = named.first()
        if before and before.sha256 == sha256:
            yield from _describe(before, entry, f"{task.slug}/{slug}")
            continue
        new = submit_baseline(
            phase=phase,
            upload=Upload(entry.run, entry.run.name),
            system=entry.system,
            description=entry.description,
        )
        if before:
            give_way(before, new)
        yield f"baseline {task.slug}/{slug} “{entry.system}”: queued as run {new.number}"


def _describe(before: Submission, entry: BaselineEntry, where: str) -> Iterator[str]:
    if before.description != entry.description:
        Submission.objects.filter(pk=before.pk).update(description=entry.description)
        bump_version(before.phase_id)
        yield f"baseline {where} “{entry.system}”: description changed"


def _written(row: Row, **facts: Any) -> tuple[Row, bool, list[str]]:
    """The row with these facts; whether it is new, and if not, which of them changed."""
    if row.pk is None:
        for name, value in facts.items():
            setattr(row, name, value)
        row.save()
        return row, True, []
    changed = [name for name, value in facts.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, facts[name])
    if changed:
        row.save(update_fields=changed)
    return row, False, changed


def _described(what: str, created: bool, changed: list[str]) -> Iterator[str]:
    if created:
        yield f"{what}: created"
    elif changed:
        yield f"{what}: {', '.join(name.removeprefix('is_') for name in changed)} changed"


def _notices(season: Season, entry: SeasonEntry, plan: Plan) -> Iterator[str]:
    """What can be loaded and still is perhaps not meant."""
    yield from map(str, plan.results.oddities)
    for address in entry.organisers:
        if not User.objects.filter(email__iexact=address).exists():
            words = _("organiser %(address)s has no account yet; load the season again when there is one")
            yield words % {"address": address}
    scored = Phase.objects.filter(task__season=season, task__is_reported_only=False)
    for phase in scored.select_related("task"):
        name = f"{phase.task.slug}/{phase.slug}"
        if Gold.objects.current(phase) is None:
            words = _("phase %(phase)s: split %(split)s has no gold yet, so that no run is accepted")
            yield words % {"phase": name, "split": phase.split}
        if phase.closes <= timezone.now():
            words = _("phase %(phase)s is over: it closed %(instant)s")
            yield words % {"phase": name, "instant": f"{phase.closes:%Y-%m-%d %H:%M} UTC"}
    for gold in Gold.objects.filter(task__season=season).select_related("task"):
        if not Phase.objects.filter(task=gold.task, split=gold.split).exists():
            yield _("gold %(gold)s: no phase is scored on it") % {"gold": f"{gold.task.slug}/{gold.split}"}


_KEY = re.compile(
    r"(?:season|tasks\.(?P<task>[^.]+)(?:\.phases\.(?P<phase>[^.]+))?)\.(?P<name>[^.]+)", re.DOTALL
)
#: What is said of people, of files beside the season's or by an address, and is not a setting.
_NO_SETTINGS = ("slug", "organisers", "published", "card", "phases", "gold", "baselines", "terms")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a setting; the key is empty where it is no single one."""

    key: str
    message: str
    expected: str = ""


class SettingsRefused(Refused):
    """Nothing was changed; every fault is told at once."""

    status = 422

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(f"{fault.key}: {fault.message}" for fault in faults))

    def answer(self) -> dict[str, object]:
        faults = [asdict(fault) for fault in self.faults]
        return {"detail": "The settings are refused; nothing has changed.", "faults": faults}


def change_settings(*, season: Season, values: Mapping[str, Any], by: User | None) -> Loaded:
    """Give settings their values, by keys such as `tasks.1a.phases.final.closes`; None takes one back to its
    default. Of a task or phase that is not there yet a new one is made. Raises SettingsRefused.
    """
    with transaction.atomic():
        held = Season.objects.select_for_update().get(pk=season.pk)
        rows_of(held)
        said = structure_of(held)
        unknown = [key for key, value in values.items() if not _set(said, key, value)]
        if unknown:
            raise SettingsRefused([Fault(key, _("there is no such setting")) for key in unknown])
        return _loaded(said, by, held.slug)


def make_season(*, values: dict[str, Any], by: User | None) -> Season:
    """A new season of these settings, in the form of a season file. Raises SettingsRefused."""
    return _loaded(values, by, "").season


def _loaded(said: dict[str, Any], by: User | None, slug: str) -> Loaded:
    try:
        return load_values(said, by=by, slug=slug)
    except InputRefused as refused:
        lines = KeyLines(document(said))
        raise SettingsRefused([_fault(problem, lines, said) for problem in refused.problems]) from refused


def _fault(problem: Problem, lines: KeyLines, said: Mapping[str, Any]) -> Fault:
    path = lines.path_at(problem.line) if problem.line else ()
    return Fault(_dotted(path, said), problem.message, problem.expected)


def _dotted(path: KeyPath, said: Mapping[str, Any]) -> str:
    """As differences call it: tasks and phases by their names instead of their numbers."""
    parts, below = [], said
    for part in path:
        below = below[part]  # type: ignore[index]
        parts.append(str(below["slug"]) if isinstance(part, int) else str(part))
    return ".".join(parts)


def _set(said: dict[str, Any], key: str, value: Any) -> bool:
    """False where there is no such key."""
    found = _KEY.fullmatch(key)
    if found is None or found["name"] in _NO_SETTINGS:
        return False
    table = said["season"]
    if found["task"]:
        table = _named(said.setdefault("tasks", []), found["task"])
    if found["phase"]:
        table = _named(table.setdefault("phases", []), found["phase"])
    if value is None:
        table.pop(found["name"], None)
    else:
        table[found["name"]] = value
    return True


def _named(tables: list[dict[str, Any]], slug: str) -> dict[str, Any]:
    for table in tables:
        if table["slug"] == slug:
            return table
    tables.append({"slug": slug})
    return tables[-1]
