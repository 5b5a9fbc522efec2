"""The context of the page of a season."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from citeboard.teams.access import find_teams_of_user
from citeboard.teams.models import Team, User
from citeboard.web.seasons.season_lines import ListedSeason, build_listed_seasons
from scoring.exchange.citations import Citation, build_citation_of_season
from scoring.models import Sheet
from scoring.results.publications.reproduced import has_recomputed_tables
from tasks.models import (
    JoinRequest,
    Organiser,
    Registration,
    Season,
    Submission,
    Terms,
)
from tasks.registration.entries import (
    find_terms_to_accept,
    get_newest_terms,
    list_open_join_requests_of_user,
)
from tasks.seasons import access, timeline


@dataclass(frozen=True)
class SeasonPage:
    season: Season
    viewer: object

    @cached_property
    def line(self) -> ListedSeason:
        found = Season.objects.annotate_team_count().filter(pk=self.season.pk)
        return build_listed_seasons(list(found))[0]

    @property
    def citation(self) -> Citation:
        return build_citation_of_season(self.season)

    @property
    def has_reproduced_tables(self) -> bool:
        return any(has_recomputed_tables(line.task) for line in self.line.tasks)

    @cached_property
    def deadlines(self) -> dict[str, Any]:
        return timeline.build_time_line_context(self.season)

    @cached_property
    def organisers(self) -> list[Organiser]:
        organisers = self.season.organisers.filter(role=Organiser.Role.ORGANISER)
        return list(organisers.select_related("user"))

    @cached_property
    def may_help(self) -> bool:
        return access.can_help_season(self.viewer, self.season)

    @cached_property
    def registrations(self) -> list[Registration]:
        listed = access.list_visible_entries(self.viewer, self.season)
        return list(listed.not_refused().marked())

    @cached_property
    def public_team_ids(self) -> Collection[int]:
        """Return the primary keys of the season's teams that have a public page.

        The registrations that helpers of the season see also contain teams without a
        public page.
        """
        if not self.may_help:
            return {entry.team_id for entry in self.registrations if entry.is_approved}
        if not self.season.is_public:
            return ()
        listed = access.list_visible_entries(None, self.season).approved()
        return set(listed.values_list("team_id", flat=True))

    @cached_property
    def _teams_of_viewer(self) -> list[Team]:
        return list(find_teams_of_user(self.viewer))

    @cached_property
    def own_registrations(self) -> list[Registration]:
        sent = Submission.objects.filter(
            team=OuterRef("team"), phase__task__season=self.season
        )
        entries = Registration.objects.filter(
            season=self.season, team__in=self._teams_of_viewer
        )
        return list(
            entries.select_related("team")
            .order_by("team__name")
            .annotate(has_sent=Exists(sent))
        )

    @cached_property
    def own_teams_that_can_register(self) -> list[Team]:
        entered = {entry.team_id for entry in self.own_registrations}
        return [team for team in self._teams_of_viewer if team.pk not in entered]

    @cached_property
    def teams_open_to_join_requests(self) -> QuerySet[Team]:
        if not isinstance(self.viewer, User):
            return Team.objects.none()
        if (
            not self.season.allows_several_teams
            and access.list_own_teams_in_season(self.viewer, self.season).exists()
        ):
            return Team.objects.none()
        asked = JoinRequest.objects.filter(user=self.viewer).values("team")
        offered = access.list_teams_user_may_ask_to_join(self.viewer, self.season)
        return offered.exclude(pk__in=asked).order_by("name")

    @cached_property
    def join_requests(self) -> QuerySet[JoinRequest]:
        return list_open_join_requests_of_user(self.viewer).filter(season=self.season)

    @cached_property
    def terms(self) -> Terms | None:
        return get_newest_terms(self.season)

    @cached_property
    def terms_to_accept(self) -> Terms | None:
        return find_terms_to_accept(self.season, self.viewer)

    @cached_property
    def sheets_to_rate(self) -> QuerySet[Sheet]:
        if not isinstance(self.viewer, User):
            return Sheet.objects.none()
        own = Sheet.objects.open().filter(
            annotators__user=self.viewer.pk, phase__task__season=self.season
        )
        return own.select_related("phase__task")
