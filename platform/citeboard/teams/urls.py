from django.urls import path

from citeboard.teams import accounts, tokens

urlpatterns = [
    path("account/tokens/", tokens.tokens, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", tokens.revoke, name="token-revoke"),
    path("account/name/", accounts.name, name="account-name"),
]
