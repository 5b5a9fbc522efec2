"""Pages of a single run: status, changes, and claims."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.acts import runs
from citeboard.acts.rehearsal import perform
from citeboard.core import storage
from citeboard.core.query import (
    PageParameters,
    number_parameter,
    parse_whole_number,
    text_parameter,
)
from citeboard.core.storage.downloads import download
from citeboard.core.words import as_sentence, join_names
from citeboard.teams.models import Membership, User
from citeboard.web.boards.board_page import embargo_of
from citeboard.web.pages import (
    Answer,
    PageDecorators,
    SignedInRequest,
    build_action_view,
    confirmation_in_request,
    phase_context,
)
from scoring.models import Receipt
from scoring.results.board import (
    differences,
    gold_changes,
    label_shares,
    manual_scores,
    visibility,
)
from scoring.results.board.confirming import why_confirmation_is_closed
from scoring.results.board.judged import judgement_notes
from scoring.results.board.limit_texts import leak_limit_sentences
from scoring.results.board.standings import board_and_row_of_run
from scoring.results.comparison.reading import instance_rights_to_run
from scoring.results.runs import results, team_view
from scoring.results.runs.claims import has_visible_claims, response_page_of
from scoring.results.runs.confirming import result_to_confirm_of
from scoring.results.runs.progress import (
    RunProgress,
    progress_of,
    progress_with_hidden_outcome,
)
from scoring.results.runs.results import (
    latest_evaluations,
    organiser_only_scores,
    reliability_context,
)
from scoring.worker.rescoring import ENDED_RUN_STATES
from tasks.gold.secrecy import ContentKind, embargoes_of
from tasks.models import Phase, Submission, run_cards
from tasks.seasons.access import may_organise
from tasks.seasons.cards import card
from tasks.submissions import seeds
from tasks.submissions.forms import CardForm
from tasks.submissions.run_acts import SELECTABLE_STATUSES, runs_by_priority
from tasks.types.base import current_rules

Status = Submission.Status


def _own_run_or_404(user: object, pk: int) -> Submission:
    """Return a run of the user's team.

    Raises Http404 for runs of other teams, whereas the API responds with
    PermissionDenied.
    """
    try:
        return runs.run_of_own_team(user, pk)
    except PermissionDenied:
        raise Http404(_("There is no run of yours at this address.")) from None


seen_runs, own_runs = (
    PageDecorators(runs.visible_run, "pk"),
    PageDecorators(_own_run_or_404, "pk"),
)


@seen_runs.page("runs/submission.html")
def submission(request: SignedInRequest, run: Submission) -> Answer:
    return {
        **_run_page_context(request, run, progress_of(run)),
        **confirmation_context(run, request.user),
        "team_reported": manual_scores.reported_figure_texts(run),
        "entered": manual_scores.manual_scores_of_run(run)
        if visibility.may_see_scores(run, request.user)
        else [],
        "events": team_view.events(run, request.user),
        "may_describe": _is_member(run, request.user),
        "run_card": run_cards.filled_card_fields(run.card),
        "card_form": CardForm(initial=run.card, auto_id="run-%s"),
    }


@seen_runs.page("runs/_status.html")
def status(request: SignedInRequest, run: Submission) -> Answer:
    """Return the changing part of a run's page. The page polls this URL until the run
    has a final status.
    """
    progress = progress_of(run)
    if request.GET.get("seen") == _displayed_status(run, progress, request.user):
        return HttpResponse(status=204)
    return {**_run_page_context(request, run, progress), "is_update": True}


@seen_runs.page()
def run_file(request: HttpRequest, run: Submission) -> Answer:
    if not run.file:
        raise Http404(_("This run has no file."))
    content_type = "application/octet-stream"
    return download(
        request,
        storage.runs,
        run.file,
        filename=run.filename,
        content_type=content_type,
    )


@seen_runs.act("submission pk", fields=("reason", "priority", "seeds_of"))
def change(request: SignedInRequest, run: Submission, how: str) -> Answer:
    """Cancel, withdraw or select a run.

    The team can change its run in these ways while the phase is open. Organisers who
    change a run must give a reason.
    """
    act, as_organiser = runs.CHANGES[how], _acts_as_organiser(run, request.user)
    if not as_organiser and (
        act.is_for_organisers or not _is_member(run, request.user)
    ):
        raise Http404(_("There is no run of yours at this address."))
    filled: dict[str, Any] = {}
    if how == "priority":
        filled["priority"] = parse_whole_number(request.POST.get("priority", "")) or 0
    elif how == "seed":
        filled["seeds_of"] = request.POST.get("seeds_of", "")
    filled |= {"reason": request.POST.get("reason", ""), "as_organiser": as_organiser}
    changed = perform(act, run, request.user, filled, confirmation_in_request(request))
    return act.told(run, changed, {})


@own_runs.act("submission pk", fields=("description", "links", *run_cards.CARD_FIELDS))
def describe(request: SignedInRequest, run: Submission) -> Answer:
    """Change the description and links of a run. The team can change the description
    and links at any time.
    """
    posted = request.POST
    try:
        runs.DESCRIBE(
            run,
            request.user,
            description=posted.get("description", ""),
            links=posted.get("links", "").splitlines(),
            card={
                **run.card,
                **{
                    name: posted[name]
                    for name in run_cards.CARD_FIELDS
                    if name in posted
                },
            },
        )
    except ValidationError as faults:
        # The page has many fields, so each error message contains its field's name.
        told = [
            f"{_card_label(name)}: {'; '.join(errors)}"
            for name, errors in faults.message_dict.items()
        ]
        raise ValidationError(told) from faults
    return runs.DESCRIBE.told(run, run, {})


def _card_label(name: str) -> str:
    field = run_cards.CARD_FIELDS.get(name)
    return field.label if field else name


delete_run_file = build_action_view(runs.DELETE_FILE, "submission pk", own_runs)
confirm = build_action_view(
    runs.CONFIRM, "submission pk", PageDecorators(runs.run_of_lead, "pk")
)
contest = build_action_view(
    runs.CONTEST, "submission pk", PageDecorators(runs.run_of_lead, "pk")
)


def _acts_as_organiser(run: Submission, user: User) -> bool:
    """Return True if the user acts on a run as an organiser.

    An organiser who is also a member of the run's team acts as a member until the phase
    closes.
    """
    if run.team_id is None or not may_organise(user, run.phase.task.season):
        return False
    return not (_is_member(run, user) and run.phase.closes > timezone.now())


def _is_member(run: Submission, user: object) -> bool:
    if not isinstance(user, User) or run.team_id is None:
        return False
    return Membership.objects.filter(team=run.team_id, user=user.pk).exists()


POLL_INTERVALS_BY_AGE = {10: "400ms", 120: "1s"}
MAX_POLL_INTERVAL = "5s"


def _refresh_pause(run: Submission) -> str:
    age = (timezone.now() - run.status_since).total_seconds()
    return next(
        (pause for seconds, pause in POLL_INTERVALS_BY_AGE.items() if age < seconds),
        MAX_POLL_INTERVAL,
    )


def _progress_percent(progress: RunProgress) -> int | None:
    return None if progress.share is None else round(progress.share * 100)


def _displayed_status(run: Submission, progress: RunProgress, user: object) -> str:
    """Return a text that changes whenever the displayed status of the run changes."""
    if team_view.hides_outcome(run, user):
        return team_view.RECEIVED_STATE
    since = f"{run.status_since.timestamp():.3f}"
    return "-".join(
        [
            run.status,
            since,
            str(_progress_percent(progress)),
            progress.sentence,
            _refresh_pause(run),
        ]
    )


def _run_page_context(
    request: SignedInRequest, run: Submission, progress: RunProgress
) -> dict[str, Any]:
    user = request.user
    as_organiser = _acts_as_organiser(run, user)
    may_change = as_organiser or (
        _is_member(run, user) and run.phase.closes > timezone.now()
    )
    has_priority = (
        run.phase.counting == Phase.Counting.PRIORITY and run.team is not None
    )
    ordered = (
        list(runs_by_priority(run.phase, run.team).values_list("pk", flat=True))
        if has_priority
        else []
    )
    context: dict[str, Any] = {
        **phase_context(run.phase),
        "submission": run,
        "progress": progress,
        "several_files": len(
            {problem["file"] for problem in (*run.problems, *run.warnings)}
        )
        > 1,
        "per_cent": _progress_percent(progress),
        "seen": _displayed_status(run, progress, user),
        "pause": _refresh_pause(run),
        "as_organiser": as_organiser,
        "may_accept": as_organiser and run.is_late,
        "may_exclude": as_organiser
        and run.status in (*Submission.MOVING, Status.SCORED),
        "may_cancel": may_change and run.is_moving,
        "may_withdraw": may_change and run.status == Status.SCORED,
        "may_select": may_change
        and not run.is_selected
        and not run.exclusion
        and run.status in SELECTABLE_STATUSES
        and run.kind == Submission.Kind.PRIMARY
        and run.phase.counting == Phase.Counting.SELECTED,
        "priorities": len(ordered) if run.pk in ordered else 0,
        "may_set_priority": may_change,
        "may_declare_seed": may_change
        and seeds.may_declare_seed(run)
        and not team_view.hides_outcome(run, user),
        "may_rescore": run.status in ENDED_RUN_STATES
        and not (run.status == Status.FAILED and run.problems)
        and may_organise(request.user, run.phase.task.season),
        "sees_scores": visibility.may_see_scores(run, request.user),
        "embargo": embargo_of(run.phase, ContentKind.OWN)
        if run.phase.shows_scores
        else None,
        "has_receipts": Receipt.objects.filter(evaluation__submission=run).exists(),
    }
    if run.status in (Status.SCORED, Status.WITHDRAWN) and context["sees_scores"]:
        context |= _result_context(request, run)
    if team_view.hides_outcome(run, user):
        context |= {
            "submission": team_view.run_as_shown_to(run, user),
            "progress": progress_with_hidden_outcome(run),
            "per_cent": None,
            "may_cancel": False,
            "may_withdraw": may_change,
            "has_receipts": False,
        }
    return context


def _result_context(request: HttpRequest, run: Submission) -> dict[str, Any]:
    audience = visibility.audience_of(run.phase, request.user)
    evaluations = results.latest_evaluations(
        run, visibility.freeze_time_for(run.phase, audience)
    )
    if not evaluations:
        return {}
    first = next(iter(evaluations.values()))
    hidden = differences.hidden_classes([first.pk], run.phase, audience)
    sees_instances = visibility.may_see_instances(run.phase, audience)
    lines = results.numbers(run, evaluations)
    breakdowns = results.class_score_tables(first, hidden)
    calibration = reliability_context(
        first, 1 if sees_instances else embargoes_of(run.phase).min_class_size
    )
    shows_gold = (
        visibility.visibility_of(run.phase, audience) == visibility.Visibility.SCORES
    )
    shares = label_shares.label_share_charts_of_run(first, shows_gold=shows_gold)
    figures = {
        f"chart-{breakdown['name']}": breakdown["figure"] for breakdown in breakdowns
    }
    figures |= {share["id"]: share["bars"] for share in shares}
    figures |= {"reliability": calibration["figure"]} if calibration else {}
    told, may = card(run.phase.task), instance_rights_to_run(run, request.user)
    return {
        "rule_sets": list(evaluations),
        "commands": results.offline_commands_by_rules(evaluations, lines),
        "lines": [line for line in lines if not results.is_undefined_line(line)],
        "without_probabilities": join_names(
            results.metrics_lacking_probabilities(first)
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
            *leak_limit_sentences(run.phase),
            *judgement_notes(
                run.phase, {evaluation.pk for evaluation in evaluations.values()}
            ),
        ],
        "untold": organiser_only_scores(first)
        if audience in visibility.SEASON_STAFF_AUDIENCES
        else [],
        "differ": [line for line in lines if line["differs"]],
        "rules_told": [(rules, told.rules(rules)) for rules in evaluations],
        "notes": results.notes(evaluations),
        "without_value": results.metrics_without_value(run, evaluations),
        "place": results.place(run, request.user)
        if run.status == Status.SCORED
        else None,
        "breakdowns": breakdowns,
        "reliability": calibration,
        "figures": figures,
        "min_class_size": embargoes_of(run.phase).min_class_size
        if any(hidden.values())
        else 0,
        "label_shares": shares,
        "reads_values": may is not None and may.values,
        "gold": first.gold,
        "predecessor": results.previous_scored_run(run, first.gold)
        if run.status == Status.SCORED
        else None,
        "has_claims": any(map(has_visible_claims, evaluations.values())),
        "may_organise": may_organise(request.user, run.phase.task.season),
        "gold_change": gold_changes.score_change_of_run(run, first, request.user),
    }


def confirmation_context(run: Submission, viewer: object) -> dict[str, Any]:
    phase = run.phase
    if (
        not phase.confirms_results
        or timezone.now() < phase.closes
        or run.team_id is None
    ):
        return {}
    refused = why_confirmation_is_closed(phase)
    frozen = visibility.freeze_time_for(phase, visibility.audience_of(phase, viewer))
    is_told = frozen is None and visibility.may_see_scores(run, viewer)
    result = result_to_confirm_of(run) if is_told else None
    if is_told and result is None:
        return {}
    leads = Membership.objects.filter(team=run.team_id, role=Membership.Role.LEAD)
    is_lead = isinstance(viewer, User) and leads.filter(user=viewer).exists()
    return {
        "result": result,
        "result_refused": as_sentence(refused) if refused else "",
        "is_lead": is_lead,
    }


@dataclass(frozen=True, kw_only=True)
class ClaimsPageParameters(PageParameters):
    rules: str = text_parameter("rules")
    page: int = number_parameter("page", default=1)
    name: str = text_parameter("id")


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
        or board_and_row_of_run(run.phase, viewer, run.pk) is not None
    )
    if run is None or not visibility.may_see_claims(run, viewer, stands=stands):
        raise Http404(_("There are no claims for you to see at this address."))
    return run


@PageDecorators(_run_with_claims_or_404, "pk", is_public=True).page("runs/claims.html")
def claims(request: HttpRequest, run: Submission) -> Answer:
    """Show how each response of a run gets its recall and precision, claim by claim."""
    viewer, audience = request.user, visibility.audience_of(run.phase, request.user)
    latest = latest_evaluations(run, visibility.freeze_time_for(run.phase, audience))
    evaluations = {
        rules: evaluation
        for rules, evaluation in latest.items()
        if has_visible_claims(evaluation)
    }
    if not evaluations:
        raise Http404(_("This run has not been split into claims, or not yet."))
    query = ClaimsPageParameters.of(request.GET)
    wanted = current_rules(query.rules)
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    is_own = visibility.may_see_submission(run, viewer)
    page = response_page_of(
        evaluations[rules],
        query.page,
        query.name.strip(),
        shows_labels=not is_own or visibility.may_see_scores(run, viewer),
        shows_passages=visibility.may_see_instances(run.phase, audience),
    )
    number = page["number"]
    return {
        **phase_context(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or visibility.shows_teams(run.phase, audience),
        "rules": rules,
        "rule_sets": ClaimsPageParameters().choices("rules", evaluations, rules),
        "page": page,
        "before": ClaimsPageParameters(rules=rules, page=number - 1).with_()
        if number > 1
        else "",
        "after": ClaimsPageParameters(rules=rules, page=number + 1).with_()
        if number < page["pages"]
        else "",
    }
