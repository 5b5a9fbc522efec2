"""A deployment's settings but for static files, which are gathered as they are: packing them takes long."""

from citeboard.settings import *  # noqa: F403
from citeboard.settings import STORAGES

STORAGES = {
    **STORAGES,
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"
    },
}
