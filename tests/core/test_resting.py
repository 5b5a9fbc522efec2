"""Which tests are left out while what they rest on is as it was."""

import importlib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.changed_since import is_touched
from scripts.imports import files_of, imports_of
from tests import resting
from tests.conftest import proves_by_mass, rests_on_unchanged

#: It is above every test, and has fixtures of the site for those that ask for them.
CONFTEST = "tests.conftest"


class Item(SimpleNamespace):
    """A test with marks, as pytest hands it to the selection."""

    def iter_markers(self, name):
        return iter([mark for mark in self.marks if mark.name == name])

    def get_closest_marker(self, name):
        return next(self.iter_markers(name), None)


def item(root: Path, *paths: str) -> Item:
    marks = [pytest.mark.rests_on(*paths).mark] if paths else []
    return Item(path=root / "tests" / "scoring" / "test_some.py", marks=marks)


@pytest.mark.parametrize(
    "changed",
    [
        "scoring/metrics/rouge.py",
        "requirements.lock",
        "tests/scoring/test_some.py",
        "tests/scoring/conftest.py",
        "tests/conftest.py",
    ],
)
def test_a_test_runs_when_its_paths_its_file_or_the_fixtures_above_have_changed(
    root, changed
):
    own = item(root, "scoring/metrics", "requirements*")
    assert not rests_on_unchanged(own, ["docs/scores.md", changed])


@pytest.mark.parametrize(
    "changed", [[], ["scoring/stats/power.py"], ["tests/web/conftest.py"]]
)
def test_a_test_is_left_out_when_other_files_have_changed(root, changed):
    assert rests_on_unchanged(item(root, "scoring/metrics"), changed)


def test_a_test_without_the_mark_runs_whatever_has_changed(root):
    assert not rests_on_unchanged(item(root), [])


def test_proofs_run_what_rests_on_files(root):
    assert proves_by_mass(item(root, "scoring/metrics"))
    assert not proves_by_mass(item(root))


@pytest.mark.parametrize("mark", [resting.rests_on_scorer, resting.rests_on_reading])
@pytest.mark.parametrize(
    "changed",
    [
        "scoring/metrics/rouge.py",
        "scoring/stats/power.py",
        "tasks/types/runs.py",
        "requirements.lock",
        "requirements-dev.txt",
        "pyproject.toml",
    ],
)
def test_golden_numbers_rest_on_metrics_types_and_dependencies(mark, changed):
    assert is_touched([changed], mark.mark.args)


def test_no_mark_names_a_path_that_is_not_there(root):
    for mark in (resting.rests_on_scorer, resting.rests_on_reading):
        for path in mark.mark.args:
            assert list(root.glob(path)), path


def marks_of(thing: object) -> list[pytest.Mark]:
    marks = getattr(thing, "pytestmark", [])
    return marks if isinstance(marks, list) else [marks]


def marked(root: Path) -> dict[str, list[str]]:
    """Return the paths that the marks in each module name, where it has some."""
    found = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        if "rests_on" not in path.read_text(encoding="utf-8"):
            continue
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        try:
            module = importlib.import_module(name)
        except pytest.skip.Exception:
            # What it needs is not installed.
            continue
        own = [each for each in vars(module).values() if is_of(each, name)]
        marks = [mark for thing in (module, *own) for mark in marks_of(thing)]
        found[name] = [
            path for mark in marks if mark.name == "rests_on" for path in mark.args
        ]
    return {name: paths for name, paths in found.items() if paths}


def is_of(thing: object, module: str) -> bool:
    return getattr(thing, "__module__", None) == module


def test_whatever_a_marked_test_imports_lies_below_its_paths(root):
    files = files_of(root) | {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for folder in ("tests", "scripts")
        for path in (root / folder).rglob("*.py")
    }

    @cache
    def imports(name: str) -> set[str]:
        return imports_of(name, files[name], files) - {CONFTEST}

    tests = marked(root)
    assert len(tests) > 20
    assert tests["tests.core.test_alerts"] == [
        "deploy/alerts.yaml",
        "deploy/alert-scenarios",
    ]
    for name, paths in tests.items():
        reached = {name}
        waiting = [name]
        while waiting:
            new = imports(waiting.pop()) - reached
            reached |= new
            waiting += new
        others = [str(files[other].relative_to(root)) for other in reached - {name}]
        assert [file for file in others if not is_touched([file], paths)] == [], name
