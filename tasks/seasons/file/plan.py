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
from citeboard.core.instants import setting_value_for_api
from citeboard.core.words import as_sentence
from citeboard.teams.models import User
from tasks.gold import gold_files, packing
from tasks.models import Gold, Organiser, Phase, Season, SeasonFile, Submission, Task
from tasks.registration.entries import current_terms, terms_text
from tasks.seasons.file import entries
from tasks.seasons.file.tables import CheckedTable
from tasks.submissions.uploads import sha256_of_file
from tasks.types import (
    InputRefused,
    Option,
    OptionRefused,
    Options,
    Problem,
    TaskType,
)
from tasks.types.base import printed_options
from tasks.types.files import open_input
from tasks.types.ledger import STORE
from tasks.types.problems import fatal
from tasks.types.runs import read_run

#: The class of `scoring` has a dotted name, as `tasks` must not import `scoring`.
PUBLISHED_RESULTS_READER = "scoring.results.publications.season_results.SeasonResults"
EXPECTED_IN_FILE = gettext_lazy(
    "the same in the file, or it deleted in the admin by someone who knows what is lost"
)
#: If a task has runs with a status in STATUSES_FIXING_TYPE, the task's type cannot change.
STATUSES_FIXING_TYPE = (*Submission.COUNTED, Submission.Status.FAILED)
#: The word ALL_KEYS in the arguments `--apply` and `--keep` means all keys.
ALL_KEYS = "all"


class _NoLastValue:
    def __repr__(self) -> str:
        return _("not known")


NO_LAST_VALUE = _NoLastValue()


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
        return bool(self.last is NO_LAST_VALUE or self.last != self.site)

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "site": setting_value_for_api(self.key, self.site),
            "file": setting_value_for_api(self.key, self.file),
            **(
                {}
                if self.last is NO_LAST_VALUE
                else {"last": setting_value_for_api(self.key, self.last)}
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

    def keeps(self, key: str) -> bool:
        return key in self.keep or (ALL_KEYS in self.keep and key not in self.apply)

    def decides(self, key: str) -> bool:
        return bool({key, ALL_KEYS} & (self.apply | self.keep))


NO_DECISIONS = ConflictDecisions()


class LoadConflicts(refusals.Refused):
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


class UnknownDecisionKey(refusals.Refused):
    status = 400

    def __init__(self, keys: list[str]) -> None:
        super().__init__(
            _("the file says nothing of %(keys)s") % {"keys": ", ".join(keys)}
        )

    def answer(self) -> dict[str, object]:
        words = as_sentence(self)
        return {"detail": f"apply: {words}", "errors": {"apply": [words]}}


class PublishedResults(Protocol):
    """The published results that a season file lists, with the tasks that show the
    results. Code of `scoring` implements this protocol.
    """

    problems: list[Problem]
    oddities: list[Problem]

    def placements(
        self,
        tasks: Mapping[str, tuple[Sequence[CheckedTable], Mapping[str, Sequence[str]]]],
    ) -> dict[str, list[dict[str, Any]]]: ...

    def store(self) -> list[str]: ...


def read_published_results(paths: Iterable[Path]) -> PublishedResults:
    return cast("PublishedResults", import_string(PUBLISHED_RESULTS_READER)(paths))


@dataclass(frozen=True, kw_only=True)
class LoadPlan:
    entry: entries.SeasonEntry
    results: PublishedResults
    gold: dict[tuple[str, str], packing.PreparedGold] = field(default_factory=dict)
    #: ``placements`` maps slugs of tasks to the published results that the task shows.
    placements: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: `stays` lists the keys whose values on the site do not change.
    stays: frozenset[str] = frozenset()

    @property
    def facts(self) -> dict[str, entries.Facts]:
        return entries.values_by_prefix(self.entry, self.placements)

    @property
    def role_entries_in_file(self) -> dict[str, str]:
        addresses = addresses_with_account(self.entry.roles)
        return {
            entries.organiser_key(address): self.entry.roles[address]
            for address in addresses
        }

    def values_to_write(self, prefix: str) -> entries.Facts:
        facts = self.facts[prefix]
        return {
            name: value
            for name, value in facts.items()
            if entries.setting_key(prefix, name) not in self.stays
        }

    def differences(self, season: Season) -> list[SettingDifference]:
        if season._state.adding:  # noqa: SLF001  (documented)
            return []
        rows, remembered = entries.rows_by_prefix(season), last_loaded_values(season)
        compared: list[tuple[str, Any, Any, Any]] = []
        for prefix, facts in self.facts.items():
            for name, value in facts.items() if prefix in rows else ():
                key = entries.setting_key(prefix, name)
                last: Any = NO_LAST_VALUE
                if key in remembered:
                    last = remembered[key]
                elif entries.setting_key(prefix, "title") in remembered:
                    # A setting that the last file lacks is new and had its default.
                    last = audit.as_json(
                        entries.model_of_prefix(prefix).field(name).get_default()
                    )
                compared.append(
                    (
                        key,
                        last,
                        audit.as_json(getattr(rows[prefix], name)),
                        audit.as_json(value),
                    )
                )
        for (task, split), prepared in self.gold.items():
            if present := current_gold(self.entry, task, split):
                key = entries.gold_entry_key(task, split)
                last = remembered.get(key, NO_LAST_VALUE)
                compared.append((key, *_setting_digests(last, present, prepared)))
        people = season.organisers.values_list("user__email", "role")
        in_site, in_file = (
            {entries.organiser_key(address): role for address, role in people},
            self.role_entries_in_file,
        )
        for key in [*in_file, *self.removed_roles(remembered)]:
            last = remembered.get(key, False)
            # Old releases stored True for an organiser instead of a role.
            last = Organiser.Role.ORGANISER.value if last is True else last
            compared.append(
                (key, last, in_site.get(key, False), in_file.get(key, False))
            )
        # Loading a season file without terms does not change the season's terms.
        if self.entry.terms:
            terms = current_terms(season)
            shown = terms_text(terms.text) if terms else None
            compared.append(
                (
                    entries.TERMS_KEY,
                    remembered.get(entries.TERMS_KEY),
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
            entries.setting_key(prefix, name): audit.as_json(value)
            for prefix, facts in self.facts.items()
            for name, value in facts.items()
        }
        values |= {
            entries.gold_entry_key(task, split): _remembered_digest(
                current_gold(self.entry, task, split), prepared
            )
            for (task, split), prepared in self.gold.items()
        }
        values |= self.role_entries_in_file
        return values | (
            {entries.TERMS_KEY: self.entry.terms} if self.entry.terms else {}
        )

    def removed_roles(self, remembered: Mapping[str, Any]) -> list[str]:
        """Return the keys of people who were listed in the last loaded season file and
        are not listed now. If the present season file lists no people, return an empty
        list.
        """
        named = {entries.organiser_key(address) for address in self.entry.roles}
        return [
            key
            for key in remembered
            if named and key.startswith(entries.organiser_key("")) and key not in named
        ]

    def new_files(self) -> Iterator[str]:
        for name in self.gold:
            if current_gold(self.entry, *name) is None:
                yield f"{entries.gold_entry_key(*name)}: new"
        yield from self.results.store()
        baselines = Submission.objects.filter(
            phase__task__season__slug=self.entry.slug,
            kind=Submission.Kind.BASELINE,
            built_in="",
        ).order_by("-number")
        for task in self.entry.tasks:
            for baseline in task.baselines:
                for phase in self.phases_of(task, baseline):
                    latest = baselines.filter(
                        phase__task__slug=task.slug,
                        phase__slug=phase,
                        system=baseline.system,
                    ).first()
                    if latest is None or latest.sha256 != sha256_of_file(baseline.run):
                        yield f"baseline {task.slug}/{phase} “{baseline.system}”: a new run"

    def phases_of(
        self, task: entries.TaskEntry, baseline: entries.BaselineEntry
    ) -> list[str]:
        return list(baseline.phases) or [
            phase.slug
            for phase in task.phases
            if (task.slug, phase.split) in self.gold
            or current_gold(self.entry, task.slug, phase.split)
        ]


def _setting_digests(
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


def _remembered_digest(gold: Gold | None, prepared: packing.PreparedGold) -> str:
    """Return the digest of the new gold under the digest rule of the site's gold if
    both have the same content, otherwise under the current digest rule.
    """
    if gold is not None and gold.holds(prepared.digests):
        return gold.plain_digest
    return prepared.digest


def last_loaded_values(season: Season) -> Mapping[str, Any]:
    file = SeasonFile.objects.filter(season=season.pk).first()
    return file.values if file else {}


def addresses_with_account(addresses: Iterable[str]) -> list[str]:
    return [
        address
        for address in addresses
        if User.objects.filter(email__iexact=address).exists()
    ]


def current_settings(season: Season) -> dict[str, Any]:
    values = {
        entries.setting_key(prefix, name): audit.as_json(
            getattr(row, "end" if name == "closes" else name)
        )
        for prefix, row in entries.rows_by_prefix(season, held=False).items()
        for name in row.SETTINGS
    }
    return {
        key: printed_options(value) if key.endswith(".options") else value
        for key, value in values.items()
    }


def current_gold(season: entries.SeasonEntry, task: str, split: str) -> Gold | None:
    versions = Gold.objects.filter(
        task__season__slug=season.slug, task__slug=task, split=split
    )
    return versions.order_by("-number").first()


def build_load_plan(
    entry: entries.SeasonEntry,
    *,
    reason: str,
    scratch: Path,
    decisions: ConflictDecisions,
) -> LoadPlan:
    plan = LoadPlan(entry=entry, results=read_published_results(entry.published))
    _refuse_removals(entry)
    for task in entry.tasks:
        _settle_options_of_new_tasks(entry, task)
    if entry.is_alone and (
        entry.is_from_file or Season.objects.filter(slug=entry.slug).exists()
    ):
        for task in entry.tasks:
            _settle_files_of_options(entry, task)
    elsewhere = list(plan.results.problems)
    if not entry.is_alone:
        tasks = {
            task.slug: (task.published, _metrics_by_rules(task)) for task in entry.tasks
        }
        plan.placements.update(plan.results.placements(tasks))
    for task in entry.tasks:
        _refuse_type_change(entry, task)
        task_type = _task_type_with_valid_options(task)
        if task_type is None:
            continue
        for gold in task.gold:
            elsewhere += _gold_problems(plan, task, task_type, gold, scratch)
            _refuse_unexplained_fix(plan, task, gold, reason, decisions)
        for baseline in task.baselines:
            elsewhere += _baseline_problems(plan, task, task_type, baseline)
    in_file = sorted(entry.findings.problems, key=lambda problem: problem.line or 0)
    if in_file or elsewhere:
        raise InputRefused([*in_file, *elsewhere])
    return plan


class SentFiles(Protocol):
    def prepared_for(
        self,
        present: Gold | None,
        task_type: TaskType,
        paths: Sequence[Path],
        options: Options,
    ) -> packing.PreparedGold: ...

    def run_problems(
        self,
        task_type: TaskType,
        run: Path,
        index: Path,
        options: Options,
        reading: int,
    ) -> Sequence[Problem]: ...


def _sent_files(entry: entries.SeasonEntry) -> SentFiles | None:
    return cast("SentFiles", entry.roots) if entry.roots.is_sent else None


def _gold_problems(
    plan: LoadPlan,
    task: entries.TaskEntry,
    task_type: TaskType,
    gold: entries.GoldEntry,
    scratch: Path,
) -> Sequence[Problem]:
    if not gold.paths or len(gold.paths) != len(gold.table.values["paths"]):
        return []
    folder = scratch / task.slug / gold.split
    folder.mkdir(parents=True, exist_ok=True)
    if sent := _sent_files(plan.entry):
        try:
            present = current_gold(plan.entry, task.slug, gold.split)
            prepared = sent.prepared_for(present, task_type, gold.paths, task.options)
        except InputRefused as refused:
            return refused.problems
        plan.gold[task.slug, gold.split] = prepared
        return []
    try:
        present = current_gold(plan.entry, task.slug, gold.split)
        prepared = gold_files.prepare_gold_like_version(
            present, task_type, gold.paths, task.options, folder
        )
    except InputRefused as refused:
        return refused.problems
    nonce = packing.find_matching_nonce(gold.paths, prepared.digest)
    plan.gold[task.slug, gold.split] = replace(prepared, nonce=nonce)
    return []


def _metrics_by_rules(task: entries.TaskEntry) -> dict[str, tuple[str, ...]]:
    task_type = _task_type_with_valid_options(task)
    if task_type is None:
        return {}
    options = task_type.checked_options(task.options)
    return {
        rules: tuple(metric.name for metric in task_type.metrics_of(rules, options))
        for rules in task.values["rules"]
        if task_type.has_rules(rules)
    }


def _task_type_with_valid_options(task: entries.TaskEntry) -> TaskType | None:
    task_type = task.task_type
    try:
        return (
            task_type
            if task_type and task_type.checked_options(task.options) is not None
            else None
        )
    except OptionRefused:
        return None


def _refuse_unexplained_fix(
    plan: LoadPlan,
    task: entries.TaskEntry,
    gold: entries.GoldEntry,
    reason: str,
    decisions: ConflictDecisions,
) -> None:
    present = current_gold(plan.entry, task.slug, gold.split)
    prepared = plan.gold.get((task.slug, gold.split))
    if present is None or prepared is None or present.holds(prepared.digests) or reason:
        return
    key = entries.gold_entry_key(task.slug, gold.split)
    last = last_loaded_values(present.task.season).get(key)
    is_known = last in (present.plain_digest, *present.digests.values())
    if not is_known and (decisions.keeps(key) or not decisions.decides(key)):
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
        gold.table.refuse(
            key, message, _("a new “reason”, or --reason, that says what was corrected")
        )


def _baseline_problems(
    plan: LoadPlan,
    task: entries.TaskEntry,
    task_type: TaskType,
    baseline: entries.BaselineEntry,
) -> Iterable[Problem]:
    if not baseline.run.is_file():
        message = _("%(name)s is a folder") % {"name": baseline.run.name}
        baseline.table.refuse("run", message, _("one file, or a zip of the folder"))
        return []
    problems: dict[str, Problem] = {}
    splits = {phase.slug: phase.split for phase in task.phases}
    slugs = [slug for slug in plan.phases_of(task, baseline) if slug in splits]
    for split in dict.fromkeys(splits[slug] for slug in slugs):
        prepared = plan.gold.get((task.slug, split))
        present = current_gold(plan.entry, task.slug, split)
        if prepared is None and present is None:
            # If gold for the split was refused, its problem is already reported.
            if all(gold.split != split for gold in task.gold):
                message = _(
                    "split %(split)s has no gold that the run could be scored with"
                ) % {"split": split}
                baseline.table.refuse("phases", message)
            continue
        reading = (
            prepared.reading if prepared else cast("Gold", present).reading_version
        )
        options, run = task_type.checked_options(task.options), baseline.run
        if sent := _sent_files(plan.entry):
            file = (
                prepared.folder / packing.INDEX
                if prepared
                else gold_files.cached_index_path(cast("Gold", present))
            )
            wrong = fatal(sent.run_problems(task_type, run, file, options, reading))
            problems |= {str(problem): problem for problem in wrong}
            continue
        index = (
            prepared.load_instance_index()
            if prepared
            else gold_files.instance_index_of(cast("Gold", present))
        )
        try:
            files = open_input(run, reading=reading)
            wrong = fatal(read_run(task_type, files, index, options, name=str(run))[1])
        except InputRefused as refused:
            wrong = refused.problems
        problems |= {str(problem): problem for problem in wrong}
    return problems.values()


def _refuse_removals(entry: entries.SeasonEntry) -> None:
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
            entry.table.refuse("slug", words, str(EXPECTED_IN_FILE))
            continue
        for kind, name in _omitted_parts(task, in_file[task.slug], entry):
            words = _(
                "%(kind)s “%(name)s” of task %(task)s is on the site and not in the file"
            )
            words %= {"kind": kind, "name": name, "task": task.slug}
            in_file[task.slug].table.refuse("slug", words, str(EXPECTED_IN_FILE))


def _omitted_parts(
    task: Task, entry: entries.TaskEntry, season: entries.SeasonEntry
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


def _settle_options_of_new_tasks(
    entry: entries.SeasonEntry, task: entries.TaskEntry
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


def _settle_files_of_options(
    entry: entries.SeasonEntry, task: entries.TaskEntry
) -> None:
    before = Task.objects.filter(season__slug=entry.slug, slug=task.slug).first()
    task_type = task.task_type
    for option in task_type.options if task_type else ():
        value = task.options.get(option.name)
        present = before.options.get(option.name) if before else None
        if value is None or value == present or not _names_a_file(option, value):
            continue
        if present and present.endswith(f"/{value}"):
            task.options[option.name] = present
        else:
            message = _("option %(option)s names a file, %(file)s") % {
                "option": option.name,
                "file": value,
            }
            task.table.refuse(
                "options",
                message,
                _("a file that load_season brings, where the site runs"),
            )


def _names_a_file(option: Option, value: str) -> bool:
    source, _, name = option.value_of({option.name: value}).rpartition(":")
    is_path = (
        name.startswith(("/", ".", "~"))
        or ".." in name
        or name.endswith((".json", ".jsonl"))
    )
    may_be_file = option.may_be_file and not (option.asks and source == STORE)
    return source == "labels" or is_path or (may_be_file and "/" in name)


def _refuse_type_change(entry: entries.SeasonEntry, task: entries.TaskEntry) -> None:
    runs = Submission.objects.filter(
        phase__task__season__slug=entry.slug,
        phase__task__slug=task.slug,
        status__in=STATUSES_FIXING_TYPE,
    )
    before = Task.objects.filter(season__slug=entry.slug, slug=task.slug).first()
    if before and before.type != task.type and runs.exists():
        message = _("the task has runs of the type %(task_type)s") % {
            "task_type": before.type
        }
        task.table.refuse("type", message, _("a new task for the new type"))
    for phase in task.phases:
        run = runs.filter(phase__slug=phase.slug).select_related("phase").first()
        if run and run.phase.split != phase.split:
            message = _("the phase has runs on split %(split)s") % {
                "split": run.phase.split
            }
            phase.table.refuse("split", message, _("a new phase for the new split"))
