from django.apps import AppConfig


class CiteboardConfig(AppConfig):
    """The Django app with the site's management commands and template tags. The app has
    no models.
    """

    name = "citeboard"
    verbose_name = "Citeboard"
