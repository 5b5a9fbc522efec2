"""A bundle is one uploaded file with runs for several tasks. Either all runs of the
bundle are accepted, or none.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from citeboard.core.confined.turns import SandboxPoolFull, UploadSender
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.words import format_as_sentence, join_names
from citeboard.teams.models import Team, User
from tasks.models import Bundle, Phase, Season, Submission, Task
from tasks.registration.entries import lock_approved_entry
from tasks.submissions import refusals, run_card, seeds, submit
from tasks.submissions.looks import refuse_lookalike_system_name
from tasks.submissions.uploads import (
    UploadedRunFile,
    compute_sha256_of_file,
    delete_stored_run_file,
    store_run_file,
)
from tasks.types import Problem
from tasks.types.problems import (
    convert_dicts_to_problems,
    merge_equal_problems,
    select_problems_to_list,
)


@dataclass(frozen=True, kw_only=True)
class BundleRunResult:
    """The result of reading a bundle for one task. The result contains warnings, or the
    reason why the run was refused.
    """

    phase: Phase
    findings: run_card.RunCheckResult = field(default_factory=run_card.RunCheckResult)
    refusal: refusals.RunRefused | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def problems(self) -> list[Problem]:
        return self.findings.problems

    @property
    def is_good(self) -> bool:
        return self.refusal is None

    @property
    def is_readable(self) -> bool:
        return (
            not isinstance(self.refusal, refusals.RunRejected) and self.findings.is_read
        )

    def as_dict(self) -> dict[str, object]:
        return {
            "task": self.phase.task.slug,
            "phase": self.phase.pk,
            "detail": None
            if self.refusal is None
            else format_as_sentence(self.refusal),
            "problems": [
                problem.as_dict() for problem in merge_equal_problems(self.problems)
            ],
            "more": self.refusal.more
            if isinstance(self.refusal, refusals.RunRejected)
            else 0,
        }


#: A bundle is refused for a faulty run before missing fields or a lack of tries.
REFUSALS_MOST_IMPORTANT_FIRST: tuple[tuple[type[refusals.RunRefused], ...], ...] = (
    (refusals.RunRejected,),
    (refusals.RunCardIncomplete, refusals.RunQuotaExceeded),
)


class BundleRefused(refusals.RunRefused):
    """An error about a bundle (a file for several tasks) in which at least one run was
    refused. ``parts`` are the results of reading the bundle for each task.

    ``repair`` describes a possible repair of the bundle for API clients, or is None.
    """

    repair: Mapping[str, object] | None = None

    def __init__(self, parts: Sequence[BundleRunResult]) -> None:
        self.parts = list(parts)
        refused = [str(part.phase.task) for part in parts if not part.is_good]
        message = ngettext(
            "nothing was taken, since the part for %(tasks)s cannot be",
            "nothing was taken, since the parts for %(tasks)s cannot be",
            len(refused),
        )
        super().__init__(message % {"tasks": join_names(refused)})
        self.weightiest = next(
            (
                reason
                for kinds in REFUSALS_MOST_IMPORTANT_FIRST
                for reason in self._list_refusals_of_parts()
                if isinstance(reason, kinds)
            ),
            None,
        )
        self.status = (
            self.weightiest.status if self.weightiest else refusals.RunRefused.status
        )

    def _list_refusals_of_parts(self) -> list[refusals.RunRefused]:
        return [part.refusal for part in self.parts if part.refusal is not None]

    def answer(self) -> dict[str, object]:
        if isinstance(self.weightiest, refusals.RunRejected):
            problems, more = select_problems_to_list(
                [
                    problem
                    for part in self.parts
                    if part.refusal
                    for problem in part.problems
                ]
            )
            more += sum(
                reason.more
                for reason in self._list_refusals_of_parts()
                if isinstance(reason, refusals.RunRejected)
            )
            entries = [problem.as_dict() for problem in problems]
            parts = [part.as_dict() for part in self.parts]
            answer = {"problems": entries, "more": more, "parts": parts}
            told = {} if self.repair is None else {"repair": self.repair}
            return super().answer() | answer | told
        reasons = [
            f"{part.phase.task}: {str(part.refusal).rstrip('.')}."
            for part in self.parts
            if part.refusal
        ]
        words = " ".join([format_as_sentence(self), *reasons])
        return (self.weightiest.answer() if self.weightiest else {}) | {"detail": words}


def submit_bundle(  # noqa: PLR0913  (each is a field of the form)
    *,
    season: Season,
    team: Team,
    user: User | None,
    upload: UploadedRunFile,
    details: run_card.RunDetails,
    phase: str = "",
    tasks: Sequence[str] = (),
    card: Mapping[str, object] | None = None,
    metadata: UploadedRunFile | None = None,
    team_figures: Mapping[str, object] | None = None,
    warnings: Sequence[Problem] = (),
) -> Bundle:
    """Submit a file as runs for the tasks in ``tasks``, or for each task whose format
    occurs in the file. The file becomes one run for each task, and each run uses up one
    try.
    """
    said = run_card.RunMetadata(
        description=details.description, card=run_card.validate_card(card or {})
    )
    sha256 = compute_sha256_of_file(upload.path)
    if before := _find_bundle_by_key(season, team, details, sha256):
        return before
    submit.require_registered_team(season, team)
    refuse_lookalike_system_name(season, team, details.system)
    figures, unread = team_figures or {}, None
    try:
        parts = read_bundle_for_each_task(
            season=season, upload=upload, phase=phase, tasks=tasks, team=team, by=user
        )
        own = _build_metadata_by_task_type(
            parts,
            said,
            figures,
            metadata,
            run_card.make_upload_sender(user, upload, team),
        )
        parts = [
            _check_required_fields_of_part(part, own[part.phase.task.type])
            for part in parts
        ]
    except SandboxPoolFull:
        unread = submit.make_late_reading_fields(metadata, is_named=bool(tasks))
        # Each possible task has one phase, which must accept runs if no task was named.
        meant, nothing = (
            find_open_phases(season, phase, tasks, upload.begun_at),
            submit.make_findings_of_unread_run(),
        )
        parts = [
            _check_phase_entry_of_part(
                BundleRunResult(phase=one, findings=nothing), team, upload
            )
            for one in meant
        ]
        parts = parts if tasks else [part for part in parts if part.is_good] or parts
        own = _build_metadata_by_task_type(parts, said, figures, None, None)
        about = {part.phase.pk: own[part.phase.task.type] for part in parts}
        parts = [
            replace(part, findings=replace(part.findings, about=about[part.phase.pk]))
            for part in parts
        ]
    for part in parts:
        seeds.validate_seed_declaration(part.phase, team, details.seeds_of)
    _refuse_bundle_with_refused_parts(parts)
    is_read = all(part.findings.is_read for part in parts)
    with (
        store_run_file(upload, sha256, is_checked=is_read) as stored,
        transaction.atomic(),
    ):
        # The lock makes simultaneous submissions of a team use tries one after another.
        lock_approved_entry(parts[0].phase, team)
        if before := _find_bundle_by_key(season, team, details, sha256):
            delete_stored_run_file(stored.file)
            return before
        phases = Phase.objects.select_related("task__season")
        parts = [
            _check_phase_entry_of_part(
                replace(part, phase=phases.get(pk=part.phase.pk)), team, upload
            )
            for part in parts
        ]
        for part in parts:
            seeds.validate_seed_declaration(part.phase, team, details.seeds_of)
        _refuse_bundle_with_refused_parts(parts)
        at = timezone.now()
        bundle = Bundle.objects.create(
            season=season,
            team=team,
            filename=stored.filename,
            sha256=stored.sha256,
            submitted_by=user,
            submitted_at=at,
            idempotency_key=details.idempotency_key,
        )
        # The idempotency key belongs to the bundle and not to the single runs.
        nameless = replace(details, idempotency_key="")
        for part in parts:
            again = submit.make_same_file_warnings(part.phase, team, stored.sha256)
            found = replace(part.findings, problems=[*warnings, *again, *part.problems])
            facts = {
                "team": team,
                "submitted_by": user,
                "submitted_at": at,
                "bundle": bundle,
                **part.facts,
            }
            submit.create_and_queue_run(
                part.phase, stored, nameless, found, found.about, unread=unread, **facts
            )
        return bundle


def read_bundle_for_each_task(
    *,
    season: Season,
    upload: UploadedRunFile,
    phase: str = "",
    tasks: Sequence[str] = (),
    team: Team | None = None,
    by: User | None = None,
) -> list[BundleRunResult]:
    submit.require_accepted_terms(season, by)
    phases = find_open_phases(season, phase, tasks, upload.begun_at)
    references = sorted({phase.task.task_type.reference for phase in phases})
    given = {"task_types": references, "filename": upload.filename}
    try:
        sender = run_card.make_upload_sender(by, upload, team)
        with read_upload(
            f"{run_card.RUN_READING_MODULE}:tasks_meant",
            upload.path,
            given,
            owner=sender,
        ) as done:
            problems, meant = (
                convert_dicts_to_problems(done.result["problems"]),
                done.result["meant"],
            )
    except UploadUnreadable as reason:
        raise refusals.RunRejected(
            [Problem(file=upload.filename, message=str(reason))]
        ) from reason
    if problems:
        raise refusals.RunRejected.of(problems)
    parts = []
    for open_phase in phases:
        is_meant = meant[open_phase.task.type]
        part = (
            _read_run_of_phase(open_phase, upload, team, by)
            if tasks or is_meant is not False
            else None
        )
        if part is not None and (tasks or is_meant or part.is_readable):
            parts.append(part)
    if not parts:
        names = ", ".join(str(phase.task) for phase in phases)
        message = _(
            "the file has the format of none of the tasks that accept runs now "
            "(%(names)s); a file for one task alone can be submitted on that task's "
            "own page, which says what is wrong with it"
        )
        raise refusals.RunUploadUnusable(message % {"names": names})
    return parts


def find_open_phases(
    season: Season,
    phase: str = "",
    tasks: Sequence[str] = (),
    begun: dt.datetime | None = None,
) -> list[Phase]:
    """Return one phase that accepts runs for each task. If ``tasks`` is given, only the
    phases of these tasks are returned. ``begun`` is the time when the upload started.
    """
    at = timezone.now()
    begun = min(begun or at, at)
    known = {task.slug: task for task in season.tasks.filter(is_reported_only=False)}
    if unknown := [slug for slug in tasks if slug not in known]:
        message = _("there is no task “%(task)s”; there are %(names)s")
        named = {"task": unknown[0][:40], "names": ", ".join(known) or _("none")}
        raise ValidationError({"tasks": message % named})
    found: list[Phase] = []
    for task in known.values():
        if tasks and task.slug not in tasks:
            continue
        phases = Phase.objects.filter(task=task).select_related("task__season")
        wanted = list(phases.filter(slug=phase) if phase else phases)
        takes = [
            candidate for candidate in wanted if candidate.accepts_upload(at, begun)
        ]
        is_open = [
            candidate for candidate in takes if not candidate.is_late(begun)
        ] or takes
        if len(is_open) > 1:
            names = ", ".join(phase.slug for phase in is_open)
            several = _("%(task)s has several open phases; name one of %(names)s")
            raise ValidationError({"phase": several % {"task": task, "names": names}})
        if tasks and not is_open:
            raise _make_no_open_phase_error(begun, task, wanted, phase)
        found += is_open
    if not found:
        wanted = list(
            Phase.objects.filter(
                task__in=known.values(), **({"slug": phase} if phase else {})
            )
        )
        raise _make_no_open_phase_error(begun, season, wanted, phase[:40])
    return found


def _make_no_open_phase_error(
    begun: dt.datetime, place: Season | Task, phases: Sequence[Phase], slug: str
) -> Exception:
    if phases:
        latest = max(phases, key=lambda phase: phase.closes)
        return refusals.PhaseNotOpen(latest.opens, latest.closes, begun)
    if slug:
        message = _("%(place)s has no phase “%(phase)s” that is open") % {
            "place": place,
            "phase": slug,
        }
    else:
        message = _("%(place)s has no phase that is open") % {"place": place}
    return ValidationError({"phase": message})


def _read_run_of_phase(
    phase: Phase, upload: UploadedRunFile, team: Team | None, by: User | None
) -> BundleRunResult:
    try:
        found = submit.check_run_for_phase(phase, upload, by, team)
        if team is not None and not found.errors:
            submit.require_phase_accepts_run_of_team(
                phase, team, timezone.now(), upload.begun_at, upload.size
            )
    except refusals.RunRefused as refused:
        return BundleRunResult(phase=phase, refusal=refused)
    if not found.errors:
        return BundleRunResult(phase=phase, findings=found)
    rejected = refusals.RunRejected.of(found.problems)
    return BundleRunResult(
        phase=phase,
        findings=replace(found, problems=rejected.problems),
        refusal=rejected,
    )


def _check_phase_entry_of_part(
    part: BundleRunResult, team: Team, upload: UploadedRunFile
) -> BundleRunResult:
    try:
        facts = submit.require_phase_accepts_run_of_team(
            part.phase, team, timezone.now(), upload.begun_at, upload.size
        )
    except refusals.RunRefused as refused:
        return replace(part, refusal=refused)
    return replace(part, facts=facts)


def check_bundle(  # noqa: PLR0913  (each is a field of the form)
    *,
    season: Season,
    upload: UploadedRunFile,
    by: User | None,
    phase: str = "",
    tasks: Sequence[str] = (),
    description: str = "",
    card: Mapping[str, object] | None = None,
    metadata: UploadedRunFile | None = None,
    team_figures: Mapping[str, object] | None = None,
) -> list[BundleRunResult]:
    parts = read_bundle_for_each_task(
        season=season, upload=upload, phase=phase, tasks=tasks, by=by
    )
    said = run_card.RunMetadata(
        description=description, card=run_card.validate_card(card or {})
    )
    own = _build_metadata_by_task_type(
        parts,
        said,
        team_figures or {},
        metadata,
        run_card.make_upload_sender(by, upload, None),
    )
    checked = []
    for part in parts:
        about = own[part.phase.task.type].before(part.findings.about)
        lacking = (
            run_card.warn_of_missing_fields(part.phase, about) if part.is_good else []
        )
        checked.append(
            replace(
                part,
                findings=replace(part.findings, problems=[*part.problems, *lacking]),
            )
        )
    return checked


def _build_metadata_by_task_type(
    parts: Sequence[BundleRunResult],
    said: run_card.RunMetadata,
    figures: Mapping[str, object],
    metadata: UploadedRunFile | None,
    sender: UploadSender | None,
) -> dict[str, run_card.RunMetadata]:
    own: dict[str, run_card.RunMetadata] = {}
    faults: list[set[str]] = []
    for task_type in {
        part.phase.task.type: part.phase.task.task_type for part in parts
    }.values():
        taken = {measure.name for measure in run_card.list_team_measures_for(task_type)}
        given = {name: value for name, value in figures.items() if name in taken}
        own[task_type.slug] = replace(
            said, figures=run_card.validate_team_figures(task_type, given)
        )
        faults.append(set(figures) - taken)
        if metadata is not None:
            read = run_card.read_metadata_file(metadata, task_type, sender)
            own[task_type.slug] = own[task_type.slug].before(read)
    unknown = {
        name for name in set.intersection(*faults) if figures[name] not in (None, "")
    }
    if unknown:
        raise ValidationError(
            dict.fromkeys(sorted(unknown), _("none of these tasks takes this figure"))
        )
    return own


def _check_required_fields_of_part(
    part: BundleRunResult, metadata: run_card.RunMetadata
) -> BundleRunResult:
    own = metadata.before(part.findings.about)
    try:
        run_card.require_fields_of_phase(part.phase, own)
    except refusals.RunRefused as refused:
        return replace(part, refusal=part.refusal or refused)
    return replace(part, findings=replace(part.findings, about=own))


def _refuse_bundle_with_refused_parts(parts: Sequence[BundleRunResult]) -> None:
    if not all(part.is_good for part in parts):
        raise BundleRefused(parts)


def _find_bundle_by_key(
    season: Season, team: Team, details: run_card.RunDetails, sha256: str
) -> Bundle | None:
    if not details.idempotency_key:
        return None
    before = Bundle.objects.filter(
        season=season, team=team, idempotency_key=details.idempotency_key
    ).first()
    if before and before.sha256 != sha256:
        raise refusals.RunUploadUnusable(
            _("the key came with another file before; a new file needs a new key")
        )
    return before


def iterate_runs_of_bundle(bundle: Bundle) -> Iterator[Submission]:
    yield from bundle.submissions.select_related(
        "phase__task__season", "team"
    ).order_by("phase__task__position", "phase__task_id", "pk")
