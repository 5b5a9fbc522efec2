"""The secret key in a backup: included where it is a file of the data folder, else said to be absent."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from django.conf import settings
from django.utils.crypto import salted_hmac

NAME = "secret-key"
INCLUDED = "included"
FROM_ENVIRONMENT = "absent: the environment gives it"
LEFT_OUT = "absent: it was left out"


def write_secret(folder: Path, *, is_wanted: bool) -> str:
    """Returns what the manifest says of it."""
    if is_given():
        return FROM_ENVIRONMENT
    if not is_wanted:
        return LEFT_OUT
    shutil.copyfile(settings.DATA_DIR / NAME, folder / NAME)
    return INCLUDED


def put_secret(folder: Path) -> None:
    """Takes the place of the key that this site has made for itself."""
    draft = settings.DATA_DIR / f".{NAME}.restored"
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write((folder / NAME).read_bytes())
    draft.rename(settings.DATA_DIR / NAME)


def is_given() -> bool:
    """By the environment, which a restored file cannot change."""
    return bool(settings.ENVIRONMENT.values.get("CITEBOARD_SECRET_KEY", "").strip())


def print_of(key: str) -> str:
    """Tells one key from another and nothing of either."""
    return salted_hmac("citeboard.backup", "the secret key", secret=key, algorithm="sha256").hexdigest()
