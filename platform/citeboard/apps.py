from django.apps import AppConfig


class CiteboardConfig(AppConfig):
    """The site: its commands and template tags; the models belong to other apps."""

    name = "citeboard"
    verbose_name = "Citeboard"
