"""Questions on a season: asked by people signed in, answered in public or to the asker alone."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Question, Season
from tasks.notifications.of_questions import tell_answered, tell_question

LONGEST = 4000
#: Of one person, in an hour, over all seasons.
MAX_AN_HOUR = 10


class TooManyQuestions(Refused):
    """The person has asked enough for now."""

    def __init__(self) -> None:
        super().__init__(
            _("you have asked %(number)s questions within an hour; ask on later") % {"number": MAX_AN_HOUR}
        )


def ask(*, season: Season, text: str, by: User) -> Question:
    """Raises TooManyQuestions."""
    with transaction.atomic():
        # One person's questions wait for each other, so that their count holds.
        User.objects.select_for_update().get(pk=by.pk)
        since = timezone.now() - dt.timedelta(hours=1)
        if Question.objects.filter(asked_by=by, asked_at__gt=since).count() >= MAX_AN_HOUR:
            raise TooManyQuestions
        question = Question.objects.create(season=season, text=text.strip(), asked_by=by)
        audit.note(
            actor=by, action="question-asked", words="asked a question", subject=question, place=season
        )
        tell_question(question, by=by)
    return question


def answer(*, question: Question, text: str, is_public: bool, by: User) -> Question:
    """Answer it, or change an answer. Everybody reads a public one with its question, and not who asked."""
    with transaction.atomic():
        changed = Question.objects.select_for_update().get(pk=question.pk)
        wanted = {"answer": text.strip(), "is_public": is_public}
        changes = [
            audit.Change(key, getattr(changed, key), value)
            for key, value in wanted.items()
            if getattr(changed, key) != value
        ]
        if not changes:
            return changed
        changed.answer, changed.is_public = text.strip(), is_public
        changed.answered_by, changed.answered_at = by, timezone.now()
        changed.save(update_fields=["answer", "is_public", "answered_by", "answered_at"])
        words = f"answered a question {'in public' if is_public else 'to who asked it'}"
        audit.note(
            actor=by,
            action="question-answered",
            words=words,
            subject=changed,
            place=changed.season,
            changes=changes,
        )
        tell_answered(changed)
    return changed


def readable_questions(season: Season, user: object) -> QuerySet[Question]:
    """Public answers, and one's own questions."""
    shown = Question.objects.filter(season=season)
    public = shown.public()
    own = shown.filter(asked_by=user) if isinstance(user, User) else shown.none()
    return (public | own).distinct()
