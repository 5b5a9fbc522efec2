"""Look up the seasons, tasks and phases that URLs and commands name. A hidden season
gives the same error as a season that does not exist.
"""

from collections.abc import Callable

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core import errors
from citeboard.teams.access import find_teams_of_user, first_or_404
from citeboard.teams.api import find_user_of_request
from citeboard.teams.models import Team, User
from tasks.gold.secrecy import (
    NEVER_ENDING_EMBARGO,
    are_inputs_free_of_embargo,
    compute_input_disclosure_time,
    find_phase_by_slugs,
)
from tasks.models import (
    JoinRequest,
    MergeProposal,
    Organiser,
    Phase,
    Registration,
    Season,
    Task,
)
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import find_terms_to_accept
from tasks.submissions.refusals import InputsNotReleased, TermsNotAccepted

CREATE_SEASONS_PERMISSION = "tasks.add_season"


def get_visible_season_or_404(user: object, season: str) -> Season:
    row = Season.objects.filter(slug=season).first()
    if row is None or not _is_season_visible(row, user):
        raise Http404(_("There is no season at this address."))
    return row


def get_visible_task_or_404(user: object, season: str, task: str) -> Task:
    row = (
        Task.objects.select_related("season")
        .filter(season__slug=season, slug=task)
        .first()
    )
    if row is None or not _is_season_visible(row.season, user):
        raise Http404(_("There is no task at this address."))
    return row


def get_visible_phase_or_404(user: object, season: str, task: str, phase: str) -> Phase:
    row = find_phase_by_slugs(season, task, phase)
    if row is None or not _is_season_visible(row.task.season, user):
        raise Http404(_("There is no phase at this address."))
    return row


def can_organise_season(user: object, season: Season) -> bool:
    return (
        isinstance(user, User)
        and Season.objects.organised_by_user(user).filter(pk=season.pk).exists()
    )


def require_staff(user: object) -> User:
    if not isinstance(user, User) or not user.is_staff:
        raise Http404(_("This page is for the site's staff."))
    return user


def require_season_creator(user: object) -> object:
    if not can_create_seasons(user):
        raise Http404(
            _(
                "The site's staff create seasons, and so do people to whom they give "
                "the right."
            )
        )
    return user


def can_create_seasons(user: object) -> bool:
    return isinstance(user, User) and (
        user.is_staff or user.has_perm(CREATE_SEASONS_PERMISSION)
    )


def get_organised_season_or_404(user: object, season: str) -> Season:
    """Return the season with the slug if the user organises this season. Raises Http404
    if the user does not organise the season.
    """
    return _get_permitted_season_or_404(user, season, can_organise_season)


def can_help_season(user: object, season: Season) -> bool:
    return Season.objects.helped_by_user(user).filter(pk=season.pk).exists()


def get_helped_season_or_404(user: object, season: str) -> Season:
    return _get_permitted_season_or_404(user, season, can_help_season)


def _get_permitted_season_or_404(
    user: object, season: str, may: Callable[[object, Season], bool]
) -> Season:
    row = get_visible_season_or_404(user, season)
    if not may(user, row):
        raise Http404(_("You do not organise a season at this address."))
    return row


def can_download_inputs(user: object, phase: Phase) -> bool:
    """Return True if the user may have the public inputs of the phase. Organisers of
    the season and staff may always have the inputs. After the release of the inputs,
    everybody who has accepted the terms of the season may have the inputs.
    """
    if can_organise_season(user, phase.task.season):
        return True
    return (
        are_inputs_free_of_embargo(phase)
        and find_terms_to_accept(phase.task.season, user) is None
    )


def require_download_of_inputs(user: object, phase: Phase) -> None:
    if can_download_inputs(user, phase):
        return
    terms = find_terms_to_accept(phase.task.season, user)
    if terms is not None and are_inputs_free_of_embargo(phase):
        raise TermsNotAccepted(phase.task.season, terms.number)
    at = compute_input_disclosure_time(phase)
    raise InputsNotReleased(None if at == NEVER_ENDING_EMBARGO else at)


def list_own_teams_in_season(user: object, season: Season) -> QuerySet[Team]:
    return find_teams_of_user(user).filter(
        registrations__in=Registration.objects.filter(season=season).not_refused()
    )


def _is_season_visible(season: Season, user: object) -> bool:
    return (
        season.is_public
        or Season.objects.visible_to(user).filter(pk=season.pk).exists()
    )


def list_visible_entries(user: object, season: Season) -> RegistrationQuerySet:
    entries = Registration.objects.filter(season=season).select_related(
        "team", "season"
    )
    entries = entries.order_by("team__name")
    if can_help_season(user, season):
        return entries
    if not season.shows_team_names():
        return entries.not_refused().filter(
            team__in=find_teams_of_user(user).values("pk")
        )
    return entries.not_refused()


def list_teams_user_may_ask_to_join(user: object, season: Season) -> QuerySet[Team]:
    listed = list_visible_entries(user, season).not_refused().order_by()
    return Team.objects.filter(registrations__in=listed).exclude(
        pk__in=find_teams_of_user(user).values("pk")
    )


def get_join_request_or_404(team: Team, number: int) -> JoinRequest:
    asking = JoinRequest.objects.select_related("user", "team").filter(
        team=team, pk=number
    )
    return first_or_404(asking, _("Nobody asks to join under this number."))


def list_merge_proposals_of_team(team: Team) -> QuerySet[MergeProposal]:
    concerned = MergeProposal.objects.filter(Q(team=team) | Q(into=team))
    return concerned.select_related("season", "team", "into").annotate(
        answers=Q(into=team)
    )


def get_merge_proposal_or_404(team: Team, number: int) -> MergeProposal:
    return first_or_404(
        list_merge_proposals_of_team(team).filter(pk=number),
        _("There is no such proposal."),
    )


class AddressNotFound(LookupError):
    """An error about a slug that no object has. The message lists the existing slugs."""


def find_task_by_address(address: str) -> Task:
    tasks = Task.objects.select_related("season")
    season, _, slug = address.strip("/").partition("/")
    names = (
        {"pk": int(address)}
        if _is_phase_number(address)
        else {"season__slug": season, "slug": slug}
    )
    if task := tasks.filter(**names).first():
        return task
    addresses = ", ".join(
        f"{task.season.slug}/{task.slug}" for task in tasks.order_by("pk")
    )
    raise AddressNotFound(
        f"there is no task “{address}”; there are {addresses or 'none yet'}"
    )


def find_phase_by_address(address: str) -> Phase:
    phases = Phase.objects.select_related("task__season")
    season, task, slug = (*address.strip("/").split("/"), "", "")[:3]
    names = {"task__season__slug": season, "task__slug": task, "slug": slug}
    if phase := phases.filter(
        **{"pk": int(address)} if _is_phase_number(address) else names
    ).first():
        return phase
    there = ", ".join(
        f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}"
        for phase in phases.order_by("pk")
    )
    raise AddressNotFound(
        f"there is no phase “{address}”; there are {there or 'none yet'}"
    )


def _is_phase_number(address: str) -> bool:
    return address.isascii() and address.isdigit() and len(address) < 19


GetResponse = Callable[[HttpRequest], HttpResponse]
SECOND_FACTOR_MESSAGE = gettext_lazy(
    "Organisers of this site sign in with a second factor; turn yours on first."
)


class SecondFactorMiddleware:
    """Redirects an organiser without two-factor authentication to the page that sets it
    up. API tokens of organisers without two-factor authentication are refused.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.ORGANISERS_NEED_SECOND_FACTOR or (
            request.path.startswith(
                (reverse("mfa_index"), reverse("account_logout"), settings.STATIC_URL)
            )
            or (request.path == reverse("account_reauthenticate"))
        ):
            return self.get_response(request)
        if not lacks_required_second_factor(find_user_of_request(request)):
            return self.get_response(request)
        if errors.is_api_request(request):
            return errors.build_json_error_response(
                request, str(SECOND_FACTOR_MESSAGE), 403
            )
        messages.warning(request, SECOND_FACTOR_MESSAGE)
        return redirect("mfa_index")


def lacks_required_second_factor(user: object) -> bool:
    if not isinstance(user, User):
        return False
    organises = user.is_staff or Organiser.objects.filter(user=user).exists()
    return organises and not is_mfa_enabled(user, [Authenticator.Type.TOTP])
