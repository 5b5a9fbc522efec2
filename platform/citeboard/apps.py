from django.apps import AppConfig


class CiteboardConfig(AppConfig):
    """The app with the site's commands and template tags. The app has no models."""

    name = "citeboard"
    verbose_name = "Citeboard"
