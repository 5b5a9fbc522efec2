"""Save and change tasks that organisers declare on the site, with their gold. If a
change affects scores, the runs of the task are scored again.
"""

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core import audit, confinement, storage
from citeboard.core.instants import ENDLESS_PHASE_END
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.metrics.base import Floats
from scoring.metrics.official import ProgramCall
from scoring.metrics.own import MeasureCall
from scoring.offline.official_run import SAMPLE_RUN_KEY
from scoring.offline.proposing import RUNS_MEASURES_ARGUMENT, SANDBOXED_FUNCTION
from scoring.results.board.comparisons import UnreadableStatistics
from scoring.worker import baseline_runs
from scoring.worker.confined import compute_measure_in_pool
from scoring.worker.local_copies import temporary_local_copy
from scoring.worker.rescoring import (
    parse_and_store_gold_of_splits,
    publish_stored_gold,
    rescore_on_new_gold,
)
from tasks.gold.early import refuse_early_disclosure
from tasks.gold.gold_files import StoredGold
from tasks.models import Gold, Phase, Season, Submission, Task
from tasks.models.declarations import can_run_measures, store_declaration
from tasks.models.seasons import increment_board_versions
from tasks.seasons.file.export import build_season_file_structure
from tasks.seasons.file.load import change_settings
from tasks.seasons.file.plan import RUN_STATUSES_FIXING_TASK_TYPE
from tasks.seasons.own_measures import (
    MeasuresRefused,
    store_uploaded_measures,
    store_uploaded_program,
)
from tasks.seasons.presets import remove_uninherited_settings
from tasks.types import InputRefused, Problem, TaskType, task_types
from tasks.types.declared.folder import SAMPLE_FOLDER_NAME, TASK_CARD_FILE_NAME, TOML
from tasks.types.declared.official_program import PROGRAM_FILE_NAME as PROGRAM_FILE
from tasks.types.declared.own_measures import (
    MEASURES_FILE_NAME,
    MeasureFailed,
    make_measure_failure,
)
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tasks.types.guarded.toml_reader import read_toml

DEFAULT_SPLIT_NAME, DEFAULT_PHASE_SLUG = "test", "open"
#: The name under which the history records a change of a declaration.
DECLARATION_CHANGED_KEY = "declared-anew"
ANSWER_FORM_LABELS = {
    "labels": gettext_lazy("Labels: one or several for each instance"),
    "ranking": gettext_lazy("Ranking: candidates in order, the best first"),
    "text": gettext_lazy("Text: compared with references"),
    "spans": gettext_lazy("Spans: places in a text"),
    "tags": gettext_lazy("Tags: entities in sentences (BIO lines or lists)"),
    "evidence": gettext_lazy("Evidence: documents and sentences for a claim"),
    "numbers": gettext_lazy("Numbers: how similar, how good"),
}


class TaskDeclarationRefused(ActionRefused):
    status = 422


class DeclaredMeasureNotComputed(UnreadableStatistics, InputRefused):
    """A measure of the task currently fails, so its runs have incomplete scores."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        InputRefused.__init__(self, problems)
        self.evaluation = 0


def compute_approved_measure(call: MeasureCall | ProgramCall) -> Floats:
    """Compute a measure that the organisers of a task wrote, in a sandboxed process.
    Raises DeclaredMeasureNotComputed.

    Official programs run only when a run is scored, and never for a page, so a call of
    a program fails.
    """
    try:
        if isinstance(call, ProgramCall):
            raise make_measure_failure("the official program runs when a run is scored")
        if not can_run_measures(call.text):
            raise make_measure_failure("it is not approved by those who run the site")
        return compute_measure_in_pool(
            confinement.get_sandbox_pool(), confinement.build_run_reading_limits(), call
        )
    except MeasureFailed as reason:
        raise DeclaredMeasureNotComputed(reason.problems) from reason


def make_unused_task_slug(season: Season, title: str) -> str:
    """Return a slug for a new task with the given title. Raises TaskDeclarationRefused."""
    if not (slug := slugify(title)[:60].strip("-")):
        raise TaskDeclarationRefused(
            _("the title has no letter that an address could have")
        )
    if slug in task_types() or Task.objects.filter(season=season, slug=slug).exists():
        raise TaskDeclarationRefused(
            _("there is a task “%(name)s” already; give another title") % {"name": slug}
        )
    return slug


def build_phase_tables_for_new_task(season: Season) -> list[dict[str, Any]]:
    """Return tables of a season file that define the phases of a new task.

    The tables are copied from the first task of the season that has phases, or
    otherwise from the phases planned for the season. In a public season, finished
    phases are left out, and phases release inputs only after they open.
    """
    now, tasks = timezone.now(), build_season_file_structure(season)["tasks"]
    tables = next((task["phases"] for task in tasks if task["phases"]), None)
    tables = tables or [dict(table) for table in season.planned_phases]
    for table in tables:
        remove_uninherited_settings(Phase, table)
    if not season.is_public:
        return tables
    for table in tables:
        if "inputs_from" in table and _parse_table_date(table, "inputs_from") <= now:
            del table["inputs_from"]
    return [table for table in tables if _parse_table_date(table, "closes") > now]


def list_phases_open_at_creation(
    season: Season, tables: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return the slugs of the phases that open as soon as the task is created. If the
    season is not public, no phase opens when the task is created.
    """
    now = timezone.now()
    if not season.is_public:
        return []
    return [
        table["slug"] for table in tables if _parse_table_date(table, "opens") <= now
    ]


def list_splits_of_phase_tables(tables: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the splits that the phases use. The first split in the result
    is the default split for uploaded gold.
    """
    splits = list(
        dict.fromkeys(table.get("split", DEFAULT_SPLIT_NAME) for table in tables)
    )
    return sorted(
        splits or [DEFAULT_SPLIT_NAME], key=lambda split: split != DEFAULT_SPLIT_NAME
    )


def _parse_table_date(table: Mapping[str, Any], key: str) -> dt.datetime:
    value = table.get(key) or ENDLESS_PHASE_END
    return value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)


def _build_phase_tables_for_gold(
    season: Season, split: str, opens: dt.datetime | None, closes: dt.datetime | None
) -> list[dict[str, Any]]:
    tables = build_phase_tables_for_new_task(season)
    if not tables:
        if opens is None or closes is None:
            raise TaskDeclarationRefused(
                _("the season has no phases; say when the task opens")
            )
        facts = {
            "slug": DEFAULT_PHASE_SLUG,
            "title": "Open",
            "opens": opens,
            "closes": closes,
        }
        tables = [{**facts, "split": split}]
    elif split not in list_splits_of_phase_tables(tables):
        words = _("the phases of the season have the splits %(splits)s")
        raise TaskDeclarationRefused(
            words % {"splits": ", ".join(list_splits_of_phase_tables(tables))}
        )
    else:
        late = list_phases_open_at_creation(season, tables)
        if late and opens is None:
            raise TaskDeclarationRefused(
                _("say when the task opens; the season is public")
            )
        for table in tables:
            if table["slug"] in late:
                table["opens"] = opens
    if list_phases_open_at_creation(season, tables):
        raise TaskDeclarationRefused(
            _("the season is public: its new task stays closed; give a later time")
        )
    return tables


def create_declared_task(
    *,
    season: Season,
    task_type: TaskType,
    packed: StoredGold,
    split: str = "",
    opens: dt.datetime | None = None,
    closes: dt.datetime | None = None,
    by: User,
) -> Task:
    """Create a declared task with its gold and phases, and queue the baselines of the
    task.
    """
    assert task_type.declared is not None
    slug = task_type.declared.name
    split = (
        split or list_splits_of_phase_tables(build_phase_tables_for_new_task(season))[0]
    )
    prefix = f"tasks.{slug}"
    values: dict[str, Any] = {
        f"{prefix}.title": task_type.title,
        f"{prefix}.type": task_type.slug,
    }
    for table in _build_phase_tables_for_gold(season, split, opens, closes):
        values |= {
            f"{prefix}.phases.{table['slug']}.{key}": value
            for key, value in table.items()
            if key != "slug"
        }
    with transaction.atomic(), refuse_early_disclosure(season, by=by):
        change_settings(season=season, values=values, by=by)
        task = Task.objects.select_related("season").get(season=season, slug=slug)
        task.declaration = store_declaration(task_type)
        Task.objects.filter(pk=task.pk).update(declaration=task.declaration)
        made = publish_stored_gold(
            splits=[(task, split)], packed=[packed], reason=_("First release."), by=by
        )
    rescore_on_new_gold(made, by=by)
    if task_type.declared.baselines:
        phases = Phase.objects.filter(task=task, split=split)
        for phase in phases.select_related("task__season"):
            baseline_runs.request_baselines(phase=phase, by=by)
    return task


def parse_first_gold_of_new_task(
    season: Season,
    task_type: TaskType,
    stored: str,
    filename: str,
    by: User,
    *,
    encoding: str = "",
) -> StoredGold:
    """Parse a file in the storage of gold as the gold of a task that is not saved yet."""
    assert task_type.declared is not None
    task = Task(season=season, slug=task_type.declared.name)
    return _parse_draft_gold(task, task_type, stored, filename, by, encoding=encoding)


def parse_latest_gold_again(
    task: Task, task_type: TaskType, by: User, *, keeps_reading: bool = False
) -> dict[str, StoredGold]:
    """Parse the newest gold of each split again, because the task type has changed.

    If the task has runs and ``keeps_reading`` is False, the newest version of the
    parsing rules is used, and otherwise the version of each split's newest gold.
    """
    latest = {
        gold.split: gold for gold in Gold.objects.filter(task=task).order_by("number")
    }
    keeps_reading = keeps_reading or not _has_binding_runs(task)
    return {
        split: _parse_draft_gold(
            task,
            task_type,
            gold.file,
            "gold.zip",
            by,
            reading=gold.reading_version
            if keeps_reading
            else CURRENT_PARSING_RULES_VERSION,
        )
        for split, gold in latest.items()
    }


def _has_binding_runs(task: Task) -> bool:
    return Submission.objects.filter(
        phase__task=task, status__in=RUN_STATUSES_FIXING_TASK_TYPE
    ).exists()


def change_declared_task(
    *,
    task: Task,
    task_type: TaskType,
    packed: Mapping[str, StoredGold],
    reason: str,
    by: User,
) -> bool:
    """Save the changed declaration. Return True if the runs of the task are queued to
    be scored again.

    If the change affects scores, each split gets a new version of its gold.
    """
    # Read the task again, because the trial before was rolled back.
    task = Task.objects.select_related("season", "declaration").get(pk=task.pk)
    season, is_other = task.season, task_type.slug != task.type
    has_runs = _has_binding_runs(task)
    if is_other and has_runs and not reason:
        raise TaskDeclarationRefused(
            _("say why numbers change; teams read it beside the change of their scores")
        )
    with transaction.atomic(), refuse_early_disclosure(season, by=by):
        declaration, rules = (
            store_declaration(task_type),
            [name for name in task.rules if name in task_type.rules],
        )
        if declaration == task.declaration:
            return False
        before = {
            name: getattr(task, name) for name in ("declaration_id", "type", "rules")
        }
        facts = {"type": task_type.slug, "rules": rules or [task_type.default_rule_set]}
        Task.objects.filter(pk=task.pk).update(declaration=declaration, **facts)
        task.refresh_from_db()
        splits = [(task, split) for split in packed]
        why, content = (
            reason or _("The declaration has changed."),
            list(packed.values()),
        )
        made = publish_stored_gold(
            splits=splits, packed=content, reason=why, by=by, anew=has_runs
        )
        golds = " ".join(str(new.gold.pk) for new in made if new.is_new)
        named = {"task": task, "declaration": task_type.slug, "golds": golds}
        named |= {"before": json.dumps(before), "after": declaration.digest}
        changes = (
            [audit.SettingChange(f"tasks.{task.slug}.type", before["type"], task.type)]
            if is_other
            else []
        )
        audit.record_action(
            DECLARATION_CHANGED_KEY,
            actor=by,
            subject=task,
            place=season,
            facts=named,
            changes=changes,
        )
        increment_board_versions(season)
    rescore_on_new_gold(made, by=by)
    return is_other and has_runs


def restore_declaration(task: Task, before: Mapping[str, Any], by: User) -> None:
    """Restore the earlier declaration of a task and parse the gold of the task again,
    in the caller's transaction.
    """
    is_other = before["type"] != task.type
    Task.objects.filter(pk=task.pk).update(**before)
    task.refresh_from_db()
    if is_other:
        packed = parse_latest_gold_again(task, task.task_type, by, keeps_reading=True)
        publish_stored_gold(
            splits=[(task, split) for split in packed],
            packed=[*packed.values()],
            reason="",
            by=by,
        )
    increment_board_versions(task.season)


def build_draft_of_task(task: Task) -> dict[str, Any]:
    declared = task.task_type.declared
    gold = Gold.objects.filter(task=task).order_by("-number").first()
    if declared is None:
        raise Http404(_("The task is a built-in type."))
    if gold is None:
        raise TaskDeclarationRefused(
            _("the task has no gold that its declaration could be tried on")
        )
    files = {
        name: text
        for name, text in declared.files.items()
        if name not in (TOML, TASK_CARD_FILE_NAME)
    }
    return {
        "season": task.season_id,
        "edits": task.pk,
        "stored": gold.file,
        "filename": "gold.zip",
        "form": declared.form,
        "slug": declared.name,
        "title": task.title,
        "files": files,
        "card": declared.files[TASK_CARD_FILE_NAME],
        "task": read_toml(declared.files[TOML])["task"],
    }


def validate_task_draft(draft: Mapping[str, Any], by: User) -> dict[str, Any]:
    given = {
        name: draft[name] for name in ("filename", "form", "slug", "title", "task")
    }
    given |= {name: draft.get(name, "") for name in ("encoding", "delimiter")}
    files = remove_sample_files(draft["files"])
    given["files"] = {
        **files,
        **({TASK_CARD_FILE_NAME: draft["card"]} if draft["card"] else {}),
    }
    if MEASURES_FILE_NAME in files:
        try:
            store_uploaded_measures(
                files[MEASURES_FILE_NAME],
                by=by,
                season=Season.objects.get(pk=draft["season"]),
            )
        except MeasuresRefused as refused:
            return {
                "problems": [
                    Problem(file=MEASURES_FILE_NAME, message=str(refused)).as_dict()
                ]
            }
        given[RUNS_MEASURES_ARGUMENT] = True
    if PROGRAM_FILE in files:
        season = Season.objects.get(pk=draft["season"])
        store_uploaded_program(files[PROGRAM_FILE], by=by, season=season)
    limits = confinement.build_organiser_upload_limits()
    with ExitStack() as fetching:
        path = fetching.enter_context(
            temporary_local_copy(storage.gold_file_storage, draft["stored"])
        )
        besides = {}
        if sample_run := draft.get(SAMPLE_RUN_KEY):
            given[SAMPLE_RUN_KEY] = sample_run["filename"]
            besides[SAMPLE_RUN_KEY] = fetching.enter_context(
                temporary_local_copy(storage.gold_file_storage, sample_run["stored"])
            )
        try:
            with confinement.read_upload(
                SANDBOXED_FUNCTION, path, given, owner=by, limits=limits, files=besides
            ) as done:
                return dict(done.result)
        except confinement.UploadUnreadable as unreadable:
            return {
                "problems": [
                    Problem(file=draft["filename"], message=str(unreadable)).as_dict()
                ]
            }


def remove_sample_files(files: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in files.items()
        if not name.startswith(f"{SAMPLE_FOLDER_NAME}/")
    }


def _parse_draft_gold(
    task: Task,
    task_type: TaskType,
    stored: str,
    filename: str,
    by: User,
    *,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    encoding: str = "",
) -> StoredGold:
    draft = Task(
        season=task.season,
        slug=task.slug,
        declaration=store_declaration(task_type),
        options=task.options,
    )
    with temporary_local_copy(storage.gold_file_storage, stored) as path:
        return parse_and_store_gold_of_splits(
            [(draft, DEFAULT_SPLIT_NAME)],
            [path],
            filename,
            by,
            reading=reading,
            encoding=encoding,
        )[0]
