from django.urls import path

from . import notices, views

urlpatterns = [
    path("health/live", views.live, name="health-live"),
    path("health/ready", views.ready, name="health-ready"),
    path("privacy/", notices.notice, {"name": "privacy"}, name="privacy"),
    path("imprint/", notices.notice, {"name": "imprint"}, name="imprint"),
]
