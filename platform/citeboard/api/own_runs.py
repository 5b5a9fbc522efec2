"""API operations for lists, progress, scores, changes and files of the user's own runs."""

import hashlib
from typing import Any

from django.db.models import Q, QuerySet, prefetch_related_objects
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts.runs import (
    DELETE_RUN_FILE,
    DESCRIBE_RUN,
    RUN_CHANGE_ACTIONS,
    filter_runs_of_own_teams_or_seasons,
    find_visible_runs,
)
from citeboard.api.operations import (
    get,
    register_action_operation,
    register_deleting_action,
)
from citeboard.api.sending import CardForm, extract_run_card
from citeboard.api.serializers import (
    ProblemSerializer,
    RouteAddressField,
    build_dataclass_serializer,
    build_field_for_type,
    build_serializer,
)
from citeboard.core import storage
from citeboard.core.api import FORBIDDEN_RESPONSE, JSON_CONTENT_TYPE, Closed
from citeboard.core.plain_text import MAX_DESCRIPTION_LENGTH
from citeboard.core.query import CountedQueryset
from citeboard.core.storage.downloads import serve_stored_file
from citeboard.teams.models import Team
from scoring.metrics import (
    Metric,
    build_metric_if_known,
    list_metric_names_for_dimension,
)
from scoring.models import WITHHELD_SMALL_CLASS_SCORE, ClassScore, Evaluation, Score
from scoring.results.board.comparisons import UnreadableStatistics, WithheldStatistics
from scoring.results.board.differences import find_hidden_classes_of_breakdowns
from scoring.results.board.visibility import (
    Audience,
    determine_audience,
    find_freeze_time_for_audience,
    may_see_scores,
)
from scoring.results.comparison.changes import (
    ChangesQuery,
    RunChanges,
    find_changes_since_earlier_run,
)
from scoring.results.runs.progress import estimate_wait_seconds
from scoring.results.runs.results import find_latest_evaluations_by_rule_set
from scoring.results.runs.team_view import (
    Event,
    copy_run_without_hidden_outcome,
    is_outcome_hidden_from,
    list_events_of_run,
)
from tasks.jobs.queue_choice import annotate_progress, compute_position_in_queue
from tasks.jobs.tallies import sum_tallied_run_counts
from tasks.models import Submission
from tasks.types.base import replace_paths_by_file_names

#: Withdrawn runs leave the board, but their team still sees the scores.
STATUSES_WITH_SCORES = (Submission.Status.SCORED, Submission.Status.WITHDRAWN)
#: Clients should poll a run again after MIN_POLL_SECONDS to MAX_POLL_SECONDS seconds.
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1, 15
BINARY_CONTENT_TYPE = "application/octet-stream"
UNCACHED_HEADERS = {"Cache-Control": "private, no-store"}
RUN_CHANGE_ERROR_RESPONSES = {
    403: OpenApiResponse(
        FORBIDDEN_RESPONSE.response,
        "The run is another team's, or the act one of organisers.",
    ),
    409: OpenApiResponse(
        Closed, "The run is past the state in which this can be done."
    ),
}


def find_runs_of_user(user: object) -> QuerySet[Submission]:
    return annotate_progress(find_visible_runs(user).prefetch_related("team_figures"))


def own_run_or_404(user: object, pk: int) -> Submission:
    return get_object_or_404(find_runs_of_user(user), pk=pk)


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    """A run with its sender, its status and the reason for the status."""

    phase = serializers.IntegerField(source="phase_id")
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    since = serializers.DateTimeField(source="status_since")
    reason = serializers.CharField(
        allow_blank=True, help_text="Why it failed or waits."
    )
    card = build_field_for_type(
        dict[str, str], "How it was made, by the fields of a run card."
    )
    team_reported = serializers.SerializerMethodField(
        help_text="Costs and scores that the team reports itself, by name; nobody has checked them."
    )
    progress = serializers.FloatField(
        allow_null=True,
        help_text="Share of the check or the scoring that is done; null where none is under way.",
    )
    url = RouteAddressField("api:submission", "pk")
    page = RouteAddressField("submission", "pk")

    class Meta:
        model = Submission
        fields = [
            "id",
            "number",
            "phase",
            "team",
            "bundle",
            "system",
            "description",
            "card",
            "links",
            "kind",
            "filename",
            "sha256",
            "size",
            "submitted_at",
            "begun_at",
            "is_late",
            "exclusion",
            "exclusion_reason",
            "priority",
            "seeds_of",
            "status",
            "since",
            "reason",
            "replace_until",
            "team_reported",
            "progress",
            "url",
            "page",
        ]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Serialize the run with the status that is visible to the user."""
        return super().to_representation(
            copy_run_without_hidden_outcome(instance, self.context["request"].user)
        )

    def get_team_reported(self, submission: Submission) -> dict[str, float]:
        return {figure.name: figure.value for figure in submission.team_figures.all()}


class ClassValue(serializers.Serializer[Any]):
    """The value of a metric over the instances of one class."""

    value = serializers.FloatField(
        allow_null=True, help_text="Null where it is undefined or infinite."
    )
    infinite = serializers.BooleanField(
        required=False, help_text="Only where the value is infinite."
    )
    withheld = serializers.CharField(
        required=False, help_text="Why it is not told, where it is not."
    )
    n = build_field_for_type(
        int | None, "Instances with gold; null of a class that is withheld."
    )


class MetricValue(ClassValue):
    """The unrounded value of a metric over all instances of a run, on the scale that
    the field's papers use.
    """

    n = serializers.IntegerField(help_text="Instances with gold.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    scale = serializers.FloatField()
    is_count = serializers.BooleanField(
        required=False, help_text="Only where it counts, as words do."
    )
    higher_is_better = serializers.BooleanField(allow_null=True)
    column = serializers.CharField(
        help_text="Only numbers with the same one may be compared."
    )
    signature = serializers.CharField()


PrintedScoresSerializer = build_serializer(
    "Result",
    "What `python -m scoring score --json` prints of the run.",
    task_type=str,
    rules=str,
    options=dict[str, str],
    gold=build_serializer("GoldRead", None, sha256=str, instances=int)(),
    run=build_serializer("RunRead", None, sha256=str)(),
    metrics=serializers.DictField(child=MetricValue()),
    breakdowns=serializers.DictField(
        child=serializers.DictField(child=serializers.DictField(child=ClassValue())),
        help_text="By dimension, class and metric.",
    ),
    notes=(dict[str, int], "Counts, such as empty outputs."),
)


class SubmissionDetail(SubmissionSerializer):
    """A run with its place in the queue, its warnings, and its scores if you may see
    the scores.
    """

    place = serializers.IntegerField(
        allow_null=True,
        min_value=1,
        help_text="In the queue, 101 from there on; null for a run that does not wait in it.",
    )
    expected_seconds = build_field_for_type(
        float | None, "About how long until it is scored; null where that is not known."
    )
    problems = ProblemSerializer(
        many=True,
        help_text="Why a run was refused that was checked after it was taken; empty for any other.",
    )
    warnings = ProblemSerializer(many=True)
    scores_hidden = serializers.BooleanField(
        help_text="The phase does not show you scores."
    )
    scores = PrintedScoresSerializer(
        allow_null=True,
        help_text="Under the rules that rank; null until there are any.",
    )
    evaluations = PrintedScoresSerializer(
        many=True, help_text="Under each of the task's rule sets."
    )

    class Meta:
        model = Submission
        fields = [
            *SubmissionSerializer.Meta.fields,
            "place",
            "expected_seconds",
            "problems",
            "warnings",
            "scores_hidden",
            "scores",
            "evaluations",
        ]


SubmissionsQuery = build_serializer(
    "SubmissionsQuery",
    "Which runs are listed.",
    phase=serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1),
    team=serializers.CharField(required=False),
)


@get("submissions/", query=SubmissionsQuery, pages=SubmissionSerializer)
def submissions(request: Request, query: dict[str, Any]) -> CountedQueryset:
    """List the runs of your teams, and of the seasons that you organise, newest first."""
    which = Q(phase=query["phase"]) if "phase" in query else Q()
    if "team" in query:
        which &= Q(
            team__in=list(
                Team.objects.filter(slug=query["team"]).values_list("pk", flat=True)
            )
        )
    runs = find_runs_of_user(request.user).filter(which)
    return CountedQueryset(
        runs,
        lambda: sum_tallied_run_counts(
            which & filter_runs_of_own_teams_or_seasons(request.user)
        ),
    )


@get(
    "submissions/<int:pk>/",
    role=own_run_or_404,
    answers=SubmissionDetail,
    parameters=[
        OpenApiParameter(
            "If-None-Match",
            str,
            OpenApiParameter.HEADER,
            description="The ETag of the answer you have.",
        )
    ],
    responses={
        200: OpenApiResponse(
            SubmissionDetail,
            "While the run moves, `Retry-After` says in how many seconds to ask again.",
        ),
        304: OpenApiResponse(
            description="Nothing has changed since the answer with this ETag."
        ),
    },
)
def submission(request: Request, run: Submission) -> HttpResponseBase:
    """Return a run with its state and its scores."""
    is_veiled = is_outcome_hidden_from(run, request.user)
    place = None if is_veiled else compute_position_in_queue(run)
    is_seen = may_see_scores(run, request.user)
    has_scores = is_seen and run.status in STATUSES_WITH_SCORES
    evaluations = (
        serialize_newest_scores(run, determine_audience(run.phase, request.user))
        if has_scores
        else []
    )
    ranking = [
        row for row in evaluations if row["rules"] == run.phase.task.ranking_rules
    ]
    body = {
        **SubmissionSerializer(run, context={"request": request}).data,
        "place": place,
        "expected_seconds": None if is_veiled else estimate_wait_seconds(run, place),
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
        response = HttpResponse(content, content_type=JSON_CONTENT_TYPE)
        response["ETag"] = tag
    if run.is_moving and not is_veiled:
        # Clients should poll new runs often and older runs less often.
        age = (timezone.now() - run.submitted_at).total_seconds()
        response["Retry-After"] = str(
            round(min(max(age / 10, MIN_POLL_SECONDS), MAX_POLL_SECONDS))
        )
    patch_vary_headers(response, ["Authorization", "Cookie"])
    return response


def _add_progress_to_own_run(request: Request, run: Submission) -> Submission:
    return find_runs_of_user(request.user).get(pk=run.pk)


for end, act in RUN_CHANGE_ACTIONS.items():
    register_action_operation(
        act,
        f"submissions/<int:pk>/{end}/",
        "set_priority" if end == "priority" else end,
        gives=_add_progress_to_own_run,
        answers=SubmissionSerializer,
        responses=RUN_CHANGE_ERROR_RESPONSES,
        lets_out=act.is_rehearsed,
        name=end,
    )


class DescriptionForm(CardForm):
    """A team's description of its run. Omitted fields keep their values."""

    description = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_DESCRIPTION_LENGTH
    )
    links = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Addresses, one a line; at most five.",
    )


register_action_operation(
    DESCRIBE_RUN,
    "submissions/<int:pk>/description/",
    "describe",
    form=DescriptionForm,
    takes=lambda request, run, sent: {
        "description": sent.get("description", run.description),
        "links": sent["links"].splitlines() if "links" in sent else run.links,
        "card": {**run.card, **extract_run_card(sent)},
    },
    gives=_add_progress_to_own_run,
    answers=SubmissionSerializer,
    responses=RUN_CHANGE_ERROR_RESPONSES,
    name="description",
)
RunEventSerializer = build_dataclass_serializer(
    Event,
    "One step on the way of a run.",
    by="Empty for what the site did itself.",
    changes=None,
)


@get("submissions/<int:pk>/history/", role=own_run_or_404, answers=[RunEventSerializer])
def run_history(request: Request, run: Submission) -> Any:
    """List the events of a run in order."""
    return list_events_of_run(run, request.user)


InstanceScoreChangeSerializer = build_serializer(
    "InstanceChange",
    "An instance that turned right or wrong.",
    name=(str, "By which participants know it."),
    before=float,
    after=float,
)
InstanceScoreChangesSerializer = build_serializer(
    "InstanceChanges",
    "Right is an instance on which the metric has its best value.",
    metric=str,
    of=(int, "Instances of both runs."),
    turned_right=InstanceScoreChangeSerializer(many=True),
    turned_wrong=InstanceScoreChangeSerializer(many=True),
    better=(int, "Others that are better without being right."),
    worse=(int, "Others that are worse without having been right."),
)
ClassScoreChangeSerializer = build_serializer(
    "ClassChange",
    "A class with both values; what you may not see is null.",
    label=str,
    before=float | None,
    after=float | None,
    difference=float | None,
    low=float | None,
    high=float | None,
)
MetricChangeSerializer = build_serializer(
    "NumberChange",
    "A metric of both runs.",
    name=str,
    before=float | None,
    after=float | None,
    difference=float | None,
)
RunChangesSerializer = build_serializer(
    "Changes",
    "What changed from one run of a team to another.",
    since=(int, "The submission that is compared with."),
    rules=str,
    metrics=MetricChangeSerializer(many=True),
    dimension=serializers.CharField(allow_blank=True),
    class_metric=serializers.CharField(allow_blank=True),
    classes=ClassScoreChangeSerializer(many=True),
    instances=InstanceScoreChangesSerializer(
        allow_null=True, help_text="Null where you may not see single instances."
    ),
)


@get(
    "submissions/<int:pk>/changes/",
    role=own_run_or_404,
    answers=RunChangesSerializer,
    parameters=[
        OpenApiParameter(
            "since",
            int,
            description="Another run of the team; the run before unless said.",
        ),
        OpenApiParameter(
            "rules", str, description="A rule set; the ranking one unless said."
        ),
        OpenApiParameter(
            "gold",
            int,
            description="A version of the gold; the present one unless said.",
        ),
        OpenApiParameter(
            "dimension", str, description="By which classes; the first unless said."
        ),
        OpenApiParameter(
            "metric",
            str,
            description="Of classes and instances; the first unless said.",
        ),
    ],
)
def run_changes(request: Request, run: Submission) -> Response:
    """Return the differences between a run and an earlier run of the team.

    The response contains single instances if the phase shows single instances.
    """
    try:
        found = find_changes_since_earlier_run(
            run, request.user, ChangesQuery.of(request.query_params)
        )
    except WithheldStatistics as withheld:
        raise Http404(
            "While this phase takes runs it tells nothing by which two could be compared."
        ) from withheld
    except UnreadableStatistics as unreadable:
        raise Http404(
            "The stored statistics of these runs are missing."
        ) from unreadable
    return Response(_serialize_run_changes(found), headers=UNCACHED_HEADERS)


def _serialize_run_changes(changes: RunChanges) -> dict[str, Any]:
    of = changes.instances
    return {
        "since": changes.before.pk,
        "rules": changes.rules,
        "metrics": MetricChangeSerializer(changes.numbers, many=True).data,
        "dimension": changes.dimension,
        "class_metric": changes.metric.name if changes.metric else "",
        "classes": [
            {
                "label": line.label,
                "before": line.b,
                "after": line.a,
                "difference": line.difference,
                "low": line.low,
                "high": line.high,
            }
            for line in changes.classes
        ],
        "instances": of
        and {
            "metric": of.metric.name,
            "of": of.of,
            "turned_right": InstanceScoreChangeSerializer(
                of.turned_right, many=True
            ).data,
            "turned_wrong": InstanceScoreChangeSerializer(
                of.turned_wrong, many=True
            ).data,
            "better": of.better,
            "worse": of.worse,
        },
    }


@get(
    "submissions/<int:pk>/run/",
    role=lambda user, pk: get_object_or_404(
        find_runs_of_user(user).exclude(file=""), pk=pk
    ),
    files=[BINARY_CONTENT_TYPE],
)
def run(request: Request, submission: Submission) -> HttpResponseBase:
    """Return the file of a run exactly as the sender uploaded the file."""
    return serve_stored_file(
        request,
        storage.run_file_storage,
        submission.file,
        filename=submission.filename,
        content_type=BINARY_CONTENT_TYPE,
    )


register_deleting_action(
    DELETE_RUN_FILE,
    "submissions/<int:pk>/run/",
    "delete_run_file",
    responses={403: FORBIDDEN_RESPONSE, 409: RUN_CHANGE_ERROR_RESPONSES[409]},
)


def serialize_newest_scores(
    submission: Submission, audience: Audience
) -> list[dict[str, Any]]:
    """Return the output that `score --json` prints for a run on the newest gold, for
    each rule set.

    The output contains only the values that the audience may see.
    """
    return [found for _, found in serialize_evaluations(submission, audience)]


def serialize_evaluations(
    submission: Submission, audience: Audience
) -> list[tuple[Evaluation, dict[str, Any]]]:
    found = list(
        find_latest_evaluations_by_rule_set(
            submission, find_freeze_time_for_audience(submission.phase, audience)
        ).values()
    )
    prefetch_related_objects(found, "breakdowns__classes")
    return [
        (evaluation, _serialize_evaluation(evaluation, submission, audience))
        for evaluation in found
    ]


def _serialize_evaluation(
    evaluation: Evaluation, submission: Submission, audience: Audience
) -> dict[str, Any]:
    task_type = submission.phase.task.task_type
    options = task_type.validate_options(evaluation.options)
    hidden = find_hidden_classes_of_breakdowns(
        evaluation.breakdowns.all(), submission.phase, audience
    )
    breakdowns = {}
    for row in evaluation.breakdowns.all():
        dimension, classes = row.classes.dimension, row.by_class()
        valid = list_metric_names_for_dimension(
            task_type, dimension, row.classes.metrics, evaluation.rules, options
        )
        few = hidden.get(dimension, ())
        breakdowns[dimension] = {
            label: {
                name: _serialize_class_score(
                    WITHHELD_SMALL_CLASS_SCORE if label in few else numbers[name]
                )
                for name in valid
                if name in numbers
            }
            for label, numbers in classes.items()
        }
    return {
        "task_type": task_type.slug,
        "rules": evaluation.rules,
        "options": replace_paths_by_file_names(options),
        "gold": {
            "sha256": evaluation.gold.digest,
            "instances": evaluation.gold.instances,
        },
        "run": {"sha256": evaluation.run_sha256},
        "metrics": {
            score.metric: _serialize_score(
                score,
                build_metric_if_known(
                    task_type, score.metric, evaluation.rules, options
                ),
            )
            for score in evaluation.scores.all()
        },
        "breakdowns": breakdowns,
        "notes": evaluation.notes,
    }


def _serialize_score(score: Score, metric: Metric | None) -> dict[str, Any]:
    """Return a score in the format of `score --json`.

    On a scale without decimals, the value of a score is an integer.
    """
    scale = float(score.scale or 1)
    return {
        **_serialize_score_value(score),
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "scale": int(scale) if scale.is_integer() else scale,
        **({} if score.scale else {"is_count": True}),
        "higher_is_better": metric.higher_is_better if metric else None,
        "column": score.column,
        "signature": score.signature,
    }


def _serialize_class_score(number: ClassScore) -> dict[str, Any]:
    if number.withheld:
        return {"value": None, "withheld": str(number.withheld), "n": None}
    return {**_serialize_score_value(number), "n": number.n}


def _serialize_score_value(row: Score | ClassScore) -> dict[str, Any]:
    if isinstance(row, Score) and row.withheld:
        return {"value": None, "withheld": row.get_withheld_display()}
    return (
        {"value": row.value, "infinite": True}
        if row.is_infinite
        else {"value": row.value}
    )
