"""Reports of abuse, to those who run the site."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Report
from tasks.notifications.of_questions import tell_report

LONGEST = 4000
MAX_ADDRESS = 400
#: Of one person, in an hour.
MAX_AN_HOUR = 5


class TooManyReports(Refused):
    """The person has reported enough for now."""

    def __init__(self) -> None:
        super().__init__(
            _("you have sent %(number)s reports within an hour; send the next later")
            % {"number": MAX_AN_HOUR}
        )


def report_abuse(*, address: str, text: str, by: User) -> Report:
    """Raises TooManyReports."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=by.pk)
        since = timezone.now() - dt.timedelta(hours=1)
        if Report.objects.filter(reported_by=by, reported_at__gt=since).count() >= MAX_AN_HOUR:
            raise TooManyReports
        report = Report.objects.create(address=address.strip(), text=text.strip(), reported_by=by)
        audit.note(actor=by, action="reported", words="reported abuse", subject=report, place=report)
        tell_report(report)
    return report


def close_report(*, report: Report, by: User) -> None:
    """It was seen to. Once more changes nothing."""
    with transaction.atomic():
        changed = Report.objects.select_for_update().get(pk=report.pk)
        if changed.closed_at is not None:
            return
        changed.closed_at, changed.closed_by = timezone.now(), by
        changed.save(update_fields=["closed_at", "closed_by"])
        changes = [audit.Change("closed_at", None, changed.closed_at)]
        audit.note(
            actor=by,
            action="report-closed",
            words="closed a report",
            subject=changed,
            place=changed,
            changes=changes,
        )
