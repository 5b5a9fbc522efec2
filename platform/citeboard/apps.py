from django.apps import AppConfig


class CiteboardConfig(AppConfig):
    """The app with the site's commands and template tags. It has no models."""

    name = "citeboard"
    verbose_name = "Citeboard"
