"""Announcements of organisers, questions of participants, and reports of abuse."""

import datetime as dt
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals
from citeboard.teams.models import User
from tasks.delivery.notifications import events
from tasks.models import Announcement, AnnouncementEdit, Question, Report, Season

MAX_MESSAGE_CHARACTERS, MAX_REPORTED_ADDRESS_CHARACTERS = 4000, 400
RATE_LIMIT_PERIOD = dt.timedelta(hours=1)
MAX_QUESTIONS_AN_HOUR, MAX_REPORTS_AN_HOUR = 10, 5


def announce(*, season: Season, text: str, by: User | None) -> Season:
    text = text.strip()
    with transaction.atomic():
        changed = Season.objects.select_for_update().get(pk=season.pk)
        if changed.announcement == text:
            return changed
        if not text:
            _retract_announcement(changed, _get_newest_announcement(changed), by)
            return changed
        new = Announcement.objects.create(season=changed, text=text, announced_by=by)
        change = audit.SettingChange("announcement", changed.announcement, text)
        _store_current_announcement(changed, new)
        facts = {"text": " ".join(text.split())}
        audit.record_action(
            "announced",
            actor=by,
            subject=changed,
            place=changed,
            facts=facts,
            changes=[change],
        )
        events.notify_announcement_published(changed, new, by=by)
    return changed


def edit_announcement(
    *, announcement: Announcement, text: str, by: User
) -> Announcement:
    """Change an announcement. If an announcement is edited, the earlier text remains
    readable, and no new notification is sent.
    """
    text = text.strip()
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=announcement.season_id)
        changed = Announcement.objects.get(pk=announcement.pk)
        if not text or changed.text == text or changed.taken_back_at is not None:
            return changed
        now = timezone.now()
        AnnouncementEdit.objects.create(
            announcement=changed, text=changed.text, until=now, edited_by=by
        )
        change = audit.SettingChange("announcement", changed.text, text)
        changed.text, changed.edited_at = text, now
        changed.save(update_fields=["text", "edited_at"])
        if changed == _get_newest_announcement(season):
            _store_current_announcement(season, changed)
        facts = {"text": " ".join(text.split())}
        key = "announcement-edited"
        audit.record_action(
            key, actor=by, subject=season, place=season, facts=facts, changes=[change]
        )
        events.update_announcement_text(changed)
    return changed


def take_back_announcement(*, announcement: Announcement, by: User) -> None:
    with transaction.atomic():
        season = Season.objects.select_for_update().get(pk=announcement.season_id)
        _retract_announcement(season, Announcement.objects.get(pk=announcement.pk), by)


def _retract_announcement(
    season: Season, announcement: Announcement | None, by: User | None
) -> None:
    if announcement is None or announcement.taken_back_at is not None:
        return
    is_newest = announcement == _get_newest_announcement(season)
    announcement.taken_back_at = timezone.now()
    announcement.save(update_fields=["taken_back_at"])
    if is_newest:
        season.announcement, season.announced_at = "", None
        season.save(update_fields=["announcement", "announced_at"])
    change = audit.SettingChange("announcement", announcement.text, "")
    audit.record_action(
        "announced/removed", actor=by, subject=season, place=season, changes=[change]
    )
    events.delete_notifications(announcement.event)


def _store_current_announcement(season: Season, announcement: Announcement) -> None:
    season.announcement, season.announced_at = (
        announcement.text,
        announcement.announced_at,
    )
    season.save(update_fields=["announcement", "announced_at"])


def _get_newest_announcement(season: Season) -> Announcement | None:
    return Announcement.objects.filter(season=season).first()


def _refuse_too_many_recent_messages(
    most: int, by: User, rows: QuerySet[Any], words: str
) -> None:
    User.objects.select_for_update().get(pk=by.pk)
    if rows.count() >= most:
        raise refusals.ActionRefused(words % {"number": most})


def ask(*, season: Season, text: str, by: User) -> Question:
    with transaction.atomic():
        asked = Question.objects.filter(
            asked_by=by, asked_at__gt=timezone.now() - RATE_LIMIT_PERIOD
        )
        message = _("you have asked %(number)s questions within an hour; ask on later")
        _refuse_too_many_recent_messages(MAX_QUESTIONS_AN_HOUR, by, asked, message)
        question = Question.objects.create(
            season=season, text=text.strip(), asked_by=by
        )
        audit.record_action("question-asked", actor=by, subject=question, place=season)
        events.notify_question_asked(question, by=by)
    return question


def answer_question(
    *, question: Question, text: str, is_public: bool, by: User
) -> Question:
    with transaction.atomic():
        changed = Question.objects.select_for_update().get(pk=question.pk)
        wanted = {"answer": text.strip(), "is_public": is_public}
        if changes := audit.update_row_and_list_changes(
            changed, wanted, answered_by=by, answered_at=timezone.now()
        ):
            key = "question-answered/public" if is_public else "question-answered"
            audit.record_action(
                key, actor=by, subject=changed, place=changed.season, changes=changes
            )
            events.notify_question_answered(changed)
    return changed


def list_readable_questions(season: Season, user: object) -> QuerySet[Question]:
    shown = Question.objects.filter(season=season)
    own = shown.filter(asked_by=user) if isinstance(user, User) else shown.none()
    return (shown.public() | own).distinct()


def report_abuse(*, address: str, text: str, by: User) -> Report:
    with transaction.atomic():
        sent = Report.objects.filter(
            reported_by=by, reported_at__gt=timezone.now() - RATE_LIMIT_PERIOD
        )
        message = _(
            "you have sent %(number)s reports within an hour; send the next later"
        )
        _refuse_too_many_recent_messages(MAX_REPORTS_AN_HOUR, by, sent, message)
        report = Report.objects.create(
            address=address.strip(), text=text.strip(), reported_by=by
        )
        audit.record_action("reported", actor=by, subject=report, place=report)
        events.notify_abuse_reported(report)
    return report


def close_abuse_report(*, report: Report, by: User) -> None:
    with transaction.atomic():
        changed = Report.objects.select_for_update().get(pk=report.pk)
        if changed.closed_at is None:
            changes = audit.update_row_and_list_changes(
                changed, {"closed_at": timezone.now()}, closed_by=by
            )
            audit.record_action(
                "report-closed",
                actor=by,
                subject=changed,
                place=changed,
                changes=changes,
            )
