"""Merge two teams of a season. Runs, extra tries and members move to the team that
remains.
"""

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.instants import format_utc_minute
from citeboard.core.words import count_with_noun
from citeboard.teams.membership import add_member, lock_team
from citeboard.teams.models import Membership, Team, User
from scoring.models import Evaluation
from tasks.delivery.notifications.events import (
    delete_notifications,
    notify_merge_proposed,
    notify_teams_merged,
)
from tasks.gold.early import (
    EarlyDisclosure,
    find_embargoed_disclosures,
    record_confirmed_disclosures,
)
from tasks.gold.secrecy import (
    ContentKind,
    are_own_scores_visible_to_teams,
    load_phases_with_embargoes,
)
from tasks.models import (
    Bundle,
    ExtraTries,
    MergeProposal,
    Phase,
    Registration,
    Season,
    Submission,
)
from tasks.models.registrations import get_team_name_for_others
from tasks.models.seasons import increment_board_versions
from tasks.registration.entries import (
    TeamEntryRefused,
    require_allowed_team_size,
    require_user_may_join_team,
)
from tasks.submissions.submit import list_runs_using_tries

MAX_REASON_LENGTH = 500


def propose_merge(*, season: Season, team: Team, into: Team, by: User) -> MergeProposal:
    with transaction.atomic():
        _lock_teams(team, into)
        season = Season.objects.select_for_update().get(pk=season.pk)
        _check_merge_deadline(season)
        if team.pk == into.pk:
            raise TeamEntryRefused(_("a team does not merge with itself"))
        _lock_registrations(season, team, into)
        merge_proposal = MergeProposal.objects.filter(season=season, team=team).first()
        if merge_proposal is not None and merge_proposal.into_id == into.pk:
            return merge_proposal
        if merge_proposal is not None:
            message = _("%(team)s has asked %(other)s already; withdraw that first")
            raise TeamEntryRefused(
                message % {"team": team, "other": merge_proposal.names["into"]}
            )
        proposal = MergeProposal.objects.create(
            season=season, team=team, into=into, proposed_by=by
        )
        audit.record_action(
            "merge-proposed",
            actor=by,
            subject=team,
            place=season,
            facts=_find_displayed_team_names(proposal),
        )
        notify_merge_proposed(proposal)
    return proposal


def drop_merge_proposal(*, proposal: MergeProposal, by: User) -> None:
    with transaction.atomic():
        locked = _lock_merge_proposal(proposal)
        facts, place = _find_displayed_team_names(locked), locked.season
        # The lead's name would reveal the team in a season that hides team names.
        called = (
            ""
            if place.shows_team_names()
            else facts["into" if proposal.is_asked else "team"]
        )
        audit.record_action(
            "merge-dropped",
            actor=by,
            subject=locked.team,
            place=place,
            facts=facts,
            called=called,
        )
        delete_notifications(locked.event)
        locked.delete()


def accept_merge(*, proposal: MergeProposal, by: User) -> int:
    with transaction.atomic():
        locked = _lock_merge_proposal(proposal)
        _check_merge_deadline(locked.season)
        teams = (locked.team, locked.into)
        members = set(
            Membership.objects.filter(team__in=teams).values_list("user", flat=True)
        )
        require_allowed_team_size(locked.season, len(members))
        if revealed := _find_revealed_scores(locked.season, locked.team, locked.into):
            message = _(
                "members would learn before its time: %(what)s; an organiser can merge the teams"
            )
            raise TeamEntryRefused(
                message % {"what": "; ".join(early.words for early in revealed)}
            )
        for phase in Phase.objects.filter(
            task__season=locked.season, runs_in_total__isnull=False
        ):
            extra = ExtraTries.objects.filter(phase=phase, team__in=teams).aggregate(
                n=Sum("tries")
            )["n"]
            sent = sum(list_runs_using_tries(phase, team).count() for team in teams)
            most = (phase.runs_in_total or 0) + (extra or 0)
            if sent > most:
                message = _(
                    "together the teams have submitted %(runs)s in %(task)s, "
                    "%(phase)s, where one may submit %(most)s; an organiser can merge "
                    "them"
                )
                named = {
                    "runs": count_with_noun(sent, "run"),
                    "task": phase.task,
                    "phase": phase,
                    "most": most,
                }
                raise TeamEntryRefused(message % named)
        try:
            return _merge_team_registrations(
                locked.season, locked.team, locked.into, by, reason=""
            )
        except TeamEntryRefused as refused:
            if locked.season.shows_team_names():
                raise
            message = _(
                "the teams cannot be one as they are; the organisers, who know both, can say why"
            )
            raise TeamEntryRefused(message) from refused


def merge_teams(
    *, season: Season, team: Team, into: Team, by: User, reason: str
) -> int:
    if team.pk == into.pk:
        raise TeamEntryRefused(_("a team does not merge with itself"))
    with transaction.atomic():
        _lock_teams(team, into)
        season = Season.objects.select_for_update().get(pk=season.pk)
        # Members of `team` could read the data of `into` in all seasons of `into`.
        # Only the lead of the remaining team may admit new members to other seasons.
        others = Season.objects.filter(registrations__team=into).exclude(pk=season.pk)
        if others.exclude(
            pk__in=Season.objects.organised_by_user(by).values("pk")
        ).exists():
            message = _(
                "%(team)s is in other seasons too, which its new members would read; merge the other way "
                "round, or let its lead accept a proposal"
            )
            raise TeamEntryRefused(message % {"team": into})
        record_confirmed_disclosures(
            season, _find_revealed_scores(season, team, into), by=by
        )
        return _merge_team_registrations(season, team, into, by, reason=reason)


def _find_revealed_scores(
    season: Season, team: Team, into: Team
) -> list[EarlyDisclosure]:
    runs = Evaluation.objects.filter(phase=OuterRef("pk"), team__in=(team, into))
    phases = Phase.objects.filter(Exists(runs), task__season=season).select_related(
        "task__season"
    )
    running = [
        phase
        for phase in load_phases_with_embargoes(phases)
        if phase.accepts_runs_until > timezone.now()
    ]
    return [
        early
        for phase in running
        if are_own_scores_visible_to_teams(phase)
        for early in find_embargoed_disclosures(phase, [ContentKind.OTHERS])
    ]


def _merge_team_registrations(
    season: Season, team: Team, into: Team, by: User, *, reason: str
) -> int:
    # Uploads of both teams wait for the registrations' lock, and then belong to `into`.
    _lock_registrations(season, team, into)[0].delete()
    joined = []
    present = set(Membership.objects.filter(team=into).values_list("user", flat=True))
    for membership in (
        Membership.objects.filter(team=team)
        .select_related("user")
        .order_by("joined_at", "pk")
    ):
        if membership.user_id not in present:
            require_user_may_join_team(into, membership.user, besides=season)
            add_member(team=into, user=membership.user)
            joined.append(str(membership.user))
    moved = _move_runs(season, team, into)
    ExtraTries.objects.filter(phase__task__season=season, team=team).update(team=into)
    bundles = Bundle.objects.filter(season=season)
    taken = (
        bundles.filter(team=into)
        .exclude(idempotency_key="")
        .values_list("idempotency_key", flat=True)
    )
    bundles.filter(team=team, idempotency_key__in=list(taken)).update(
        idempotency_key=""
    )
    bundles.filter(team=team).update(team=into)
    for proposal in MergeProposal.objects.filter(
        Q(team=team) | Q(into=team), season=season
    ):
        delete_notifications(proposal.event)
        proposal.delete()
    facts = {"team": team, "into": into, "runs": len(moved), "reason": reason}
    changes = [
        audit.SettingChange("team", team.name, into.name),
        audit.SettingChange("members", None, joined),
        *moved,
    ]
    for subject, where in ((into, season), (team, season), (team, into)):
        audit.record_action(
            "teams-merged",
            actor=by,
            subject=subject,
            place=where,
            facts=facts,
            changes=changes,
        )
    notify_teams_merged(season, team, into, at=timezone.now(), reason=reason)
    increment_board_versions(season)
    return len(moved)


def _move_runs(season: Season, team: Team, into: Team) -> list[audit.SettingChange]:
    moved = []
    present = Submission.objects.filter(
        team=into, phase__task__season=season
    ).order_by()
    behind = dict(present.values_list("phase").annotate(last=Max("priority")))
    runs = Submission.objects.select_for_update().filter(
        team=team, phase__task__season=season
    )
    for run in runs.select_related("phase__task").order_by("phase", "number"):
        sent = Submission.objects.filter(phase=run.phase_id, team=into)
        before, place = run.number, f"{run.phase.task.slug}/{run.phase.slug}"
        run.number = (sent.aggregate(last=Max("number"))["last"] or 0) + 1
        run.team = into
        if (
            run.idempotency_key
            and sent.filter(idempotency_key=run.idempotency_key).exists()
        ):
            run.idempotency_key = ""
        # A run stays selected unless the team `into` has a selected run in the phase.
        run.is_selected = run.is_selected and not sent.filter(is_selected=True).exists()
        if run.kind == Submission.Kind.PRIMARY:
            run.priority += behind.get(run.phase_id, 0)
        run.save(
            update_fields=[
                "number",
                "team",
                "idempotency_key",
                "is_selected",
                "priority",
            ]
        )
        moved.append(
            audit.SettingChange(
                f"run {place}", f"{team} {before}", f"{into} {run.number}"
            )
        )
    Evaluation.objects.filter(team=team, phase__task__season=season).update(team=into)
    return moved


def _find_displayed_team_names(proposal: MergeProposal) -> dict[str, str]:
    """Return the names of two merging teams as other teams of the season see them."""
    return {
        name: get_team_name_for_others(proposal.season, getattr(proposal, name))
        for name in ("team", "into")
    }


def _lock_registrations(
    season: Season, team: Team, into: Team
) -> tuple[Registration, Registration]:
    entries = Registration.objects.select_for_update().filter(
        season=season, is_approved=True
    )
    by_team = {
        entry.team_id: entry
        for entry in entries.filter(team__in=(team, into)).order_by("team")
    }
    for one in (team, into):
        if one.pk not in by_team:
            message = _("%(team)s does not take part in %(season)s")
            raise TeamEntryRefused(
                message
                % {"team": get_team_name_for_others(season, one), "season": season}
            )
    return by_team[team.pk], by_team[into.pk]


def _check_merge_deadline(season: Season) -> None:
    if season.merge_until is None:
        message = _(
            "teams do not merge by themselves in %(season)s; its organisers can merge them"
        )
        raise TeamEntryRefused(message % {"season": season})
    if season.merge_until <= timezone.now():
        until = format_utc_minute(season.merge_until)
        message = _("the teams of %(season)s could merge until %(instant)s")
        raise TeamEntryRefused(message % {"season": season, "instant": until})


def _lock_teams(*teams: Team) -> None:
    """Lock teams in a fixed order, so that concurrent merges cannot deadlock."""
    for team in sorted(teams, key=lambda team: team.pk):
        lock_team(team)


def _lock_merge_proposal(proposal: MergeProposal) -> MergeProposal:
    _lock_teams(proposal.team, proposal.into)
    locked = (
        MergeProposal.objects.select_related("season", "team", "into")
        .filter(pk=proposal.pk)
        .first()
    )
    if locked is None:
        raise TeamEntryRefused(_("this has been answered or withdrawn already"))
    return locked
