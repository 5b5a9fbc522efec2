"""If two seasons publish the same texts, staff decide if the embargo of the earlier
season also applies to the later season.
"""

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals
from citeboard.teams.models import User
from tasks.delivery.notifications.events import notify_claim_decided
from tasks.gold import publishing
from tasks.models import Claim
from tasks.models.seasons import increment_board_versions
from tasks.seasons.access import require_staff

MAX_REASON_LENGTH = 500


def get_claim_or_404(user: object, claim: int) -> Claim:
    require_staff(user)
    return get_object_or_404(Claim.objects.select_related("season", "later"), pk=claim)


def decide_claim(*, claim: Claim, decision: str, reason: str, by: User) -> Claim:
    """Release the later season from the claim, or apply the earlier season's embargo to
    the later season. The organisers of both seasons see the reason for the decision.
    Raises Refused.
    """
    reason = reason.strip()[:MAX_REASON_LENGTH]
    if not reason:
        raise refusals.ActionRefused(_("say why"))
    binds = decision == "bind"
    with transaction.atomic():
        locked = Claim.objects.select_for_update(of=("self",)).select_related(
            "season", "later"
        )
        row = locked.get(pk=claim.pk)
        row.state = Claim.State.BINDING if binds else Claim.State.RELEASED
        row.decided_at, row.decided_by, row.reason = timezone.now(), by, reason
        row.save()
        if binds:
            publishing.apply_embargo_of_claim(row)
        else:
            publishing.end_embargo_of_claim(row)
        increment_board_versions(row.later)
        for season in (row.season, row.later):
            # The history of a season does not reveal the other season of the claim.
            key = "claim-bound" if binds else "claim-released"
            audit.record_action(
                key, actor=by, subject=season, place=season, facts={"reason": reason}
            )
        notify_claim_decided(row)
    return row
