"""Says in one sentence that the site's port is taken, before anything else is done."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from django.core.exceptions import ImproperlyConfigured

from citeboard.core.processes import find_port_problem

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")
try:
    from citeboard import settings
except ImproperlyConfigured as refusal:
    sys.exit(str(refusal))
sys.exit(find_port_problem(settings.BIND, settings.PORT))
