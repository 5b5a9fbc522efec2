"""Teams: founded, joined, left and merged, and what everybody may read of them."""

from typing import Any

from django.db.models import Prefetch, Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import FORBIDDEN
from citeboard.core.plain_text import MAX_DESCRIPTION
from citeboard.teams.access import (
    mailed_invitation_of,
    member_of,
    members_in_order,
    team_for_lead,
    team_for_member,
    teams_of,
)
from citeboard.teams.api import person
from citeboard.teams.invitations import (
    decline_mailed,
    invite_by_mail,
    mailed_invitation_for,
    renew_invitation,
    revoke_invitation,
    secret_of,
    withdraw_mailed,
)
from citeboard.teams.membership import MAX_NAME, leave_team
from citeboard.teams.membership import describe_team as write_description
from citeboard.teams.membership import found_team as create_team
from citeboard.teams.membership import hand_over as hand_over_team
from citeboard.teams.models import MailedInvitation, Membership, Team
from scoring.api.operations import delete, get, post
from scoring.api.serializers import Address, address, mirror_of_model, optional_text
from scoring.board.public_results import Result, public_system, public_team
from scoring.exchange.results import place
from scoring.ops import merging
from tasks.models import JoinRequest, MergeProposal, Season
from tasks.registration import entries
from tasks.seasons.access import (
    join_request_of,
    merge_proposal_of,
    season_for,
    season_to_organise,
    teams_to_ask,
)

#: A link, or what stands at its end.
MAX_LINK = 400

MemberSerializer = mirror_of_model(
    "Member",
    Membership,
    "Somebody's place in a team.",
    "id name role joined_at",
    id=serializers.IntegerField(source="user_id", help_text="Names them in addresses of the team."),
    name=serializers.CharField(source="user", help_text="What they are called here."),
)


class TeamSerializer(serializers.ModelSerializer[Team]):
    """A team of one's own."""

    members = MemberSerializer(source="memberships", many=True)
    seasons = serializers.SerializerMethodField(help_text="Those that it takes part in, or has asked for.")
    links = serializers.ListField(child=serializers.URLField(), help_text="What it says of itself.")
    page = Address("team", "slug")

    class Meta:
        model = Team
        fields = ["slug", "name", "description", "links", "created_at", "members", "seasons", "page"]

    @extend_schema_field(serializers.ListField(child=serializers.SlugField()))
    def get_seasons(self, team: Team) -> list[str]:
        registrations = team.registrations.all()
        return sorted(entry.season.slug for entry in registrations if not entry.is_refused)


class TeamForm(serializers.Serializer[Any]):
    """A team to be founded."""

    name = serializers.CharField(max_length=MAX_NAME, help_text="Public: boards show it.")


class InvitationSerializer(serializers.Serializer[Any]):
    """The one link that invites to a team."""

    link = serializers.URLField()
    expires_at = serializers.DateTimeField()


class JoinForm(serializers.Serializer[Any]):
    """An invitation to be taken."""

    invitation = serializers.CharField(max_length=MAX_LINK, help_text="The link, or the last part of it.")


def _own_teams(user: object) -> QuerySet[Team]:
    related = (Prefetch("memberships", members_in_order()), "registrations__season")
    return teams_of(user).order_by("name").prefetch_related(*related)


def _own_team(request: Request, team: Team) -> Team:
    """With all that is written of it."""
    return _own_teams(request.user).get(pk=team.pk)


@get("teams/", pages=TeamSerializer)
def teams(request: Request) -> QuerySet[Team]:
    """Your teams, by name."""
    return _own_teams(request.user)


@post("teams/", form=TeamForm, answers=TeamSerializer, status=201)
def found_team(request: Request, form: dict[str, Any]) -> Response:
    """Found a team, which you lead."""
    team = create_team(name=form["name"], founder=person(request))
    where = address(request, "api:team", team.slug)
    answer = TeamSerializer(_own_team(request, team), context={"request": request}).data
    return Response(answer, status=201, headers={"Location": where})


@get("teams/<slug:slug>/", of=team_for_member, answers=TeamSerializer)
def team(request: Request, team: Team) -> Team:
    """A team of yours with its members."""
    return _own_team(request, team)


@post("teams/<slug:slug>/invitation/", of=team_for_lead, answers=InvitationSerializer, status=201)
def invitation(request: Request, team: Team) -> dict[str, Any]:
    """Make a new invitation link; the one before ends.

    For the team's lead alone.
    """
    made = renew_invitation(team=team, by=person(request))
    return {"link": address(request, "join", secret_of(made)), "expires_at": made.expires_at}


@delete("teams/<slug:slug>/invitation/", of=team_for_lead)
def end_invitation(request: Request, team: Team) -> None:
    """End the invitation link.

    For the team's lead alone.
    """
    revoke_invitation(team=team, by=person(request))


@post("join/", form=JoinForm, answers=TeamSerializer)
def join(request: Request, form: dict[str, Any]) -> Team:
    """Join the team that an invitation is from."""
    invitation = entries.any_invitation(_secret(form["invitation"]))
    return _own_team(request, entries.join_team(invitation=invitation, user=person(request)).team)


@post("join/decline/", form=JoinForm, name="join-decline")
def decline(request: Request, form: dict[str, Any]) -> None:
    """Decline an invitation that came by e-mail."""
    decline_mailed(invitation=mailed_invitation_for(_secret(form["invitation"])))


def _secret(link: str) -> str:
    return link.rstrip("/").rpartition("/")[2]


@delete("teams/<slug:slug>/members/<int:member>/", of=team_for_lead, name="member")
def remove_member(request: Request, team: Team, member: int) -> None:
    """Take a member out of the team; its invitation link ends too.

    For the team's lead alone; who goes by themselves leaves.
    """
    entries.remove_from_team(team=team, user=member_of(team, member), by=person(request))


@post("teams/<slug:slug>/members/<int:member>/lead/", of=team_for_lead, answers=TeamSerializer, name="lead")
def hand_over(request: Request, team: Team, member: int) -> Team:
    """Let another member lead the team; you stay in it."""
    hand_over_team(team=team, to=member_of(team, member), by=person(request))
    return _own_team(request, team)


@post("teams/<slug:slug>/leave/", of=team_for_member)
def leave(request: Request, team: Team) -> None:
    """Leave a team; one that took part nowhere goes with its last member."""
    leave_team(team=team, user=person(request))


class TeamDescriptionForm(serializers.Serializer[Any]):
    """What a team says of itself; what is left out stays as it is."""

    description = serializers.CharField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)
    links = serializers.CharField(
        required=False, allow_blank=True, help_text="Addresses, one a line; at most five."
    )


@post(
    "teams/<slug:slug>/description/",
    of=team_for_member,
    form=TeamDescriptionForm,
    answers=TeamSerializer,
    name="team-description",
)
def describe_team(request: Request, team: Team, form: dict[str, Any]) -> Team:
    """Change what a team of yours says of itself on its public page."""
    write_description(
        team=team,
        description=form.get("description", team.description),
        links=form["links"].splitlines() if "links" in form else team.links,
        by=person(request),
    )
    return _own_team(request, team)


class PlacingSerializer(serializers.Serializer[Any]):
    """A row of a public board; numbers are null where ranks alone are shown, ranks where it has none."""

    season = serializers.SlugField(source="season.slug")
    task = serializers.SlugField(source="phase.task.slug")
    phase = serializers.IntegerField(source="phase.pk")
    board = serializers.SerializerMethodField(help_text="The board's page.")
    system = serializers.CharField(source="placing.system")
    system_slug = serializers.SlugField(source="placing.system_slug", help_text="Names it in addresses.")
    submission = serializers.IntegerField(source="placing.submission")
    kind = serializers.CharField(source="placing.kind")
    submitted_at = serializers.DateTimeField(source="placing.submitted_at")
    rank = serializers.IntegerField(source="placing.rank", allow_null=True)
    rank_low = serializers.IntegerField(source="placing.rank_low", allow_null=True)
    rank_high = serializers.IntegerField(source="placing.rank_high", allow_null=True)
    ranked = serializers.IntegerField(source="placing.ranked", help_text="How many rows of the board are.")
    metric = serializers.CharField(source="placing.metric_name", allow_null=True)
    value = serializers.FloatField(source="placing.value", allow_null=True)
    low = serializers.FloatField(source="placing.low", allow_null=True)
    high = serializers.FloatField(source="placing.high", allow_null=True)

    def get_board(self, result: Result) -> str:
        return address(self.context["request"], "board", *place(result.phase))


class TeamResultsSerializer(serializers.Serializer[Any]):
    """A team as everybody may read of it."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    description = serializers.CharField()
    links = serializers.ListField(child=serializers.URLField())
    seasons = serializers.ListField(child=serializers.SlugField(), help_text="Those whose lists name it.")
    results = PlacingSerializer(many=True, help_text="Newest phases first.")
    page = serializers.URLField()


class SystemResultsSerializer(serializers.Serializer[Any]):
    """A system of a team: what its newest run on a board says of it, and its rows."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    team = serializers.SlugField()
    team_name = serializers.CharField()
    description = serializers.CharField()
    links = serializers.ListField(child=serializers.URLField())
    results = PlacingSerializer(many=True, help_text="Newest phases first.")
    page = serializers.URLField()


@get("teams/<slug:slug>/results/", answers=TeamResultsSerializer, is_open=True)
def team_results(request: Request, slug: str) -> dict[str, Any]:
    """A team as everybody may read of it, with its results over seasons."""
    public = public_team(request.user, slug)
    return {
        "slug": public.team.slug,
        "name": public.team.name,
        "description": public.team.description,
        "links": public.team.links,
        "seasons": [season.slug for season in public.seasons],
        "results": list(public.results),
        "page": address(request, "team-results", slug),
    }


@get("teams/<slug:slug>/systems/<slug:system>/", answers=SystemResultsSerializer, is_open=True)
def team_system(request: Request, slug: str, system: str) -> dict[str, Any]:
    """A system of a team with its results over seasons."""
    public, results, newest = public_system(slug, system)
    return {
        "slug": system,
        "name": newest.system,
        "team": public.team.slug,
        "team_name": public.team.name,
        "description": newest.description,
        "links": newest.links,
        "results": list(results),
        "page": address(request, "team-system", slug, system),
    }


InvitedSerializer = mirror_of_model(
    "Invited",
    MailedInvitation,
    "Somebody who was invited by e-mail; whether they have an account is not said.",
    "id address state created_at expires_at",
)


class InviteForm(serializers.Serializer[Any]):
    """Whom to invite."""

    address = serializers.EmailField(max_length=254)


@get("teams/<slug:slug>/invitations/", of=team_for_lead, pages=InvitedSerializer, name="invitations")
def invited(request: Request, team: Team) -> QuerySet[MailedInvitation]:
    """Who was invited by e-mail, in pages; for the team's lead."""
    return MailedInvitation.objects.filter(team=team)


@post(
    "teams/<slug:slug>/invitations/", of=team_for_lead, form=InviteForm, answers=InvitedSerializer, status=201
)
def invite(request: Request, team: Team, form: dict[str, Any]) -> MailedInvitation:
    """Invite an address by e-mail; for the team's lead."""
    return invite_by_mail(team=team, address=form["address"], by=person(request))


@delete("teams/<slug:slug>/invitations/<int:invited>/", of=team_for_lead, name="invited")
def withdraw_invitation(request: Request, team: Team, invited: int) -> None:
    """End an invitation by e-mail; for the team's lead."""
    withdraw_mailed(invitation=mailed_invitation_of(team, invited), by=person(request))


JoinRequestSerializer = mirror_of_model(
    "JoinRequest",
    JoinRequest,
    "Somebody who asks to join a team.",
    "id team season name affiliation address message asked_at",
    team=serializers.SlugField(source="team.slug"),
    season=serializers.SlugField(source="season.slug"),
    name=serializers.CharField(source="user", help_text="What they are called here."),
    affiliation=serializers.CharField(source="user.affiliation"),
    address=serializers.EmailField(source="user.email"),
)


class AskToJoinForm(serializers.Serializer[Any]):
    """Which team to ask."""

    team = serializers.CharField(help_text="The slug of a team of the season.")
    message = optional_text(entries.MAX_REQUEST)


class AnswerToAskerForm(serializers.Serializer[Any]):
    """What a member answers."""

    decision = serializers.ChoiceField(choices=["accept", "decline"])


@post(
    "seasons/<slug:slug>/join-requests/",
    of=season_for,
    form=AskToJoinForm,
    answers=JoinRequestSerializer,
    status=201,
)
def ask_to_join(request: Request, season: Season, form: dict[str, Any]) -> JoinRequest:
    """Ask a team of the season to be taken in."""
    user = person(request)
    team = get_object_or_404(teams_to_ask(user, season), slug=form["team"])
    return entries.ask_to_join(season=season, team=team, user=user, message=form["message"])


@get("join-requests/", pages=JoinRequestSerializer, name="own-join-requests")
def own_requests(request: Request) -> QuerySet[JoinRequest]:
    """The teams that you have asked to be taken into and that have not answered, in pages."""
    return entries.requests_of(request.user).select_related("user")


@delete("join-requests/<int:asked>/", name="own-join-request")
def take_back_request(request: Request, asked: int) -> None:
    """Ask no more to join a team."""
    entries.take_back_request(asked=get_object_or_404(entries.requests_of(request.user), pk=asked))


@get("teams/<slug:slug>/join-requests/", of=team_for_member, pages=JoinRequestSerializer)
def join_requests(request: Request, team: Team) -> QuerySet[JoinRequest]:
    """Who asks to join a team of yours, in pages."""
    return entries.waiting_requests(team).select_related("team")


def request_for_member(user: object, slug: str, number: int) -> JoinRequest:
    return join_request_of(team_for_member(user, slug), number)


@post(
    "teams/<slug:slug>/join-requests/<int:asked>/",
    of=request_for_member,
    form=AnswerToAskerForm,
    name="join-request",
)
def answer_request(request: Request, asked: JoinRequest, form: dict[str, Any]) -> None:
    """Accept or decline who asks to join; for members of the team."""
    act = entries.accept_request if form["decision"] == "accept" else entries.decline_request
    act(asked=asked, by=person(request))


MergeProposalSerializer = mirror_of_model(
    "MergeProposal",
    MergeProposal,
    "A team that would go into another.",
    "id season team into proposed_at",
    season=serializers.SlugField(source="season.slug"),
    team=serializers.SlugField(source="team.slug"),
    into=serializers.SlugField(source="into.slug"),
)


class ProposeForm(serializers.Serializer[Any]):
    """The team that would stay."""

    season = serializers.CharField(help_text="Its slug.")
    into = serializers.CharField(help_text="The slug of a team of the season.")


class AnswerToMergeForm(serializers.Serializer[Any]):
    """Accepting is for the team that stays; either may drop it."""

    decision = serializers.ChoiceField(choices=["accept", "drop"])


class MergeTeamsForm(serializers.Serializer[Any]):
    """Which team goes into which."""

    team = serializers.CharField(help_text="A slug.")
    into = serializers.CharField(help_text="The slug of the team that stays.")
    reason = serializers.CharField(max_length=merging.MAX_REASON, help_text="Both teams read it.")


class MergedSerializer(serializers.Serializer[Any]):
    """What a merge has moved."""

    runs = serializers.IntegerField()


@get("teams/<slug:slug>/merges/", of=team_for_lead, pages=MergeProposalSerializer)
def merges(request: Request, team: Team) -> QuerySet[MergeProposal]:
    """What your team has proposed and is asked, in pages; for its lead."""
    concerned = MergeProposal.objects.filter(Q(team=team) | Q(into=team))
    return concerned.select_related("season", "team", "into")


@post(
    "teams/<slug:slug>/merges/",
    of=team_for_lead,
    form=ProposeForm,
    answers=MergeProposalSerializer,
    status=201,
)
def propose_merge(request: Request, team: Team, form: dict[str, Any]) -> MergeProposal:
    """Ask the lead of another team of a season to take yours in; for its lead."""
    season = season_for(request.user, form["season"])
    into = get_object_or_404(teams_to_ask(request.user, season), slug=form["into"])
    return merging.propose_merge(season=season, team=team, into=into, by=person(request))


def proposal_for_lead(user: object, slug: str, number: int) -> tuple[Team, MergeProposal]:
    team = team_for_lead(user, slug)
    return team, merge_proposal_of(team, number)


@post(
    "teams/<slug:slug>/merges/<int:proposal>/",
    of=proposal_for_lead,
    form=AnswerToMergeForm,
    answers=MergedSerializer,
    responses={403: FORBIDDEN},
    name="merge",
)
def answer_merge(request: Request, asked: tuple[Team, MergeProposal], form: dict[str, Any]) -> dict[str, int]:
    """Accept that a team merges into yours, or drop it; for its lead."""
    team, proposal = asked
    if form["decision"] == "drop":
        merging.drop_proposal(proposal=proposal, by=person(request))
        return {"runs": 0}
    if proposal.into_id != team.pk:
        raise ValidationError({"decision": ["The lead of the team that stays accepts."]})
    return {"runs": merging.accept_merge(proposal=proposal, by=person(request))}


@post(
    "seasons/<slug:slug>/merges/",
    of=season_to_organise,
    form=MergeTeamsForm,
    answers=MergedSerializer,
    name="season-merge",
)
def merge_teams(request: Request, season: Season, form: dict[str, Any]) -> dict[str, int]:
    """Merge a team into another with a reason; for organisers."""
    team, into = (
        get_object_or_404(Team, slug=form[name], registrations__season=season) for name in ("team", "into")
    )
    moved = merging.merge_teams(
        season=season, team=team, into=into, by=person(request), reason=form["reason"]
    )
    return {"runs": moved}
