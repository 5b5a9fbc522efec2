"""Pictures of a rank, to be shown on other sites: what the public sees, whoever asks."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core.any_origin import readable_anywhere
from scoring.board.cache import phase_page
from scoring.board.public_results import system_slug
from scoring.board.standings import standings
from scoring.board.visibility import Audience, Visibility, shows_teams, visibility_of
from scoring.exchange.badge import badge
from tasks.models import Phase, Registration
from tasks.seasons.access import phase_for

SVG = "image/svg+xml"


@readable_anywhere
@require_safe
def team_badge(request: HttpRequest, season: str, task: str, phase: str, slug: str) -> HttpResponse:
    """The rank of the run that counts for a team now, under the rules that rank."""
    return _badge(request, _public_phase(request, season, task, phase), slug)


@readable_anywhere
@require_safe
def system_badge(
    request: HttpRequest, season: str, task: str, phase: str, slug: str, system: str
) -> HttpResponse:
    """The rank of one system of a team, where it stands on the board."""
    return _badge(request, _public_phase(request, season, task, phase), slug, system)


def _public_phase(request: HttpRequest, season: str, task: str, phase: str) -> Phase:
    """A phase whose board says to everybody who stands where. Raises Http404."""
    found = phase_for(request.user, season, task, phase)
    if visibility_of(found, Audience.PUBLIC) == Visibility.NOTHING:
        raise Http404(_("The ranks of this board are not published."))
    if not shows_teams(found, Audience.PUBLIC):
        raise Http404(_("Whose the systems of this board are is not published."))
    return found


def _badge(request: HttpRequest, phase: Phase, team: str, system: str = "") -> HttpResponse:
    get_object_or_404(Registration.objects.approved(), season=phase.task.season_id, team__slug=team)

    def body() -> str:
        board = standings(phase, None, audience=Audience.PUBLIC)
        own = [row for row in board.rows if row.team_slug == team and system in ("", system_slug(row.system))]
        return badge(board, next((row for row in own if row.rank is not None), None))

    return phase_page(request, phase, Audience.PUBLIC, (team, system), body, content_type=SVG)
