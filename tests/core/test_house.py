"""What the guides promise: the map is whole, links lead somewhere."""

import re
from pkgutil import resolve_name

import pytest

from scripts.draw_plan import PICTURE, draw, packages


@pytest.fixture(scope="session")
def page(root) -> str:
    return (root / "docs" / "developers.md").read_text(encoding="utf-8")


def table(page: str, head: str) -> list[list[str]]:
    """The cells of each row under the head of a table."""
    rows = page.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("folder", ["platform/citeboard", "tasks", "scoring"])
def test_the_map_names_every_package_and_no_other(root, page, folder):
    packages = {
        path.name
        for path in (root / folder).iterdir()
        if (path / "__init__.py").is_file()
    }
    listed = table(page.partition(f"The packages of `{folder}/`")[2], "package | holds")
    named = {name for row in listed for name in re.findall(r"`([^`]+)/`", row[0])}
    assert named == packages - {"migrations"}


def test_every_folder_on_the_map_is_there(root, page):
    folders = [
        name
        for row in table(page, "folder | holds")
        for name in re.findall(r"`([^`]+)/`", row[0])
    ]
    assert len(folders) > 8
    assert [name for name in folders if not (root / name).is_dir()] == []


def test_every_name_in_code_that_the_page_gives_can_be_found(root, page):
    """Dotted names such as `tasks.submissions.submit.submit_run`."""
    named = re.findall(r"`((?:tasks|scoring|citeboard\.\w+)\.[\w.]+)`", page)
    assert len(named) > 5
    for dotted in named:
        assert resolve_name(dotted), dotted


GUIDES = ("README.md", "CHANGELOG.md", "examples/README.md", "docs/*.md")


def links(root) -> list[tuple[str, str]]:
    """From which page to where, of those that stay in the project."""
    pages = [path for pattern in GUIDES for path in sorted(root.glob(pattern))]
    found = [
        (path, link)
        for path in pages
        for link in re.findall(r"\]\(([^)\s#]+)", path.read_text())
    ]
    return [(path, link) for path, link in found if "://" not in link]


def test_every_link_of_the_guides_leads_somewhere(root):
    assert len(links(root)) > 30
    assert [
        (path.name, link)
        for path, link in links(root)
        if not (path.parent / link).exists()
    ] == []


def test_every_picture_is_shown_and_has_words(root):
    shown = {(path.parent / link).resolve() for path, link in links(root)}
    pictures = sorted((root / "docs" / "img").glob("*.png"))
    assert pictures
    assert [path.name for path in pictures if path.resolve() not in shown] == []
    for page in root.glob("docs/*.md"):
        assert "![](" not in page.read_text(), page.name


def test_the_picture_of_the_plan_is_that_of_the_code(root):
    """`make plan` draws it anew."""
    assert draw(packages(root)) == PICTURE.read_text(encoding="utf-8")


def test_the_mutants_are_of_modules_and_tests_that_are_there(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "bench"))
    from mutants import TESTED_BY

    named = {name for module, tests in TESTED_BY.items() for name in (module, *tests)}
    assert [name for name in named if not any(root.glob(name))] == []
