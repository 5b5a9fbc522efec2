from django.urls import path

from . import language, notices, views

urlpatterns = [
    path("health/live", views.live, name="health-live"),
    path("health/ready", views.ready, name="health-ready"),
    path("language/<slug:code>/", language.choose, name="language"),
    path("privacy/", notices.notice, {"name": "privacy"}, name="privacy"),
    path("imprint/", notices.notice, {"name": "imprint"}, name="imprint"),
]
