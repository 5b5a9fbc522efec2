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
    judging_result_text,
    label_import_text,
    old_runs_result_text,
)
from citeboard.core import storage
from citeboard.core.release import release
from citeboard.core.words import count_with_noun, join_names
from citeboard.teams.models import User
from scoring.exchange import figure_files, overview_paper
from scoring.exchange.overview_paper import OverviewPaper
from scoring.human import disagreements, estimates, pairs
from scoring.human.claim_review import (
    compute_file_agreement,
    evaluation_with_claims,
    store_judgement_file,
)
from scoring.human.pair_plans import PlanDivision
from scoring.human.sheets import (
    SheetRefused,
    runs_on_board,
    sample_sheet,
    save_rating_sheet,
)
from scoring.models import BackgroundJob, EstimateSheet
from scoring.results.board import visibility
from scoring.results.board.formatting import shown
from scoring.results.board.standings import Board, Row, compute_board
from scoring.worker import background
from scoring.worker.background import (
    Kind,
    State,
    new_storage_name,
    queue_background_job,
)
from scoring.worker.child import RunFailed
from scoring.worker.dry_runs import dry_score
from scoring.worker.entailment_labels import resume_jobs_after_import
from scoring.worker.ledger import (
    ImportResult,
    ParsedJudgements,
    read_judgement_file,
    store_judgements,
)
from scoring.worker.local_copies import storage_in_use
from scoring.worker.release import ranking_metric_name
from tasks.gold.secrecy import embargoes_of
from tasks.jobs import engine, interruptions, queue_choice, work
from tasks.jobs.interruptions import DATABASE_ERRORS
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import may_help, may_organise
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
    choice = pairs.comparable_runs if battles else runs_on_board
    on_board = {run.pk: run for run in choice(job.phase, by)}
    if gone := [number for number in job.given["runs"] if number not in on_board]:
        raise SheetRefused(
            f"a chosen run does not stand on the board any more: {len(gone)} of them"
        )
    drawn = sample_sheet(
        phase=job.phase,
        runs=[on_board[number] for number in job.given["runs"]],
        instances=job.given["instances"],
        seed=job.given["seed"],
        tell=partial(record_progress, job),
    )
    if battles:
        asked = job.given.get("division")
        division = PlanDivision(**asked) if asked else None
        return JobOutcome(
            lambda: {"pairs": pairs.save_pair_sheet(drawn, battles, division, by=by).pk}
        )
    return JobOutcome(lambda: {"sheet": save_rating_sheet(drawn, by=by).pk})


def prepare_estimate_sheet(job: BackgroundJob, by: User) -> JobOutcome:
    assert job.phase is not None
    record_progress(job, 0, gettext_noop("drawing the sample"))
    sampling = estimates.new_sampling(
        job.phase, job.given["estimates"], job.given["labels"], by
    )
    drawn = estimates.store_sheet_file(estimates.draw_sample(sampling))
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
    lines = estimates.store_sheet_file(disagreements.lines_to_label(asked, found))
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
    if not sheet.corrects_scores:
        with copy_uploaded_file(job) as path:
            labels = disagreements.read_people_labels(sheet, path, job.filename, by)
        return _outcome_storing_labels(job, labels, by)
    with copy_uploaded_file(job) as path:
        found = estimates.computed(sheet, path, job.filename)
    people = estimates.store_sheet_file(found.rows)

    def keep() -> Mapping[str, Any]:
        estimates.save_people_labels(sheet, found.result, people, by=by)
        return {"estimates": sheet.pk}

    return JobOutcome(keep, discard=partial(estimates.delete_unused_sheet_file, people))


def queue_label_import(
    *, season: Season, model: str, upload: UploadedRunFile, by: User
) -> BackgroundJob:
    return queue_background_job(
        Kind.LABELS, season, {"model": model}, by=by, upload=upload
    )


def queue_ledger_import(
    *, season: Season, judge: str, upload: UploadedRunFile, by: User
) -> BackgroundJob:
    return queue_background_job(
        Kind.LEDGER, season, {"model": judge}, by=by, upload=upload
    )


def prepare_labels(job: BackgroundJob, by: User) -> JobOutcome:
    record_progress(job, 0, gettext_noop("reading the file"))
    with copy_uploaded_file(job) as path:
        given = read_judgement_file(path, job.filename, job.given["model"], by)
    return _outcome_storing_labels(job, given, by)


def _outcome_storing_labels(
    job: BackgroundJob, given: ParsedJudgements, by: User
) -> JobOutcome:
    record_progress(job, 0.5, f"keeping {given.summary.rows} labels")
    stored: list[ImportResult] = []

    def keep() -> Mapping[str, Any]:
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
        keep,
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


#: A dry run of scoring first scores the BEST_RUNS_SCORED_FIRST best runs and the baselines of each phase.
BEST_RUNS_SCORED_FIRST = 5


def queue_dry_runs(
    season: Season, scorings: Sequence[Mapping[str, Any]], by: User
) -> list[BackgroundJob]:
    """Queue a job that scores the best runs and baselines without storing the scores,
    and a job that scores all other runs.
    """
    parts = ("best", "rest") if scorings else ()
    return [
        queue_background_job(
            Kind.DRY_RUN, season, {"part": part, "scorings": list(scorings)}, by=by
        )
        for part in parts
    ]


def prepare_dry_run(job: BackgroundJob, by: User) -> JobOutcome:
    tried: list[tuple[Mapping[str, Any], Board, Row]] = []
    for scoring in job.given["scorings"]:
        board = compute_board(
            Phase.objects.select_related("task__season").get(pk=scoring["phase"]), by
        )
        competing = [row for row in board.systems if row.competes]
        best = [
            *competing[:BEST_RUNS_SCORED_FIRST],
            *(row for row in board.systems if row.is_baseline),
        ]
        rows = (
            best if job.given["part"] == "best" else competing[BEST_RUNS_SCORED_FIRST:]
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
            metrics = dry_score(runs[row.submission], scoring)
            after = metrics[ranking_metric_name(metrics, scoring["rank_by"])]["value"]
        except (RunFailed, work.JobWaitsForDependency, work.JobProcessDied) as reason:
            why = str(reason)
        scale = ranking.scale if ranking else 1.0
        sign = -1 if ranking and ranking.higher_is_better is False else 1
        scores.append(
            {
                "phase": f"{board.phase.task}, {board.phase}",
                "system": row.system,
                "team": row.display_name,
                "rank": board.rank_of(row),
                "before": shown(row.scores[ranking.name].value, scale)
                if ranking
                else "",
                "after": "" if after is None else shown(after, scale),
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
        with storage_in_use():
            path = storage.local_copy(storage.statistics, job.file, Path(folder))
        yield path


def ask_for_archive(
    *, season: Season, version: str, with_gold: bool, by: User
) -> BackgroundJob:
    return queue_background_job(
        Kind.ARCHIVE, season, {"version": version, "with_gold": bool(with_gold)}, by=by
    )


def finished_archives_of(season: Season) -> QuerySet[BackgroundJob]:
    return season.background_jobs.filter(kind=Kind.ARCHIVE, job__state=State.DONE)


#: An outdated archive is available for OUTDATED_ARCHIVE_KEPT to people who may see its contents.
OUTDATED_ARCHIVE_KEPT = dt.timedelta(hours=1)


def current_or_queued_paper(paper: OverviewPaper) -> BackgroundJob:
    """Return the stored overview paper if it is current, or else a job that writes a
    new paper.
    """
    if (found := stored_paper_job(paper)) and is_current(found, paper):
        return found
    if (moving := unfinished_paper_job(paper)) is not None:
        # Only one job at a time writes a paper, with the data at the start of the job.
        return moving
    return queue_background_job(
        Kind.PAPER,
        paper.season,
        {"state": paper_state_digest(paper)},
        by=_viewer_of_paper(paper),
    )


def stored_paper_job(paper: OverviewPaper) -> BackgroundJob | None:
    made = (
        _jobs_of_papers(paper)
        .filter(job__state=State.DONE)
        .order_by("-finished_at", "-pk")
    )
    rights, state = paper_rights_digest(paper), paper_state_digest(paper)
    allowed = [job for job in made if job.result["rights"] == rights and job.file]
    exact = next((job for job in allowed if job.result["state"] == state), None)
    recent = (
        job
        for job in allowed
        if job.finished_at and timezone.now() - job.finished_at < OUTDATED_ARCHIVE_KEPT
    )
    return exact or next(recent, None)


def is_current(job: BackgroundJob, paper: OverviewPaper) -> bool:
    return job.state == State.DONE and bool(
        job.result["state"] == paper_state_digest(paper)
    )


def unfinished_paper_job(paper: OverviewPaper) -> BackgroundJob | None:
    return _jobs_of_papers(paper).filter(finished_at=None).first()


def _jobs_of_papers(paper: OverviewPaper) -> QuerySet[BackgroundJob]:
    made = BackgroundJob.objects.filter(
        kind=Kind.PAPER, season=paper.season, asked_by=_viewer_of_paper(paper)
    )
    return made.select_related("job")


def paper_of(job: BackgroundJob) -> OverviewPaper:
    return OverviewPaper.for_viewer(job.season, job.asked_by)


def prepare_paper(job: BackgroundJob) -> JobOutcome:
    paper = paper_of(job)
    # The job reads the state first, so that later changes make the archive outdated.
    facts = {"rights": paper_rights_digest(paper), "state": paper_state_digest(paper)}
    content = paper.archive(partial(record_progress, job))
    record_progress(job, 1, gettext_noop("storing the archive"))
    with storage_in_use():
        name = storage.statistics.save(new_storage_name("zip"), ContentFile(content))
    return JobOutcome(lambda: {**facts, "bytes": len(content)}, file=name)


def paper_rights_digest(paper: OverviewPaper) -> str:
    rights = []
    for phase in _phases_of_paper(paper):
        audience = visibility.audience_of(phase, paper.viewer)
        classes = (
            1
            if visibility.may_see_instances(phase, audience)
            else embargoes_of(phase).min_class_size
        )
        shown = (
            visibility.shows_teams(phase, audience),
            visibility.shows_run_counts(phase, audience),
        )
        stood = str(visibility.freeze_time_for(phase, audience) or "")
        rights.append(
            (
                phase.pk,
                audience,
                visibility.visibility_of(phase, audience),
                *shown,
                stood,
                classes,
            )
        )
    gone = ~Q(exclusion="") | Q(status=Submission.Status.WITHDRAWN)
    runs = Submission.objects.filter(gone, phase__task__season=paper.season).order_by(
        "pk"
    )
    return _digest_facts(
        rights,
        paper.season.shows_overall,
        list(runs.values_list("pk", flat=True)),
        overview_paper.participants_csv(paper.teams),
    )


def paper_state_digest(paper: OverviewPaper) -> str:
    season = paper.season
    tasks = {phase.task_id: phase.task for phase in _phases_of_paper(paper)}
    facts = [
        [
            (column.attname, getattr(row, column.attname))
            for column in row._meta.concrete_fields  # noqa: SLF001
        ]
        for row in (season, *tasks.values(), *_phases_of_paper(paper))
    ]
    return _digest_facts(
        paper_rights_digest(paper), facts, release(), figure_files.image_formats()
    )


def _phases_of_paper(paper: OverviewPaper) -> list[Phase]:
    return list(
        Phase.objects.filter(task__season=paper.season)
        .select_related("task__season")
        .order_by("pk")
    )


def _viewer_of_paper(paper: OverviewPaper) -> User | None:
    return paper.viewer if isinstance(paper.viewer, User) else None


def _digest_facts(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


#: The worker renews a lease RENEWALS_PER_LEASE times within the duration of the lease.
RENEWALS_PER_LEASE = 4


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

    Raises JobLost if another worker has taken the job, and Stopping if the worker must
    end.
    """
    interruptions.raise_if_stop_requested()
    if not background.update_progress(job, share, doing):
        raise engine.JobLost


@contextmanager
def renew_lease_during(job: BackgroundJob) -> Iterator[None]:
    """Renew the lease of a background job until the block ends.

    The lease must be renewed, because a job that reads a large file can take minutes.
    """
    ended = threading.Event()

    def renew_lease_until_ended() -> None:
        while not ended.wait(background.BACKGROUND.lease / RENEWALS_PER_LEASE):
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
        if job.kind != Kind.PAPER:
            may_see = may_organise(user, season)
        elif job.asked_by_id is None:
            # Archives without an owner are visible to everyone who can see the season.
            may_see = (
                season.is_public
                or Season.objects.visible_to(user).filter(pk=season.pk).exists()
            )
        else:
            may_see = getattr(user, "pk", None) == job.asked_by_id and may_help(
                user, season
            )
        if may_see:
            return job
    raise Http404(_("There is no background job for you at this address."))


def jobs_of(
    season: Season,
    *kinds: BackgroundJob.Kind,
    submission: int | None = None,
    phase: int | None = None,
) -> list[BackgroundJob]:
    is_open = Q(finished_at=None) | Q(job__state=State.FAILED)
    found = BackgroundJob.objects.filter(is_open, season=season, kind__in=kinds)
    found = found.filter(submission=submission) if submission else found
    found = found.filter(phase=phase) if phase else found
    return list(found.select_related("job", "asked_by")[:5])


def run_to_judge(user: object, number: int) -> Submission:
    """Return a run with claims or judgements, in a season that the user organises.

    Raises Http404 if there is no such run.
    """
    run = (
        Submission.objects.select_related("phase__task__season", "team")
        .filter(pk=number)
        .first()
    )
    is_theirs = run is not None and may_organise(user, run.phase.task.season)
    if (
        run is None
        or not is_theirs
        or not (hasattr(run, "judged") or evaluation_with_claims(run))
    ):
        raise Http404(
            _("There is no run with claims for you to organise at this address.")
        )
    return run


def waiting_reason_of_job(job: BackgroundJob) -> str:
    if job.state != State.QUEUED:
        return ""
    if job.reason:
        return job.reason
    if cause := queue_choice.explain_unserved_queue(job.job.queue):
        return _("It waits because %(cause)s.") % {"cause": cause}
    return _("A worker takes it within a few seconds.")


def _sheet_result_text(job: BackgroundJob) -> tuple[str, str]:
    made, season = job.result, job.season.slug
    if "added" in made:
        return label_import_text(made, ""), reverse("organise-estimates", args=[season])
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


def job_result_text(job: BackgroundJob) -> tuple[str, str]:
    made, season = job.result, job.season.slug
    if job.kind == Kind.SHEET:
        return _sheet_result_text(job)
    if job.kind in (Kind.LABELS, Kind.LEDGER):
        return label_import_text(made, job.given["model"]), page_of_origin(job)
    if job.kind == Kind.JUDGEMENTS:
        return _("The judgements are stored."), reverse(
            "submission-judgements", args=[job.submission_id]
        )
    if job.kind == Kind.JUDGE:
        return judging_result_text(made), page_of_origin(job)
    if job.kind == Kind.OLD_RUNS:
        return old_runs_result_text(made), reverse("organise-runs", args=[season])
    if job.kind == Kind.DRY_RUN:
        words = _("%(runs)s scored; no result is stored.")
        return words % {"runs": count_with_noun(len(made["scores"]), "run")}, ""
    if job.kind == Kind.ARCHIVE:
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


def page_of_origin(job: BackgroundJob) -> str:
    season = job.season.slug
    if job.kind == Kind.JUDGEMENTS:
        return reverse("submission-judgements", args=[job.submission_id])
    if job.kind == Kind.OLD_RUNS:
        return reverse("organise-old-runs", args=[season, job.phase_id])
    page = {
        Kind.DRY_RUN: "organise-gold",
        Kind.SHEET: "organise-human",
        Kind.LABELS: "organise-models",
        Kind.LEDGER: "organise-ledger",
        Kind.JUDGE: "organise-judges",
        Kind.PAPER: "overview-paper",
        Kind.ARCHIVE: "organise-archive",
    }
    return reverse(page[Kind(job.kind)], args=[season])
