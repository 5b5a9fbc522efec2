"""The teams of a season for its overview paper, with the people who want to be named."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from citeboard.core.spreadsheets import plain
from citeboard.core.words import counted
from citeboard.teams.models import Membership, User
from scoring.board.latex import as_table, as_tabular
from tasks.models import Season
from tasks.seasons.access import listed_entries

HEADS = ("team", "team_name", "members", "has_organiser", "name", "affiliation", "orcid")


@dataclass(frozen=True, kw_only=True)
class Participant:
    """A team that takes part; ``people`` are those of its ``members`` who agreed to be listed."""

    slug: str
    name: str
    members: int
    has_organiser: bool
    people: Sequence[User]

    @property
    def affiliations(self) -> list[str]:
        return list(dict.fromkeys(person.affiliation for person in self.people if person.affiliation))

    @property
    def unnamed(self) -> int:
        return self.members - len(self.people)


def participants(season: Season, viewer: object) -> list[Participant]:
    """The approved teams that the viewer may read of, by name."""
    entries = list(listed_entries(viewer, season).approved().marked())
    teams = [entry.team_id for entry in entries]
    memberships = Membership.objects.filter(team__in=teams).select_related("user")
    members: dict[int, list[User]] = {team: [] for team in teams}
    for membership in memberships.order_by("joined_at", "pk"):
        members[membership.team_id].append(membership.user)
    return [
        Participant(
            slug=entry.team.slug,
            name=entry.team.name,
            members=len(members[entry.team_id]),
            has_organiser=entry.has_organiser,  # type: ignore[attr-defined]
            people=[person for person in members[entry.team_id] if person.is_listed and person.name],
        )
        for entry in entries
    ]


def as_csv(found: Sequence[Participant]) -> str:
    """A line for each person who is named; a team whose people are not has one line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADS)
    for team in found:
        own = [team.slug, plain(team.name), team.members, "yes" if team.has_organiser else ""]
        people = [(person.name, person.affiliation, person.orcid) for person in team.people]
        for person in people or [("", "", "")]:
            writer.writerow([*own, *map(plain, person)])
    return out.getvalue()


def as_latex(season: Season, found: Sequence[Participant]) -> str:
    lines = [[team.name, _people(team), "; ".join(team.affiliations)] for team in found]
    tabular = as_tabular([f"{season}: teams"], "lp{6cm}p{6cm}", ["Team", "Members", "Affiliations"], lines)
    caption = f"Teams of {season}. Named are the members who agreed to it"
    caption += "; * with an organiser of the season." if any(team.has_organiser for team in found) else "."
    return as_table(tabular, caption, f"{season.slug}-teams")


def _people(team: Participant) -> str:
    """`Ada Lovelace, Bo Li and 2 others`, an asterisk before them where an organiser is among the members."""
    names = ", ".join(person.name for person in team.people)
    others = counted(team.unnamed, "other" if names else "member") if team.unnamed else ""
    mark = "* " if team.has_organiser else ""
    return mark + (f"{names} and {others}" if names and others else names or others)
