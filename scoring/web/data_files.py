"""A task's released data in the layouts of others, by session or token: what the reader may have of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import IO

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.teams.api import asking_user
from scoring.exchange.dataset_card import NoLines, write_data_set
from scoring.exchange.given_out import GivenSplit, etag_of, given_out
from scoring.exchange.released import released_phases
from scoring.exchange.results import site_address
from scoring.exchange.trec import write_trec
from tasks.models import Task
from tasks.seasons.access import task_for

#: Larger archives are kept on disk while they are made.
IN_MEMORY = 4 << 20


@require_safe
def trec(request: HttpRequest, season: str, task: str) -> HttpResponseBase:
    person = asking_user(request)
    found = task_for(person, season, task)
    form = found.task_type.trec
    if form is None:
        raise Http404(_("The data of this task are no topics and documents."))
    splits = _splits(found, person)
    return _archive(request, found, splits, "trec", lambda out: write_trec(out, found, form, splits))


@require_safe
def hugging_face(request: HttpRequest, season: str, task: str) -> HttpResponseBase:
    person = asking_user(request)
    found = task_for(person, season, task)
    splits = _splits(found, person)
    try:
        return _archive(
            request, found, splits, "hugging-face", lambda out: write_data_set(out, found, splits)
        )
    except NoLines:
        raise Http404(_("The data of this task are no JSON lines.")) from None


def _splits(task: Task, person: object) -> list[GivenSplit]:
    """Raises Http404 where nothing is released, PermissionDenied where the terms come first."""
    splits = given_out(task, person)
    if splits:
        return splits
    if released_phases(task):
        terms = site_address("terms", task.season.slug)
        raise PermissionDenied(
            _("The data come after the season's terms are accepted. They are at %(terms)s.")
            % {"terms": terms}
        )
    raise Http404(_("This task has released no data."))


def _archive(
    request: HttpRequest,
    task: Task,
    splits: list[GivenSplit],
    form: str,
    write: Callable[[IO[bytes]], None],
) -> HttpResponseBase:
    etag = etag_of(splits, f"{form} {task.season.licence} {task}")
    same = get_conditional_response(request, etag=etag)
    if same is not None and same.status_code == HttpResponse(status=304).status_code:
        return same
    out = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  (the answer closes it)
    try:
        write(out)
    except BaseException:
        out.close()
        raise
    out.seek(0)
    name = f"{task.season.slug}-{task.slug}-{form}.zip"
    response = FileResponse(out, as_attachment=True, filename=name, content_type="application/zip")
    response["ETag"] = etag
    return response
