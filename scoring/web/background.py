"""A background job's page: how far it is, what came of it, or why it failed."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from scoring.background.access import begun_from, job_for, outcome_of, waits_for
from scoring.models import BackgroundJob
from scoring.worker.background import State


@require_safe
def background_job(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, pk, "background/job.html")


@require_safe
def background_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that changes; it asks for itself again until the job has ended."""
    return _page(request, pk, "background/_status.html")


def _page(request: HttpRequest, pk: int, template: str) -> HttpResponse:
    try:
        job = job_for(request.user, pk)
    except Http404:
        if request.user.is_authenticated:
            raise
        return redirect_to_login(reverse("background-job", args=[pk]))
    response = render(request, template, {"season": job.season, "job": job, **_facts(job)})
    response["Cache-Control"] = "private, no-store"
    return response


def _facts(job: BackgroundJob) -> dict[str, Any]:
    words, path = outcome_of(job) if job.state == State.DONE else ("", "")
    return {
        "waits_for": waits_for(job),
        "outcome": words,
        "path": path,
        "is_file": path.partition("?")[0].endswith(".zip"),
        "again": begun_from(job),
        "problems": job.problems,
        "more": job.more,
    }
