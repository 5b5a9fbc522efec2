"""What allauth asks of the site: here, how its mails are written, and in which language somebody goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpResponse
from django.utils import translation

from citeboard.core import language
from citeboard.teams.models import User


@dataclass(frozen=True)
class PublicSite:
    domain: str

    @property
    def name(self) -> str:
        return self.domain


class AccountAdapter(DefaultAccountAdapter):
    """Mails lead to CITEBOARD_BASE_URL, whatever `Host` the request names that they answer."""

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        links = {name: public_address(link) for name, link in context.items() if name.endswith("_url")}
        site = PublicSite(urlsplit(settings.BASE_URL).netloc)
        # Anybody may ask for a mail to an address, in any language.
        with translation.override(_language_of(context.get("user"))):
            super().send_mail(template_prefix, email, {**context, **links, "current_site": site})

    def post_login(self, request: Any, user: Any, **facts: Any) -> HttpResponse:
        """Pages speak the language of the account wherever its person signs in."""
        response: HttpResponse = super().post_login(request, user, **facts)
        if isinstance(user, User) and user.language:
            language.remember(response, user.language)
        return response


def _language_of(reader: object) -> str:
    own = reader.language if isinstance(reader, User) else ""
    return own or translation.get_language()


def public_address(link: str) -> str:
    return f"{settings.BASE_URL}{urlsplit(link)._replace(scheme='', netloc='').geturl()}"
