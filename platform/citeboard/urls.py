"""Every address of the site, by the app that answers it."""

from allauth.urls import build_provider_urlpatterns
from django.contrib import admin
from django.urls import include, path

handler400 = "citeboard.core.views.bad_request"
handler500 = "citeboard.core.views.server_error"

urlpatterns = [
    path("", include("citeboard.core.urls")),
    path("api/", include("citeboard.api")),
    path("", include("citeboard.teams.tokens.urls")),
    path("", include("citeboard.teams.urls")),
    path("", include("scoring.web.organise.urls")),
    path("", include("scoring.web.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/3rdparty/", include("allauth.socialaccount.urls")),
    path("accounts/", include(build_provider_urlpatterns())),
    path("admin/", admin.site.urls),
]
