"""The wheel, built once: unpacked, importable in this process, and installed in a fresh environment."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from scoring.distribution import backend


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    return folder / backend.build_wheel(str(folder))


@pytest.fixture(scope="session")
def unpacked(wheel, tmp_path_factory) -> Path:
    """The folder that holds the wheel's package."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def importable(unpacked, monkeypatch) -> None:
    """Its package has a name of its own, so that it stands beside the site's in one process."""
    monkeypatch.syspath_prepend(str(unpacked))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """The command in a fresh environment, which finds the other packages where the tests have them."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "--disable-pip-version-check",
    ]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True
    )
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "tests-own.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "citeboard"
