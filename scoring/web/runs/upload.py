"""Sending a run: checked as a whole, and told everything that is wrong with it before anything counts."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.core.plain_text import plain
from citeboard.teams.access import teams_of
from citeboard.teams.models import Team, User
from scoring.runs.team_view import as_told
from scoring.web.breadcrumbs import place_of
from tasks.models import Bundle, Phase, Registration, Season, Submission
from tasks.seasons.access import entered_teams, may_help, phase_for, require_inputs, season_for
from tasks.seasons.cards import card
from tasks.submissions.bundles import BundleRefused, Part, check_bundle, runs_of, submit_bundle
from tasks.submissions.forms import BundleForm, RunForm
from tasks.submissions.refusals import CardIncomplete, RunNotTaken, RunRejected
from tasks.submissions.run_card import TeamMeasure, checked_details, measures_for
from tasks.submissions.submit import check_run, quota, said_of, sent_before, submit_run
from tasks.submissions.uploads import UploadTooLarge, received, received_if_any
from tasks.types import Problem
from tasks.types.problems import capped


@dataclass
class Outcome:
    """What became of a file that was looked at: a sentence, and what is wrong with it by line."""

    sentence: str
    is_good: bool = False
    #: The file was sent before, and its sender has to say that this is meant.
    asks: bool = False
    problems: Sequence[Problem] = field(default_factory=tuple)
    more: int = 0

    @property
    def several_files(self) -> bool:
        return len({problem.file for problem in self.problems}) > 1

    @property
    def csv(self) -> str:
        """All listed problems as an address that needs no second upload."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow(["file", "line", "severity", "problem", "expected", "found"])
        for problem in self.problems:
            severity = "error" if problem.fatal else "warning"
            row = [problem.file, problem.line, severity, problem.message, problem.expected, problem.quote]
            writer.writerow([plain(value) for value in row])
        return "data:text/csv;base64," + base64.b64encode(out.getvalue().encode()).decode()


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    teams = list(entered_teams(request.user, found.task.season))
    if not teams:
        return no_team(request, found.task.season)
    is_check = request.POST.get("do") == "check"
    measures = measures_for(found.task.task_type)
    has_priority = found.counting == Phase.Counting.PRIORITY
    asked = {
        "teams": teams,
        "measures": measures,
        "required": found.card_required,
        "has_priority": has_priority,
    }
    if request.method != "POST":
        return _page(request, found, teams, RunForm(**asked), None)
    form = RunForm(request.POST, request.FILES, **asked, is_check=is_check)
    if not form.is_valid():
        return _page(request, found, teams, form, None)
    team = form.cleaned_data.get("team") or teams[0]
    outcome = _checked(form, found, request.user) if is_check else _submitted(form, found, team, request.user)
    if isinstance(outcome, Submission):
        return sent_to(request, reverse("submission", args=[outcome.pk]))
    return _page(request, found, teams, form, outcome)


def _checked(form: RunForm, phase: Phase, user: object) -> Outcome:
    assert isinstance(user, User)
    try:
        require_inputs(user, phase)
        given = form.cleaned_data
        said = said_of(
            phase.task.task_type,
            description=given["description"],
            card=form.card(),
            figures=form.figures(),
        )
        with received(given["run"]) as file, received_if_any(given["metadata"]) as metadata:
            found = check_run(phase=phase, upload=file, by=user, said=said, metadata=metadata)
    except (UploadTooLarge, RunNotTaken) as refused:
        return Outcome(f"{capitalised(refused)}.")
    except ValidationError as faults:
        _add_faults(form, faults)
        return Outcome(_("Something is missing above."))
    problems, more = capped(found.problems)
    if found.errors:
        return Outcome(
            _("This run would be refused. Nothing was stored or counted."), problems=problems, more=more
        )
    if not found.is_read:
        sentence = _(
            "This file opens, and is too large to be read while you wait. Nothing was stored or counted."
        )
        return Outcome(sentence, is_good=True, problems=problems, more=more)
    if problems:
        sentence = _("This run can be scored. Look at these warnings before you submit it.")
        return Outcome(sentence, is_good=True, problems=problems, more=more)
    return Outcome(
        _("This run can be scored; nothing is odd about it. Nothing was stored or counted."), is_good=True
    )


def _submitted(form: RunForm, phase: Phase, team: Team, user: object) -> Outcome | Submission:
    assert isinstance(user, User)
    said = form.cleaned_data
    try:
        with received(said["run"]) as file, received_if_any(said["metadata"]) as metadata:
            before = None if said["again"] else sent_before(phase, team, file)
            if before is not None:
                return Outcome(
                    _(
                        "This very file was sent before, as run %(number)s (%(system)s). Nothing was "
                        "stored or counted. To send it once more, say so below the file and submit again."
                    )
                    % {"number": before.number, "system": before.system},
                    asks=True,
                )
            return submit_run(
                phase=phase,
                team=team,
                user=user,
                upload=file,
                system=said["system"],
                description=said["description"],
                kind=said["kind"],
                team_figures=form.figures(),
                card=form.card(),
                metadata=metadata,
                priority=said.get("priority"),
            )
    except CardIncomplete as refused:
        form.add_missing(refused.missing)
        reason = capitalised(refused)
        return Outcome(_("%(reason)s. Nothing was stored or counted.") % {"reason": reason})
    except RunRejected as refused:
        sentence = _("This run was refused. Nothing was stored, and it does not count.")
        return Outcome(sentence, problems=refused.problems, more=refused.more)
    except (UploadTooLarge, RunNotTaken) as refused:
        return Outcome(f"{capitalised(refused)}.")
    except ValidationError as faults:
        _add_faults(form, faults)
        return Outcome(_("Something is missing above."))


def _add_faults(form: RunForm, faults: ValidationError) -> None:
    for name, errors in faults.message_dict.items():
        form.add_error(name if name in form.fields else None, [capitalised(error) for error in errors])


def _page(
    request: HttpRequest, phase: Phase, teams: list[Team], form: RunForm, outcome: Outcome | None
) -> HttpResponse:
    team = teams[0]
    if form.is_bound and form.is_valid() and form.cleaned_data.get("team"):
        team = form.cleaned_data["team"]
    context = {
        **place_of(phase),
        "form": form,
        "outcome": outcome,
        "team": team,
        "quota": quota(phase, team),
        "card": card(phase.task.type),
        "site": settings.BASE_URL,
        "api_address": reverse("api:submit", args=[phase.pk]),
        "is_open": phase.is_open(),
        "takes_late": phase.closes <= now() < (phase.late_until or phase.closes),
        "is_ahead": now() < phase.opens,
        "waits": Registration.objects.filter(season=phase.task.season_id, team=team).waiting().exists(),
        "recent": [as_told(run, request.user) for run in _recent(phase, teams)],
    }
    refused = form.is_bound and (outcome is None or not outcome.is_good)
    return render(request, "runs/upload.html", context, status=422 if refused else 200)


def _recent(phase: Phase, teams: list[Team]) -> QuerySet[Submission]:
    runs = Submission.objects.filter(phase=phase, team__in=teams)
    return runs.select_related("team", "phase__task__season")[:10]


def sent_to(request: HttpRequest, address: str) -> HttpResponse:
    """On to the run's page; a request by script is told so in a header, since it could not see a redirect."""
    if request.headers.get("HX-Request"):
        response = HttpResponse(status=204)
        response["HX-Redirect"] = address
        return response
    return redirect(address)


def capitalised(said: object) -> str:
    text = str(said)
    return text[:1].upper() + text[1:]


def no_team(request: HttpRequest, season: Season) -> HttpResponse:
    teams = teams_of(request.user).order_by("name")
    names = _(" or ").join(team.name for team in teams)
    context = {"season": season, "teams": teams, "team_names": names}
    return render(request, "runs/no_team.html", context, status=403)


@dataclass
class Looked:
    """What became of the file: a sentence, and what it is to each task."""

    sentence: str
    is_good: bool = False
    parts: Sequence[tuple[Phase, Outcome]] = field(default_factory=tuple)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def season_upload(request: HttpRequest, season: str) -> HttpResponse:
    found = season_for(request.user, season)
    teams = list(entered_teams(request.user, found))
    if not teams:
        return no_team(request, found)
    phases = _open_phases(found)
    is_check = request.POST.get("do") == "check"
    asked: dict[str, Any] = {
        "teams": teams,
        "phases": phases,
        "required": [name for phase in phases for name in phase.card_required],
        "measures": _measures(phases),
    }
    if request.method != "POST":
        return _bundle_page(request, found, teams, phases, BundleForm(**asked), None)
    form = BundleForm(request.POST, request.FILES, **asked, is_check=is_check)
    if not form.is_valid():
        return _bundle_page(request, found, teams, phases, form, None)
    team = form.cleaned_data.get("team") or teams[0]
    outcome = _looked_at(form, found, team, request.user, is_check=is_check)
    if isinstance(outcome, Bundle):
        return sent_to(request, reverse("bundle", args=[outcome.pk]))
    return _bundle_page(request, found, teams, phases, form, outcome)


@login_required
@require_safe
def bundle(request: HttpRequest, pk: int) -> HttpResponse:
    """The runs of one file, together: for its team and for organisers."""
    found = Bundle.objects.select_related("season", "team", "submitted_by").filter(pk=pk).first()
    if found is None or not (
        teams_of(request.user).filter(pk=found.team_id).exists() or may_help(request.user, found.season)
    ):
        raise Http404(_("There are no runs of yours at this address."))
    runs = [as_told(run, request.user) for run in runs_of(found)]
    context = {
        "season": found.season,
        "bundle": found,
        "runs": runs,
        "is_moving": any(run.is_moving for run in runs),
    }
    return render(request, "runs/bundle.html", context)


def _open_phases(season: Season) -> list[Phase]:
    phases = Phase.objects.open().filter(task__season=season, task__is_reported_only=False)
    return list(phases.select_related("task__season").order_by("task__position", "task_id", "position"))


def _measures(phases: Sequence[Phase]) -> list[TeamMeasure]:
    """What runs for any of the tasks may be given with."""
    types = {phase.task.type: phase.task.task_type for phase in phases}.values()
    return list(dict.fromkeys(measure for task_type in types for measure in measures_for(task_type)))


def _looked_at(
    form: BundleForm, season: Season, team: Team, user: object, *, is_check: bool
) -> Looked | Bundle:
    assert isinstance(user, User)
    said = form.cleaned_data
    given = {
        "season": season,
        "phase": said.get("phase", ""),
        "tasks": said["tasks"],
        "card": form.card(),
        "team_figures": form.figures(),
    }
    try:
        with received(said["run"]) as file, received_if_any(said["metadata"]) as metadata:
            if is_check:
                described = {"description": said["description"], "metadata": metadata}
                return _checked_bundle(check_bundle(upload=file, by=user, **described, **given))
            return submit_bundle(
                upload=file,
                team=team,
                user=user,
                details=checked_details(
                    system=said["system"], description=said["description"], kind=said["kind"]
                ),
                metadata=metadata,
                **given,
            )
    except BundleRefused as refused:
        for part in refused.parts:
            if isinstance(part.refusal, CardIncomplete):
                form.add_missing(part.refusal.missing)
        return Looked(
            _("Nothing was stored and nothing counts: all parts of a file are taken, or none."),
            parts=[_described(part) for part in refused.parts],
        )
    except (UploadTooLarge, RunNotTaken) as refused:
        return Looked(f"{capitalised(refused)}.")
    except ValidationError as faults:
        for name, errors in faults.message_dict.items():
            form.add_error(name if name in form.fields else None, [capitalised(error) for error in errors])
        return Looked(_("Something is missing below."))


def _checked_bundle(parts: Sequence[Part]) -> Looked:
    told = [_described(part) for part in parts]
    if all(part.is_good for part in parts):
        return Looked(
            _("All of this can be scored. Nothing was stored or counted."), is_good=True, parts=told
        )
    return Looked(_("This file would be refused. Nothing was stored or counted."), parts=told)


def _described(part: Part) -> tuple[Phase, Outcome]:
    more = part.refusal.more if isinstance(part.refusal, RunRejected) else 0
    if part.refusal is None:
        words = (
            _("The part for this task can be scored; look at the warnings.")
            if part.problems
            else _("The part for this task can be scored.")
        )
        return part.phase, Outcome(words, is_good=True, problems=part.problems)
    if isinstance(part.refusal, RunRejected):
        return part.phase, Outcome(
            _("The part for this task cannot be scored."), problems=part.problems, more=more
        )
    words = _("The part for this task is not taken: %(reason)s.") % {"reason": part.refusal}
    return part.phase, Outcome(words, problems=part.problems)


def _bundle_page(
    request: HttpRequest,
    season: Season,
    teams: list[Team],
    phases: list[Phase],
    form: BundleForm,
    outcome: Looked | None,
) -> HttpResponse:
    team = teams[0]
    if form.is_bound and form.is_valid() and form.cleaned_data.get("team"):
        team = form.cleaned_data["team"]
    context = {
        "season": season,
        "form": form,
        "outcome": outcome,
        "team": team,
        "quotas": [(phase, quota(phase, team)) for phase in phases],
        "waits": Registration.objects.filter(season=season, team=team).waiting().exists(),
        "recent": Bundle.objects.filter(season=season, team__in=teams).select_related("team")[:10],
    }
    refused = form.is_bound and (outcome is None or not outcome.is_good)
    return render(request, "runs/season_upload.html", context, status=422 if refused else 200)
