"""Questions on a season with their answers, and reports of abuse."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, PAGE_PARAMETERS, READ, SIGN_IN, TOO_MANY, paged, paged_answer
from citeboard.teams.api import person
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Question, Report
from tasks.seasons import announcements as services
from tasks.seasons.access import may_help, season_for, season_to_help
from tasks.seasons.announcements import MAX_ADDRESS, MAX_TEXT, report_abuse


class QuestionSerializer(serializers.ModelSerializer[Question]):
    """A question; who asked it is said to nobody here."""

    class Meta:
        model = Question
        fields = ["id", "text", "asked_at", "answer", "answered_at", "is_public"]


class QuestionForm(serializers.Serializer[Any]):
    """What you want to know."""

    text = serializers.CharField(max_length=MAX_TEXT)


class AnswerForm(serializers.Serializer[Any]):
    """The answer, and whether everybody reads it with the question."""

    answer = serializers.CharField(max_length=MAX_TEXT, help_text="Markdown.")
    is_public = serializers.BooleanField()


class ReportForm(serializers.Serializer[Any]):
    """What is wrong, and where."""

    text = serializers.CharField(max_length=MAX_TEXT)
    address = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=MAX_ADDRESS, help_text="The page."
    )


class ReportSerializer(serializers.ModelSerializer[Report]):
    """A report of yours, or for staff of anybody."""

    class Meta:
        model = Report
        fields = ["id", "address", "text", "reported_at", "closed_at"]


@extend_schema(
    methods=["GET"],
    operation_id="questions",
    summary="Questions that were answered in public and your own; to who runs the season all",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(QuestionSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="ask",
    summary="Ask the organisers of a season",
    request={"multipart/form-data": QuestionForm},
    responses={201: QuestionSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
@permission_classes([AllowAny])
def questions(request: Request, slug: str) -> Response:
    if request.method == "POST" and not request.user.is_authenticated:
        raise exceptions.NotAuthenticated
    season = season_for(request.user, slug)
    if request.method != "POST":
        runs_it = may_help(request.user, season)
        every = Question.objects.filter(season=season)
        own = every if runs_it else services.readable_questions(season, request.user)
        return paged_answer(request, own, QuestionSerializer)
    form = QuestionForm(data=request.data)
    form.is_valid(raise_exception=True)
    asked = services.ask(season=season, text=form.validated_data["text"], by=person(request))
    return Response(QuestionSerializer(asked).data, status=201)


@extend_schema(
    operation_id="answer",
    summary="Answer a question; for organisers",
    request={"multipart/form-data": AnswerForm},
    responses={200: QuestionSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def answer(request: Request, slug: str, question: int) -> Response:
    season = season_to_help(request.user, slug)
    own = get_object_or_404(Question, pk=question, season=season)
    form = AnswerForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    changed = services.answer(
        question=own, text=given["answer"], is_public=given["is_public"], by=person(request)
    )
    return Response(QuestionSerializer(changed).data)


@extend_schema(
    methods=["GET"],
    operation_id="reports",
    summary="Reports of abuse, for the site's staff",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(ReportSerializer), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="report",
    summary="Report abuse to those who run the site",
    request={"multipart/form-data": ReportForm},
    responses={201: ReportSerializer, **CHANGES, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def reports(request: Request) -> Response:
    if request.method != "POST":
        if not person(request).is_staff:
            raise Http404
        return paged_answer(request, Report.objects.all(), ReportSerializer)
    form = ReportForm(data=request.data)
    form.is_valid(raise_exception=True)
    sent = report_abuse(by=person(request), **form.validated_data)
    return Response(ReportSerializer(sent).data, status=201)
