"""A team can declare runs as seeds, which are repetitions of one system with different
random seeds. The board ranks the mean scores of the seeds of a system.
"""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, plain_text
from citeboard.teams.models import Team, User
from tasks.models import Phase, Submission, Task, seasons
from tasks.registration.entries import lock_approved_entry
from tasks.submissions import run_acts, run_card
from tasks.submissions.looks import refuse_lookalike_system_name


def validate_seed_declaration(phase: Phase, team: Team, seeds_of: str) -> None:
    """Raise ValidationError if a run cannot be declared as a seed (repetition) of the
    system ``seeds_of``, or if the phase requires a system.
    """
    fault = ""
    if not seeds_of:
        if phase.seeds == Task.SeedRunPolicy.NEEDED:
            fault = _("%(task)s ranks means over seeds: name the system of this run")
    elif phase.task.seeds == Task.SeedRunPolicy.REFUSED:
        fault = _("in %(task)s each run stands for itself; leave this empty")
    elif not phase.can_have_seed_runs:
        fault = _(
            "%(phase)s scores by the Ladder or ranks by month, so each run stands for itself; leave this "
            "empty"
        )
    if fault:
        named = {"task": phase.task, "phase": phase}
        raise ValidationError({"seeds_of": fault % named})
    refuse_lookalike_system_name(phase.task.season, team, seeds_of, field="seeds_of")


def can_declare_run_as_seed(submission: Submission) -> bool:
    """Return True if the team may now declare the run as a seed (repetition) of a
    system or as independent.
    """
    phase, now = submission.phase, timezone.now()
    is_offered = phase.seeds != Task.SeedRunPolicy.REFUSED or bool(submission.seeds_of)
    is_at_rest = phase.closes <= now or phase.is_frozen(now)
    return (
        is_offered
        and not is_at_rest
        and submission.team_id is not None
        and submission.status in run_acts.SELECTABLE_STATUSES
    )


def declare_run_as_seed(
    submission: Submission, user: User, reason: str = "", *, seeds_of: str
) -> Submission:
    """Declare that a run is a seed (repetition) of the system ``seeds_of``. If
    ``seeds_of`` is empty, the run becomes independent again.
    """
    group = plain_text.clean_single_line_text(seeds_of)
    message = _("the name has %(found)s characters; at most %(most)s are allowed")
    plain_text.check_length(
        "seeds_of", group, run_card.MAX_SYSTEM_NAME_CHARACTERS, message
    )
    team = submission.team
    if team is None:
        raise run_acts.ActionImpossibleInRunState(
            _("a run of no team is no seed of a system")
        )
    with transaction.atomic():
        lock_approved_entry(submission.phase, team)
        run_acts.require_open_phase(submission)
        run = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
        phase = run.phase
        if phase.is_frozen(timezone.now()):
            message = _("the board is frozen; seeds can be declared again afterwards")
            raise run_acts.ActionImpossibleInRunState(message)
        if run.status not in run_acts.SELECTABLE_STATUSES:
            message = _("a run that is scored, or will be, can be a seed of a system")
            raise run_acts.ActionImpossibleInRunState(message)
        if run.seeds_of != group:
            validate_seed_declaration(phase, team, group)
            Submission.objects.filter(pk=run.pk).update(seeds_of=group)
            change = audit.SettingChange(
                "seeds of", run.seeds_of or None, group or None
            )
            run_acts.record_run_change(
                submission, user, "declared a seed", reason, [change]
            )
            seasons.increment_board_version(phase.pk)
    submission.refresh_from_db()
    return submission
