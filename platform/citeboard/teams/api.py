import datetime as dt

from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from citeboard.teams.models import Token, User, compute_token_digest

TOKEN_KEYWORD = "Token"  # noqa: S105  (the scheme of the header)
#: Requests update `last_used_at` of a token at most once within LAST_USE_UPDATE_INTERVAL.
LAST_USE_UPDATE_INTERVAL = dt.timedelta(minutes=1)


class TokenAuthentication(BaseAuthentication):
    """Authenticate API requests by token.

    Revoked tokens, expired tokens, and tokens of locked accounts are rejected as
    unknown.
    """

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        if (secret := parse_token_secret(get_authorization_header(request))) is None:
            return None
        if (token := find_valid_token(secret)) is None:
            raise AuthenticationFailed(
                "This token is not known; it may be mistyped, revoked or expired."
            )
        if token.scope == Token.Scope.READ and request.method not in SAFE_METHODS:
            raise PermissionDenied(
                "This token may only read; make one on the site that may submit."
            )
        now = timezone.now()
        if (
            token.last_used_at is None
            or token.last_used_at < now - LAST_USE_UPDATE_INTERVAL
        ):
            unused = Q(last_used_at=None) | Q(
                last_used_at__lt=now - LAST_USE_UPDATE_INTERVAL
            )
            Token.objects.filter(unused, pk=token.pk).update(last_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return TOKEN_KEYWORD


def parse_token_secret(header: bytes) -> str | None:
    scheme, _, secret = header.decode("latin-1").strip().partition(" ")
    return secret.strip() if scheme.lower() == TOKEN_KEYWORD.lower() else None


def find_valid_token(secret: str) -> Token | None:
    found = Token.objects.valid().select_related("user")
    return found.filter(
        digest=compute_token_digest(secret), user__is_active=True
    ).first()


def find_user_of_request(request: HttpRequest) -> object:
    secret = parse_token_secret(
        request.headers.get("Authorization", "").encode("latin-1", "replace")
    )
    token = find_valid_token(secret) if secret is not None else None
    return token.user if token else request.user


def require_signed_in_user(request: Request) -> User:
    assert isinstance(request.user, User)
    return request.user


class TokenAuthenticationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        message = (
            "`Token`, a space, and the secret of a token, which is made on the site."
        )
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": message,
        }
