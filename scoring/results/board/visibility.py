"""Decide who may see the scores on a board and the scores of runs. Pages, charts,
exports and the API use the functions of this module to decide who may see scores.
"""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from django.db import connection

from citeboard.teams.models import Membership, Team, User
from scoring.models import Annotator, Evaluation
from scoring.results.board.counting import has_final_scores_for_some_runs
from tasks.gold.secrecy import (
    ContentKind,
    are_inputs_free_of_embargo,
    are_own_scores_visible_to_teams,
    get_embargoes_of_phase,
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


#: The audiences in AUDIENCES_OF_SEASON_STAFF see all runs and scores of a season.
AUDIENCES_OF_SEASON_STAFF = (Audience.ORGANISER, Audience.HELPER)


class BoardVisibility(StrEnum):
    NOTHING = "nothing"
    RANKS = "ranks"
    SCORES = "scores"


def determine_audience(phase: Phase, viewer: object) -> Audience:
    if not isinstance(viewer, User):
        return Audience.PUBLIC
    return (
        Audience.ORGANISER
        if viewer.is_staff
        else load_viewer_roles(viewer).audience(phase.task.season_id)
    )


def determine_board_visibility(phase: Phase, audience: Audience) -> BoardVisibility:
    """Return what an audience may see of the current board, which is nothing while some
    runs have scores on the private part and others do not.
    """
    is_whole = (
        audience in AUDIENCES_OF_SEASON_STAFF
        or not has_final_scores_for_some_runs(phase)
    )
    return (
        determine_visibility_by_settings(phase, audience)
        if is_whole
        else BoardVisibility.NOTHING
    )


def determine_visibility_by_settings(
    phase: Phase, audience: Audience
) -> BoardVisibility:
    """Return how much of a board an audience may see by the settings of the phase.
    Organisers see everything. Helpers of organisers must not see the names of instances
    in the gold before the inputs are released.
    """
    if phase.battles_alone and audience not in AUDIENCES_OF_SEASON_STAFF:
        return BoardVisibility.NOTHING
    return determine_battle_board_visibility(phase, audience)


def determine_battle_board_visibility(
    phase: Phase, audience: Audience
) -> BoardVisibility:
    """Return what an audience may see of the board of battles, even if the phase has no
    other board.
    """
    if audience != Audience.ORGANISER and not are_inputs_free_of_embargo(phase):
        # A board with only baselines would identify the gold by names and signatures.
        return BoardVisibility.NOTHING
    if audience in AUDIENCES_OF_SEASON_STAFF:
        return BoardVisibility.SCORES
    board = phase.board_now
    if board not in (
        Phase.Audience.EVERYONE,
        Phase.Audience.RANKS,
    ) or is_embargoed_by_other_phase(phase):
        return BoardVisibility.NOTHING
    return (
        BoardVisibility.SCORES
        if board == Phase.Audience.EVERYONE
        else BoardVisibility.RANKS
    )


def is_embargoed_by_other_phase(phase: Phase) -> bool:
    """Return True if another phase with the same gold has an embargo, whatever the
    settings of this phase are.
    """
    return not get_embargoes_of_phase(phase).is_free_of_embargo(ContentKind.OTHERS)


def is_released_for_run(kind: ContentKind, submission: Submission) -> bool:
    """Return True if no embargo on the gold of the run withholds this kind of
    information, for every gold version on which the run was scored.
    """
    known = get_embargoes_of_phase(submission.phase)
    versions = [known.newest]
    if known.older_versions_under_embargo:
        of_run = Evaluation.objects.filter(
            submission=submission, gold__in=known.older_versions_under_embargo
        )
        versions += of_run.values_list("gold", flat=True).distinct()
    return all(known.is_free_of_embargo(kind, version=version) for version in versions)


def is_current_board_public(phase: Phase) -> bool:
    is_shown = (
        determine_board_visibility(phase, Audience.PUBLIC) == BoardVisibility.SCORES
        and not phase.is_frozen()
    )
    return phase.task.season.is_public and is_shown


def find_freeze_time_for_audience(
    phase: Phase, audience: Audience
) -> dt.datetime | None:
    """Return the time when the board was frozen for the audience, or None if the
    audience sees the current board.
    """
    return (
        phase.frozen_from
        if audience not in AUDIENCES_OF_SEASON_STAFF and phase.is_frozen()
        else None
    )


def hides_run_activity(phase: Phase, audience: Audience) -> bool:
    """Return True if the audience must not notice when runs are submitted or scored."""
    return (
        determine_board_visibility(phase, audience) == BoardVisibility.NOTHING
        or find_freeze_time_for_audience(phase, audience) is not None
    )


def may_see_instances(phase: Phase, audience: Audience) -> bool:
    """Return True if the audience may see the instances of a phase. Instances reveal
    the gold, so permission to see scores is not enough.
    """
    if audience == Audience.ORGANISER:
        return True
    if (
        not phase.shows_instances
        or determine_board_visibility(phase, audience) != BoardVisibility.SCORES
    ):
        return False
    return get_embargoes_of_phase(phase).is_free_of_embargo(ContentKind.INSTANCES)


def may_see_claims(submission: Submission, viewer: object, *, stands: bool) -> bool:
    """Return True if the viewer may see the claims in a run, which are the team, the
    organisers, and viewers of a board with the run if the phase shows instances.
    """
    if may_see_submission(submission, viewer):
        return may_see_outcome(submission, viewer)
    phase = submission.phase
    if not (stands and may_see_instances(phase, determine_audience(phase, viewer))):
        return False
    return Season.objects.visible_to(viewer).filter(pk=phase.task.season_id).exists()


def may_see_submission(submission: Submission, viewer: object) -> bool:
    """Return True if the viewer may see the run, as a member of the team, as an
    organiser or helper of the season, or as staff. For other viewers, pages behave as
    if the run did not exist.
    """
    if not isinstance(viewer, User):
        return False
    known = load_viewer_roles(viewer)
    return (
        known.is_in_team(submission.team_id)
        or known.audience(submission.phase.task.season_id) in AUDIENCES_OF_SEASON_STAFF
    )


def may_see_scores(submission: Submission, viewer: object) -> bool:
    """Return True if the viewer may see the scores of a run, as an organiser, or as a
    member of the team if the phase shows teams their own scores.
    """
    if not may_see_submission(submission, viewer):
        return False
    phase = submission.phase
    is_told = are_own_scores_visible_to_teams(phase) and is_released_for_run(
        ContentKind.OWN, submission
    )
    if is_told and not phase.is_frozen():
        return True
    audience = determine_audience(phase, viewer)
    known = Evaluation.objects.with_scores_existing_at(
        find_freeze_time_for_audience(phase, audience)
    ).filter(submission=submission)
    return audience in AUDIENCES_OF_SEASON_STAFF or (is_told and known.exists())


def may_see_outcome(submission: Submission, viewer: object) -> bool:
    """Return True if the viewer may see if and when a run was scored. Teams always see
    failures.
    """
    if not may_see_submission(submission, viewer):
        return False
    phase = submission.phase
    return (
        phase.visible_detail_of_own_runs != Phase.OwnRunDetail.NOTHING
        or determine_audience(phase, viewer) in AUDIENCES_OF_SEASON_STAFF
    )


def shows_teams(phase: Phase, audience: Audience) -> bool:
    """Return True if the audience may see the names of the teams on a board. Members of
    a team always see the name of their own team.
    """
    if audience in AUDIENCES_OF_SEASON_STAFF:
        return True
    return phase.shows_teams and not phase.task.season.is_anonymous()


def shows_run_counts(phase: Phase, audience: Audience) -> bool:
    return phase.shows_run_counts or audience in AUDIENCES_OF_SEASON_STAFF


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
_VIEWER_ROLES_SQL = """
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

    def is_in_team(self, team: int | None) -> bool:
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


def load_viewer_roles(user: object) -> ViewerRoles:
    if not isinstance(user, User):
        return ViewerRoles()
    with connection.cursor() as cursor:
        cursor.execute(
            _VIEWER_ROLES_SQL.format(**_TABLE_NAMES_BY_MODEL), {"user": user.pk}
        )
        return ViewerRoles(
            is_staff=user.is_staff, facts=frozenset(map(tuple, cursor.fetchall()))
        )
