"""Pages of a single run: status, changes, and claims."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.acts import runs
from citeboard.acts.rehearsal import perform_confirmed_action
from citeboard.core import storage
from citeboard.core.query import (
    PageParameters,
    declare_number_parameter,
    declare_text_parameter,
    parse_whole_number,
)
from citeboard.core.storage.downloads import serve_stored_file
from citeboard.core.words import format_as_sentence, join_names
from citeboard.teams.models import Membership, User
from citeboard.web.boards.board_page import find_score_embargo
from citeboard.web.pages import (
    PageDecorators,
    SignedInRequest,
    ViewResult,
    build_action_view,
    build_phase_context,
    read_action_confirmation,
)
from scoring.models import Receipt
from scoring.results.board import (
    differences,
    gold_changes,
    label_shares,
    manual_scores,
    visibility,
)
from scoring.results.board.confirming import explain_closed_confirmation
from scoring.results.board.judged import build_judgement_notes
from scoring.results.board.limit_texts import iterate_leak_limit_sentences
from scoring.results.board.standings import find_board_and_row_of_run
from scoring.results.comparison.reading import determine_instance_rights_to_run
from scoring.results.runs import results, team_view
from scoring.results.runs.claims import build_response_page, has_visible_claims
from scoring.results.runs.confirming import find_result_to_confirm
from scoring.results.runs.progress import (
    RunProgress,
    describe_progress_without_outcome,
    describe_run_progress,
)
from scoring.results.runs.results import (
    build_reliability_context,
    find_latest_evaluations_by_rule_set,
    list_organiser_only_scores,
)
from scoring.worker.rescoring import ENDED_RUN_STATES
from tasks.gold.secrecy import ContentKind, get_embargoes_of_phase
from tasks.models import Phase, Submission, run_cards
from tasks.seasons.access import can_organise_season
from tasks.seasons.cards import get_task_card
from tasks.submissions import seeds
from tasks.submissions.forms import CardForm
from tasks.submissions.run_acts import SELECTABLE_STATUSES, list_runs_by_priority
from tasks.types.base import replace_old_rule_set_name

RunStatus = Submission.Status


def _own_run_or_404(user: object, pk: int) -> Submission:
    """Return a run of the user's team.

    Raises Http404 for runs of other teams, whereas the API responds with
    PermissionDenied.
    """
    try:
        return runs.own_team_run_or_404(user, pk)
    except PermissionDenied:
        raise Http404(_("There is no run of yours at this address.")) from None


visible_run_pages, own_run_pages = (
    PageDecorators(runs.visible_run_or_404, "pk"),
    PageDecorators(_own_run_or_404, "pk"),
)


@visible_run_pages.page("runs/submission.html")
def show_run(request: SignedInRequest, run: Submission) -> ViewResult:
    return {
        **_build_run_page_context(request, run, describe_run_progress(run)),
        **build_confirmation_context(run, request.user),
        "team_reported": manual_scores.format_team_reported_figures(run),
        "entered": manual_scores.list_manual_scores_of_run(run)
        if visibility.may_see_scores(run, request.user)
        else [],
        "events": team_view.list_events_of_run(run, request.user),
        "may_describe": _is_team_member(run, request.user),
        "run_card": run_cards.list_filled_card_fields(run.card),
        "card_form": CardForm(initial=run.card, auto_id="run-%s"),
    }


@visible_run_pages.page("runs/_status.html")
def show_run_status(request: SignedInRequest, run: Submission) -> ViewResult:
    """Return the changing part of a run's page. The page polls this URL until the run
    has a final status.
    """
    progress = describe_run_progress(run)
    if request.GET.get("seen") == _build_displayed_status_key(
        run, progress, request.user
    ):
        return HttpResponse(status=204)
    return {**_build_run_page_context(request, run, progress), "is_update": True}


@visible_run_pages.page()
def download_own_run_file(request: HttpRequest, run: Submission) -> ViewResult:
    if not run.file:
        raise Http404(_("This run has no file."))
    content_type = "application/octet-stream"
    return serve_stored_file(
        request,
        storage.run_file_storage,
        run.file,
        filename=run.filename,
        content_type=content_type,
    )


@visible_run_pages.act("submission pk", fields=("reason", "priority", "seeds_of"))
def change_run(request: SignedInRequest, run: Submission, how: str) -> ViewResult:
    """Cancel, withdraw or select a run.

    The team can change its run in these ways while the phase is open. Organisers who
    change a run must give a reason.
    """
    act, as_organiser = (
        runs.RUN_CHANGE_ACTIONS[how],
        _is_acting_as_organiser(run, request.user),
    )
    if not as_organiser and (
        act.is_for_organisers or not _is_team_member(run, request.user)
    ):
        raise Http404(_("There is no run of yours at this address."))
    filled: dict[str, Any] = {}
    if how == "priority":
        filled["priority"] = parse_whole_number(request.POST.get("priority", "")) or 0
    elif how == "seed":
        filled["seeds_of"] = request.POST.get("seeds_of", "")
    filled |= {"reason": request.POST.get("reason", ""), "as_organiser": as_organiser}
    changed = perform_confirmed_action(
        act, run, request.user, filled, read_action_confirmation(request)
    )
    return act.told(run, changed, {})


@own_run_pages.act(
    "submission pk", fields=("description", "links", *run_cards.RUN_CARD_FIELDS)
)
def edit_run_description(request: SignedInRequest, run: Submission) -> ViewResult:
    """Change the description and links of a run. The team can change the description
    and links at any time.
    """
    posted = request.POST
    try:
        runs.DESCRIBE_RUN(
            run,
            request.user,
            description=posted.get("description", ""),
            links=posted.get("links", "").splitlines(),
            card={
                **run.card,
                **{
                    name: posted[name]
                    for name in run_cards.RUN_CARD_FIELDS
                    if name in posted
                },
            },
        )
    except ValidationError as faults:
        # The page has many fields, so each error message contains its field's name.
        told = [
            f"{_find_run_card_label(name)}: {'; '.join(errors)}"
            for name, errors in faults.message_dict.items()
        ]
        raise ValidationError(told) from faults
    return runs.DESCRIBE_RUN.told(run, run, {})


def _find_run_card_label(name: str) -> str:
    field = run_cards.RUN_CARD_FIELDS.get(name)
    return field.label if field else name


delete_run_file = build_action_view(
    runs.DELETE_RUN_FILE, "submission pk", own_run_pages
)
confirm_run_result = build_action_view(
    runs.CONFIRM_RESULT, "submission pk", PageDecorators(runs.run_of_lead_or_404, "pk")
)
contest_run_result = build_action_view(
    runs.CONTEST_RESULT, "submission pk", PageDecorators(runs.run_of_lead_or_404, "pk")
)


def _is_acting_as_organiser(run: Submission, user: User) -> bool:
    """Return True if the user acts on a run as an organiser.

    An organiser who is also a member of the run's team acts as a member until the phase
    closes.
    """
    if run.team_id is None or not can_organise_season(user, run.phase.task.season):
        return False
    return not (_is_team_member(run, user) and run.phase.closes > timezone.now())


def _is_team_member(run: Submission, user: object) -> bool:
    if not isinstance(user, User) or run.team_id is None:
        return False
    return Membership.objects.filter(team=run.team_id, user=user.pk).exists()


POLL_INTERVALS_BY_AGE = {10: "400ms", 120: "1s"}
MAX_POLL_INTERVAL = "5s"


def _choose_poll_interval(run: Submission) -> str:
    age = (timezone.now() - run.status_since).total_seconds()
    return next(
        (pause for seconds, pause in POLL_INTERVALS_BY_AGE.items() if age < seconds),
        MAX_POLL_INTERVAL,
    )


def _format_progress_percent(progress: RunProgress) -> int | None:
    return None if progress.share is None else round(progress.share * 100)


def _build_displayed_status_key(
    run: Submission, progress: RunProgress, user: object
) -> str:
    """Return a text that changes whenever the displayed status of the run changes."""
    if team_view.is_outcome_hidden_from(run, user):
        return team_view.DISPLAYED_RECEIVED_STATE
    since = f"{run.status_since.timestamp():.3f}"
    return "-".join(
        [
            run.status,
            since,
            str(_format_progress_percent(progress)),
            progress.sentence,
            _choose_poll_interval(run),
        ]
    )


def _build_run_page_context(
    request: SignedInRequest, run: Submission, progress: RunProgress
) -> dict[str, Any]:
    user = request.user
    as_organiser = _is_acting_as_organiser(run, user)
    may_change = as_organiser or (
        _is_team_member(run, user) and run.phase.closes > timezone.now()
    )
    has_priority = (
        run.phase.counting == Phase.CountedRunsRule.PRIORITY and run.team is not None
    )
    ordered = (
        list(list_runs_by_priority(run.phase, run.team).values_list("pk", flat=True))
        if has_priority
        else []
    )
    context: dict[str, Any] = {
        **build_phase_context(run.phase),
        "submission": run,
        "progress": progress,
        "several_files": len(
            {problem["file"] for problem in (*run.problems, *run.warnings)}
        )
        > 1,
        "per_cent": _format_progress_percent(progress),
        "seen": _build_displayed_status_key(run, progress, user),
        "pause": _choose_poll_interval(run),
        "as_organiser": as_organiser,
        "may_accept": as_organiser and run.is_late,
        "may_exclude": as_organiser
        and run.status in (*Submission.MOVING, RunStatus.SCORED),
        "may_cancel": may_change and run.is_moving,
        "may_withdraw": may_change and run.status == RunStatus.SCORED,
        "may_select": may_change
        and not run.is_selected
        and not run.exclusion
        and run.status in SELECTABLE_STATUSES
        and run.kind == Submission.Kind.PRIMARY
        and run.phase.counting == Phase.CountedRunsRule.SELECTED,
        "priorities": len(ordered) if run.pk in ordered else 0,
        "may_set_priority": may_change,
        "may_declare_seed": may_change
        and seeds.can_declare_run_as_seed(run)
        and not team_view.is_outcome_hidden_from(run, user),
        "may_rescore": run.status in ENDED_RUN_STATES
        and not (run.status == RunStatus.FAILED and run.problems)
        and can_organise_season(request.user, run.phase.task.season),
        "sees_scores": visibility.may_see_scores(run, request.user),
        "embargo": find_score_embargo(run.phase, ContentKind.OWN)
        if run.phase.shows_scores
        else None,
        "has_receipts": Receipt.objects.filter(evaluation__submission=run).exists(),
    }
    if run.status in (RunStatus.SCORED, RunStatus.WITHDRAWN) and context["sees_scores"]:
        context |= _build_result_context(request, run)
    if team_view.is_outcome_hidden_from(run, user):
        context |= {
            "submission": team_view.copy_run_without_hidden_outcome(run, user),
            "progress": describe_progress_without_outcome(run),
            "per_cent": None,
            "may_cancel": False,
            "may_withdraw": may_change,
            "has_receipts": False,
        }
    return context


def _build_result_context(request: HttpRequest, run: Submission) -> dict[str, Any]:
    audience = visibility.determine_audience(run.phase, request.user)
    evaluations = results.find_latest_evaluations_by_rule_set(
        run, visibility.find_freeze_time_for_audience(run.phase, audience)
    )
    if not evaluations:
        return {}
    first = next(iter(evaluations.values()))
    hidden = differences.find_hidden_classes([first.pk], run.phase, audience)
    sees_instances = visibility.may_see_instances(run.phase, audience)
    lines = results.numbers(run, evaluations)
    breakdowns = results.build_class_score_tables(first, hidden)
    calibration = build_reliability_context(
        first, 1 if sees_instances else get_embargoes_of_phase(run.phase).min_class_size
    )
    shows_gold = (
        visibility.determine_board_visibility(run.phase, audience)
        == visibility.BoardVisibility.SCORES
    )
    shares = label_shares.build_label_share_charts_of_run(first, shows_gold=shows_gold)
    figures = {
        f"chart-{breakdown['name']}": breakdown["figure"] for breakdown in breakdowns
    }
    figures |= {share["id"]: share["bars"] for share in shares}
    figures |= {"reliability": calibration["figure"]} if calibration else {}
    told, may = (
        get_task_card(run.phase.task),
        determine_instance_rights_to_run(run, request.user),
    )
    return {
        "rule_sets": list(evaluations),
        "commands": results.list_offline_commands_by_rule_set(evaluations, lines),
        "lines": [
            line for line in lines if not results.has_only_undefined_scores(line)
        ],
        "without_probabilities": join_names(
            results.list_metrics_lacking_probabilities(first)
        ),
        "withheld": sorted(
            {
                one.withheld
                for line in lines
                for one in line["numbers"]
                if one and one.withheld
            }
        ),
        "limits": [
            *iterate_leak_limit_sentences(run.phase),
            *build_judgement_notes(
                run.phase, {evaluation.pk for evaluation in evaluations.values()}
            ),
        ],
        "untold": list_organiser_only_scores(first)
        if audience in visibility.AUDIENCES_OF_SEASON_STAFF
        else [],
        "differ": [line for line in lines if line["differs"]],
        "rules_told": [(rules, told.rules(rules)) for rules in evaluations],
        "notes": results.build_score_notes_by_rule_set(evaluations),
        "without_value": results.list_metrics_without_value(run, evaluations),
        "place": results.find_rank_or_reason_without_rank(run, request.user)
        if run.status == RunStatus.SCORED
        else None,
        "breakdowns": breakdowns,
        "reliability": calibration,
        "figures": figures,
        "min_class_size": get_embargoes_of_phase(run.phase).min_class_size
        if any(hidden.values())
        else 0,
        "label_shares": shares,
        "reads_values": may is not None and may.values,
        "gold": first.gold,
        "predecessor": results.find_previous_scored_run(run, first.gold)
        if run.status == RunStatus.SCORED
        else None,
        "has_claims": any(map(has_visible_claims, evaluations.values())),
        "may_organise": can_organise_season(request.user, run.phase.task.season),
        "gold_change": gold_changes.find_score_change_of_run(run, first, request.user),
    }


def build_confirmation_context(run: Submission, viewer: object) -> dict[str, Any]:
    phase = run.phase
    if (
        not phase.confirms_results
        or timezone.now() < phase.closes
        or run.team_id is None
    ):
        return {}
    refused = explain_closed_confirmation(phase)
    frozen = visibility.find_freeze_time_for_audience(
        phase, visibility.determine_audience(phase, viewer)
    )
    is_told = frozen is None and visibility.may_see_scores(run, viewer)
    result = find_result_to_confirm(run) if is_told else None
    if is_told and result is None:
        return {}
    leads = Membership.objects.filter(team=run.team_id, role=Membership.Role.LEAD)
    is_lead = isinstance(viewer, User) and leads.filter(user=viewer).exists()
    return {
        "result": result,
        "result_refused": format_as_sentence(refused) if refused else "",
        "is_lead": is_lead,
    }


@dataclass(frozen=True, kw_only=True)
class ClaimsPageParameters(PageParameters):
    rules: str = declare_text_parameter("rules")
    page: int = declare_number_parameter("page", default=1)
    name: str = declare_text_parameter("id")


def _run_with_claims_or_404(viewer: object, pk: int) -> Submission:
    """Return a run that the user may see, or that is on a board that the user may see.

    Raises Http404 if the user may see neither the run nor the board.
    """
    run = (
        Submission.objects.select_related("phase__task__season", "team")
        .filter(pk=pk)
        .first()
    )
    stands = run is not None and (
        visibility.may_see_submission(run, viewer)
        or find_board_and_row_of_run(run.phase, viewer, run.pk) is not None
    )
    if run is None or not visibility.may_see_claims(run, viewer, stands=stands):
        raise Http404(_("There are no claims for you to see at this address."))
    return run


@PageDecorators(_run_with_claims_or_404, "pk", is_public=True).page("runs/claims.html")
def show_claims(request: HttpRequest, run: Submission) -> ViewResult:
    """Show how each response of a run gets its recall and precision, claim by claim."""
    viewer, audience = (
        request.user,
        visibility.determine_audience(run.phase, request.user),
    )
    latest = find_latest_evaluations_by_rule_set(
        run, visibility.find_freeze_time_for_audience(run.phase, audience)
    )
    evaluations = {
        rules: evaluation
        for rules, evaluation in latest.items()
        if has_visible_claims(evaluation)
    }
    if not evaluations:
        raise Http404(_("This run has not been split into claims, or not yet."))
    query = ClaimsPageParameters.of(request.GET)
    wanted = replace_old_rule_set_name(query.rules)
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    is_own = visibility.may_see_submission(run, viewer)
    page = build_response_page(
        evaluations[rules],
        query.page,
        query.name.strip(),
        shows_labels=not is_own or visibility.may_see_scores(run, viewer),
        shows_passages=visibility.may_see_instances(run.phase, audience),
    )
    number = page["number"]
    return {
        **build_phase_context(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or visibility.shows_teams(run.phase, audience),
        "rules": rules,
        "rule_sets": ClaimsPageParameters().choices("rules", evaluations, rules),
        "page": page,
        "before": ClaimsPageParameters(
            rules=rules, page=number - 1
        ).build_query_string()
        if number > 1
        else "",
        "after": ClaimsPageParameters(rules=rules, page=number + 1).build_query_string()
        if number < page["pages"]
        else "",
    }
