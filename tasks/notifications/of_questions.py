"""What organisers are told of questions, askers of answers, and those who run the site of reports."""

from __future__ import annotations

from citeboard.core.audit import as_json
from citeboard.teams.models import User
from tasks.models import Question, Report
from tasks.models.notifications import Kind
from tasks.notifications.writing import notify, runners_of, without
from tasks.webhooks.queueing import queue_event


def tell_question(question: Question, *, by: User) -> None:
    people = without(runners_of(question.season), by)
    queue_event(Kind.QUESTION, f"question-{question.pk}", question.season, question=question.pk)
    notify(
        Kind.QUESTION,
        f"question-{question.pk}",
        people,
        season=question.season,
        facts={"text": question.text},
    )


def tell_answered(question: Question) -> None:
    """Also when an answer is changed."""
    if question.asked_by_id is None:
        return
    event = f"question-{question.pk}-answered-{as_json(question.answered_at)}"
    facts = {"question": question.text, "answer": question.answer}
    notify(Kind.ANSWERED, event, [question.asked_by_id], season=question.season, facts=facts)


def tell_report(report: Report) -> None:
    staff = User.objects.filter(is_staff=True, is_active=True).values_list("pk", flat=True)
    facts = {"text": report.text, "address": report.address}
    notify(Kind.REPORTED, f"report-{report.pk}", staff, season=None, facts=facts)
