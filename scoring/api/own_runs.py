"""One's own runs: listed, followed to their scores, changed, and their files."""

import hashlib
from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import exceptions, serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from citeboard.core import storage
from citeboard.core.api import FORBIDDEN, JSON, Closed
from citeboard.core.plain_text import MAX_DESCRIPTION
from citeboard.core.storage.downloads import download
from citeboard.teams.access import teams_of
from citeboard.teams.api import person
from citeboard.teams.models import User
from scoring.api.operations import delete, get, post
from scoring.api.printed import printed
from scoring.api.sending import CardForm, given_card
from scoring.api.serializers import Address, ProblemSerializer, mirror, optional_text
from scoring.board.visibility import audience_of, may_see_scores
from scoring.runs.progress import expected_wait
from scoring.runs.team_view import Event, as_told, events, hides_outcome
from tasks.jobs.queue_choice import place_in_queue, with_progress
from tasks.models import Season, Submission
from tasks.seasons.access import may_organise
from tasks.submissions import run_acts

Change = Callable[[Submission, User, str], Submission]

#: A withdrawn run keeps its numbers for its team; they are off the board alone.
WITH_SCORES = (Submission.Status.SCORED, Submission.Status.WITHDRAWN)
#: The least and the most seconds after which a run that moves is worth another look.
MIN_PAUSE, MAX_PAUSE = 1, 15
#: What organisers do and teams do not.
BY_ORGANISERS = (run_acts.accept_late, run_acts.disqualify, run_acts.hide, run_acts.reinstate)
RUN_CHANGED = {
    403: OpenApiResponse(FORBIDDEN.response, "The run is another team's, or the act one of organisers."),
    409: OpenApiResponse(Closed, "The run is past the state in which this can be done."),
}


def own_runs(user: object) -> QuerySet[Submission]:
    """The runs that the user may see one by one: of own teams and of seasons that one runs."""
    organised = Season.objects.helped_by(user).order_by().values("pk")
    runs = Submission.objects.filter(
        Q(team__in=teams_of(user).values("pk")) | Q(phase__task__season__in=organised)
    )
    return with_progress(runs.select_related("team", "phase__task__season").prefetch_related("team_figures"))


def own_run(user: object, pk: int) -> Submission:
    return get_object_or_404(own_runs(user), pk=pk)


def run_of_own_team(user: object, pk: int) -> Submission:
    """Raises Http404, or PermissionDenied for a run of another team."""
    run = own_run(user, pk)
    if run.team not in teams_of(user):
        raise exceptions.PermissionDenied("This is for the run's own team.")
    return run


def run_to_move(user: object, pk: int) -> Submission:
    """Raises Http404, or PermissionDenied for who is neither of its team nor an organiser."""
    run = own_run(user, pk)
    if run.team not in teams_of(user):
        _require_organising(run, user)
    return run


def _require_organising(run: Submission, user: object) -> None:
    if run.team is None or not may_organise(user, run.phase.task.season):
        raise exceptions.PermissionDenied(
            "A run is changed by its own team, and with a reason by organisers."
        )


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    """A run: who sent it, what became of it, and why."""

    phase = serializers.IntegerField(source="phase_id")
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    since = serializers.DateTimeField(source="status_since")
    reason = serializers.CharField(allow_blank=True, help_text="Why it failed or waits.")
    card = serializers.DictField(
        child=serializers.CharField(), help_text="How it was made, by the fields of a run card."
    )
    team_reported = serializers.SerializerMethodField(
        help_text="Costs and scores that the team reports itself, by name; nobody has checked them."
    )
    progress = serializers.FloatField(
        allow_null=True,
        help_text="Share of the check or the scoring that is done; null where none is under way.",
    )
    url = Address("api:submission", "pk")
    page = Address("submission", "pk")

    class Meta:
        model = Submission
        fields = [
            "id", "number", "phase", "team", "bundle", "system", "description", "card", "links", "kind",
            "filename", "sha256", "size", "submitted_at", "begun_at", "is_late", "exclusion",
            "exclusion_reason", "priority", "status",
            "since", "reason", "team_reported", "progress", "url", "page",
        ]  # fmt: skip

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """With the state that the reader may know."""
        return super().to_representation(as_told(instance, self.context["request"].user))

    def get_team_reported(self, submission: Submission) -> dict[str, float]:
        return {figure.name: figure.value for figure in submission.team_figures.all()}


class ClassValue(serializers.Serializer[Any]):
    """A metric over the instances of one class."""

    value = serializers.FloatField(allow_null=True, help_text="Null where it is undefined or infinite.")
    infinite = serializers.BooleanField(required=False, help_text="Only where the value is infinite.")
    n = serializers.IntegerField(help_text="Instances with gold.")


class MetricValue(ClassValue):
    """A metric over the whole run, unrounded, on the scale its field publishes."""

    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    scale = serializers.FloatField()
    is_count = serializers.BooleanField(required=False, help_text="Only where it counts, as words do.")
    higher_is_better = serializers.BooleanField(allow_null=True)
    column = serializers.CharField(help_text="Only numbers with the same one may be compared.")
    signature = serializers.CharField()


class GoldRead(serializers.Serializer[Any]):
    sha256 = serializers.CharField()
    instances = serializers.IntegerField()


class RunRead(serializers.Serializer[Any]):
    sha256 = serializers.CharField()


class Result(serializers.Serializer[Any]):
    """What `python -m scoring score --json` prints of the run."""

    task_type = serializers.CharField()
    rules = serializers.CharField()
    options = serializers.DictField(child=serializers.CharField())
    gold = GoldRead()
    run = RunRead()
    metrics = serializers.DictField(child=MetricValue())
    breakdowns = serializers.DictField(
        child=serializers.DictField(child=serializers.DictField(child=ClassValue())),
        help_text="By dimension, class and metric.",
    )
    notes = serializers.DictField(
        child=serializers.IntegerField(), help_text="Counts, such as empty outputs."
    )


class SubmissionDetail(SubmissionSerializer):
    """A run with its place in the queue, its warnings, and its scores where they may be seen."""

    place = serializers.IntegerField(
        allow_null=True, min_value=1, help_text="In the queue; null for a run that does not wait in it."
    )
    expected_seconds = serializers.FloatField(
        allow_null=True, help_text="About how long until it is scored; null where that is not known."
    )
    problems = ProblemSerializer(
        many=True, help_text="Why a run was refused that was checked after it was taken; empty for any other."
    )
    warnings = ProblemSerializer(many=True)
    scores_hidden = serializers.BooleanField(help_text="The phase does not show you scores.")
    scores = Result(allow_null=True, help_text="Under the rules that rank; null until there are any.")
    evaluations = Result(many=True, help_text="Under each of the task's rule sets.")

    class Meta:
        model = Submission
        fields = [
            *SubmissionSerializer.Meta.fields, "place", "expected_seconds", "problems", "warnings",
            "scores_hidden", "scores", "evaluations",
        ]  # fmt: skip


class SubmissionsQuery(serializers.Serializer[Any]):
    """Which runs are listed."""

    phase = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    team = serializers.CharField(required=False)


@get("submissions/", query=SubmissionsQuery, pages=SubmissionSerializer)
def submissions(request: Request, query: dict[str, Any]) -> QuerySet[Submission]:
    """The runs of your teams, and of the seasons you organise, newest first."""
    runs = own_runs(request.user)
    if "phase" in query:
        runs = runs.filter(phase=query["phase"])
    return runs.filter(team__slug=query["team"]) if "team" in query else runs


@get(
    "submissions/<int:pk>/",
    of=own_run,
    answers=SubmissionDetail,
    parameters=[
        OpenApiParameter(
            "If-None-Match", str, OpenApiParameter.HEADER, description="The ETag of the answer you have."
        )
    ],
    responses={
        200: OpenApiResponse(
            SubmissionDetail, "While the run moves, `Retry-After` says in how many seconds to ask again."
        ),
        304: OpenApiResponse(description="Nothing has changed since the answer with this ETag."),
    },
)
def submission(request: Request, run: Submission) -> HttpResponseBase:
    """A run: what became of it, and its scores."""
    is_veiled = hides_outcome(run, request.user)
    place = None if is_veiled else place_in_queue(run)
    is_seen = may_see_scores(run, request.user)
    has_scores = is_seen and run.status in WITH_SCORES
    evaluations = printed(run, audience_of(run.phase, request.user)) if has_scores else []
    ranking = [row for row in evaluations if row["rules"] == run.phase.task.ranking_rules]
    body = {
        **SubmissionSerializer(run, context={"request": request}).data,
        "place": place,
        "expected_seconds": None if is_veiled else expected_wait(run, place),
        "problems": run.problems,
        "warnings": run.warnings,
        "scores_hidden": not is_seen,
        "scores": ranking[0] if ranking else None,
        "evaluations": evaluations,
    }
    content = JSONRenderer().render(body)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    response = get_conditional_response(request._request, etag=tag)  # noqa: SLF001  # what Django reads
    if response is None:
        response = HttpResponse(content, content_type=JSON)
        response["ETag"] = tag
    if run.is_moving and not is_veiled:
        response["Retry-After"] = str(again_in(run))
    patch_vary_headers(response, ["Authorization", "Cookie"])
    return response


def again_in(run: Submission) -> int:
    """Seconds after which it is worth asking again: soon after it was sent, and then more and more rarely."""
    age = (timezone.now() - run.submitted_at).total_seconds()
    return round(min(max(age / 10, MIN_PAUSE), MAX_PAUSE))


class ReasonForm(serializers.Serializer[Any]):
    """Why organisers change what stands for a team; a team gives no reason for its own acts."""

    reason = optional_text(500, "The team reads it.")


class PriorityForm(ReasonForm):
    """Another place among the team's runs."""

    priority = serializers.IntegerField(min_value=1, max_value=1000, help_text="1 comes first.")


def _changed(request: Request, run: Submission, change: Change, reason: str) -> Submission:
    """By the run's own team; by organisers of its season with a reason, which the team reads."""
    user, reason = person(request), reason.strip()
    is_own = run.team in teams_of(user)
    organises = bool(reason) and may_organise(user, run.phase.task.season)
    if change in BY_ORGANISERS or organises or not is_own:
        _require_organising(run, user)
        if not reason:
            raise exceptions.ValidationError({"reason": ["Say why: the team reads it."]})
    else:
        # By a reason alone nobody acts as an organiser, whom the end of a phase does not bind.
        reason = ""
        if change in (run_acts.cancel, run_acts.withdraw) and hides_outcome(run, user):
            change = run_acts.take_back
    change(run, user, reason)
    return own_runs(user).get(pk=run.pk)


def _act(name: str, summary: str, change: Change) -> None:
    """Declares what teams and organisers do to a run with nothing but a reason."""

    @post(
        f"submissions/<int:pk>/{name}/",
        summary=summary,
        of=own_run,
        form=ReasonForm,
        answers=SubmissionSerializer,
        responses=RUN_CHANGED,
        operation_id=name,
    )
    def act(request: Request, run: Submission, form: dict[str, Any]) -> Submission:
        return _changed(request, run, change, form["reason"])


_act("cancel", "Cancel a run that is not scored yet; it no longer counts", run_acts.cancel)
_act("withdraw", "Withdraw a scored run from the board; it still counts", run_acts.withdraw)
_act("select", "Let a run count for its team, where the phase leaves it the choice", run_acts.select_run)
_act("accept", "Let a late run count as if it had come in time; for organisers", run_acts.accept_late)
_act("disqualify", "Keep a run off every board and comparison; for organisers", run_acts.disqualify)
_act("hide", "Keep a run off every board; for organisers", run_acts.hide)
_act(
    "reinstate",
    "Let a run that was disqualified or hidden stand on the board again; for organisers",
    run_acts.reinstate,
)


@post(
    "submissions/<int:pk>/priority/",
    of=run_to_move,
    form=PriorityForm,
    answers=SubmissionSerializer,
    responses=RUN_CHANGED,
    name="priority",
)
def set_priority(request: Request, run: Submission, form: dict[str, Any]) -> Submission:
    """Move a run to another place among its team's, where the first ones by priority count."""

    def change(run: Submission, user: User, reason: str) -> Submission:
        return run_acts.set_priority(run, user, reason, place=form["priority"])

    return _changed(request, run, change, form["reason"])


class DescriptionForm(CardForm):
    """What a team says of its run; what is left out stays as it is."""

    description = serializers.CharField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)
    links = serializers.CharField(
        required=False, allow_blank=True, help_text="Addresses, one a line; at most five."
    )


@post(
    "submissions/<int:pk>/description/",
    of=run_of_own_team,
    form=DescriptionForm,
    answers=SubmissionSerializer,
    responses=RUN_CHANGED,
    name="description",
)
def describe(request: Request, run: Submission, form: dict[str, Any]) -> Submission:
    """Change the description, the links and the card of a run; for its team."""
    run_acts.describe_run(
        submission=run,
        description=form.get("description", run.description),
        links=form["links"].splitlines() if "links" in form else run.links,
        card={**run.card, **given_card(form)},
        by=person(request),
    )
    return run


EventSerializer = mirror(
    "Event",
    Event,
    "One step on the way of a run.",
    by="Empty for what the site did itself.",
    changes=None,
)


@get("submissions/<int:pk>/history/", of=own_run, answers=[EventSerializer])
def run_history(request: Request, run: Submission) -> Any:
    """What happened to a run, step by step."""
    return events(run, request.user)


def run_with_file(user: object, pk: int) -> Submission:
    return get_object_or_404(own_runs(user).exclude(file=""), pk=pk)


@get("submissions/<int:pk>/run/", of=run_with_file, files=["application/octet-stream"])
def run(request: Request, submission: Submission) -> HttpResponseBase:
    """The file of a run, as it was sent."""
    return download(
        request,
        storage.runs,
        submission.file,
        filename=submission.filename,
        content_type="application/octet-stream",
    )


@delete(
    "submissions/<int:pk>/run/",
    of=run_of_own_team,
    responses={403: FORBIDDEN, 409: RUN_CHANGED[409]},
    without=400,
)
def delete_run_file(request: Request, run: Submission) -> None:
    """Delete the file of a withdrawn run; its digest and its numbers stay; for its team."""
    run_acts.delete_file(submission=run, by=person(request))
