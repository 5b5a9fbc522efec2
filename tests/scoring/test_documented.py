"""What the page on scores says of metrics and commands is so."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import scoring.metrics
from scoring.__main__ import build_argument_parser
from scoring.metrics import Metric
from scoring.metrics.references import BestReferenceMetric, _ShortAnswerMetric
from tasks.types import task_types
from tasks.types.references import import_referenced_object

#: What no task type names, since they only hold what others share.
BASES = {BestReferenceMetric, _ShortAnswerMetric}


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "scores.md").read_text()


def classes_named(page: str) -> set[type]:
    """What the page's table of families leads to; a class without a module is of the module before it."""
    table = page.partition("## Families of metrics")[2].partition("\n\nBERTScore")[0]
    found, module = set(), ""
    for own, name in re.findall(r"`([a-z0-9_.]*):([A-Za-z][A-Za-z0-9]*)`", table):
        module = own or module
        found.add(import_referenced_object(f"{module}:{name}"))
    return found


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(own) for own in kind.__subclasses__()))


def test_the_page_names_every_metric_class_and_no_other(page):
    for module in pkgutil.iter_modules(scoring.metrics.__path__, "scoring.metrics."):
        importlib.import_module(module.name)
    ours = {own for own in subclasses(Metric) if own.__module__.startswith("scoring.")}
    assert (
        classes_named(page)
        == {own for own in ours if not inspect.isabstract(own)} - BASES
    )


def flags() -> set[str]:
    """Of all commands of the offline scorer."""
    [commands] = [
        action.choices for action in build_argument_parser()._actions if action.choices
    ]
    return {
        flag for command in commands.values() for flag in command._option_string_actions
    }


def test_every_flag_that_the_page_names_is_there(page):
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page))
    assert {"--gold", "--method", "--statistics", "--tests"} <= named
    assert sorted(named - flags()) == []


def test_every_option_that_the_page_names_is_there(page):
    named = set(
        re.findall(r"`(bertscore_[a-z]+)`", page.partition("The options are")[2])
    )
    known = {option.name for kind in task_types().values() for option in kind.options}
    assert len(named) == 4
    assert sorted(named - known) == []


def test_every_setting_that_the_page_names_is_there(page, root):
    settings = (root / "docs" / "settings.md").read_text()
    assert [
        name
        for name in re.findall(r"CITEBOARD_[A-Z_]+", page)
        if f"`{name}`" not in settings
    ] == []


def test_every_page_that_the_page_links_to_is_there(page, root):
    assert [
        link
        for link in re.findall(r"\]\(([^)#]+)", page)
        if not (root / "docs" / link).exists()
    ] == []
