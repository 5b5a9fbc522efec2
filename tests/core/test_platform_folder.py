"""The source folder `platform/` must not hide the standard library's module of that name."""

import os
import platform
import subprocess
import sys

ASK = "import platform; print(platform.python_version())"


def run(root, *words: str) -> str:
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    environment["DJANGO_SETTINGS_MODULE"] = "citeboard.settings"
    done = subprocess.run(
        [sys.executable, *words],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_the_source_folder_is_no_package(root):
    assert (root / "platform" / "citeboard").is_dir()
    assert not (root / "platform" / "__init__.py").exists()


def test_the_test_runner_has_the_standard_module():
    assert platform.python_version() == sys.version.split()[0]


def test_a_command_of_the_site_has_the_standard_module(root):
    assert (
        run(root, "manage.py", "shell", "--no-imports", "-c", ASK)
        == platform.python_version()
    )


def test_python_dash_m_has_the_standard_module(root):
    ask = "import runpy, sys; sys.argv = ['platform']; runpy.run_module('platform', run_name='__main__')"
    assert run(root, "-c", ask) == platform.platform()
    assert run(root, "-m", "platform") == platform.platform()


def test_manage_works_from_another_folder(root, tmp_path):
    assert (
        run(tmp_path, str(root / "manage.py"), "shell", "--no-imports", "-c", ASK)
        == platform.python_version()
    )


def test_tests_are_a_package_all_the_way_down(root):
    folders = {path.parent for path in (root / "tests").rglob("*.py")}
    assert root / "tests" / "core" in folders
    assert [
        folder for folder in folders if not (folder / "__init__.py").is_file()
    ] == []
