from allauth.urls import build_provider_urlpatterns
from django.contrib import admin
from django.urls import include, path

from citeboard.core import health, legal_pages, middleware
from citeboard.web import urls as pages

handler400 = "citeboard.core.errors.bad_request"
handler500 = "citeboard.core.errors.server_error"

urlpatterns = [
    path("health/live", health.respond_to_liveness_probe, name="health-live"),
    path("health/ready", health.respond_to_readiness_probe, name="health-ready"),
    path("api/", include("citeboard.api_root")),
    *pages.urlpatterns,
    path("language/<slug:code>/", middleware.choose_language, name="language"),
    path(
        "privacy/", legal_pages.show_legal_notice, {"name": "privacy"}, name="privacy"
    ),
    path(
        "imprint/", legal_pages.show_legal_notice, {"name": "imprint"}, name="imprint"
    ),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/3rdparty/", include("allauth.socialaccount.urls")),
    path("accounts/", include(build_provider_urlpatterns())),
    path("admin/", admin.site.urls),
]
