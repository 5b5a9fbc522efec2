"""The context of the page of a season."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from citeboard.teams.access import teams_of
from citeboard.teams.models import Team, User
from citeboard.web.seasons.season_lines import SeasonLine, season_lines
from scoring.exchange.citations import Citation, cite_season
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
from tasks.registration.entries import current_terms, requests_of, terms_to_accept
from tasks.seasons import access, timeline


@dataclass(frozen=True)
class SeasonPage:
    season: Season
    viewer: object

    @cached_property
    def line(self) -> SeasonLine:
        found = Season.objects.with_teams().filter(pk=self.season.pk)
        return season_lines(list(found))[0]

    @property
    def citation(self) -> Citation:
        return cite_season(self.season)

    @property
    def is_reproduced(self) -> bool:
        return any(has_recomputed_tables(line.task) for line in self.line.tasks)

    @cached_property
    def deadlines(self) -> dict[str, Any]:
        return timeline.build_time_line(self.season)

    @cached_property
    def organisers(self) -> list[Organiser]:
        organisers = self.season.organisers.filter(role=Organiser.Role.ORGANISER)
        return list(organisers.select_related("user"))

    @cached_property
    def may_help(self) -> bool:
        return access.may_help(self.viewer, self.season)

    @cached_property
    def registrations(self) -> list[Registration]:
        listed = access.listed_entries(self.viewer, self.season)
        return list(listed.not_refused().marked())

    @cached_property
    def public_teams(self) -> Collection[int]:
        """Return the primary keys of the season's teams that have a public page.

        The registrations that helpers of the season see also contain teams without a
        public page.
        """
        if not self.may_help:
            return {entry.team_id for entry in self.registrations if entry.is_approved}
        if not self.season.is_public:
            return ()
        listed = access.listed_entries(None, self.season).approved()
        return set(listed.values_list("team_id", flat=True))

    @cached_property
    def _own_teams(self) -> list[Team]:
        return list(teams_of(self.viewer))

    @cached_property
    def own_entries(self) -> list[Registration]:
        sent = Submission.objects.filter(
            team=OuterRef("team"), phase__task__season=self.season
        )
        entries = Registration.objects.filter(
            season=self.season, team__in=self._own_teams
        )
        return list(
            entries.select_related("team")
            .order_by("team__name")
            .annotate(has_sent=Exists(sent))
        )

    @cached_property
    def could_enter(self) -> list[Team]:
        entered = {entry.team_id for entry in self.own_entries}
        return [team for team in self._own_teams if team.pk not in entered]

    @cached_property
    def could_ask(self) -> QuerySet[Team]:
        if not isinstance(self.viewer, User):
            return Team.objects.none()
        if (
            not self.season.allows_several_teams
            and access.entered_teams(self.viewer, self.season).exists()
        ):
            return Team.objects.none()
        asked = JoinRequest.objects.filter(user=self.viewer).values("team")
        offered = access.teams_to_ask(self.viewer, self.season)
        return offered.exclude(pk__in=asked).order_by("name")

    @cached_property
    def join_requests(self) -> QuerySet[JoinRequest]:
        return requests_of(self.viewer).filter(season=self.season)

    @cached_property
    def terms(self) -> Terms | None:
        return current_terms(self.season)

    @cached_property
    def terms_to_accept(self) -> Terms | None:
        return terms_to_accept(self.season, self.viewer)

    @cached_property
    def sheets_to_rate(self) -> QuerySet[Sheet]:
        if not isinstance(self.viewer, User):
            return Sheet.objects.none()
        own = Sheet.objects.open().filter(
            annotators__user=self.viewer.pk, phase__task__season=self.season
        )
        return own.select_related("phase__task")
