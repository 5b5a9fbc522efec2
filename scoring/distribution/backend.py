"""Builds the wheel: the build backend that `pyproject.toml` names (PEP 517), without anything to install.

The same sources give the same bytes, so that the wheel of a site and that of `make wheel` have one checksum.
"""

import base64
import hashlib
import io
import re
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.distribution.sources import CLIENT, PACKAGE, PROGRAM, wheel_files

ROOT = Path(__file__).resolve().parent.parent.parent
#: The earliest time that a zip can say.
_WHEN = (1980, 1, 1, 0, 0, 0)
#: A link of the guide to another, which leads nowhere outside a site.
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")
_WHEEL = "Wheel-Version: 1.0\nGenerator: citeboard\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


class UnsupportedOperation(Exception):
    """What installers look for where a backend makes no archive of sources."""


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    """The name of the file that was written into the folder."""
    name, content = wheel(ROOT)
    Path(wheel_directory, name).write_bytes(content)
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    raise UnsupportedOperation("the checkout itself is the source; there is no archive of it")


def wheel(root: Path) -> tuple[str, bytes]:
    """The wheel's file name and content, from a checkout. Raises WheelRefused."""
    project = _project(root)
    about = f"{project['name']}-{project['version']}"
    info = f"{about}.dist-info"
    files = {
        **wheel_files(root, project["version"]),
        f"{info}/licenses/LICENSE": (root / "LICENSE").read_bytes(),
        f"{info}/METADATA": _metadata(root, project).encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
        f"{info}/entry_points.txt": f"[console_scripts]\n{PROGRAM} = {PACKAGE}.__main__:run\n".encode(),
        f"{info}/top_level.txt": f"{CLIENT}\n{PACKAGE}\n".encode(),
    }
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return f"{about}-py3-none-any.whl", packed.getvalue()


def version(root: Path) -> str:
    """Of the sources at ``root``, as `pyproject.toml` says."""
    return str(_project(root)["version"])


def _project(root: Path) -> dict[str, Any]:
    return dict(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def _metadata(root: Path, project: Mapping[str, Any]) -> str:
    readme = _LINK.sub(r"\1", (root / project["readme"]).read_text(encoding="utf-8"))
    heads = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", project["version"]),
        ("Summary", project["description"]),
        *(("Author", author["name"]) for author in project["authors"]),
        ("Keywords", ",".join(project["keywords"])),
        ("License-Expression", project["license"]),
        ("License-File", "LICENSE"),
        *(("Classifier", classifier) for classifier in project["classifiers"]),
        ("Requires-Python", project["requires-python"]),
        *(("Requires-Dist", needed) for needed in project["dependencies"]),
        *(
            head
            for extra, packages in project["optional-dependencies"].items()
            for head in (
                ("Provides-Extra", extra),
                *(("Requires-Dist", f'{needed} ; extra == "{extra}"') for needed in packages),
            )
        ),
        ("Description-Content-Type", "text/markdown"),
    ]
    return "".join(f"{name}: {value}\n" for name, value in heads) + f"\n{readme}"


def _record(files: Mapping[str, bytes], record_name: str) -> str:
    def line(name: str, content: bytes) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    return "".join(line(name, content) for name, content in files.items()) + f"{record_name},,\n"
