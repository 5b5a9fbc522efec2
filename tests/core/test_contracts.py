"""Import contracts name every package, and no cycle exists between files or folders."""

import tomllib
from pathlib import Path

from scripts.imports import cycles, files_of, folder_imports, module_imports

CONTRACTS = {
    "tasks": "Packages of tasks, from the top",
    "tasks/delivery": "Packages of delivery, from the top",
    "scoring": "Packages of scoring, from the top",
    "scoring/results": "Packages of results, from the top",
}


def contracts(root: Path) -> dict[str, dict]:
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))[
        "tool"
    ]["importlinter"]
    return {contract["name"]: contract for contract in table["contracts"]}


def layers_of(root: Path, contract: str) -> set[str]:
    return {
        layer
        for line in contracts(root)[contract]["layers"]
        for layer in line.split(" | ")
    }


def test_the_site_stands_above_scoring_and_scoring_above_tasks(root):
    layers = contracts(root)["Imports run one way"]["layers"]
    assert layers[-4:] == ["scoring", "tasks", "citeboard.teams", "citeboard.core"]
    assert layers[0].startswith("citeboard.urls")


def test_every_package_of_the_site_has_its_layer(root):
    site = root / "platform" / "citeboard"
    packages = {
        f"citeboard.{path.name}"
        for path in site.iterdir()
        if path.is_dir() and is_code(path)
    }
    assert packages <= layers_of(root, "Imports run one way")


def test_every_package_and_module_of_tasks_and_scoring_has_its_layer(root):
    for folder, contract in CONTRACTS.items():
        names = {path.stem for path in (root / folder).iterdir() if is_code(path)}
        assert names - {"migrations"} == layers_of(root, contract), folder


def is_code(path: Path) -> bool:
    if path.is_dir():
        return (path / "__init__.py").is_file()
    return path.suffix == ".py" and path.stem != "__init__"


def test_what_is_below_the_site_s_models_is_plain_python(root):
    listed = contracts(root)[
        "Metrics, statistics and the offline scorer are plain Python"
    ]["source_modules"]
    layers = contracts(root)["Packages of scoring, from the top"]["layers"]
    plain = layers[layers.index("models") + 1 :]
    assert {f"scoring.{package}" for package in plain} <= set(listed)


def test_no_file_imports_itself_by_way_of_others(root):
    assert cycles(module_imports(root)) == []


def test_no_folder_imports_itself_by_way_of_others(root):
    """On every level: what stands in a folder, modules and folders alike, has an order."""
    for folder, graph in folder_imports(root).items():
        assert cycles(graph) == [], folder


def test_a_cycle_is_found_wherever_its_import_stands(tmp_path):
    package = tmp_path / "tasks"
    package.mkdir()
    (package / "a.py").write_text("from tasks import b\n")
    (package / "b.py").write_text(
        "def late():\n    from tasks.a import c\n    return c\n"
    )
    assert cycles(module_imports(tmp_path)) == [["tasks.a", "tasks.b"]]
    assert cycles(folder_imports(tmp_path)["tasks"]) == [["tasks.a", "tasks.b"]]


def test_the_packages_of_the_one_way_hold_nothing_themselves(root):
    assert (root / "tasks" / "__init__.py").read_text() == ""
    assert (root / "scoring" / "__init__.py").read_text() == ""
    assert len(files_of(root)) > 400
