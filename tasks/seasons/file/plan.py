"""Compare a season file with the site, and find problems and differences. Nothing is
written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from citeboard.core import audit, refusals
from citeboard.core.instants import convert_setting_for_api
from citeboard.core.words import format_as_sentence
from citeboard.teams.models import User
from tasks.gold import gold_files, packing
from tasks.models import Gold, Organiser, Phase, Season, SeasonFile, Submission, Task
from tasks.registration.entries import get_newest_terms, normalise_terms_text
from tasks.seasons.file import entries
from tasks.seasons.file.tables import CheckedTable
from tasks.submissions.uploads import compute_sha256_of_file
from tasks.types import (
    InputRefused,
    Option,
    OptionRefused,
    Options,
    Problem,
    TaskType,
)
from tasks.types.base import replace_paths_by_file_names
from tasks.types.files import open_input_files
from tasks.types.ledger import LEDGER_JUDGE_PREFIX
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run

#: The class of `scoring` has a dotted name, as `tasks` must not import `scoring`.
PUBLISHED_RESULTS_READER = (
    "scoring.results.publications.season_results.PublicationsOfSeasonFile"
)
EXPECTED_UNLESS_REMOVED = gettext_lazy(
    "the same in the file, or it deleted in the admin by someone who knows what is lost"
)
#: If a task has runs with a status in RUN_STATUSES_FIXING_TASK_TYPE, the task's type cannot change.
RUN_STATUSES_FIXING_TASK_TYPE = (*Submission.COUNTED, Submission.Status.FAILED)
#: The word ALL_KEYS_WORD in the arguments `--apply` and `--keep` means all keys.
ALL_KEYS_WORD = "all"


class _UnknownLastValue:
    def __repr__(self) -> str:
        return _("not known")


UNKNOWN_LAST_VALUE = _UnknownLastValue()


@dataclass(frozen=True, kw_only=True)
class SettingDifference:
    """A key that has different values on the site and in the season file. ``last`` is
    the value of the key in the season file that was loaded last. All values are JSON.
    """

    key: str
    last: Any
    site: Any
    file: Any

    @property
    def is_conflict(self) -> bool:
        """Return True if loading the season file would undo a change that was made on
        the site after the last load.
        """
        return bool(self.last is UNKNOWN_LAST_VALUE or self.last != self.site)

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "site": convert_setting_for_api(self.key, self.site),
            "file": convert_setting_for_api(self.key, self.file),
            **(
                {}
                if self.last is UNKNOWN_LAST_VALUE
                else {"last": convert_setting_for_api(self.key, self.last)}
            ),
        }


@dataclass(frozen=True)
class ConflictDecisions:
    """The user's decisions on keys that were changed on the site. ``apply`` lists keys
    that get the value of the season file, and ``keep`` lists keys that keep the value
    of the site.
    """

    apply: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()

    def is_site_value_kept(self, key: str) -> bool:
        return key in self.keep or (
            ALL_KEYS_WORD in self.keep and key not in self.apply
        )

    def decides(self, key: str) -> bool:
        return bool({key, ALL_KEYS_WORD} & (self.apply | self.keep))


NO_DECISIONS = ConflictDecisions()


class UndecidedLoadConflicts(refusals.ActionRefused):
    def __init__(self, conflicts: list[SettingDifference]) -> None:
        self.conflicts = conflicts
        message = ngettext(
            "%(number)s key was changed on the site since the file was last loaded",
            "%(number)s keys were changed on the site since the file was last loaded",
            len(conflicts),
        )
        super().__init__(message % {"number": len(conflicts)})

    def answer(self) -> dict[str, object]:
        return super().answer() | {
            "conflicts": [row.as_json() for row in self.conflicts]
        }


class UnknownDecisionKey(refusals.ActionRefused):
    status = 400

    def __init__(self, keys: list[str]) -> None:
        super().__init__(
            _("the file says nothing of %(keys)s") % {"keys": ", ".join(keys)}
        )

    def answer(self) -> dict[str, object]:
        words = format_as_sentence(self)
        return {"detail": f"apply: {words}", "errors": {"apply": [words]}}


class PublishedResultsReader(Protocol):
    """The published results that a season file lists, with the tasks that show the
    results. Code of `scoring` implements this protocol.
    """

    problems: list[Problem]
    oddities: list[Problem]

    def validate_placements_by_task(
        self,
        tasks: Mapping[str, tuple[Sequence[CheckedTable], Mapping[str, Sequence[str]]]],
    ) -> dict[str, list[dict[str, Any]]]: ...

    def store_publications(self) -> list[str]: ...


def read_published_results(paths: Iterable[Path]) -> PublishedResultsReader:
    return cast(
        "PublishedResultsReader", import_string(PUBLISHED_RESULTS_READER)(paths)
    )


@dataclass(frozen=True, kw_only=True)
class SeasonLoadPlan:
    entry: entries.ParsedSeasonFile
    results: PublishedResultsReader
    gold: dict[tuple[str, str], packing.PreparedGold] = field(default_factory=dict)
    #: ``placements`` maps slugs of tasks to the published results that the task shows.
    placements: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: `stays` lists the keys whose values on the site do not change.
    stays: frozenset[str] = frozenset()

    @property
    def facts(self) -> dict[str, entries.SettingValues]:
        return entries.collect_values_by_key_prefix(self.entry, self.placements)

    @property
    def roles_by_organiser_key(self) -> dict[str, str]:
        addresses = select_addresses_with_account(self.entry.roles)
        return {
            entries.make_organiser_key(address): self.entry.roles[address]
            for address in addresses
        }

    def select_values_to_write(self, prefix: str) -> entries.SettingValues:
        facts = self.facts[prefix]
        return {
            name: value
            for name, value in facts.items()
            if entries.make_setting_key(prefix, name) not in self.stays
        }

    def differences(self, season: Season) -> list[SettingDifference]:
        if season._state.adding:  # noqa: SLF001  (documented)
            return []
        rows, remembered = (
            entries.load_rows_by_key_prefix(season),
            get_last_loaded_values(season),
        )
        compared: list[tuple[str, Any, Any, Any]] = []
        for prefix, facts in self.facts.items():
            for name, value in facts.items() if prefix in rows else ():
                key = entries.make_setting_key(prefix, name)
                last: Any = UNKNOWN_LAST_VALUE
                if key in remembered:
                    last = remembered[key]
                elif entries.make_setting_key(prefix, "title") in remembered:
                    # A setting that the last file lacks is new and had its default.
                    last = audit.convert_to_json_value(
                        entries.get_model_of_key_prefix(prefix)
                        .field(name)
                        .get_default()
                    )
                compared.append(
                    (
                        key,
                        last,
                        audit.convert_to_json_value(getattr(rows[prefix], name)),
                        audit.convert_to_json_value(value),
                    )
                )
        for (task, split), prepared in self.gold.items():
            if present := current_gold(self.entry, task, split):
                key = entries.make_gold_key(task, split)
                last = remembered.get(key, UNKNOWN_LAST_VALUE)
                compared.append(
                    (key, *_compute_comparable_digests(last, present, prepared))
                )
        people = season.organisers.values_list("user__email", "role")
        in_site, in_file = (
            {entries.make_organiser_key(address): role for address, role in people},
            self.roles_by_organiser_key,
        )
        for key in [*in_file, *self.find_removed_role_keys(remembered)]:
            last = remembered.get(key, False)
            # Old releases stored True for an organiser instead of a role.
            last = Organiser.Role.ORGANISER.value if last is True else last
            compared.append(
                (key, last, in_site.get(key, False), in_file.get(key, False))
            )
        # Loading a season file without terms does not change the season's terms.
        if self.entry.terms:
            terms = get_newest_terms(season)
            shown = normalise_terms_text(terms.text) if terms else None
            compared.append(
                (
                    entries.SEASON_TERMS_KEY,
                    remembered.get(entries.SEASON_TERMS_KEY),
                    shown,
                    self.entry.terms,
                )
            )
        return [
            SettingDifference(key=key, last=last, site=site, file=file)
            for key, last, site, file in compared
            if site != file
        ]

    def said(self) -> dict[str, Any]:
        values = {
            entries.make_setting_key(prefix, name): audit.convert_to_json_value(value)
            for prefix, facts in self.facts.items()
            for name, value in facts.items()
        }
        values |= {
            entries.make_gold_key(task, split): _choose_digest_to_remember(
                current_gold(self.entry, task, split), prepared
            )
            for (task, split), prepared in self.gold.items()
        }
        values |= self.roles_by_organiser_key
        return values | (
            {entries.SEASON_TERMS_KEY: self.entry.terms} if self.entry.terms else {}
        )

    def find_removed_role_keys(self, remembered: Mapping[str, Any]) -> list[str]:
        """Return the keys of people who were listed in the last loaded season file and
        are not listed now. If the present season file lists no people, return an empty
        list.
        """
        named = {entries.make_organiser_key(address) for address in self.entry.roles}
        return [
            key
            for key in remembered
            if named
            and key.startswith(entries.make_organiser_key(""))
            and key not in named
        ]

    def iterate_new_file_descriptions(self) -> Iterator[str]:
        for name in self.gold:
            if current_gold(self.entry, *name) is None:
                yield f"{entries.make_gold_key(*name)}: new"
        yield from self.results.store_publications()
        baselines = Submission.objects.filter(
            phase__task__season__slug=self.entry.slug,
            kind=Submission.Kind.BASELINE,
            built_in="",
        ).order_by("-number")
        for task in self.entry.tasks:
            for baseline in task.baselines:
                for phase in self.list_phases_of_baseline(task, baseline):
                    latest = baselines.filter(
                        phase__task__slug=task.slug,
                        phase__slug=phase,
                        system=baseline.system,
                    ).first()
                    if latest is None or latest.sha256 != compute_sha256_of_file(
                        baseline.run
                    ):
                        yield f"baseline {task.slug}/{phase} “{baseline.system}”: a new run"

    def list_phases_of_baseline(
        self, task: entries.TaskInSeasonFile, baseline: entries.BaselineInSeasonFile
    ) -> list[str]:
        return list(baseline.phases) or [
            phase.slug
            for phase in task.phases
            if (task.slug, phase.split) in self.gold
            or current_gold(self.entry, task.slug, phase.split)
        ]


def _compute_comparable_digests(
    last: Any, present: Gold, prepared: packing.PreparedGold
) -> tuple[Any, str, str]:
    """Return the digest of the last loaded gold, of the gold on the site, and of the
    new gold, under the same digest rule.
    """
    site, file = present.plain_digest, prepared.digests[str(present.digest_rule)]
    if last in present.digests.values():
        last = site
    elif last in prepared.digests.values():
        last = file
    return last, site, file


def _choose_digest_to_remember(
    gold: Gold | None, prepared: packing.PreparedGold
) -> str:
    """Return the digest of the new gold under the digest rule of the site's gold if
    both have the same content, otherwise under the current digest rule.
    """
    if gold is not None and gold.holds(prepared.digests):
        return gold.plain_digest
    return prepared.digest


def get_last_loaded_values(season: Season) -> Mapping[str, Any]:
    file = SeasonFile.objects.filter(season=season.pk).first()
    return file.values if file else {}


def select_addresses_with_account(addresses: Iterable[str]) -> list[str]:
    return [
        address
        for address in addresses
        if User.objects.filter(email__iexact=address).exists()
    ]


def collect_current_settings(season: Season) -> dict[str, Any]:
    values = {
        entries.make_setting_key(prefix, name): audit.convert_to_json_value(
            getattr(row, "end" if name == "closes" else name)
        )
        for prefix, row in entries.load_rows_by_key_prefix(season, held=False).items()
        for name in row.SETTINGS
    }
    return {
        key: replace_paths_by_file_names(value) if key.endswith(".options") else value
        for key, value in values.items()
    }


def current_gold(
    season: entries.ParsedSeasonFile, task: str, split: str
) -> Gold | None:
    versions = Gold.objects.filter(
        task__season__slug=season.slug, task__slug=task, split=split
    )
    return versions.order_by("-number").first()


def build_load_plan(
    entry: entries.ParsedSeasonFile,
    *,
    reason: str,
    scratch: Path,
    decisions: ConflictDecisions,
) -> SeasonLoadPlan:
    plan = SeasonLoadPlan(entry=entry, results=read_published_results(entry.published))
    _refuse_removal_of_existing_parts(entry)
    for task in entry.tasks:
        _set_default_options_of_new_task(entry, task)
    if entry.is_alone and (
        entry.is_from_file or Season.objects.filter(slug=entry.slug).exists()
    ):
        for task in entry.tasks:
            _resolve_option_files(entry, task)
    elsewhere = list(plan.results.problems)
    if not entry.is_alone:
        tasks = {
            task.slug: (task.published, _list_metrics_by_rule_set(task))
            for task in entry.tasks
        }
        plan.placements.update(plan.results.validate_placements_by_task(tasks))
    for task in entry.tasks:
        _refuse_task_type_change(entry, task)
        task_type = _get_type_if_options_are_valid(task)
        if task_type is None:
            continue
        for gold in task.gold:
            elsewhere += _find_gold_problems(plan, task, task_type, gold, scratch)
            _refuse_correction_without_reason(plan, task, gold, reason, decisions)
        for baseline in task.baselines:
            elsewhere += _find_baseline_problems(plan, task, task_type, baseline)
    in_file = sorted(entry.findings.problems, key=lambda problem: problem.line or 0)
    if in_file or elsewhere:
        raise InputRefused([*in_file, *elsewhere])
    return plan


class UploadedFilesReader(Protocol):
    def prepare_gold_from_paths(
        self,
        present: Gold | None,
        task_type: TaskType,
        paths: Sequence[Path],
        options: Options,
    ) -> packing.PreparedGold: ...

    def find_run_problems(
        self,
        task_type: TaskType,
        run: Path,
        index: Path,
        options: Options,
        reading: int,
    ) -> Sequence[Problem]: ...


def _get_uploaded_files_reader(
    entry: entries.ParsedSeasonFile,
) -> UploadedFilesReader | None:
    return cast("UploadedFilesReader", entry.roots) if entry.roots.is_sent else None


def _find_gold_problems(
    plan: SeasonLoadPlan,
    task: entries.TaskInSeasonFile,
    task_type: TaskType,
    gold: entries.GoldInSeasonFile,
    scratch: Path,
) -> Sequence[Problem]:
    if not gold.paths or len(gold.paths) != len(gold.table.values["paths"]):
        return []
    folder = scratch / task.slug / gold.split
    folder.mkdir(parents=True, exist_ok=True)
    if sent := _get_uploaded_files_reader(plan.entry):
        try:
            present = current_gold(plan.entry, task.slug, gold.split)
            prepared = sent.prepare_gold_from_paths(
                present, task_type, gold.paths, task.options
            )
        except InputRefused as refused:
            return refused.problems
        plan.gold[task.slug, gold.split] = prepared
        return []
    try:
        present = current_gold(plan.entry, task.slug, gold.split)
        prepared = gold_files.prepare_gold_by_rules_of_version(
            present, task_type, gold.paths, task.options, folder
        )
    except InputRefused as refused:
        return refused.problems
    nonce = packing.find_matching_nonce(gold.paths, prepared.digest)
    plan.gold[task.slug, gold.split] = replace(prepared, nonce=nonce)
    return []


def _list_metrics_by_rule_set(
    task: entries.TaskInSeasonFile,
) -> dict[str, tuple[str, ...]]:
    task_type = _get_type_if_options_are_valid(task)
    if task_type is None:
        return {}
    options = task_type.validate_options(task.options)
    return {
        rules: tuple(
            metric.name for metric in task_type.list_metrics_of_rule_set(rules, options)
        )
        for rules in task.values["rules"]
        if task_type.has_rule_set(rules)
    }


def _get_type_if_options_are_valid(task: entries.TaskInSeasonFile) -> TaskType | None:
    task_type = task.task_type
    try:
        return (
            task_type
            if task_type and task_type.validate_options(task.options) is not None
            else None
        )
    except OptionRefused:
        return None


def _refuse_correction_without_reason(
    plan: SeasonLoadPlan,
    task: entries.TaskInSeasonFile,
    gold: entries.GoldInSeasonFile,
    reason: str,
    decisions: ConflictDecisions,
) -> None:
    present = current_gold(plan.entry, task.slug, gold.split)
    prepared = plan.gold.get((task.slug, gold.split))
    if present is None or prepared is None or present.holds(prepared.digests) or reason:
        return
    key = entries.make_gold_key(task.slug, gold.split)
    last = get_last_loaded_values(present.task.season).get(key)
    is_known = last in (present.plain_digest, *present.digests.values())
    if not is_known and (
        decisions.is_site_value_kept(key) or not decisions.decides(key)
    ):
        # The gold on the site was changed after the season file was loaded last.
        # The user must decide on this conflict before a reason for new gold is needed.
        return
    reasons = Gold.objects.filter(task=present.task, split=gold.split).values_list(
        "reason", flat=True
    )
    if gold.reason in ("", *reasons):
        message = _("the gold of split %(split)s is not that of version %(version)s")
        message %= {"split": gold.split, "version": present.number}
        key = "reason" if gold.reason else "paths"
        gold.table.add_problem_at_key(
            key, message, _("a new “reason”, or --reason, that says what was corrected")
        )


def _find_baseline_problems(
    plan: SeasonLoadPlan,
    task: entries.TaskInSeasonFile,
    task_type: TaskType,
    baseline: entries.BaselineInSeasonFile,
) -> Iterable[Problem]:
    if not baseline.run.is_file():
        message = _("%(name)s is a folder") % {"name": baseline.run.name}
        baseline.table.add_problem_at_key(
            "run", message, _("one file, or a zip of the folder")
        )
        return []
    problems: dict[str, Problem] = {}
    splits = {phase.slug: phase.split for phase in task.phases}
    slugs = [
        slug for slug in plan.list_phases_of_baseline(task, baseline) if slug in splits
    ]
    for split in dict.fromkeys(splits[slug] for slug in slugs):
        prepared = plan.gold.get((task.slug, split))
        present = current_gold(plan.entry, task.slug, split)
        if prepared is None and present is None:
            # If gold for the split was refused, its problem is already reported.
            if all(gold.split != split for gold in task.gold):
                message = _(
                    "split %(split)s has no gold that the run could be scored with"
                ) % {"split": split}
                baseline.table.add_problem_at_key("phases", message)
            continue
        reading = (
            prepared.reading if prepared else cast("Gold", present).reading_version
        )
        options, run = task_type.validate_options(task.options), baseline.run
        if sent := _get_uploaded_files_reader(plan.entry):
            file = (
                prepared.folder / packing.INDEX_FILE_NAME
                if prepared
                else gold_files.get_cached_index_path(cast("Gold", present))
            )
            wrong = select_fatal_problems(
                sent.find_run_problems(task_type, run, file, options, reading)
            )
            problems |= {str(problem): problem for problem in wrong}
            continue
        index = (
            prepared.load_instance_index()
            if prepared
            else gold_files.load_instance_index_of_gold(cast("Gold", present))
        )
        try:
            files = open_input_files(run, reading=reading)
            wrong = select_fatal_problems(
                read_run(task_type, files, index, options, name=str(run))[1]
            )
        except InputRefused as refused:
            wrong = refused.problems
        problems |= {str(problem): problem for problem in wrong}
    return problems.values()


def _refuse_removal_of_existing_parts(entry: entries.ParsedSeasonFile) -> None:
    """Add problems for tasks, phases, gold and baselines of the site that the season
    file omits, because loading a file deletes nothing.
    """
    season = Season.objects.filter(slug=entry.slug).first()
    if season is None:
        return
    in_file = {task.slug: task for task in entry.tasks}
    for task in Task.objects.filter(season=season):
        if task.slug not in in_file:
            words = _("task “%(task)s” is on the site and not in the file") % {
                "task": task.slug
            }
            entry.table.add_problem_at_key("slug", words, str(EXPECTED_UNLESS_REMOVED))
            continue
        for kind, name in _iterate_omitted_parts_of_task(
            task, in_file[task.slug], entry
        ):
            words = _(
                "%(kind)s “%(name)s” of task %(task)s is on the site and not in the file"
            )
            words %= {"kind": kind, "name": name, "task": task.slug}
            in_file[task.slug].table.add_problem_at_key(
                "slug", words, str(EXPECTED_UNLESS_REMOVED)
            )


def _iterate_omitted_parts_of_task(
    task: Task, entry: entries.TaskInSeasonFile, season: entries.ParsedSeasonFile
) -> Iterator[tuple[str, str]]:
    phases = {phase.slug for phase in entry.phases}
    for phase in Phase.objects.filter(task=task):
        if phase.slug not in phases:
            yield _("phase"), phase.slug
    if not season.is_from_file:
        return
    splits = {gold.split for gold in entry.gold}
    for split in sorted(
        set(Gold.objects.filter(task=task).values_list("split", flat=True)) - splits
    ):
        yield _("gold"), split
    if season.is_alone:
        return
    systems = {baseline.system for baseline in entry.baselines}
    baselines = Submission.objects.filter(
        phase__task=task, kind=Submission.Kind.BASELINE, built_in=""
    )
    standing = baselines.exclude(status=Submission.Status.WITHDRAWN).values_list(
        "system", flat=True
    )
    for system in sorted(set(standing) - systems):
        yield _("baseline"), system


def _set_default_options_of_new_task(
    entry: entries.ParsedSeasonFile, task: entries.TaskInSeasonFile
) -> None:
    before = Task.objects.filter(season__slug=entry.slug, slug=task.slug).first()
    for option in task.task_type.options if task.task_type else ():
        folder, own = settings.MODELS_DIR / option.of_site[0], option.of_site[1]
        of_site = (
            (own or str(folder)) if option.of_site[0] and any(folder.glob("*")) else ""
        )
        value = (
            before.options.get(option.name)
            if before
            else of_site or option.for_new_tasks
        )
        if (
            (option.for_new_tasks or value == of_site)
            and value
            and option.name not in task.options
        ):
            task.options[option.name] = value


def _resolve_option_files(
    entry: entries.ParsedSeasonFile, task: entries.TaskInSeasonFile
) -> None:
    before = Task.objects.filter(season__slug=entry.slug, slug=task.slug).first()
    task_type = task.task_type
    for option in task_type.options if task_type else ():
        value = task.options.get(option.name)
        present = before.options.get(option.name) if before else None
        if (
            value is None
            or value == present
            or not _is_value_a_file_path(option, value)
        ):
            continue
        if present and present.endswith(f"/{value}"):
            task.options[option.name] = present
        else:
            message = _("option %(option)s names a file, %(file)s") % {
                "option": option.name,
                "file": value,
            }
            task.table.add_problem_at_key(
                "options",
                message,
                _("a file that load_season brings, where the site runs"),
            )


def _is_value_a_file_path(option: Option, value: str) -> bool:
    source, _, name = option.get_value_or_default({option.name: value}).rpartition(":")
    is_path = (
        name.startswith(("/", ".", "~"))
        or ".." in name
        or name.endswith((".json", ".jsonl"))
    )
    may_be_file = option.may_be_file and not (
        option.asks and source == LEDGER_JUDGE_PREFIX
    )
    return source == "labels" or is_path or (may_be_file and "/" in name)


def _refuse_task_type_change(
    entry: entries.ParsedSeasonFile, task: entries.TaskInSeasonFile
) -> None:
    runs = Submission.objects.filter(
        phase__task__season__slug=entry.slug,
        phase__task__slug=task.slug,
        status__in=RUN_STATUSES_FIXING_TASK_TYPE,
    )
    before = Task.objects.filter(season__slug=entry.slug, slug=task.slug).first()
    if before and before.type != task.type and runs.exists():
        message = _("the task has runs of the type %(task_type)s") % {
            "task_type": before.type
        }
        task.table.add_problem_at_key("type", message, _("a new task for the new type"))
    for phase in task.phases:
        run = runs.filter(phase__slug=phase.slug).select_related("phase").first()
        if run and run.phase.split != phase.split:
            message = _("the phase has runs on split %(split)s") % {
                "split": run.phase.split
            }
            phase.table.add_problem_at_key(
                "split", message, _("a new phase for the new split")
            )
