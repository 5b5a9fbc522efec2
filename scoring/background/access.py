"""Who may see a background job, and what its page says of it."""

from django.db.models import Q
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.human.claim_review import judged_evaluation
from scoring.models import BackgroundJob
from scoring.worker.background import Kind, State
from tasks.jobs.groups import why_unserved
from tasks.models import Job, Season, Submission
from tasks.seasons.access import may_help, may_organise


def job_for(user: object, number: int) -> BackgroundJob:
    related = ("job", "season", "phase", "submission", "asked_by")
    job = BackgroundJob.objects.select_related(*related).filter(pk=number).first()
    if job is not None:
        season = job.season
        if job.kind != Kind.PAPER:
            may_see = may_organise(user, season)
        elif job.asked_by_id is None:
            # An archive that everybody gets is nobody's own.
            may_see = season.is_public or Season.objects.visible_to(user).filter(pk=season.pk).exists()
        else:
            may_see = getattr(user, "pk", None) == job.asked_by_id and may_help(user, season)
        if may_see:
            return job
    raise Http404(_("There is no background job for you at this address."))


def jobs_of(season: Season, *kinds: BackgroundJob.Kind, submission: int | None = None) -> list[BackgroundJob]:
    is_open = Q(finished_at=None) | Q(job__state=State.FAILED)
    found = BackgroundJob.objects.filter(is_open, season=season, kind__in=kinds)
    found = found.filter(submission=submission) if submission else found
    return list(found.select_related("job", "asked_by")[:5])


def run_to_judge(user: object, number: int) -> Submission:
    """A run with claims or judgements, in a season that the user organises. Raises Http404."""
    run = Submission.objects.select_related("phase__task__season", "team").filter(pk=number).first()
    is_theirs = run is not None and may_organise(user, run.phase.task.season)
    if run is None or not is_theirs or not (hasattr(run, "judged") or judged_evaluation(run)):
        raise Http404(_("There is no run with claims for you to organise at this address."))
    return run


def waits_for(job: BackgroundJob) -> str:
    if job.state != State.QUEUED:
        return ""
    if job.reason:
        return job.reason
    cause = why_unserved(Job.LIGHT)
    if cause:
        return _("It waits since %(cause)s.") % {"cause": cause}
    return _("A worker takes it within a few seconds.")


def outcome_of(job: BackgroundJob) -> tuple[str, str]:
    made, season = job.result, job.season.slug
    if job.kind == Kind.SHEET:
        return _("The sheet is made. Say now who rates it."), reverse(
            "organise-sheet", args=[season, made["sheet"]]
        )
    if job.kind == Kind.LABELS:
        facts = {"labels": counted(made["added"], "label"), "model": job.given["model"]}
        words = _("%(labels)s of %(model)s added.") % facts
        if made["known"]:
            facts["others"] = counted(made["known"], "other")
            words = _("%(labels)s of %(model)s added, %(others)s were there.") % facts
        if made["resumed"]:
            resumed = _("%(scorings)s gone on with.") % {"scorings": counted(made["resumed"], "scoring")}
            words = f"{words} {resumed}"
        return words, reverse("organise-models", args=[season])
    if job.kind == Kind.JUDGEMENTS:
        return _("The judgements are kept."), reverse("submission-judgements", args=[job.submission_id])
    view = "" if job.asked_by_id else "?as=everybody"
    return _("The zip is made."), reverse("overview-paper-zip", args=[season]) + view


def begun_from(job: BackgroundJob) -> str:
    season = job.season.slug
    if job.kind == Kind.JUDGEMENTS:
        return reverse("submission-judgements", args=[job.submission_id])
    page = {Kind.SHEET: "organise-human", Kind.LABELS: "organise-models", Kind.PAPER: "overview-paper"}
    return reverse(page[Kind(job.kind)], args=[season])
