"""The door of a WSGI server: `granian --interface wsgi citeboard.wsgi:application`."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")

from citeboard.core.call_stack import with_room_for_calls

application = with_room_for_calls(get_wsgi_application())

# What reads the files of strangers gets ready while the first visitors come.
from citeboard.core.confinement import pool, still_open  # noqa: E402  (they need the settings)

pool().warm()
still_open()

# What is there now stays: nobody looks again and again whether it is needed.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 20)
