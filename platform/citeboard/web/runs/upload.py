"""Pages that submit a run, for one task or for all tasks whose format the file
contains.

The site checks the file before the submission counts.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.text import capfirst
from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.teams.access import find_teams_of_user
from citeboard.teams.models import Team, User
from citeboard.web.pages import (
    PageDecorators,
    SignedInRequest,
    ViewResult,
    build_form_arguments,
    build_phase_context,
    season_entrant_pages,
)
from scoring.results.board.exports import format_as_csv
from scoring.results.runs.team_view import copy_run_without_hidden_outcome
from scoring.worker.judging import find_judges_with_consent
from scoring.worker.supply import warn_of_missing_requirements
from tasks.models import Bundle, Phase, Registration, Season, Submission, Task
from tasks.seasons.access import (
    can_download_inputs,
    can_help_season,
    get_visible_phase_or_404,
    list_own_teams_in_season,
    require_download_of_inputs,
)
from tasks.seasons.cards import get_task_card
from tasks.submissions import bundles, run_card
from tasks.submissions.bundle_repairs import repair_bundle
from tasks.submissions.forms import BundleForm, RunForm
from tasks.submissions.refusals import RunCardIncomplete, RunRefused, RunRejected
from tasks.submissions.repairing import (
    RunRepair,
    delete_stored_upload,
    find_accepting_phase,
    open_stored_upload,
    repair_refused_run,
    store_repairable_upload,
)
from tasks.submissions.submit import (
    check_run,
    compute_remaining_quota,
    find_counted_duplicate,
    list_replaceable_runs,
    submit_run,
    validate_run_metadata,
)
from tasks.submissions.uploads import (
    UploadedRunFile,
    UploadTooLarge,
    receive_optional_upload,
    receive_upload,
)
from tasks.types import Problem
from tasks.types.guarded.encodings import PYTHON_CODECS_BY_ENCODING
from tasks.types.problems import counted, select_problems_to_list

run_sender_pages = PageDecorators(
    get_visible_phase_or_404, "season", "task", "phase", context=build_phase_context
)


(
    CHECK_ACTION,
    CHECK_STORED_FILE_ACTION,
    SUBMIT_STORED_FILE_ACTION,
    DOWNLOAD_STORED_FILE_ACTION,
) = (
    "check",
    "check-kept",
    "submit-kept",
    "download-kept",
)
STORED_UPLOAD_ACTIONS = (
    CHECK_STORED_FILE_ACTION,
    SUBMIT_STORED_FILE_ACTION,
    DOWNLOAD_STORED_FILE_ACTION,
)
STORED_FILE_FIELD, ENCODING_FIELD = "kept", "encoding"


@dataclass(frozen=True)
class RepairOffer:
    """An offer to repair a rejected file.

    ``kept`` is the token of a stored file, which is either the original file or the
    repaired copy.
    """

    repair: RunRepair
    kept: str = ""

    @property
    def filename(self) -> str:
        return self.repair.upload.filename if self.repair.upload else ""


@dataclass
class UploadOutcome:
    sentence: str
    is_good: bool = False
    #: `asks` is True if the user must confirm a second submission of the same file.
    asks: bool = False
    problems: Sequence[Problem] = field(default_factory=tuple)
    more: int = 0
    offer: RepairOffer | None = None
    parts: "Sequence[tuple[Phase, UploadOutcome]]" = field(default_factory=tuple)

    @property
    def several_files(self) -> bool:
        return len({problem.file for problem in self.problems}) > 1

    @property
    def count(self) -> int:
        return counted(self.problems)

    @property
    def csv(self) -> str:
        """Return all listed problems of a file as a CSV file in a data URL.

        Users can therefore download the problems without a second upload of the file.
        """
        lines: list[list[Any]] = [
            ["file", "line", "severity", "problem", "expected", "found", "count"]
        ]
        for problem in self.problems:
            severity = "error" if problem.fatal else "warning"
            row = [
                problem.file,
                problem.line,
                severity,
                problem.message,
                problem.expected,
                problem.quote,
                problem.count,
            ]
            lines.append([format_spreadsheet_cell(value) for value in row])
        return (
            "data:text/csv;base64,"
            + base64.b64encode(format_as_csv(*lines).encode()).decode()
        )


@run_sender_pages.form("runs/upload.html")
def upload_run(request: SignedInRequest, phase: Phase) -> ViewResult:
    teams = list(list_own_teams_in_season(request.user, phase.task.season))
    if not teams:
        return _build_no_team_response(request, phase.task.season)
    asked = {
        "teams": teams,
        "measures": run_card.list_team_measures_for(phase.task.task_type),
        "required": phase.card_required,
        "has_priority": phase.counting == Phase.CountedRunsRule.PRIORITY,
        "seeds": phase.seeds,
    }
    does = request.POST.get("do", "")
    if does == DOWNLOAD_STORED_FILE_ACTION:
        return _download_stored_file(request, phase)
    team, outcome, is_check = (
        teams[0],
        None,
        does in (CHECK_ACTION, CHECK_STORED_FILE_ACTION),
    )
    form = RunForm(
        **build_form_arguments(request),
        **asked,
        is_check=is_check,
        is_kept=does in STORED_UPLOAD_ACTIONS,
    )
    if form.is_valid():
        team = form.cleaned_data.get("team") or team
        done = _process_upload(request, form, phase, team, does)
        if isinstance(done, Submission):
            return _redirect_to_run(request, reverse("submission", args=[done.pk]))
        outcome = done
    runs = Submission.objects.filter(phase=phase, team__in=teams)
    recent = runs.select_related("team", "phase__task__season")
    context = {
        **build_phase_context(phase),
        "form": form,
        "outcome": outcome,
        "team": team,
        "quota": compute_remaining_quota(phase, team),
        "card": get_task_card(phase.task),
        "site": settings.BASE_URL,
        "api_address": reverse("api:submit", args=[phase.pk]),
        "is_open": phase.is_open(),
        "takes_late": phase.closes <= now() < (phase.late_until or phase.closes),
        "may_replace": list_replaceable_runs(phase, team, now()).exists(),
        "is_ahead": now() < phase.opens,
        "waits": Registration.objects.filter(season=phase.task.season_id, team=team)
        .waiting()
        .exists(),
        "recent": [
            copy_run_without_hidden_outcome(run, request.user) for run in recent[:10]
        ],
        "judges": list(find_judges_with_consent(phase)),
    }
    return _render_upload_page(request, "runs/upload.html", context)


def _process_upload(
    request: SignedInRequest, form: RunForm, phase: Phase, team: Team, does: str
) -> UploadOutcome | Submission:
    warnings = _build_unknown_field_warnings(request, form)
    try:
        with _open_uploaded_or_stored_file(request, form, phase, does) as file:
            if encoding := request.POST.get(ENCODING_FIELD, ""):
                return _check_in_encoding(phase, team, file, request.user, encoding)
            if does in (CHECK_ACTION, CHECK_STORED_FILE_ACTION):
                return _check_run_upload(
                    form, phase, team, file, request.user, warnings
                )
            done = _submit_run_upload(form, phase, team, file, request.user, warnings)
            if does in STORED_UPLOAD_ACTIONS and isinstance(done, Submission):
                delete_stored_upload(request.POST[STORED_FILE_FIELD])
            return done
    except (UploadTooLarge, RunRefused) as refused:
        return _build_refusal_outcome(form, refused, "")


@contextmanager
def _open_uploaded_or_stored_file(
    request: SignedInRequest,
    form: RunForm | BundleForm,
    place: Phase | Season,
    does: str,
) -> Iterator[UploadedRunFile]:
    """Yield the uploaded or stored file of a run.

    Raises RunRefused if the stored file no longer exists.
    """
    if does not in STORED_UPLOAD_ACTIONS:
        with receive_upload(form.cleaned_data["run"]) as file:
            yield file
        return
    with open_stored_upload(
        request.POST.get(STORED_FILE_FIELD, ""), place, request.user
    ) as upload:
        if upload is None:
            raise RunRefused(_("the file is gone; submit it again"))
        yield upload


def _download_stored_file(
    request: SignedInRequest, place: Phase | Season
) -> HttpResponse:
    with open_stored_upload(
        request.POST.get(STORED_FILE_FIELD, ""), place, request.user
    ) as upload:
        if upload is None:
            raise Http404(_("The file is gone; submit the run again."))
        content = upload.path.read_bytes()
    named = content_disposition_header(as_attachment=True, filename=upload.filename)
    return HttpResponse(
        content,
        content_type="application/octet-stream",
        headers={"Content-Disposition": named or "attachment"},
    )


def _check_in_encoding(
    phase: Phase, team: Team, file: UploadedRunFile, user: User, encoding: str
) -> UploadOutcome:
    if encoding not in PYTHON_CODECS_BY_ENCODING:
        raise RunRefused(_("this encoding is not known here"))
    with repair_refused_run(phase, file, user, encoding=encoding) as repair:
        return _check_encoding_and_offer_repair(
            phase, team, file, user, encoding, repair
        )


def _check_encoding_and_offer_repair(
    place: Phase | Season,
    team: Team,
    file: UploadedRunFile,
    user: User,
    encoding: str,
    repair: RunRepair,
) -> UploadOutcome:
    """Return the result of a check of a file in the chosen encoding, and an offer to
    submit the file.
    """
    if repair.upload is not None:
        message = _("In %(encoding)s the run can be scored. Nothing was submitted yet.")
        offer = _offer_repair(place, team, repair, repair.upload, user)
        return UploadOutcome(
            message % {"encoding": encoding}, is_good=True, offer=offer
        )
    message = _("In %(encoding)s the run would be refused too.")
    problems, more = select_problems_to_list(repair.problems)
    again = _offer_repair(place, team, repair, file, user) if repair.encodings else None
    return UploadOutcome(
        message % {"encoding": encoding}, problems=problems, more=more, offer=again
    )


def _offer_repair(
    place: Phase | Season,
    team: Team,
    repair: RunRepair,
    file: UploadedRunFile,
    user: User,
) -> RepairOffer | None:
    """Store a repaired file and return the offer to submit the file.

    The function returns None if the team has no space for the file.
    """
    token = store_repairable_upload(place, file, user, team)
    return RepairOffer(repair, token) if token else None


def _find_repair_offer(
    phase: Phase,
    team: Team,
    file: UploadedRunFile,
    user: User,
    problems: Sequence[Problem],
) -> RepairOffer | None:
    """Return an offer to repair a rejected file, or to submit the file to a phase that
    suits the file better.

    The function returns None if neither a repair nor a better phase is certain.
    """
    with repair_refused_run(phase, file, user) as repair:
        if repair.upload is not None:
            return _offer_repair(phase, team, repair, repair.upload, user)
        if repair.encodings:
            return _offer_repair(phase, team, repair, file, user)
    other = find_accepting_phase(phase, file, user, problems, can_download_inputs)
    return RepairOffer(RunRepair(phase=other)) if other else None


def _render_upload_page(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    is_good = context["outcome"] is not None and context["outcome"].is_good
    return render(
        request,
        template,
        context,
        status=422 if context["form"].is_bound and not is_good else 200,
    )


def _build_no_team_response(request: HttpRequest, season: Season) -> HttpResponse:
    teams = find_teams_of_user(request.user).order_by("name")
    context = {
        "season": season,
        "teams": teams,
        "team_names": _(" or ").join(team.name for team in teams),
    }
    return render(request, "runs/no_team.html", context, status=403)


def _redirect_to_run(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect to the page of the submitted run.

    Scripts receive the URL of the run in a header, because scripts cannot read
    redirects.
    """
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)


def _build_refusal_outcome(
    form: RunForm | BundleForm, refused: Exception, missing: str
) -> UploadOutcome:
    if not isinstance(refused, ValidationError):
        return UploadOutcome(f"{capfirst(str(refused))}.")
    for name, errors in refused.message_dict.items():
        form.add_error(name if name in form.fields else None, [*map(capfirst, errors)])
    return UploadOutcome(missing)


def _build_unknown_field_warnings(
    request: HttpRequest, form: RunForm | BundleForm
) -> list[Problem]:
    """Return a warning for each unknown field in an upload.

    Form fields with a single option count as known, although the page omits these
    fields.
    """
    fields = [
        *form.fields,
        *(name for name in form.base_fields if name not in form.fields),
    ]
    names = [
        name
        for name in (*request.POST, *request.FILES)
        if name not in ("csrfmiddlewaretoken", "do", STORED_FILE_FIELD, ENCODING_FIELD)
    ]
    return run_card.warn_of_unknown_fields(names, fields)


def _check_run_upload(
    form: RunForm,
    phase: Phase,
    team: Team,
    file: UploadedRunFile,
    user: User,
    warnings: Sequence[Problem],
) -> UploadOutcome:
    try:
        require_download_of_inputs(user, phase)
        given = form.cleaned_data
        said = validate_run_metadata(
            phase.task.task_type,
            description=given["description"],
            card=form.card(),
            figures=form.figures(),
        )
        with receive_optional_upload(given["metadata"]) as metadata:
            found = check_run(
                phase=phase, upload=file, by=user, said=said, metadata=metadata
            )
    except (UploadTooLarge, RunRefused, ValidationError) as refused:
        return _build_refusal_outcome(form, refused, _("Something is missing above."))
    offer = (
        _find_repair_offer(phase, team, file, user, found.problems)
        if found.errors
        else None
    )
    supply = [] if found.errors else warn_of_missing_requirements(phase.task)
    problems, more = select_problems_to_list([*warnings, *supply, *found.problems])
    if found.errors:
        sentence = _("This run would be refused. Nothing was stored or counted.")
    elif not found.is_read:
        sentence = _(
            "This file opens, but is too large to be read while you wait. Nothing was "
            "stored or counted."
        )
    elif problems:
        sentence = _(
            "This run can be scored. Look at these warnings before you submit it."
        )
    else:
        sentence = _(
            "No problems found: this run can be scored. Nothing was stored or counted."
        )
    return UploadOutcome(
        sentence, is_good=not found.errors, problems=problems, more=more, offer=offer
    )


def _submit_run_upload(
    form: RunForm,
    phase: Phase,
    team: Team,
    file: UploadedRunFile,
    user: User,
    warnings: Sequence[Problem],
) -> UploadOutcome | Submission:
    said = form.cleaned_data
    try:
        with receive_optional_upload(said["metadata"]) as metadata:
            before = (
                None if said["again"] else find_counted_duplicate(phase, team, file)
            )
            if before is not None:
                return UploadOutcome(
                    _(
                        "This very file was submitted before, as run %(number)s "
                        "(%(system)s). Nothing was stored or counted. To submit it "
                        "again, tick the box below the file and submit."
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
                seeds_of=said.get("seeds_of", ""),
                warnings=warnings,
            )
    except RunCardIncomplete as refused:
        form.add_missing_field_errors(refused.missing)
        return UploadOutcome(
            _("%(reason)s. Nothing was stored or counted.")
            % {"reason": capfirst(str(refused))}
        )
    except RunRejected as refused:
        sentence = _("This run was refused. Nothing was stored, and it does not count.")
        offer = _find_repair_offer(phase, team, file, user, refused.problems)
        return UploadOutcome(
            sentence, problems=refused.problems, more=refused.more, offer=offer
        )
    except (UploadTooLarge, RunRefused, ValidationError) as refused:
        return _build_refusal_outcome(form, refused, _("Something is missing above."))


@season_entrant_pages.form("runs/season_upload.html")
def upload_season_bundle(request: SignedInRequest, season: Season) -> ViewResult:
    """Submit a file to every task of a season for which the file contains a run."""
    teams = list(list_own_teams_in_season(request.user, season))
    if not teams:
        return _build_no_team_response(request, season)
    open_phases = Phase.objects.open().filter(
        task__season=season, task__is_reported_only=False
    )
    ordered = open_phases.order_by("task__position", "task_id", "position")
    phases = list(ordered.select_related("task__season"))
    types = {phase.task.type: phase.task.task_type for phase in phases}.values()
    asked: dict[str, Any] = {
        "teams": teams,
        "phases": phases,
        "seeds": _find_seeds_rule(phases),
        "required": [name for phase in phases for name in phase.card_required],
        "measures": list(
            dict.fromkeys(
                measure
                for kind in types
                for measure in run_card.list_team_measures_for(kind)
            )
        ),
    }
    does = request.POST.get("do", "")
    if does == DOWNLOAD_STORED_FILE_ACTION:
        return _download_stored_file(request, season)
    team, outcome, is_check = (
        teams[0],
        None,
        does in (CHECK_ACTION, CHECK_STORED_FILE_ACTION),
    )
    form = BundleForm(
        **build_form_arguments(request),
        **asked,
        is_check=is_check,
        is_kept=does in STORED_UPLOAD_ACTIONS,
    )
    if form.is_valid():
        team = form.cleaned_data.get("team") or team
        done = _process_bundle_upload(request, form, season, team, does)
        if isinstance(done, Bundle):
            return _redirect_to_run(request, reverse("bundle", args=[done.pk]))
        outcome = done
    context = {
        "season": season,
        "form": form,
        "outcome": outcome,
        "team": team,
        "quotas": [(phase, compute_remaining_quota(phase, team)) for phase in phases],
        "waits": Registration.objects.filter(season=season, team=team)
        .waiting()
        .exists(),
        "recent": Bundle.objects.filter(season=season, team__in=teams).select_related(
            "team"
        )[:10],
    }
    return _render_upload_page(request, "runs/season_upload.html", context)


def _find_seeds_rule(phases: Sequence[Phase]) -> str:
    """Return ALLOWED if any of the phases allows systems with several random seeds, or
    else REFUSED.

    The site later checks the rules of each task for random seeds separately.
    """
    takes_some = any(phase.seeds != Task.SeedRunPolicy.REFUSED for phase in phases)
    return Task.SeedRunPolicy.ALLOWED if takes_some else Task.SeedRunPolicy.REFUSED


def _process_bundle_upload(
    request: SignedInRequest, form: BundleForm, season: Season, team: Team, does: str
) -> UploadOutcome | Bundle:
    warnings = _build_unknown_field_warnings(request, form)
    try:
        with _open_uploaded_or_stored_file(request, form, season, does) as file:
            done = _check_or_submit_bundle(
                request, form, season, team, file, warnings, does
            )
            if does in STORED_UPLOAD_ACTIONS and isinstance(done, Bundle):
                delete_stored_upload(request.POST[STORED_FILE_FIELD])
            return done
    except (UploadTooLarge, RunRefused, ValidationError) as refused:
        return _build_refusal_outcome(form, refused, _("Something is missing below."))


def _check_or_submit_bundle(
    request: SignedInRequest,
    form: BundleForm,
    season: Season,
    team: Team,
    file: UploadedRunFile,
    warnings: Sequence[Problem],
    does: str,
) -> UploadOutcome | Bundle:
    said, user = form.cleaned_data, request.user
    given: dict[str, Any] = {
        "season": season,
        "phase": said.get("phase", ""),
        "tasks": said["tasks"],
        "card": form.card(),
        "team_figures": form.figures(),
    }
    try:
        with receive_optional_upload(said["metadata"]) as metadata:
            if encoding := request.POST.get(ENCODING_FIELD, ""):
                return _check_recoded_bundle(season, team, file, user, encoding, given)
            if does in (CHECK_ACTION, CHECK_STORED_FILE_ACTION):
                described = {"description": said["description"], "metadata": metadata}
                parts = bundles.check_bundle(upload=file, by=user, **described, **given)
                is_good = all(part.is_good for part in parts)
                message = _(
                    "This file would be refused. Nothing was stored or counted."
                )
                if is_good:
                    message = _(
                        "All of this can be scored. Nothing was stored or counted."
                    )
                return UploadOutcome(
                    message,
                    is_good=is_good,
                    problems=warnings,
                    parts=[*map(_build_bundle_part_outcome, parts)],
                    offer=None
                    if is_good
                    else _build_bundle_repair_offer(
                        season, team, file, user, parts, given["phase"]
                    ),
                )
            return bundles.submit_bundle(
                upload=file,
                team=team,
                user=user,
                details=run_card.validate_run_details(
                    system=said["system"],
                    description=said["description"],
                    kind=said["kind"],
                    seeds_of=said.get("seeds_of", ""),
                ),
                metadata=metadata,
                warnings=warnings,
                **given,
            )
    except bundles.BundleRefused as refused:
        for part in refused.parts:
            if isinstance(part.refusal, RunCardIncomplete):
                form.add_missing_field_errors(part.refusal.missing)
        return UploadOutcome(
            _(
                "Nothing was stored and nothing counts: all parts of a file are "
                "accepted, or none."
            ),
            parts=[_build_bundle_part_outcome(part) for part in refused.parts],
            offer=_build_bundle_repair_offer(
                season, team, file, user, refused.parts, given["phase"]
            ),
        )


def _build_bundle_repair_offer(
    season: Season,
    team: Team,
    file: UploadedRunFile,
    user: User,
    parts: Sequence[bundles.BundleRunResult],
    phase: str,
) -> RepairOffer | None:
    """Return the repair of a file for several tasks, or None if no repair is certain."""
    with repair_bundle(season, parts, file, user, phase=phase) as repair:
        if repair.upload is not None:
            return _offer_repair(season, team, repair, repair.upload, user)
        return (
            _offer_repair(season, team, repair, file, user)
            if repair.encodings
            else None
        )


def _check_recoded_bundle(
    season: Season,
    team: Team,
    file: UploadedRunFile,
    user: User,
    encoding: str,
    given: Mapping[str, Any],
) -> UploadOutcome:
    if encoding not in PYTHON_CODECS_BY_ENCODING:
        raise RunRefused(_("this encoding is not known here"))
    phase, tasks = given["phase"], given["tasks"]
    parts = bundles.read_bundle_for_each_task(
        season=season, upload=file, phase=phase, tasks=tasks, by=user
    )
    with repair_bundle(
        season, parts, file, user, phase=phase, encoding=encoding
    ) as repair:
        return _check_encoding_and_offer_repair(
            season, team, file, user, encoding, repair
        )


def _build_bundle_part_outcome(
    part: bundles.BundleRunResult,
) -> tuple[Phase, UploadOutcome]:
    more = 0
    if part.refusal is None and part.problems:
        words = _("The part for this task can be scored; look at the warnings.")
    elif part.refusal is None:
        words = _("The part for this task can be scored.")
    elif isinstance(part.refusal, RunRejected):
        words, more = _("The part for this task cannot be scored."), part.refusal.more
    else:
        words = _("The part for this task is not accepted: %(reason)s.") % {
            "reason": part.refusal
        }
    return part.phase, UploadOutcome(
        words, is_good=part.refusal is None, problems=part.problems, more=more
    )


def _bundle_or_404(user: object, pk: int) -> Bundle:
    bundle = (
        Bundle.objects.select_related("season", "team", "submitted_by")
        .filter(pk=pk)
        .first()
    )
    if bundle is None or not (
        find_teams_of_user(user).filter(pk=bundle.team_id).exists()
        or can_help_season(user, bundle.season)
    ):
        raise Http404(_("There are no runs of yours at this address."))
    return bundle


@PageDecorators(_bundle_or_404, "pk").page("runs/bundle.html")
def show_bundle(request: HttpRequest, bundle: Bundle) -> ViewResult:
    runs = [
        copy_run_without_hidden_outcome(run, request.user)
        for run in bundles.iterate_runs_of_bundle(bundle)
    ]
    is_moving = any(run.is_moving for run in runs)
    return {
        "season": bundle.season,
        "bundle": bundle,
        "runs": runs,
        "is_moving": is_moving,
    }
