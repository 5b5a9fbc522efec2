"""Change the state of a sheet of ratings or pairs, which is open, published, or closed
after its results were withdrawn.
"""

from django.db import transaction
from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.models import Sheet


def require_open_sheet(sheet: Sheet) -> None:
    """Raise Refused unless the sheet is open for ratings or judgements. The caller must
    have locked the sheet's row.
    """
    if sheet.is_published:
        raise ActionRefused(_("the sheet is published and takes no more judgements"))
    if not sheet.is_open:
        raise ActionRefused(_("the sheet is closed until an organiser reopens it"))


def close_sheet(sheet: Sheet) -> None:
    """Close a published sheet of ratings or pairs, so that its results are not public.
    The caller must have locked the sheet's row.

    Annotators and judges cannot answer until an organiser reopens the sheet. Raises
    Refused.
    """
    if not sheet.is_published:
        raise ActionRefused(_("the sheet is not published"))
    sheet.published_at, sheet.closed_at = None, now()
    sheet.save(update_fields=["published_at", "closed_at"])


def reopen_sheet(*, sheet: Sheet, by: User) -> None:
    """Open a closed sheet again, so that annotators or judges can answer. Raises
    Refused.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_published:
            raise ActionRefused(
                _("the sheet is published; unpublish it before you reopen it")
            )
        if locked.is_open:
            raise ActionRefused(_("the sheet is open already"))
        locked.closed_at = None
        locked.save(update_fields=["closed_at"])
        phase = locked.phase
        facts = {"sheet": locked.pk}
        season = phase.task.season
        audit.record_action(
            "sheet-reopened", actor=by, subject=phase, place=season, facts=facts
        )


def list_unassigned_shares(sheet: Sheet) -> list[int]:
    """Return the numbers of the shares of a sheet that no judge has taken, in ascending
    order.
    """
    taken = set(sheet.annotators.values_list("share", flat=True))
    return [share for share in range(1, sheet.shares + 1) if share not in taken]
