"""A digest of the code, the templates and the styles, which identifies the release of
the site.
"""

import hashlib
from functools import cache
from pathlib import Path

from django.conf import settings

RELEASE_DIGEST_FOLDERS = (
    "platform/citeboard",
    "tasks",
    "scoring",
    "templates",
    "static",
)
RELEASE_DIGEST_SUFFIXES = {".py", ".html", ".css", ".js", ".md", ".svg", ".toml"}


@cache
def compute_release_digest() -> str:
    digest = hashlib.sha256()
    base = Path(settings.BASE_DIR)
    for folder in RELEASE_DIGEST_FOLDERS:
        for path in sorted((base / folder).rglob("*")):
            if path.suffix in RELEASE_DIGEST_SUFFIXES and path.is_file():
                digest.update(
                    str(path.relative_to(base)).encode() + b"\0" + path.read_bytes()
                )
    return digest.hexdigest()[:10]
