"""Sending one file to every task of a season whose format it carries, and the page that shows its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from citeboard.teams.access import teams_of
from citeboard.teams.models import Team, User
from scoring.runs.told import as_told
from scoring.web.runs.no_team import no_team
from scoring.web.runs.upload import Outcome, capitalised, sent_to
from tasks.models import Bundle, Phase, Registration, Season
from tasks.seasons.access import entered_teams, may_help, season_for
from tasks.submissions.bundles import BundleRefused, Part, check_bundle, runs_of, submit_bundle
from tasks.submissions.details import checked_details
from tasks.submissions.forms import BundleForm
from tasks.submissions.quotas import quota
from tasks.submissions.refusals import CardIncomplete, RunNotTaken, RunRejected
from tasks.submissions.team_figures import TeamMeasure, measures_for
from tasks.submissions.uploads import UploadTooLarge, received, received_if_any


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
        return _page(request, found, teams, phases, BundleForm(**asked), None)
    form = BundleForm(request.POST, request.FILES, **asked, is_check=is_check)
    if not form.is_valid():
        return _page(request, found, teams, phases, form, None)
    team = form.cleaned_data.get("team") or teams[0]
    outcome = _looked_at(form, found, team, request.user, is_check=is_check)
    if isinstance(outcome, Bundle):
        return sent_to(request, reverse("bundle", args=[outcome.pk]))
    return _page(request, found, teams, phases, form, outcome)


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
                return _checked(check_bundle(upload=file, by=user, **described, **given))
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


def _checked(parts: Sequence[Part]) -> Looked:
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


def _page(
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
