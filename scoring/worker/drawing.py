"""Sample the public part of a split again if an earlier release sampled the part with a
seed that is public.
"""

import secrets

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.worker.rescoring import request_rescoring_of_phase
from tasks.gold.early import refuse_early_disclosure
from tasks.models import Phase
from tasks.models.seasons import increment_board_version
from tasks.seasons.phase_acts import lock_phase
from tasks.types.digests import NONCE_BYTES


def draw_again(*, phase: Phase, by: User) -> Phase:
    """Sample the public part again with a secret seed, for all running phases that
    share the part, and score the runs of these phases again.

    Raises Refused if the seed is already secret, or if the phase accepts no more runs.
    """
    with transaction.atomic(), refuse_early_disclosure(phase.task.season, by=by):
        drawn = lock_phase(phase)
        if not drawn.has_guessable_part:
            words = _("the public part of %(phase)s was not drawn by a seed")
            raise ActionRefused(words % {"phase": drawn})
        if drawn.accepts_runs_until <= timezone.now():
            raise ActionRefused(
                _("%(phase)s is over: its parts stay as they are") % {"phase": drawn}
            )
        nonce = secrets.token_hex(NONCE_BYTES)
        same = Phase.objects.sharing_instances_with(drawn).filter(
            part_seed=drawn.part_seed, part_nonce=""
        )
        redrawn = [
            own
            for own in same.select_related("task__season").order_by("pk")
            if own.has_guessable_part and own.accepts_runs_until > timezone.now()
        ]
        for own in redrawn:
            Phase.objects.filter(pk=own.pk).update(part_seed=None, part_nonce=nonce)
            increment_board_version(own.pk)
            facts = {"phase": f"{own.task}, {own}"}
            audit.record_action(
                "part-drawn-again",
                actor=by,
                subject=own,
                place=own.task.season,
                facts=facts,
            )
    for own in redrawn:
        request_rescoring_of_phase(phase=own, by=by)
    drawn.refresh_from_db(fields=["part_seed", "part_nonce"])
    return drawn
