"""Django's admin site with the sign-in page of this site."""

from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse

SITE_MODULE_PREFIXES = ("citeboard.", "tasks.", "scoring.")


class SiteSignInAdminSite(AdminSite):
    """An admin site that redirects to the site's own sign-in page.

    Django's own admin login does not limit attempts and does not require a second
    factor.
    """

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        answer: HttpResponse = secure_admin_login(super().login)(request, extra_context)
        return answer

    def register(
        self, model_or_iterable: Any, admin_class: Any = None, **options: Any
    ) -> None:
        if admin_class is not None and admin_class.__module__.startswith(
            SITE_MODULE_PREFIXES
        ):
            super().register(model_or_iterable, admin_class, **options)
