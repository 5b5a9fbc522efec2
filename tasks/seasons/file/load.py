"""Load a season from a season file, or change settings of a season on the site. Loading
the same season file again changes nothing.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from citeboard.core import audit, instants, refusals
from citeboard.teams.models import User
from tasks.delivery.notifications.events import (
    PhaseDeadlineAndLimits,
    notify_phase_changed,
)
from tasks.gold import publishing
from tasks.gold.early import find_embargo_clashes, refuse_early_disclosure
from tasks.gold.gold_files import (
    StoredGold,
    read_kit_checksums_of_gold,
    record_gold_version,
    record_kit_change,
    store_prepared_gold,
)
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import (
    Gold,
    Organiser,
    Phase,
    Season,
    SeasonFile,
    Submission,
    Task,
    declarations,
    seasons,
)
from tasks.registration.entries import get_newest_terms, publish_terms
from tasks.seasons.file import entries, export, plan as plans
from tasks.seasons.file.tables import format_season_file
from tasks.seasons.organisers import add_organiser, remove_organiser
from tasks.seasons.own_measures import list_missing_carrier_warnings
from tasks.submissions.run_acts import withdraw_replaced_run as give_way
from tasks.submissions.submit import submit_baseline
from tasks.submissions.uploads import UploadedRunFile, compute_sha256_of_file
from tasks.types import InputRefused, TaskType
from tasks.types.toml_lines import TomlKeyLines

StoredGoldByTaskAndSplit = dict[tuple[str, str], StoredGold]
RERANKING_FUNCTION = "scoring.worker.rescoring.rank_again"


@dataclass(frozen=True, kw_only=True)
class SeasonLoadResult:
    """The result of loading a season, with a list of the changes that were made. If the
    list of changes is empty, the site already had the state of the season file.
    """

    season: Season
    changes: list[str]
    differences: list[plans.SettingDifference]
    notices: list[str] = field(default_factory=list)
    conflicts: list[plans.SettingDifference] = field(default_factory=list)


def load_season(
    folder: Path,
    *,
    data: Path | None = None,
    reason: str = "",
    decisions: plans.ConflictDecisions = plans.NO_DECISIONS,
    dry_run: bool = False,
) -> SeasonLoadResult:
    """Update the site from the season file in ``folder``. Other files that the season
    file names are in ``folder`` or in ``data``.
    """
    entry = entries.read_season_file(entries.SeasonFileFolders(folder, data))
    return apply_parsed_season_file(
        entry, reason=reason, decisions=decisions, dry_run=dry_run, by=None
    )


def load_season_from_text(
    text: bytes,
    *,
    by: User,
    slug: str = "",
    decisions: plans.ConflictDecisions = plans.NO_DECISIONS,
    dry_run: bool = False,
) -> SeasonLoadResult:
    """Load the text of a season file, without other files that the season file names.
    Gold and baselines on the site do not change.
    """
    return apply_parsed_season_file(
        parse_season_file_with_slug(
            text, slug, entries.UploadedSeasonFile(load_declared_types_of_season(slug))
        ),
        reason="",
        decisions=decisions,
        dry_run=dry_run,
        by=by,
    )


def load_season_from_values(
    values: dict[str, Any], *, by: User | None, slug: str = ""
) -> SeasonLoadResult:
    roots = entries.UploadedSeasonFile()
    entry = replace(
        parse_season_file_with_slug(format_season_file(values).encode(), slug, roots),
        is_from_file=False,
    )
    return apply_parsed_season_file(
        entry,
        reason="",
        decisions=plans.ConflictDecisions(frozenset({plans.ALL_KEYS_WORD})),
        dry_run=False,
        by=by,
    )


def load_declared_types_of_season(slug: str) -> dict[str, TaskType]:
    tasks = Task.objects.filter(season__slug=slug).exclude(declaration=None)
    return {task.slug: task.task_type for task in tasks.select_related("declaration")}


def parse_season_file_with_slug(
    text: bytes, slug: str, roots: entries.UploadedSeasonFile
) -> entries.ParsedSeasonFile:
    """Parse the text of a season file, which must have the slug ``slug``. An empty
    ``slug`` means that the file must describe a new season. Raises InputRefused.
    """
    entry = entries.parse_season_file(text, roots)
    if slug and entry.slug and entry.slug != slug:
        message = _("the file is of season “%(season)s”") % {"season": entry.slug}
        entry.table.add_problem_at_key("slug", message, f"“{slug}”")
    if not slug and Season.objects.filter(slug=entry.slug).exists():
        message = _("there is a season “%(season)s” already") % {"season": entry.slug}
        entry.table.add_problem_at_key("slug", message, _("another name"))
    return entry


def apply_parsed_season_file(
    entry: entries.ParsedSeasonFile,
    *,
    reason: str,
    decisions: plans.ConflictDecisions,
    dry_run: bool,
    by: User | None,
) -> SeasonLoadResult:
    with tempfile.TemporaryDirectory(prefix="citeboard-season-") as scratch:
        plan = plans.build_load_plan(
            entry, reason=reason, scratch=Path(scratch), decisions=decisions
        )
        if dry_run:
            with transaction.atomic():
                slug = plan.entry.slug
                is_public = bool(plan.facts[entries.SEASON_KEY_PREFIX].get("is_public"))
                season = Season.objects.filter(slug=slug).first() or Season(
                    slug=slug, is_public=is_public
                )
                differences = plan.differences(season)
                rows = entries.load_rows_by_key_prefix(season) if season.pk else {}
                changes = [
                    f"{prefix}: new" for prefix in plan.facts if prefix not in rows
                ]
                changes += plan.iterate_new_file_descriptions()
                transaction.set_rollback(True)
            return SeasonLoadResult(
                season=season,
                changes=changes,
                differences=[row for row in differences if not row.is_conflict],
                conflicts=[row for row in differences if row.is_conflict],
            )
        kept = {
            key: store_prepared_gold(prepared) for key, prepared in plan.gold.items()
        }
    with transaction.atomic():
        season = Season.objects.select_for_update().filter(
            slug=entry.slug
        ).first() or Season(slug=entry.slug)
        is_new = season._state.adding  # noqa: SLF001  (documented)
        differences = plan.differences(season)
        if unknown := sorted(
            (decisions.apply | decisions.keep) - {plans.ALL_KEYS_WORD, *plan.said()}
        ):
            raise plans.UnknownDecisionKey(unknown)
        conflicts = [row for row in differences if row.is_conflict]
        if pending := [row for row in conflicts if not decisions.decides(row.key)]:
            raise plans.UndecidedLoadConflicts(pending)
        plan = replace(
            plan,
            stays=frozenset(
                row.key for row in conflicts if decisions.is_site_value_kept(row.key)
            ),
        )
        with refuse_early_disclosure(season, by=by):
            changes = _write_season(season, plan, kept, reason, by)
            if is_new and by is not None and entry.roots.is_sent:
                add_organiser(season=season, user=by, by=by)
        applied = [row for row in differences if row.key not in plan.stays]
        if changes:
            action = "season-loaded"
            if not entry.is_from_file:
                is_of_phases = bool(applied) and all(
                    ".phases." in row.key for row in applied
                )
                action = "phase-changed" if is_of_phases else "settings-changed"
            facts = {"changes": "; ".join(changes)}
            noted = [
                audit.SettingChange(row.key, row.site, row.file) for row in applied
            ]
            audit.record_action(
                action,
                actor=by,
                subject=season,
                place=season,
                facts=facts,
                changes=noted,
            )
    for task in entry.tasks:
        for baseline in task.baselines:
            changes += _write_baseline(season, task, baseline, plan)
    notices = list(_iterate_load_notices(season, entry, plan, is_new=is_new))
    return SeasonLoadResult(
        season=season, changes=changes, notices=notices, differences=applied
    )


def _write_season(
    season: Season,
    plan: plans.SeasonLoadPlan,
    kept: StoredGoldByTaskAndSplit,
    reason: str,
    by: User | None,
) -> list[str]:
    entry = plan.entry
    was_public = Season.objects.filter(slug=season.slug, is_public=True).exists()
    changes: list[str] = []
    _write_row(
        season,
        plan.select_values_to_write(entries.SEASON_KEY_PREFIX),
        f"season {season.slug}",
        changes,
    )
    if was_public or season.is_public:
        Season.objects.filter(pk=season.pk).update(was_public=True)
        publishing.compare_publications_on_commit()
    remembered = plans.get_last_loaded_values(season)
    _update_roles(season, plan, remembered, by, changes)
    if entry.terms and entries.SEASON_TERMS_KEY not in plan.stays:
        before, published = (
            get_newest_terms(season),
            publish_terms(season=season, text=entry.terms, by=by),
        )
        if published != before:
            changes.append(f"terms: version {published.number}")
    for task in entry.tasks:
        _write_task(season, task, kept, plan, reason, by, changes)
    changes += plan.results.store_publications()
    if changes:
        seasons.increment_board_versions(season)
    if entry.is_from_file:
        # A season file without other files keeps the remembered digests of gold.
        alone = remembered if entry.is_alone else {}
        alone = {
            key: value
            for key, value in alone.items()
            if key not in plan.find_removed_role_keys(remembered)
        }
        values = {**alone, **plan.said()}
        SeasonFile.objects.update_or_create(
            season=season,
            defaults={"values": values, "loaded_at": timezone.now(), "loaded_by": by},
        )
    return changes


def _update_roles(
    season: Season,
    plan: plans.SeasonLoadPlan,
    remembered: Mapping[str, Any],
    by: User | None,
    changes: list[str],
) -> None:
    for address, role in plan.entry.roles.items():
        user = User.objects.filter(email__iexact=address).first()
        if user is None or entries.make_organiser_key(address) in plan.stays:
            continue
        if add_organiser(season=season, user=user, by=by, role=role):
            changes.append(f"{role} {address}: added")
    removed = {
        key for key in plan.find_removed_role_keys(remembered) if key not in plan.stays
    }
    for organiser in season.organisers.select_related("user", "season"):
        if entries.make_organiser_key(organiser.user.email) in removed:
            remove_organiser(organiser=organiser, by=by)
            changes.append(f"{organiser.role} {organiser.user.email}: removed")


def _write_task(
    season: Season,
    entry: entries.TaskInSeasonFile,
    kept: StoredGoldByTaskAndSplit,
    plan: plans.SeasonLoadPlan,
    reason: str,
    by: User | None,
    changes: list[str],
) -> None:
    task = Task.objects.filter(season=season, slug=entry.slug).first() or Task(
        season=season, slug=entry.slug
    )
    facts = plan.select_values_to_write(entries.make_task_key_prefix(entry.slug))
    if (
        entry.task_type
        and facts["type"] == entry.type
        and (entry.has_task_folder or task.type != entry.type)
    ):
        declaration = (
            declarations.store_declaration(entry.task_type)
            if entry.task_type.declared
            else None
        )
        if task.pk and task.type == entry.type and task.declaration != declaration:
            # The type is the same, so only texts without effect on scores changed.
            changes.append(f"task {task.slug}: declaration")
            Task.objects.filter(pk=task.pk).update(declaration=declaration)
        task.declaration = declaration
    changed = _write_row(task, facts, f"task {task.slug}", changes)
    if "type" in changed:
        task.save(update_fields=["declaration"])
    if "rank_by" in changed:
        import_string(RERANKING_FUNCTION)(task)
    is_scored_again = any(
        Task.SETTINGS[name].changes_numbers for name in changed if name in Task.SETTINGS
    )
    for part in entry.phases:
        _write_phase(task, part.slug, plan, by, changes)
    for gold in entry.gold:
        own = kept.get((entry.slug, gold.split))
        if own is None or entries.make_gold_key(entry.slug, gold.split) in plan.stays:
            continue
        why = reason or gold.reason or "First release."
        version, is_new = _record_gold(task, gold.split, own, why, by)
        if is_new:
            is_scored_again = True
            name = f"gold {task.slug}/{gold.split}"
            changes.append(
                f"{name}: version {version.number}, {version.instances} instances"
            )
    if is_scored_again and (
        jobs := [
            job for phase in task.phases.all() for job in queue_missing_scorings(phase)
        ]
    ):
        changes.append(
            f"task {task.slug}: {len(jobs)} scorings queued for the runs it has"
        )


def _record_gold(
    task: Task, split: str, kept: StoredGold, reason: str, by: User | None
) -> tuple[Gold, bool]:
    of_split = Gold.objects.filter(task=task, split=split)
    before = of_split.order_by("-number").first()
    kit = read_kit_checksums_of_gold(before) if before is not None else {}
    version, is_new = record_gold_version(
        task=task, split=split, kept=kept, reason=reason
    )
    if before is not None:
        record_kit_change(version, kit, by)
    return version, is_new


def _write_phase(
    task: Task,
    slug: str,
    plan: plans.SeasonLoadPlan,
    by: User | None,
    changes: list[str],
) -> None:
    present = Phase.objects.filter(task=task, slug=slug).first()
    before = PhaseDeadlineAndLimits.of(present) if present else None
    phase = present or Phase(task=task, slug=slug)
    facts = plan.select_values_to_write(entries.make_phase_key_prefix(task.slug, slug))
    _write_row(phase, facts, f"phase {task.slug}/{slug}", changes)
    if before is not None:
        notify_phase_changed(phase, before, at=timezone.now(), by=by)


def _write_baseline(
    season: Season,
    task: entries.TaskInSeasonFile,
    entry: entries.BaselineInSeasonFile,
    plan: plans.SeasonLoadPlan,
) -> Iterator[str]:
    sha256 = compute_sha256_of_file(entry.run)
    for slug in plan.list_phases_of_baseline(task, entry):
        phases = Phase.objects.select_related("task__season").filter(
            task__season=season
        )
        phase = phases.get(task__slug=task.slug, slug=slug)
        baseline = f"baseline {task.slug}/{slug} “{entry.system}”"
        named = Submission.objects.filter(
            phase=phase, kind=Submission.Kind.BASELINE, built_in="", system=entry.system
        ).order_by("-number")
        before = named.first()
        if before and before.sha256 == sha256:
            if before.description != entry.description:
                Submission.objects.filter(pk=before.pk).update(
                    description=entry.description
                )
                seasons.increment_board_version(before.phase_id)
                yield f"{baseline}: description changed"
            continue
        upload = UploadedRunFile(entry.run, entry.run.name)
        new = submit_baseline(
            phase=phase,
            upload=upload,
            system=entry.system,
            description=entry.description,
        )
        if before:
            give_way(before, new)
        yield f"{baseline}: queued as run {new.number}"


def _write_row(
    row: seasons.ModelWithSettings,
    facts: entries.SettingValues,
    name: str,
    changes: list[str],
) -> list[str]:
    is_new = row.pk is None
    changed = [
        key for key, value in facts.items() if is_new or getattr(row, key) != value
    ]
    for key in changed:
        setattr(row, key, facts[key])
    if is_new:
        row.save()
        changes.append(f"{name}: created")
        return []
    if changed:
        row.save(update_fields=changed)
        changes.append(
            f"{name}: {', '.join(key.removeprefix('is_') for key in changed)} changed"
        )
    return changed


def _iterate_load_notices(
    season: Season,
    entry: entries.ParsedSeasonFile,
    plan: plans.SeasonLoadPlan,
    *,
    is_new: bool,
) -> Iterator[str]:
    if is_new and not season.is_public:
        yield _(
            "the season is a draft, which its organisers and staff alone see; “public = true” shows it"
        )
    yield from map(str, plan.results.oddities)
    accounts = plans.select_addresses_with_account(entry.roles)
    for address, role in entry.roles.items():
        if address not in accounts:
            message = _(
                "%(role)s %(address)s has no account yet; load the season again when there is one"
            )
            yield message % {"role": Organiser.Role(role).label, "address": address}
    yield from _iterate_missing_carrier_notices(season)
    scored = Phase.objects.filter(task__season=season, task__is_reported_only=False)
    for phase in scored.select_related("task"):
        name = f"{phase.task.slug}/{phase.slug}"
        if Gold.objects.current(phase) is None:
            message = _(
                "phase %(phase)s: split %(split)s has no gold yet, so that no run is accepted"
            )
            yield message % {"phase": name, "split": phase.split}
        if phase.closes <= timezone.now():
            message = _("phase %(phase)s is over: it closed %(instant)s")
            yield message % {
                "phase": name,
                "instant": instants.format_utc_minute(phase.closes),
            }
    yield from (
        _("not shown yet: %(what)s") % {"what": early.words}
        for early in find_embargo_clashes(scored)
    )
    for gold in Gold.objects.filter(task__season=season).select_related("task"):
        if not Phase.objects.filter(task=gold.task, split=gold.split).exists():
            yield _("gold %(gold)s: no phase is scored on it") % {
                "gold": f"{gold.task.slug}/{gold.split}"
            }


def _iterate_missing_carrier_notices(season: Season) -> Iterator[str]:
    for slug, task_type in load_declared_types_of_season(season.slug).items():
        for warning in list_missing_carrier_warnings(task_type.own_measures_source):
            yield _("task %(task)s: %(warning)s") % {"task": slug, "warning": warning}


_SETTING_KEY_PATTERN = re.compile(
    r"(?:season|tasks\.(?P<task>[^.]+)(?:\.phases\.(?P<phase>[^.]+))?)\.(?P<name>[^.]+)",
    re.DOTALL,
)
#: The keys in `_NON_SETTING_KEYS` are people, files and URLs, not settings.
_NON_SETTING_KEYS = (
    "slug",
    *entries.ROLES_BY_KEY,
    "published",
    "card",
    "cutoffs",
    "accept",
    "phases",
    "gold",
    "baselines",
    "terms",
)


@dataclass(frozen=True)
class Fault:
    key: str
    message: str
    expected: str = ""


class InvalidSettings(refusals.ActionRefused):
    status = 422

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(f"{fault.key}: {fault.message}" for fault in faults))

    def answer(self) -> dict[str, object]:
        faults = [asdict(fault) for fault in self.faults]
        return {
            "detail": "The settings are refused; nothing has changed.",
            "faults": faults,
        }


def change_settings(
    *, season: Season, values: Mapping[str, Any], by: User | None
) -> SeasonLoadResult:
    """Change settings of a season. Keys have the form `tasks.1a.phases.final.closes`.
    The value None sets a setting to its default. Raises InvalidSettings.
    """
    with transaction.atomic():
        locked = Season.objects.select_for_update().get(pk=season.pk)
        entries.load_rows_by_key_prefix(locked)
        structure = export.build_season_file_structure(locked)
        if unknown := [
            key
            for key, value in values.items()
            if not _set_value_at_key(structure, key, value)
        ]:
            raise InvalidSettings(
                [Fault(key, _("there is no such setting")) for key in unknown]
            )
        return load_settings_or_list_faults(structure, by=by, slug=locked.slug)


def load_settings_or_list_faults(
    values: dict[str, Any], *, by: User | None, slug: str = ""
) -> SeasonLoadResult:
    try:
        return load_season_from_values(values, by=by, slug=slug)
    except InputRefused as refused:
        lines, faults = TomlKeyLines(format_season_file(values)), []
        for problem in refused.problems:
            names, below = [], values
            for part in lines.get_key_at_line(problem.line) if problem.line else ():
                below = below[part]  # type: ignore[index]
                names.append(str(below["slug"]) if isinstance(part, int) else str(part))
            faults.append(Fault(".".join(names), problem.message, problem.expected))
        raise InvalidSettings(faults) from refused


def _set_value_at_key(structure: dict[str, Any], key: str, value: Any) -> bool:
    parts = _SETTING_KEY_PATTERN.fullmatch(key)
    if parts is None or parts["name"] in _NON_SETTING_KEYS:
        return False
    table = structure["season"]
    if parts["task"]:
        table = _get_or_add_table_with_slug(
            structure.setdefault("tasks", []), parts["task"]
        )
    if parts["phase"]:
        table = _get_or_add_table_with_slug(
            table.setdefault("phases", []), parts["phase"]
        )
    if value is None:
        table.pop(parts["name"], None)
    else:
        table[parts["name"]] = value
    return True


def _get_or_add_table_with_slug(
    tables: list[dict[str, Any]], slug: str
) -> dict[str, Any]:
    for table in tables:
        if table["slug"] == slug:
            return table
    tables.append({"slug": slug})
    return tables[-1]
