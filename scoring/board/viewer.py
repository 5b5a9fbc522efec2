"""All by which pages differ between people, in one statement."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from citeboard.teams.models import Membership, Team, User
from scoring.board.visibility import Audience
from scoring.models import Annotator
from tasks.models import JoinRequest, Organiser, Registration, TermsAcceptance

_TABLES = {
    model.__name__.lower(): connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  (public by name)
    for model in (Annotator, JoinRequest, Membership, Organiser, Registration, Team, TermsAcceptance)
}
_FACTS = """
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
class Viewer:
    """``facts`` are what is so, of which row, and its word: a team's slug, a role."""

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

    def audience(self, season: int) -> Audience:
        if self.is_staff or ("runs", season, Organiser.Role.ORGANISER.value) in self.facts:
            return Audience.ORGANISER
        if season in self.seasons:
            return Audience.HELPER
        return Audience.TEAM if ("entered", season, "") in self.facts else Audience.PUBLIC


def viewer_of(user: object) -> Viewer:
    if not isinstance(user, User):
        return Viewer()
    with connection.cursor() as cursor:
        cursor.execute(_FACTS.format(**_TABLES), {"user": user.pk})
        return Viewer(is_staff=user.is_staff, facts=frozenset(map(tuple, cursor.fetchall())))
