from django.urls import path

from citeboard.teams import accounts, tokens, views

TEAM = "teams/<slug:slug>/"

urlpatterns = [
    path("account/tokens/", tokens.tokens, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", tokens.revoke, name="token-revoke"),
    path("account/name/", accounts.name, name="account-name"),
    path("teams/", views.teams, name="teams"),
    path(f"{TEAM}invitation/renew/", views.renew, name="team-invitation-renew"),
    path(f"{TEAM}invitation/revoke/", views.revoke, name="team-invitation-revoke"),
    path(f"{TEAM}invitations/", views.invite, name="team-invite"),
    path(f"{TEAM}invitations/<int:invited>/withdraw/", views.withdraw, name="team-invite-withdraw"),
    path(f"{TEAM}members/<int:member>/lead/", views.lead, name="team-lead"),
    path(f"{TEAM}describe/", views.describe, name="team-describe"),
    path(f"{TEAM}leave/", views.leave, name="team-leave"),
]
