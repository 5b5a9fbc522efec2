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
from citeboard.core.query import Query, number_from, text_from, whole_number
from citeboard.core.storage.downloads import download
from citeboard.core.words import listed, sentence
from citeboard.teams.models import Membership, User
from citeboard.web.boards.board_page import embargo_of
from citeboard.web.pages import (
    Answer,
    Pages,
    SignedInRequest,
    does,
    place_of,
    said_in,
)
from scoring.models import Receipt
from scoring.results.board import (
    differences,
    gold_changes,
    label_shares,
    manual_scores,
    visibility,
)
from scoring.results.board.confirming import why_not
from scoring.results.board.judged import judgement_notes
from scoring.results.board.limit_texts import limits_in_words
from scoring.results.board.standings import standing_of
from scoring.results.comparison.reading import rights_to
from scoring.results.runs import results, team_view
from scoring.results.runs.claims import has_claims, page_of
from scoring.results.runs.confirming import result_of
from scoring.results.runs.progress import Progress, progress_of, received_alone
from scoring.results.runs.results import latest_evaluations, reliability, untold_lines
from scoring.worker.rescoring import ENDED
from tasks.gold.secrecy import Kind, secrecy_of
from tasks.models import Phase, Submission, run_cards
from tasks.seasons.access import may_organise
from tasks.seasons.cards import card
from tasks.submissions import seeds
from tasks.submissions.forms import CardForm
from tasks.submissions.run_acts import MAY_BE_CHOSEN, in_priority
from tasks.types.base import current_rules

Status = Submission.Status


def _own_run(user: object, pk: int) -> Submission:
    """Return a run of the user's team.

    Raises Http404 for runs of other teams, whereas the API responds with
    PermissionDenied.
    """
    try:
        return runs.run_of_own_team(user, pk)
    except PermissionDenied:
        raise Http404(_("There is no run of yours at this address.")) from None


seen_runs, own_runs = Pages(runs.visible_run, "pk"), Pages(_own_run, "pk")


@seen_runs.page("runs/submission.html")
def submission(request: SignedInRequest, run: Submission) -> Answer:
    return {
        **_run_page_context(request, run, progress_of(run)),
        **confirming(run, request.user),
        "team_reported": manual_scores.reported_of(run),
        "entered": manual_scores.entered_of(run)
        if visibility.may_see_scores(run, request.user)
        else [],
        "events": team_view.events(run, request.user),
        "may_describe": _is_member(run, request.user),
        "run_card": run_cards.card_lines(run.card),
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
        filled["priority"] = whole_number(request.POST.get("priority", "")) or 0
    elif how == "seed":
        filled["seeds_of"] = request.POST.get("seeds_of", "")
    filled |= {"reason": request.POST.get("reason", ""), "as_organiser": as_organiser}
    changed = perform(act, run, request.user, filled, said_in(request))
    return act.told(run, changed, {})


@own_runs.act("submission pk", fields=("description", "links", *run_cards.CARD))
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
                **{name: posted[name] for name in run_cards.CARD if name in posted},
            },
        )
    except ValidationError as faults:
        # The page has many fields, so each error message contains its field's name.
        told = [
            f"{run_cards.CARD[name].label if name in run_cards.CARD else name}: {'; '.join(errors)}"
            for name, errors in faults.message_dict.items()
        ]
        raise ValidationError(told) from faults
    return runs.DESCRIBE.told(run, run, {})


delete_run_file = does(runs.DELETE_FILE, "submission pk", own_runs)
confirm = does(runs.CONFIRM, "submission pk", Pages(runs.run_of_lead, "pk"))
contest = does(runs.CONTEST, "submission pk", Pages(runs.run_of_lead, "pk"))


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


PAUSES = {10: "400ms", 120: "1s"}
MAX_PAUSE = "5s"


def _refresh_pause(run: Submission) -> str:
    age = (timezone.now() - run.status_since).total_seconds()
    return next(
        (pause for seconds, pause in PAUSES.items() if age < seconds), MAX_PAUSE
    )


def _per_cent(progress: Progress) -> int | None:
    return None if progress.share is None else round(progress.share * 100)


def _displayed_status(run: Submission, progress: Progress, user: object) -> str:
    """Return a text that changes whenever the displayed status of the run changes."""
    if team_view.hides_outcome(run, user):
        return team_view.RECEIVED
    since = f"{run.status_since.timestamp():.3f}"
    return "-".join(
        [
            run.status,
            since,
            str(_per_cent(progress)),
            progress.sentence,
            _refresh_pause(run),
        ]
    )


def _run_page_context(
    request: SignedInRequest, run: Submission, progress: Progress
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
        list(in_priority(run.phase, run.team).values_list("pk", flat=True))
        if has_priority
        else []
    )
    context: dict[str, Any] = {
        **place_of(run.phase),
        "submission": run,
        "progress": progress,
        "several_files": len(
            {problem["file"] for problem in (*run.problems, *run.warnings)}
        )
        > 1,
        "per_cent": _per_cent(progress),
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
        and run.status in MAY_BE_CHOSEN
        and run.kind == Submission.Kind.PRIMARY
        and run.phase.counting == Phase.Counting.SELECTED,
        "priorities": len(ordered) if run.pk in ordered else 0,
        "may_set_priority": may_change,
        "may_declare_seed": may_change
        and seeds.may_declare(run)
        and not team_view.hides_outcome(run, user),
        "may_rescore": run.status in ENDED
        and not (run.status == Status.FAILED and run.problems)
        and may_organise(request.user, run.phase.task.season),
        "sees_scores": visibility.may_see_scores(run, request.user),
        "embargo": embargo_of(run.phase, Kind.OWN) if run.phase.shows_scores else None,
        "has_receipts": Receipt.objects.filter(evaluation__submission=run).exists(),
    }
    if run.status in (Status.SCORED, Status.WITHDRAWN) and context["sees_scores"]:
        context |= _result_context(request, run)
    if team_view.hides_outcome(run, user):
        context |= {
            "submission": team_view.as_told(run, user),
            "progress": received_alone(run),
            "per_cent": None,
            "may_cancel": False,
            "may_withdraw": may_change,
            "has_receipts": False,
        }
    return context


def _result_context(request: HttpRequest, run: Submission) -> dict[str, Any]:
    audience = visibility.audience_of(run.phase, request.user)
    evaluations = results.latest_evaluations(
        run, visibility.frozen_at(run.phase, audience)
    )
    if not evaluations:
        return {}
    first = next(iter(evaluations.values()))
    hidden = differences.hidden_classes([first.pk], run.phase, audience)
    sees_instances = visibility.may_see_instances(run.phase, audience)
    lines = results.numbers(run, evaluations)
    breakdowns = results.by_class(first, hidden)
    calibration = reliability(
        first, 1 if sees_instances else secrecy_of(run.phase).min_class_size
    )
    shows_gold = (
        visibility.visibility_of(run.phase, audience) == visibility.Visibility.SCORES
    )
    shares = label_shares.run_shares(first, shows_gold=shows_gold)
    figures = {
        f"chart-{breakdown['name']}": breakdown["figure"] for breakdown in breakdowns
    }
    figures |= {share["id"]: share["bars"] for share in shares}
    figures |= {"reliability": calibration["figure"]} if calibration else {}
    told, may = card(run.phase.task), rights_to(run, request.user)
    return {
        "rule_sets": list(evaluations),
        "commands": results.commands(evaluations, lines),
        "lines": [line for line in lines if not results.is_empty(line)],
        "without_probabilities": listed(results.without_probabilities(first)),
        "withheld": sorted(
            {
                one.withheld
                for line in lines
                for one in line["numbers"]
                if one and one.withheld
            }
        ),
        "limits": [
            *limits_in_words(run.phase),
            *judgement_notes(
                run.phase, {evaluation.pk for evaluation in evaluations.values()}
            ),
        ],
        "untold": untold_lines(first) if audience in visibility.RUNS_THE_SEASON else [],
        "differ": [line for line in lines if line["differs"]],
        "rules_told": [(rules, told.rules(rules)) for rules in evaluations],
        "notes": results.notes(evaluations),
        "without_value": results.without_value(run, evaluations),
        "place": results.place(run, request.user)
        if run.status == Status.SCORED
        else None,
        "breakdowns": breakdowns,
        "reliability": calibration,
        "figures": figures,
        "min_class_size": secrecy_of(run.phase).min_class_size
        if any(hidden.values())
        else 0,
        "label_shares": shares,
        "reads_values": may is not None and may.values,
        "gold": first.gold,
        "predecessor": results.predecessor(run, first.gold)
        if run.status == Status.SCORED
        else None,
        "has_claims": any(map(has_claims, evaluations.values())),
        "may_organise": may_organise(request.user, run.phase.task.season),
        "gold_change": gold_changes.change_of_run(run, first, request.user),
    }


def confirming(run: Submission, viewer: object) -> dict[str, Any]:
    phase = run.phase
    if (
        not phase.confirms_results
        or timezone.now() < phase.closes
        or run.team_id is None
    ):
        return {}
    refused = why_not(phase)
    frozen = visibility.frozen_at(phase, visibility.audience_of(phase, viewer))
    is_told = frozen is None and visibility.may_see_scores(run, viewer)
    result = result_of(run) if is_told else None
    if is_told and result is None:
        return {}
    leads = Membership.objects.filter(team=run.team_id, role=Membership.Role.LEAD)
    is_lead = isinstance(viewer, User) and leads.filter(user=viewer).exists()
    return {
        "result": result,
        "result_refused": sentence(refused) if refused else "",
        "is_lead": is_lead,
    }


@dataclass(frozen=True, kw_only=True)
class ClaimsQuery(Query):
    rules: str = text_from("rules")
    page: int = number_from("page", default=1)
    name: str = text_from("id")


def _with_claims(viewer: object, pk: int) -> Submission:
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
        or standing_of(run.phase, viewer, run.pk) is not None
    )
    if run is None or not visibility.may_see_claims(run, viewer, stands=stands):
        raise Http404(_("There are no claims for you to see at this address."))
    return run


@Pages(_with_claims, "pk", is_public=True).page("runs/claims.html")
def claims(request: HttpRequest, run: Submission) -> Answer:
    """Show how each response of a run gets its recall and precision, claim by claim."""
    viewer, audience = request.user, visibility.audience_of(run.phase, request.user)
    latest = latest_evaluations(run, visibility.frozen_at(run.phase, audience))
    evaluations = {
        rules: evaluation
        for rules, evaluation in latest.items()
        if has_claims(evaluation)
    }
    if not evaluations:
        raise Http404(_("This run has not been split into claims, or not yet."))
    query = ClaimsQuery.of(request.GET)
    wanted = current_rules(query.rules)
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    is_own = visibility.may_see_submission(run, viewer)
    page = page_of(
        evaluations[rules],
        query.page,
        query.name.strip(),
        shows_labels=not is_own or visibility.may_see_scores(run, viewer),
        shows_passages=visibility.may_see_instances(run.phase, audience),
    )
    number = page["number"]
    return {
        **place_of(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or visibility.shows_teams(run.phase, audience),
        "rules": rules,
        "rule_sets": ClaimsQuery().choices("rules", evaluations, rules),
        "page": page,
        "before": ClaimsQuery(rules=rules, page=number - 1).with_()
        if number > 1
        else "",
        "after": ClaimsQuery(rules=rules, page=number + 1).with_()
        if number < page["pages"]
        else "",
    }
