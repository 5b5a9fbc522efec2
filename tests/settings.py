"""The site's settings in a test run: nothing of the developer's own environment or data takes part.

The folder and the database are named in the environment, so that a process a test starts finds them too.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from citeboard.core.checks import TEST_ENVIRONMENT_VARIABLES
from citeboard.core.confined.pool import THREAD_COUNT_VARIABLES
from citeboard.core.env import create_data_folder, load_or_create_secret_key


def _test_root() -> Path:
    """One folder for the whole run, made and removed by the process that was started first."""
    if "CITEBOARD_TEST_ROOT" not in os.environ:
        root = tempfile.mkdtemp(prefix="citeboard-tests-")
        os.environ["CITEBOARD_TEST_ROOT"] = root
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    return Path(os.environ["CITEBOARD_TEST_ROOT"])


def _prepare_environment() -> None:
    for name in list(os.environ):
        if name in ("DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL", "PORT") or (
            name.startswith("CITEBOARD_") and name not in TEST_ENVIRONMENT_VARIABLES
        ):
            del os.environ[name]
    # Each of hundreds of processes would compile all of our code anew, and pytest the tests.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Several processes share the processors, and threads that wait for their turn keep others from it.
    for name in THREAD_COUNT_VARIABLES:
        os.environ.setdefault(name, "1")
    root = _test_root()
    folder = root / os.environ.get("PYTEST_XDIST_WORKER", "main")
    # What one process of the run has signed, another one reads.
    key = create_data_folder(folder) / "secret-key"
    if not key.exists():
        load_or_create_secret_key(root / "secret-key")
        shutil.copy(root / "secret-key", key)
    os.environ["CITEBOARD_DATA_DIR"] = str(folder)
    os.environ["CITEBOARD_WORK_DIR"] = str(folder / "work")
    os.environ["CITEBOARD_INSECURE_HTTP"] = "yes"
    if url := os.environ.get("CITEBOARD_TEST_DATABASE_URL"):
        os.environ["DATABASE_URL"] = url


_prepare_environment()

from citeboard.settings import *  # noqa: E402, F403
from citeboard.settings import DATA_DIR, DATABASES, STORAGES  # noqa: E402

# A file, not memory: tests of concurrent writers need connections of their own.
if "sqlite" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}

STORAGES = {
    **STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
