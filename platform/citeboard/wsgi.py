"""The site's WSGI application, which `granian --interface wsgi
citeboard.wsgi:application` serves.
"""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")

from citeboard.core.call_stack import preallocate_call_stack
from citeboard.core.connections import enable_connection_pool

enable_connection_pool()
application = preallocate_call_stack(get_wsgi_application())

from citeboard.core.confinement import find_unprotected_resources, get_sandbox_pool  # noqa: E402  (they need the settings)

# Sandboxed processes start in the background while the first requests are served.
get_sandbox_pool().start_server()
find_unprotected_resources()

# Without this import, the first request would import all pages, after `gc.freeze`.
import_module(settings.ROOT_URLCONF)

# After `gc.freeze`, garbage collection ignores the objects that exist at start-up.
# Python delays a full collection until the other objects have grown by a quarter.
# The second `gc.collect` excludes the objects of the start-up from this comparison.
gc.collect()
gc.freeze()
gc.collect()
# Only full collections free reference cycles of objects that outlived other collections.
# The last threshold of 2 makes full collections seven times as frequent as 20 would.
gc.set_threshold(10_000, 20, 2)
