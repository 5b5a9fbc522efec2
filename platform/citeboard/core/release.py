"""What decides how a page looks apart from its data: a digest of programs, templates and styles."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.checks import CheckMessage, Error
from django.core.files.storage import FileSystemStorage

FOLDERS = ("platform/citeboard", "tasks", "scoring", "templates", "static")
SUFFIXES = {".py", ".html", ".css", ".js", ".md", ".svg", ".toml"}


@cache
def release() -> str:
    digest = hashlib.sha256()
    base = Path(settings.BASE_DIR)
    for folder in FOLDERS:
        for path in sorted((base / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                digest.update(str(path.relative_to(base)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:10]


# The address below /static/, the package that carries the file, and where in it.
CARRIED = {
    "htmx.min.js": ("django_htmx", "static/django_htmx/htmx-2.min.js"),
}
PREFIX = "vendor"


def carried_file(name: str) -> Path | None:
    if name not in CARRIED:
        return None
    package, inside = CARRIED[name]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / inside
    return path if path.is_file() else None


class VendorFinder(BaseFinder):
    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return [
            Error(
                f"the package {package} does not carry {inside}",
                hint="Install requirements-site.txt; its versions are the ones that carry the file.",
                id="citeboard.E003",
            )
            for name, (package, inside) in CARRIED.items()
            if carried_file(name) is None
        ]

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        prefix, _, name = path.partition("/")
        file = carried_file(name) if prefix == PREFIX else None
        if file is None:
            return []
        return [str(file)] if find_all else str(file)

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, Any]]:
        for name in CARRIED:
            file = carried_file(name)
            if file is not None:
                storage = _OneFile(location=str(file.parent), name=file.name)
                yield name, storage


class _OneFile(FileSystemStorage):
    prefix = PREFIX

    def __init__(self, *, location: str, name: str) -> None:
        super().__init__(location=location)
        self.carried = name

    def path(self, name: str) -> str:
        return super().path(self.carried)
