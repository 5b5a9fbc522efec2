"""Check, store and queue a submitted run. If all processes that read uploads are busy,
the run is accepted and read later.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core.commits import call_after_commit
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.teams.models import Team, User
from tasks.gold.gold_files import get_cached_index_path
from tasks.jobs.leases import (
    create_check_job,
    create_scoring_jobs,
    make_admin_wait_subquery,
)
from tasks.models import (
    ExtraTries,
    Gold,
    LateReading,
    Phase,
    Registration,
    Season,
    Submission,
    Task,
)
from tasks.registration.entries import find_terms_to_accept, lock_approved_entry
from tasks.submissions import (
    reading,
    refusals,
    run_acts,
    run_card,
    seeds,
    team_storage,
)
from tasks.submissions.alike import mark_runs_with_same_file
from tasks.submissions.looks import refuse_lookalike_system_name
from tasks.submissions.refusals import RunCardIncomplete, RunRejected
from tasks.submissions.uploads import (
    StoredRunFile,
    UploadedRunFile,
    compute_sha256_of_file,
    delete_stored_run_file,
    store_run_file,
)
from tasks.types import Problem, TaskType
from tasks.types.problems import select_problems_to_list


def check_run(
    *,
    phase: Phase,
    upload: UploadedRunFile,
    by: User | None = None,
    said: run_card.RunMetadata | None = None,
    metadata: UploadedRunFile | None = None,
) -> run_card.RunCheckResult:
    said = said or run_card.RunMetadata()
    if metadata is not None:
        sender = run_card.make_upload_sender(by, upload, None)
        said = said.before(
            run_card.read_metadata_file(metadata, phase.task.task_type, sender)
        )
    found = check_run_for_phase(phase, upload, by)
    lacking = run_card.warn_of_missing_fields(phase, said.before(found.about))
    later = [] if found.is_read else [run_card.make_checked_later_notice()]
    return replace(found, problems=[*found.problems, *lacking, *later])


def validate_run_metadata(
    task_type: TaskType,
    *,
    description: str,
    card: Mapping[str, object],
    figures: Mapping[str, object],
) -> run_card.RunMetadata:
    fields, numbers = (
        run_card.validate_card(card),
        run_card.validate_team_figures(task_type, figures),
    )
    return run_card.RunMetadata(description=description, card=fields, figures=numbers)


def submit_run(  # noqa: PLR0913  (each is a field of the form)
    *,
    phase: Phase,
    team: Team,
    user: User | None,
    upload: UploadedRunFile,
    system: str,
    description: str = "",
    kind: str = Submission.Kind.PRIMARY,
    idempotency_key: str = "",
    team_figures: Mapping[str, object] | None = None,
    card: Mapping[str, object] | None = None,
    metadata: UploadedRunFile | None = None,
    priority: int | None = None,
    seeds_of: str = "",
    warnings: Sequence[Problem] = (),
) -> Submission:
    """Check a run, and store and queue the run if it can be scored. A refused run does
    not use up a try.
    """
    run_acts.validate_run_priority(phase, kind, priority)
    details = run_card.validate_run_details(
        system=system,
        description=description,
        kind=kind,
        idempotency_key=idempotency_key,
        seeds_of=seeds_of,
    )
    kind_of_task, figures = phase.task.task_type, team_figures or {}
    said = validate_run_metadata(
        kind_of_task, description=details.description, card=card or {}, figures=figures
    )
    sha256 = compute_sha256_of_file(upload.path)
    if before := _find_run_by_key(phase, team, details, sha256):
        return before
    refuse_lookalike_system_name(phase.task.season, team, details.system)
    seeds.validate_seed_declaration(phase, team, details.seeds_of)
    # Dates and limits are checked before the file is read, and again under the lock.
    require_phase_accepts_run_of_team(
        phase, team, timezone.now(), upload.begun_at, upload.size
    )
    require_accepted_terms(phase.task.season, user)
    unread = None
    try:
        sender = run_card.make_upload_sender(user, upload, team)
        about = (
            run_card.read_metadata_file(metadata, kind_of_task, sender)
            if metadata
            else run_card.RunMetadata()
        )
        found = _require_readable_run(phase, upload, user, team)
        said = said.before(about).before(found.about)
    except SandboxPoolFull:
        found, unread = (
            make_findings_of_unread_run(),
            make_late_reading_fields(metadata),
        )
    with (
        store_run_file(upload, sha256, is_checked=found.is_read) as stored,
        transaction.atomic(),
    ):
        lock_approved_entry(phase, team)
        if before := _find_run_by_key(phase, team, details, sha256):
            delete_stored_run_file(stored.file)
            return before
        now = timezone.now()
        phase = Phase.objects.select_related("task__season").get(pk=phase.pk)
        seeds.validate_seed_declaration(phase, team, details.seeds_of)
        facts = require_phase_accepts_run_of_team(
            phase, team, now, upload.begun_at, upload.size
        )
        if unread is None:
            run_card.require_fields_of_phase(phase, said)
        found = replace(
            found,
            problems=[
                *warnings,
                *make_same_file_warnings(phase, team, sha256),
                *found.problems,
            ],
        )
        facts |= {"team": team, "submitted_by": user, "submitted_at": now}
        return create_and_queue_run(
            phase, stored, details, found, said, place=priority, unread=unread, **facts
        )


def submit_baseline(
    *, phase: Phase, upload: UploadedRunFile, system: str, description: str = ""
) -> Submission:
    details = run_card.RunDetails(
        system=system, description=description, kind=Submission.Kind.BASELINE
    )
    sha256 = compute_sha256_of_file(upload.path)
    found = _require_readable_run(phase, upload, None, None)
    with (
        store_run_file(upload, sha256, is_checked=found.is_read) as stored,
        transaction.atomic(),
    ):
        # The lock keeps simultaneous baselines from getting the same number.
        Task.objects.select_for_update().get(pk=phase.task_id)
        said = run_card.RunMetadata(description=description).before(found.about)
        return create_and_queue_run(
            phase, stored, details, found, said, team=None, submitted_at=timezone.now()
        )


def submit_earlier_run(
    *,
    phase: Phase,
    enter: Callable[[], Team],
    upload: UploadedRunFile,
    system: str,
    by: User | None,
    idempotency_key: str = "",
) -> Submission:
    """Queue a run that a team submitted on another platform. The dates of the phase and
    the limits on runs are ignored.

    ``enter`` creates or returns the team. ``enter`` is called in the transaction that
    stores the run, so that a refused run creates no team. If the team already has a run
    with the same file in the phase, the function returns the earlier run.
    """
    details = run_card.validate_run_details(
        system=system,
        kind=Submission.Kind.PRIMARY,
        idempotency_key=idempotency_key,
    )
    sha256 = compute_sha256_of_file(upload.path)
    found = _require_readable_run(phase, upload, by, None)
    said = run_card.RunMetadata().before(found.about)
    with (
        store_run_file(upload, sha256, is_checked=found.is_read) as stored,
        transaction.atomic(),
    ):
        team = enter()
        lock_approved_entry(phase, team)
        before = Submission.objects.filter(phase=phase, team=team, sha256=sha256)
        if present := before.order_by("pk").first():
            delete_stored_run_file(stored.file)
            return present
        now = timezone.now()
        return create_and_queue_run(
            phase, stored, details, found, said, team=team, submitted_at=now
        )


def submit_dated_run(
    *,
    phase: Phase,
    team: Team,
    upload: UploadedRunFile,
    details: run_card.RunDetails,
    said: run_card.RunMetadata | None = None,
    facts: Mapping[str, Any],
    by: User | None = None,
) -> Submission:
    """Queue a run that was submitted at another time or on another site. The dates of
    the phase and the limits on runs are ignored.

    ``facts`` contains the time of submission and further fields of the submission.
    """
    sha256 = compute_sha256_of_file(upload.path)
    found = _require_readable_run(phase, upload, by, None)
    said = (said or run_card.RunMetadata()).before(found.about)
    with (
        store_run_file(upload, sha256, is_checked=found.is_read) as stored,
        transaction.atomic(),
    ):
        lock_approved_entry(phase, team)
        if before := _find_run_by_key(phase, team, details, sha256):
            delete_stored_run_file(stored.file)
            return before
        return create_and_queue_run(
            phase, stored, details, found, said, team=team, **facts
        )


def check_run_for_phase(
    phase: Phase, upload: UploadedRunFile, by: User | None, team: Team | None = None
) -> run_card.RunCheckResult:
    task, gold = phase.task, _get_current_gold_or_refuse(phase)
    index = get_cached_index_path(gold)
    facts: dict[str, Any] = {
        "reading": gold.reading_version,
        "options": task.options,
        "sender": run_card.make_upload_sender(by, upload, team),
    }
    return run_card.check_run_in_sandbox(
        upload, task_type=task.task_type, index=index, **facts
    )


def _get_current_gold_or_refuse(phase: Phase) -> Gold:
    gold = Gold.objects.current(phase)
    if gold is None:
        message = _(
            "%(phase)s of %(task)s has no gold yet, so that no run can be checked"
        )
        raise refusals.RunRefused(message % {"phase": phase, "task": phase.task})
    return gold


def _require_readable_run(
    phase: Phase, upload: UploadedRunFile, by: User | None, team: Team | None
) -> run_card.RunCheckResult:
    found = check_run_for_phase(phase, upload, by, team)
    if found.errors:
        raise refusals.RunRejected.of(found.problems)
    return found


def require_phase_accepts_run_of_team(
    phase: Phase,
    team: Team,
    at: dt.datetime,
    begun: dt.datetime | None = None,
    size: int = 0,
) -> dict[str, Any]:
    """Check that the team may submit a run to the phase now. Return fields of the new
    submission, such as ``is_late``. ``begun`` is the time when the upload started,
    which must be before the deadline.
    """
    require_registered_team(phase.task.season, team)
    begun = min(begun or at, at)
    replaced = (
        list_replaceable_runs(phase, team, begun).first()
        if phase.is_late(begun)
        else None
    )
    if replaced is None and not phase.accepts_upload(at, begun):
        raise refusals.PhaseNotOpen(phase.opens, phase.closes, begun)
    require_remaining_try(phase, team, at)
    if not team_storage.has_storage_room_for(team, size):
        raise refusals.TeamStorageExceeded(
            team_storage.compute_used_storage_bytes(team),
            team_storage.get_max_storage_bytes(),
        )
    return {
        "begun_at": begun,
        "is_late": replaced is None and phase.is_late(begun),
        "replaced": replaced,
    }


def list_replaceable_runs(
    phase: Phase, team: Team, begun: dt.datetime
) -> QuerySet[Submission]:
    runs = Submission.objects.filter(phase=phase, team=team, replace_until__gt=begun)
    return runs.order_by("replace_until", "pk")


def require_registered_team(season: Season, team: Team) -> None:
    if not Registration.objects.filter(
        season=season, team=team, is_approved=True
    ).exists():
        raise refusals.TeamNotRegistered.of(team, season)


def require_accepted_terms(season: Season, user: User | None) -> None:
    terms = find_terms_to_accept(season, user) if user else None
    if terms is not None:
        raise refusals.TermsNotAccepted(season, terms.number)


def _find_run_by_key(
    phase: Phase, team: Team, details: run_card.RunDetails, sha256: str
) -> Submission | None:
    if not details.idempotency_key:
        return None
    first = Submission.objects.filter(
        phase=phase, team=team, idempotency_key=details.idempotency_key
    ).first()
    if first and first.sha256 != sha256:
        message = _(
            "the key came with another file before, as run %(number)s; a new run needs a new key"
        )
        raise refusals.RunUploadUnusable(message % {"number": first.number})
    return first


def find_counted_duplicate(
    phase: Phase, team: Team, upload: UploadedRunFile
) -> Submission | None:
    return (
        list_runs_using_tries(phase, team)
        .filter(sha256=compute_sha256_of_file(upload.path))
        .order_by("number")
        .first()
    )


def make_same_file_warnings(phase: Phase, team: Team, sha256: str) -> list[Problem]:
    before = (
        Submission.objects.filter(phase=phase, team=team, sha256=sha256)
        .order_by("number")
        .first()
    )
    if before is None:
        return []
    return [
        Problem(
            message=f"the same file was sent before, as run {before.number}",
            fatal=False,
        )
    ]


def create_and_queue_run(
    phase: Phase,
    stored: StoredRunFile,
    details: run_card.RunDetails,
    found: run_card.RunCheckResult,
    said: run_card.RunMetadata,
    place: int | None = None,
    unread: dict[str, Any] | None = None,
    replaced: Submission | None = None,
    **facts: Any,
) -> Submission:
    """Create the submission and the jobs that score the run against the current gold.
    The caller must open a transaction.
    """
    earlier = Submission.objects.filter(phase=phase, team=facts["team"])
    last = earlier.aggregate(last=Max("number"))["last"] or 0
    facts |= {
        name: getattr(details, name)
        for name in ("system", "kind", "idempotency_key", "seeds_of")
    }
    facts |= {
        name: getattr(stored, name) for name in ("file", "filename", "sha256", "size")
    }
    submission = Submission.objects.create(
        phase=phase,
        number=last + 1,
        description=said.description,
        card=dict(said.card),
        warnings=run_card.format_warnings_as_dicts(
            *select_problems_to_list(found.problems)
        ),
        status=Submission.Status.QUEUED
        if stored.is_checked
        else Submission.Status.CHECKING,
        status_since=timezone.now(),
        **facts,
    )
    run_card.store_team_figures(submission, said.figures)
    call_after_commit(mark_runs_with_same_file, submission)
    if replaced is not None:
        Submission.objects.filter(pk=replaced.pk).update(replace_until=None)
    if unread is not None:
        LateReading.objects.create(submission=submission, **unread)
    if stored.is_checked:
        create_scoring_jobs(submission, _get_current_gold_or_refuse(phase))
    else:
        create_check_job(submission, _get_current_gold_or_refuse(phase))
    if (
        phase.counting == Phase.CountedRunsRule.PRIORITY
        and submission.kind == Submission.Kind.PRIMARY
    ):
        run_acts.insert_run_in_priority_order(submission, place)
    return submission


@dataclass(frozen=True, kw_only=True)
class RunQuota:
    left_today: int | None
    left_in_total: int | None
    renews_at: dt.datetime | None
    extra: tuple[ExtraTries, ...] = ()

    @property
    def left(self) -> int | None:
        return min(
            [
                left
                for left in (self.left_today, self.left_in_total)
                if left is not None
            ],
            default=None,
        )


def compute_remaining_quota(
    phase: Phase, team: Team, at: dt.datetime | None = None
) -> RunQuota:
    begins, ends = compute_local_day_bounds(at or timezone.now(), phase.zone)
    phases = (
        list(Phase.objects.sharing_gold_with(phase)) if phase.shares_tries else [phase]
    )
    counted = [list_runs_using_tries(phase, team) for phase in phases]

    def count_tries_spent(runs: QuerySet[Submission], limit: int) -> int:
        """Return the number of tries that ``runs`` used up.

        A run that waits for the installation of a package or model uses up no try. At
        most ``limit`` waiting runs use up no try, since waiting runs are scored in the
        end.
        """
        waiting = runs.filter(
            make_admin_wait_subquery(), status=Submission.Status.WAITING
        )
        return runs.count() - min(waiting.count(), limit)

    extra = tuple(
        ExtraTries.objects.filter(phase=phase, team=team).select_related("given_by")
    )
    left_today = left_in_total = None
    if phase.runs_per_day is not None:
        today = sum(
            count_tries_spent(
                runs.filter(submitted_at__gte=begins, submitted_at__lt=ends),
                phase.runs_per_day,
            )
            for runs in counted
        )
        given = sum(more.tries for more in extra if begins <= more.given_at < ends)
        left_today = max(0, phase.runs_per_day + given - today)
    if phase.runs_in_total is not None:
        given = sum(more.tries for more in extra)
        left_in_total = max(
            0,
            phase.runs_in_total
            + given
            - sum(count_tries_spent(runs, phase.runs_in_total) for runs in counted),
        )
    renews_at = ends if left_today is not None and left_in_total != 0 else None
    return RunQuota(
        left_today=left_today,
        left_in_total=left_in_total,
        renews_at=renews_at,
        extra=extra,
    )


def list_runs_using_tries(phase: Phase, team: Team) -> QuerySet[Submission]:
    """Return the team's runs that used up a try. The first run that failed at a time or
    memory limit uses up no try.
    """
    own = Submission.objects.filter(phase=phase, team=team)
    is_over_limit = Q(status=Submission.Status.FAILED, hit_limit=True)
    forgiven = own.filter(is_over_limit).order_by("number").values("pk")[:1]
    return own.filter(Q(status__in=Submission.COUNTED) | is_over_limit).exclude(
        pk__in=forgiven
    )


def require_remaining_try(phase: Phase, team: Team, at: dt.datetime) -> None:
    now = compute_remaining_quota(phase, team, at)
    if now.left == 0:
        raise refusals.RunQuotaExceeded(left=0, renews_at=now.renews_at)


def compute_local_day_bounds(
    at: dt.datetime, zone: ZoneInfo
) -> tuple[dt.datetime, dt.datetime]:
    date = at.astimezone(zone).date()
    return compute_local_midnight(date, zone), compute_local_midnight(
        date + dt.timedelta(days=1), zone
    )


def compute_local_midnight(date: dt.date, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.combine(date, dt.time(), zone).astimezone(dt.UTC)


HEADER_READING_FUNCTION = f"{run_card.RUN_READING_MODULE}:header"


def make_late_reading_fields(
    metadata: UploadedRunFile | None, *, is_named: bool = True
) -> dict[str, Any]:
    """Return the uploaded `ir_metadata` file as data for a later reading. ``is_named``
    in the result is True if the sender named the task.
    """
    if metadata is None:
        return {"is_named": is_named}
    with metadata.path.open("rb") as file:
        # One byte more than the limit is read, so that the reader reports a long file.
        content = file.read(reading.MAX_METADATA_BYTES + 1)
    return {
        "metadata": content,
        "metadata_name": metadata.filename,
        "is_named": is_named,
    }


def make_findings_of_unread_run() -> run_card.RunCheckResult:
    return run_card.RunCheckResult(
        problems=[run_card.make_checked_later_notice(is_busy=True)], is_read=False
    )


def read_late_metadata(
    submission: Submission, run: Path, folder: Path
) -> Callable[[], None] | None:
    """Read the header and the metadata of a run that was accepted without being read.
    Raises RunRejected.
    """
    if (late := LateReading.objects.filter(submission=submission).first()) is None:
        return None
    phase, figures = (
        submission.phase,
        submission.team_figures.values_list("name", "value"),
    )
    said = run_card.RunMetadata(
        description=submission.description, card=submission.card, figures=dict(figures)
    )
    try:
        if late.metadata_name:
            path = folder / "metadata"
            path.write_bytes(late.metadata)
            upload = UploadedRunFile(path, late.metadata_name)
            said = said.before(
                run_card.read_metadata_file(upload, phase.task.task_type, None)
            )
        with read_upload(
            HEADER_READING_FUNCTION, run, {"filename": submission.filename}, owner=None
        ) as done:
            said = said.before(
                run_card.build_metadata_from_header(phase.task.task_type, done.result)
            )
        if submission.team_id:
            run_card.require_fields_of_phase(phase, said)
    except ValidationError as faults:
        raise RunRejected(
            [Problem(message=words) for words in faults.messages]
        ) from faults
    except (RunCardIncomplete, UploadUnreadable) as reason:
        raise RunRejected([Problem(message=str(reason))]) from reason
    return partial(_store_late_metadata, submission, said, late)


def _store_late_metadata(
    submission: Submission, metadata: run_card.RunMetadata, late: LateReading
) -> None:
    Submission.objects.filter(pk=submission.pk).update(
        description=metadata.description, card=dict(metadata.card)
    )
    known = set(submission.team_figures.values_list("name", flat=True))
    new = {name: value for name, value in metadata.figures.items() if name not in known}
    run_card.store_team_figures(submission, new)
    late.delete()
