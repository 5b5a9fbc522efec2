from django.urls import path

from . import member_views, naming, views

TEAM = "teams/<slug:slug>/"

urlpatterns = [
    path("account/name/", naming.name, name="account-name"),
    path("teams/", views.teams, name="teams"),
    path(f"{TEAM}invitation/renew/", member_views.renew, name="team-invitation-renew"),
    path(f"{TEAM}invitation/revoke/", member_views.revoke, name="team-invitation-revoke"),
    path(f"{TEAM}invitations/", member_views.invite, name="team-invite"),
    path(f"{TEAM}invitations/<int:invited>/withdraw/", member_views.withdraw, name="team-invite-withdraw"),
    path(f"{TEAM}members/<int:member>/lead/", member_views.lead, name="team-lead"),
    path(f"{TEAM}describe/", member_views.describe, name="team-describe"),
    path(f"{TEAM}leave/", member_views.leave, name="team-leave"),
]
