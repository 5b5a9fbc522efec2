"""The site's WSGI application, which `granian --interface wsgi
citeboard.wsgi:application` serves.
"""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")

from citeboard.core.call_stack import with_room_for_calls
from citeboard.core.connections import share_connections

share_connections()
application = with_room_for_calls(get_wsgi_application())

from citeboard.core.confinement import pool, still_open  # noqa: E402  (they need the settings)

# Sandboxed processes start in the background while the first requests are served.
pool().warm()
still_open()

# After `gc.freeze`, garbage collection ignores the objects that exist at start-up.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 20)
