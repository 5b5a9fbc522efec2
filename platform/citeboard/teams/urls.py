from django.urls import path

from citeboard.teams import accounts

urlpatterns = [
    path("account/tokens/", accounts.tokens, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", accounts.revoke, name="token-revoke"),
    path("account/name/", accounts.name, name="account-name"),
]
