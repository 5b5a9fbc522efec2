"""The kinds of background jobs, such as imports, archives and overview papers."""

from __future__ import annotations

import datetime as dt
import hashlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_noop

from citeboard.background.outcomes import (
    describe_judging_result,
    describe_label_import,
    describe_old_runs_result,
)
from citeboard.core import storage
from citeboard.core.release import compute_release_digest
from citeboard.core.words import count_with_noun, join_names
from citeboard.teams.models import User
from scoring.exchange import figure_files, overview_paper
from scoring.exchange.overview_paper import OverviewPaper
from scoring.human import disagreements, estimates, pairs
from scoring.human.claim_review import (
    compute_file_agreement,
    find_evaluation_with_claims,
    store_judgement_file,
)
from scoring.human.pair_plans import PairPlanDivision
from scoring.human.sheets import (
    SheetRefused,
    list_runs_with_files_on_board,
    sample_instances_for_sheet,
    save_rating_sheet,
)
from scoring.models import BackgroundJob, EstimateSheet
from scoring.results.board import visibility
from scoring.results.board.formatting import format_score
from scoring.results.board.standings import Board, BoardRow, compute_board
from scoring.worker import background
from scoring.worker.background import (
    BackgroundJobKind,
    BackgroundJobState,
    make_random_storage_name,
    queue_background_job,
)
from scoring.worker.child import ScoringOfRunFailed
from scoring.worker.dry_runs import compute_scores_without_storing
from scoring.worker.entailment_labels import resume_jobs_after_import
from scoring.worker.ledger import (
    JudgementImportResult,
    ParsedJudgements,
    read_judgement_file,
    store_judgements,
)
from scoring.worker.local_copies import convert_storage_errors
from scoring.worker.release import find_ranking_metric_name
from tasks.gold.secrecy import get_embargoes_of_phase
from tasks.jobs import engine, interruptions, queue_choice, work
from tasks.jobs.interruptions import DATABASE_ERRORS
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import can_help_season, can_organise_season
from tasks.submissions.uploads import UploadedRunFile
from tasks.types import Problem


def prepare_sheet(job: BackgroundJob, by: User) -> JobOutcome:
    assert job.phase is not None
    if "estimates" in job.given:
        return prepare_estimate_sheet(job, by)
    if "disagreements" in job.given:
        return prepare_disagreement_sheet(job, by)
    if "estimate_sheet" in job.given:
        return prepare_estimates(job, by)
    battles = job.given.get("battles")
    choice = pairs.list_comparable_runs if battles else list_runs_with_files_on_board
    on_board = {run.pk: run for run in choice(job.phase, by)}
    if gone := [number for number in job.given["runs"] if number not in on_board]:
        raise SheetRefused(
            f"a chosen run does not stand on the board any more: {len(gone)} of them"
        )
    drawn = sample_instances_for_sheet(
        phase=job.phase,
        runs=[on_board[number] for number in job.given["runs"]],
        instances=job.given["instances"],
        seed=job.given["seed"],
        tell=partial(record_progress, job),
    )
    if battles:
        asked = job.given.get("division")
        division = PairPlanDivision(**asked) if asked else None
        return JobOutcome(
            lambda: {"pairs": pairs.save_pair_sheet(drawn, battles, division, by=by).pk}
        )
    return JobOutcome(lambda: {"sheet": save_rating_sheet(drawn, by=by).pk})


def prepare_estimate_sheet(job: BackgroundJob, by: User) -> JobOutcome:
    assert job.phase is not None
    record_progress(job, 0, gettext_noop("drawing the sample"))
    sampling = estimates.create_sample_parameters(
        job.phase, job.given["estimates"], job.given["labels"], by
    )
    drawn = estimates.store_sheet_file(estimates.sample_units_as_sheet_lines(sampling))
    return JobOutcome(
        lambda: {"estimates": estimates.save_estimate_sheet(sampling, drawn, by=by).pk},
        discard=partial(estimates.delete_unused_sheet_file, drawn),
    )


def prepare_disagreement_sheet(job: BackgroundJob, by: User) -> JobOutcome:
    assert job.phase is not None
    record_progress(job, 0, gettext_noop("drawing the sample"))
    asked = disagreements.DisagreementRequest(
        phase=job.phase,
        judge=job.given["disagreements"],
        pairs=job.given["pairs"],
        seed=job.given["seed"],
    )
    found = disagreements.sample_disagreements(asked, by)
    lines = estimates.store_sheet_file(
        disagreements.build_lines_for_people_to_label(asked, found)
    )
    return JobOutcome(
        lambda: {
            "estimates": disagreements.save_disagreement_sheet(
                asked, found, lines, by=by
            ).pk,
            "pairs_found": lines.rows,
        },
        discard=partial(estimates.delete_unused_sheet_file, lines),
    )


def prepare_estimates(job: BackgroundJob, by: User) -> JobOutcome:
    sheets = EstimateSheet.objects.select_related("phase__task__season", "gold")
    sheet = sheets.filter(pk=job.given["estimate_sheet"]).first()
    if sheet is None:
        raise SheetRefused("the sheet was deleted meanwhile")
    record_progress(job, 0, gettext_noop("reading the labels"))
    if not sheet.has_random_sample_of_units:
        with copy_uploaded_file(job) as path:
            labels = disagreements.read_people_labels(sheet, path, job.filename, by)
        return _build_label_import_outcome(job, labels, by)
    with copy_uploaded_file(job) as path:
        found = estimates.compute_estimates_from_file(sheet, path, job.filename)
    people = estimates.store_sheet_file(found.rows)

    def store_estimates() -> Mapping[str, Any]:
        estimates.save_people_labels(sheet, found.result, people, by=by)
        return {"estimates": sheet.pk}

    return JobOutcome(
        store_estimates, discard=partial(estimates.delete_unused_sheet_file, people)
    )


def queue_label_import(
    *, season: Season, model: str, upload: UploadedRunFile, by: User
) -> BackgroundJob:
    return queue_background_job(
        BackgroundJobKind.LABELS, season, {"model": model}, by=by, upload=upload
    )


def queue_ledger_import(
    *, season: Season, judge: str, upload: UploadedRunFile, by: User
) -> BackgroundJob:
    return queue_background_job(
        BackgroundJobKind.LEDGER, season, {"model": judge}, by=by, upload=upload
    )


def prepare_labels(job: BackgroundJob, by: User) -> JobOutcome:
    record_progress(job, 0, gettext_noop("reading the file"))
    with copy_uploaded_file(job) as path:
        given = read_judgement_file(path, job.filename, job.given["model"], by)
    return _build_label_import_outcome(job, given, by)


def _build_label_import_outcome(
    job: BackgroundJob, given: ParsedJudgements, by: User
) -> JobOutcome:
    record_progress(job, 0.5, f"keeping {given.summary.rows} labels")
    stored: list[JudgementImportResult] = []

    def store_labels() -> Mapping[str, Any]:
        labels = store_judgements(given, season=job.season, by=by)
        stored.append(labels)
        return {
            "judge": labels.judge.name,
            "added": labels.added,
            "known": labels.known,
            "resumed": resume_jobs_after_import(labels, given),
        }

    # Runs that began to wait during the import are queued again for the new labels.
    return JobOutcome(
        store_labels,
        after=lambda: [resume_jobs_after_import(labels, given) for labels in stored],
    )


def prepare_judgements(job: BackgroundJob, by: User) -> JobOutcome:
    submission = job.submission
    assert submission is not None
    record_progress(job, 0, gettext_noop("reading the file"))
    with copy_uploaded_file(job) as path:
        compute_file_agreement(submission, path, job.filename, by)
    record_progress(job, 0.5, gettext_noop("storing the judgements"))

    def keep() -> Mapping[str, Any]:
        with copy_uploaded_file(job) as path:
            return {
                "judged": store_judgement_file(
                    submission=submission, path=path, filename=job.filename, by=by
                ).pk
            }

    return JobOutcome(keep)


#: A dry run of scoring first scores the BEST_RUNS_IN_FIRST_DRY_RUN best runs and the baselines of each phase.
BEST_RUNS_IN_FIRST_DRY_RUN = 5


def queue_dry_runs(
    season: Season, scorings: Sequence[Mapping[str, Any]], by: User
) -> list[BackgroundJob]:
    """Queue a job that scores the best runs and baselines without storing the scores,
    and a job that scores all other runs.
    """
    parts = ("best", "rest") if scorings else ()
    return [
        queue_background_job(
            BackgroundJobKind.DRY_RUN,
            season,
            {"part": part, "scorings": list(scorings)},
            by=by,
        )
        for part in parts
    ]


def prepare_dry_run(job: BackgroundJob, by: User) -> JobOutcome:
    tried: list[tuple[Mapping[str, Any], Board, BoardRow]] = []
    for scoring in job.given["scorings"]:
        board = compute_board(
            Phase.objects.select_related("task__season").get(pk=scoring["phase"]), by
        )
        competing = [row for row in board.systems if row.is_competing]
        best = [
            *competing[:BEST_RUNS_IN_FIRST_DRY_RUN],
            *(row for row in board.systems if row.is_baseline),
        ]
        rows = (
            best
            if job.given["part"] == "best"
            else competing[BEST_RUNS_IN_FIRST_DRY_RUN:]
        )
        tried += [(scoring, board, row) for row in rows]
    runs = Submission.objects.select_related("phase__task").in_bulk(
        [row.submission for *_of, row in tried]
    )
    scores: list[dict[str, Any]] = []
    for index, (scoring, board, row) in enumerate(tried):
        record_progress(job, index / len(tried), gettext_noop("scoring runs"))
        ranking, after, why = board.ranking, None, ""
        try:
            metrics = compute_scores_without_storing(runs[row.submission], scoring)
            after = metrics[find_ranking_metric_name(metrics, scoring["rank_by"])][
                "value"
            ]
        except (
            ScoringOfRunFailed,
            work.JobWaitsForDependency,
            work.JobProcessDied,
        ) as reason:
            why = str(reason)
        scale = ranking.scale if ranking else 1.0
        sign = -1 if ranking and ranking.higher_is_better is False else 1
        scores.append(
            {
                "phase": f"{board.phase.task}, {board.phase}",
                "system": row.system,
                "team": row.display_name,
                "rank": board.format_rank_of_row(row),
                "before": format_score(row.scores[ranking.name].value, scale)
                if ranking
                else "",
                "after": "" if after is None else format_score(after, scale),
                "value": None if after is None else after * sign,
                "why": why,
            }
        )
    values: dict[str, list[float]] = {}
    for score in scores:
        if score["value"] is not None:
            values.setdefault(score["phase"], []).append(score["value"])
    for score in scores:
        value = score.pop("value")
        better = [
            other
            for other in values.get(score["phase"], [])
            if value is not None and other > value
        ]
        score["place"] = "" if value is None else str(1 + len(better))
    return JobOutcome(lambda: {"scores": scores})


@contextmanager
def copy_uploaded_file(job: BackgroundJob) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="citeboard-sent-") as folder:
        with convert_storage_errors():
            path = storage.copy_to_local_folder(
                storage.statistics_file_storage, job.file, Path(folder)
            )
        yield path


def queue_archive(
    *, season: Season, version: str, with_gold: bool, by: User
) -> BackgroundJob:
    return queue_background_job(
        BackgroundJobKind.ARCHIVE,
        season,
        {"version": version, "with_gold": bool(with_gold)},
        by=by,
    )


def find_finished_archives(season: Season) -> QuerySet[BackgroundJob]:
    return season.background_jobs.filter(
        kind=BackgroundJobKind.ARCHIVE, job__state=BackgroundJobState.DONE
    )


#: An outdated archive is available for OUTDATED_ARCHIVE_LIFETIME to people who may see its contents.
OUTDATED_ARCHIVE_LIFETIME = dt.timedelta(hours=1)


def find_or_queue_overview_paper(paper: OverviewPaper) -> BackgroundJob:
    """Return the stored overview paper if it is current, or else a job that writes a
    new paper.
    """
    if (found := find_stored_paper_job(paper)) and is_stored_paper_current(
        found, paper
    ):
        return found
    if (moving := find_unfinished_paper_job(paper)) is not None:
        # Only one job at a time writes a paper, with the data at the start of the job.
        return moving
    return queue_background_job(
        BackgroundJobKind.PAPER,
        paper.season,
        {"state": compute_paper_content_digest(paper)},
        by=_find_viewer_of_paper(paper),
    )


def find_stored_paper_job(paper: OverviewPaper) -> BackgroundJob | None:
    made = (
        _find_paper_jobs(paper)
        .filter(job__state=BackgroundJobState.DONE)
        .order_by("-finished_at", "-pk")
    )
    rights, state = (
        compute_paper_access_digest(paper),
        compute_paper_content_digest(paper),
    )
    allowed = [job for job in made if job.result["rights"] == rights and job.file]
    exact = next((job for job in allowed if job.result["state"] == state), None)
    recent = (
        job
        for job in allowed
        if job.finished_at
        and timezone.now() - job.finished_at < OUTDATED_ARCHIVE_LIFETIME
    )
    return exact or next(recent, None)


def is_stored_paper_current(job: BackgroundJob, paper: OverviewPaper) -> bool:
    return job.state == BackgroundJobState.DONE and bool(
        job.result["state"] == compute_paper_content_digest(paper)
    )


def find_unfinished_paper_job(paper: OverviewPaper) -> BackgroundJob | None:
    return _find_paper_jobs(paper).filter(finished_at=None).first()


def _find_paper_jobs(paper: OverviewPaper) -> QuerySet[BackgroundJob]:
    made = BackgroundJob.objects.filter(
        kind=BackgroundJobKind.PAPER,
        season=paper.season,
        asked_by=_find_viewer_of_paper(paper),
    )
    return made.select_related("job")


def overview_paper_of_job(job: BackgroundJob) -> OverviewPaper:
    return OverviewPaper.for_viewer(job.season, job.asked_by)


def prepare_paper(job: BackgroundJob) -> JobOutcome:
    paper = overview_paper_of_job(job)
    # The job reads the state first, so that later changes make the archive outdated.
    facts = {
        "rights": compute_paper_access_digest(paper),
        "state": compute_paper_content_digest(paper),
    }
    content = paper.archive(partial(record_progress, job))
    record_progress(job, 1, gettext_noop("storing the archive"))
    with convert_storage_errors():
        name = storage.statistics_file_storage.save(
            make_random_storage_name("zip"), ContentFile(content)
        )
    return JobOutcome(lambda: {**facts, "bytes": len(content)}, file=name)


def compute_paper_access_digest(paper: OverviewPaper) -> str:
    rights = []
    for phase in _find_phases_of_paper(paper):
        audience = visibility.determine_audience(phase, paper.viewer)
        classes = (
            1
            if visibility.may_see_instances(phase, audience)
            else get_embargoes_of_phase(phase).min_class_size
        )
        shown = (
            visibility.shows_teams(phase, audience),
            visibility.shows_run_counts(phase, audience),
        )
        stood = str(visibility.find_freeze_time_for_audience(phase, audience) or "")
        rights.append(
            (
                phase.pk,
                audience,
                visibility.determine_board_visibility(phase, audience),
                *shown,
                stood,
                classes,
            )
        )
    gone = ~Q(exclusion="") | Q(status=Submission.Status.WITHDRAWN)
    runs = Submission.objects.filter(gone, phase__task__season=paper.season).order_by(
        "pk"
    )
    return _compute_digest_of_values(
        rights,
        paper.season.shows_overall,
        list(runs.values_list("pk", flat=True)),
        overview_paper.participants_as_csv(paper.teams),
    )


def compute_paper_content_digest(paper: OverviewPaper) -> str:
    season = paper.season
    tasks = {phase.task_id: phase.task for phase in _find_phases_of_paper(paper)}
    facts = [
        [
            (column.attname, getattr(row, column.attname))
            for column in row._meta.concrete_fields  # noqa: SLF001
        ]
        for row in (season, *tasks.values(), *_find_phases_of_paper(paper))
    ]
    return _compute_digest_of_values(
        compute_paper_access_digest(paper),
        facts,
        compute_release_digest(),
        figure_files.list_image_formats(),
    )


def _find_phases_of_paper(paper: OverviewPaper) -> list[Phase]:
    return list(
        Phase.objects.filter(task__season=paper.season)
        .select_related("task__season")
        .order_by("pk")
    )


def _find_viewer_of_paper(paper: OverviewPaper) -> User | None:
    return paper.viewer if isinstance(paper.viewer, User) else None


def _compute_digest_of_values(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


#: The worker renews a lease LEASE_RENEWALS_PER_DURATION times within the duration of the lease.
LEASE_RENEWALS_PER_DURATION = 4


@dataclass(frozen=True)
class JobOutcome:
    """The outcome of a background job, with the work that follows the job.

    `record` stores the results in the transaction that ends the job, and returns the
    values that the job's page shows. ``problems`` lists findings that did not make the
    job fail, and ``record`` may append findings. If the transaction of ``record``
    fails, ``discard`` deletes the files with the job's results.
    """

    record: Callable[[], Mapping[str, Any]]
    file: str = ""
    problems: Sequence[Problem] = ()
    after: Callable[[], object] = lambda: None
    discard: Callable[[], object] = lambda: None


def record_progress(job: BackgroundJob, share: float, doing: str) -> None:
    """Record the progress of a background job, as a share between 0 and 1.

    Raises JobClaimLost if another worker has taken the job, and Stopping if the worker must
    end.
    """
    interruptions.raise_if_stop_requested()
    if not background.update_background_job_progress(job, share, doing):
        raise engine.JobClaimLost


@contextmanager
def renew_lease_during(job: BackgroundJob) -> Iterator[None]:
    """Renew the lease of a background job until the block ends.

    The lease must be renewed, because a job that reads a large file can take minutes.
    """
    ended = threading.Event()

    def renew_lease_until_ended() -> None:
        while not ended.wait(
            background.BACKGROUND_WORK_JOBS.lease / LEASE_RENEWALS_PER_DURATION
        ):
            # The next renewal of the lease may succeed after a database error.
            # If all renewals fail, the lease expires and another worker takes the job.
            with suppress(*DATABASE_ERRORS):
                engine.renew_lease(job.job)
            connection.close()

    beating = threading.Thread(
        target=renew_lease_until_ended, name="heartbeat", daemon=True
    )
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()


def visible_job_or_404(user: object, number: int) -> BackgroundJob:
    related = ("job", "season", "phase", "submission", "asked_by")
    job = BackgroundJob.objects.select_related(*related).filter(pk=number).first()
    if job is not None:
        season = job.season
        if job.kind != BackgroundJobKind.PAPER:
            may_see = can_organise_season(user, season)
        elif job.asked_by_id is None:
            # Archives without an owner are visible to everyone who can see the season.
            may_see = (
                season.is_public
                or Season.objects.visible_to(user).filter(pk=season.pk).exists()
            )
        else:
            may_see = getattr(user, "pk", None) == job.asked_by_id and can_help_season(
                user, season
            )
        if may_see:
            return job
    raise Http404(_("There is no background job for you at this address."))


def find_background_jobs(
    season: Season,
    *kinds: BackgroundJob.Kind,
    submission: int | None = None,
    phase: int | None = None,
) -> list[BackgroundJob]:
    is_open = Q(finished_at=None) | Q(job__state=BackgroundJobState.FAILED)
    found = BackgroundJob.objects.filter(is_open, season=season, kind__in=kinds)
    found = found.filter(submission=submission) if submission else found
    found = found.filter(phase=phase) if phase else found
    return list(found.select_related("job", "asked_by")[:5])


def judgeable_run_or_404(user: object, number: int) -> Submission:
    """Return a run with claims or judgements, in a season that the user organises.

    Raises Http404 if there is no such run.
    """
    run = (
        Submission.objects.select_related("phase__task__season", "team")
        .filter(pk=number)
        .first()
    )
    is_theirs = run is not None and can_organise_season(user, run.phase.task.season)
    if (
        run is None
        or not is_theirs
        or not (hasattr(run, "judged") or find_evaluation_with_claims(run))
    ):
        raise Http404(
            _("There is no run with claims for you to organise at this address.")
        )
    return run


def describe_why_job_waits(job: BackgroundJob) -> str:
    if job.state != BackgroundJobState.QUEUED:
        return ""
    if job.reason:
        return job.reason
    if cause := queue_choice.explain_unserved_queue(job.job.queue):
        return _("It waits because %(cause)s.") % {"cause": cause}
    return _("A worker takes it within a few seconds.")


def _describe_sheet_result(job: BackgroundJob) -> tuple[str, str]:
    made, season = job.result, job.season.slug
    if "added" in made:
        return describe_label_import(made, ""), reverse(
            "organise-estimates", args=[season]
        )
    if "estimates" in made:
        page = reverse("organise-estimates", args=[season])
        if "disagreements" in job.given:
            words = _(
                "The sheet is created, with %(pairs)s. People label them, and you upload "
                "the file."
            )
            words %= {"pairs": count_with_noun(made["pairs_found"], "pair")}
        elif "estimates" in job.given:
            words = _("The sheet is created. People label it, and you upload the file.")
        else:
            words = _(
                "The scores are estimated. Publish them to show them beside the board."
            )
        return words, page
    if "pairs" in made:
        page = reverse("organise-pair-sheet", args=[season, made["pairs"]])
        return _("The sheet is created. Say now who judges it."), page
    page = reverse("organise-sheet", args=[season, made["sheet"]])
    return _("The sheet is created. Say now who rates it."), page


def describe_job_result(job: BackgroundJob) -> tuple[str, str]:
    made, season = job.result, job.season.slug
    if job.kind == BackgroundJobKind.SHEET:
        return _describe_sheet_result(job)
    if job.kind in (BackgroundJobKind.LABELS, BackgroundJobKind.LEDGER):
        return describe_label_import(made, job.given["model"]), find_page_of_job(job)
    if job.kind == BackgroundJobKind.JUDGEMENTS:
        return _("The judgements are stored."), reverse(
            "submission-judgements", args=[job.submission_id]
        )
    if job.kind == BackgroundJobKind.JUDGE:
        return describe_judging_result(made), find_page_of_job(job)
    if job.kind == BackgroundJobKind.OLD_RUNS:
        return describe_old_runs_result(made), reverse("organise-runs", args=[season])
    if job.kind == BackgroundJobKind.DRY_RUN:
        words = _("%(runs)s scored; no result is stored.")
        return words % {"runs": count_with_noun(len(made["scores"]), "run")}, ""
    if job.kind == BackgroundJobKind.ARCHIVE:
        words = _("The archive is ready, with %(boards)s, %(runs)s and %(gold)s.")
        counts = {
            "gold": count_with_noun(made["gold"], "version of gold", "versions of gold")
        }
        words %= {
            **counts,
            "boards": count_with_noun(made["boards"], "board"),
            "runs": count_with_noun(made["runs"], "run"),
        }
        if made["withheld"]:
            left_out = _(
                "Without runs and gold of what is not over or still secret: %(phases)s."
            )
            words = f"{words} {left_out % {'phases': join_names(made['withheld'])}}"
        return words, reverse("organise-archive-zip", args=[season, job.pk])
    view = "" if job.asked_by_id else "?as=everybody"
    return _("The zip is created."), reverse("overview-paper-zip", args=[season]) + view


def find_page_of_job(job: BackgroundJob) -> str:
    season = job.season.slug
    if job.kind == BackgroundJobKind.JUDGEMENTS:
        return reverse("submission-judgements", args=[job.submission_id])
    if job.kind == BackgroundJobKind.OLD_RUNS:
        return reverse("organise-old-runs", args=[season, job.phase_id])
    page = {
        BackgroundJobKind.DRY_RUN: "organise-gold",
        BackgroundJobKind.SHEET: "organise-human",
        BackgroundJobKind.LABELS: "organise-models",
        BackgroundJobKind.LEDGER: "organise-ledger",
        BackgroundJobKind.JUDGE: "organise-judges",
        BackgroundJobKind.PAPER: "overview-paper",
        BackgroundJobKind.ARCHIVE: "organise-archive",
    }
    return reverse(page[BackgroundJobKind(job.kind)], args=[season])
