"""What allauth asks of the site: here, how its mails are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings


@dataclass(frozen=True)
class PublicSite:
    """What the templates of mails call the site."""

    domain: str

    @property
    def name(self) -> str:
        return self.domain


class AccountAdapter(DefaultAccountAdapter):
    """Mails lead to CITEBOARD_BASE_URL, whatever `Host` the request names that they answer."""

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        links = {name: public_address(link) for name, link in context.items() if name.endswith("_url")}
        site = PublicSite(urlsplit(settings.BASE_URL).netloc)
        super().send_mail(template_prefix, email, {**context, **links, "current_site": site})


def public_address(link: str) -> str:
    """The same page of the site at the address that people type."""
    return f"{settings.BASE_URL}{urlsplit(link)._replace(scheme='', netloc='').geturl()}"
