"""Decide who may see the scores on a board and the scores of runs. Pages, charts,
exports and the API use the functions of this module to decide who may see scores.
"""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

from citeboard.teams.models import Membership, Team, User
from scoring.models import Annotator, Evaluation
from scoring.results.board.counting import has_mixed_final_scores
from tasks.gold.secrecy import (
    ContentKind,
    embargoes_of,
    inputs_are_free,
    shows_own_scores,
)
from tasks.models import (
    JoinRequest,
    Organiser,
    Phase,
    Registration,
    Season,
    Submission,
    TermsAcceptance,
)


class Audience(StrEnum):
    PUBLIC = "public"
    TEAM = "team"
    HELPER = "helper"
    ORGANISER = "organiser"


#: The audiences in SEASON_STAFF_AUDIENCES see all runs and scores of a season.
SEASON_STAFF_AUDIENCES = (Audience.ORGANISER, Audience.HELPER)


class Visibility(StrEnum):
    NOTHING = "nothing"
    RANKS = "ranks"
    SCORES = "scores"


def audience_of(phase: Phase, viewer: object) -> Audience:
    if not isinstance(viewer, User):
        return Audience.PUBLIC
    return (
        Audience.ORGANISER
        if viewer.is_staff
        else viewer_roles_of(viewer).audience(phase.task.season_id)
    )


def visibility_of(phase: Phase, audience: Audience) -> Visibility:
    """Return what an audience may see of the current board, which is nothing while some
    runs have scores on the private part and others do not.
    """
    is_whole = audience in SEASON_STAFF_AUDIENCES or not has_mixed_final_scores(phase)
    return visibility_by_settings(phase, audience) if is_whole else Visibility.NOTHING


def visibility_by_settings(phase: Phase, audience: Audience) -> Visibility:
    """Return how much of a board an audience may see by the settings of the phase.
    Organisers see everything. Helpers of organisers must not see the names of instances
    in the gold before the inputs are released.
    """
    if phase.battles_alone and audience not in SEASON_STAFF_AUDIENCES:
        return Visibility.NOTHING
    return visibility_of_battles(phase, audience)


def visibility_of_battles(phase: Phase, audience: Audience) -> Visibility:
    """Return what an audience may see of the board of battles, even if the phase has no
    other board.
    """
    if audience != Audience.ORGANISER and not inputs_are_free(phase):
        # A board with only baselines would identify the gold by names and signatures.
        return Visibility.NOTHING
    if audience in SEASON_STAFF_AUDIENCES:
        return Visibility.SCORES
    board = phase.board_now
    if board not in (
        Phase.Audience.EVERYONE,
        Phase.Audience.RANKS,
    ) or is_embargoed_by_other_phase(phase):
        return Visibility.NOTHING
    return Visibility.SCORES if board == Phase.Audience.EVERYONE else Visibility.RANKS


def is_embargoed_by_other_phase(phase: Phase) -> bool:
    """Return True if another phase with the same gold has an embargo, whatever the
    settings of this phase are.
    """
    return not embargoes_of(phase).is_free(ContentKind.OTHERS)


def is_released_for_run(kind: ContentKind, submission: Submission) -> bool:
    """Return True if no embargo on the gold of the run withholds this kind of
    information, for every gold version on which the run was scored.
    """
    known = embargoes_of(submission.phase)
    versions = [known.newest]
    if known.older:
        of_run = Evaluation.objects.filter(submission=submission, gold__in=known.older)
        versions += of_run.values_list("gold", flat=True).distinct()
    return all(known.is_free(kind, version=version) for version in versions)


def is_public(phase: Phase) -> bool:
    is_shown = (
        visibility_of(phase, Audience.PUBLIC) == Visibility.SCORES
        and not phase.is_frozen()
    )
    return phase.task.season.is_public and is_shown


def freeze_time_for(phase: Phase, audience: Audience) -> dt.datetime | None:
    """Return the time when the board was frozen for the audience, or None if the
    audience sees the current board.
    """
    return (
        phase.frozen_from
        if audience not in SEASON_STAFF_AUDIENCES and phase.is_frozen()
        else None
    )


def hides_activity(phase: Phase, audience: Audience) -> bool:
    """Return True if the audience must not notice when runs are submitted or scored."""
    return (
        visibility_of(phase, audience) == Visibility.NOTHING
        or freeze_time_for(phase, audience) is not None
    )


def may_see_instances(phase: Phase, audience: Audience) -> bool:
    """Return True if the audience may see the instances of a phase. Instances reveal
    the gold, so permission to see scores is not enough.
    """
    if audience == Audience.ORGANISER:
        return True
    if not phase.shows_instances or visibility_of(phase, audience) != Visibility.SCORES:
        return False
    return embargoes_of(phase).is_free(ContentKind.INSTANCES)


def may_see_claims(submission: Submission, viewer: object, *, stands: bool) -> bool:
    """Return True if the viewer may see the claims in a run, which are the team, the
    organisers, and viewers of a board with the run if the phase shows instances.
    """
    if may_see_submission(submission, viewer):
        return may_see_outcome(submission, viewer)
    phase = submission.phase
    if not (stands and may_see_instances(phase, audience_of(phase, viewer))):
        return False
    return Season.objects.visible_to(viewer).filter(pk=phase.task.season_id).exists()


def may_see_submission(submission: Submission, viewer: object) -> bool:
    """Return True if the viewer may see the run, as a member of the team, as an
    organiser or helper of the season, or as staff. For other viewers, pages behave as
    if the run did not exist.
    """
    if not isinstance(viewer, User):
        return False
    known = viewer_roles_of(viewer)
    return (
        known.is_in(submission.team_id)
        or known.audience(submission.phase.task.season_id) in SEASON_STAFF_AUDIENCES
    )


def may_see_scores(submission: Submission, viewer: object) -> bool:
    """Return True if the viewer may see the scores of a run, as an organiser, or as a
    member of the team if the phase shows teams their own scores.
    """
    if not may_see_submission(submission, viewer):
        return False
    phase = submission.phase
    is_told = shows_own_scores(phase) and is_released_for_run(
        ContentKind.OWN, submission
    )
    if is_told and not phase.is_frozen():
        return True
    audience = audience_of(phase, viewer)
    known = Evaluation.objects.known_at(freeze_time_for(phase, audience)).filter(
        submission=submission
    )
    return audience in SEASON_STAFF_AUDIENCES or (is_told and known.exists())


def may_see_outcome(submission: Submission, viewer: object) -> bool:
    """Return True if the viewer may see if and when a run was scored. Teams always see
    failures.
    """
    if not may_see_submission(submission, viewer):
        return False
    phase = submission.phase
    return (
        phase.own_runs_show != Phase.OwnRuns.NOTHING
        or audience_of(phase, viewer) in SEASON_STAFF_AUDIENCES
    )


def shows_teams(phase: Phase, audience: Audience) -> bool:
    """Return True if the audience may see the names of the teams on a board. Members of
    a team always see the name of their own team.
    """
    if audience in SEASON_STAFF_AUDIENCES:
        return True
    return phase.shows_teams and not phase.task.season.is_anonymous()


def shows_run_counts(phase: Phase, audience: Audience) -> bool:
    return phase.shows_run_counts or audience in SEASON_STAFF_AUDIENCES


_TABLE_NAMES_BY_MODEL = {
    model.__name__.lower(): connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  (public by name)
    for model in (
        Annotator,
        JoinRequest,
        Membership,
        Organiser,
        Registration,
        Team,
        TermsAcceptance,
    )
}
_ROLES_SQL = """
SELECT 'team', m.team_id, t.slug FROM {membership} m JOIN {team} t ON t.id = m.team_id
WHERE m.user_id = %(user)s
UNION SELECT 'entered', r.season_id, '' FROM {registration} r JOIN {membership} m ON m.team_id = r.team_id
WHERE m.user_id = %(user)s
UNION SELECT 'runs', o.season_id, o.role FROM {organiser} o WHERE o.user_id = %(user)s
UNION SELECT CASE WHEN j.declined_at IS NULL THEN 'asks' ELSE 'asked' END, j.id, '' FROM {joinrequest} j
WHERE j.user_id = %(user)s
UNION SELECT 'accepted', a.terms_id, '' FROM {termsacceptance} a WHERE a.user_id = %(user)s
UNION SELECT 'rates', n.sheet_id, '' FROM {annotator} n WHERE n.user_id = %(user)s
"""


@dataclass(frozen=True)
class ViewerRoles:
    """The roles of a viewer, as staff, in teams and in seasons. ``facts`` contains the
    kind of each role, the id of the team or season, and the slug of the team or the
    name of the role.
    """

    is_staff: bool = False
    facts: frozenset[tuple[str, int, str]] = frozenset()

    @property
    def key(self) -> tuple[object, ...]:
        return (self.is_staff, *sorted(self.facts))

    @property
    def teams(self) -> tuple[str, ...]:
        return tuple(sorted(word for kind, _row, word in self.facts if kind == "team"))

    @property
    def seasons(self) -> tuple[int, ...]:
        return tuple(sorted(row for kind, row, _word in self.facts if kind == "runs"))

    def is_in(self, team: int | None) -> bool:
        return any(kind == "team" and row == team for kind, row, _word in self.facts)

    def audience(self, season: int) -> Audience:
        if (
            self.is_staff
            or ("runs", season, Organiser.Role.ORGANISER.value) in self.facts
        ):
            return Audience.ORGANISER
        if season in self.seasons:
            return Audience.HELPER
        return (
            Audience.TEAM if ("entered", season, "") in self.facts else Audience.PUBLIC
        )


def viewer_roles_of(user: object) -> ViewerRoles:
    if not isinstance(user, User):
        return ViewerRoles()
    with connection.cursor() as cursor:
        cursor.execute(_ROLES_SQL.format(**_TABLE_NAMES_BY_MODEL), {"user": user.pk})
        return ViewerRoles(
            is_staff=user.is_staff, facts=frozenset(map(tuple, cursor.fetchall()))
        )
