"""The notebook runs as it stands, and the workflow names commands that there are."""

import json
import re
import shutil

import pytest
import yaml

from scoring.__main__ import parser


def test_every_cell_of_the_notebook_runs(root, tmp_path, monkeypatch, capsys):
    shutil.copytree(root / "tasks/types/citation_recommendation/sample", tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((root / "examples/notebooks/score_a_run.ipynb").read_text())
    names: dict = {}
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)  # noqa: S102
    told = capsys.readouterr().out
    assert re.search(r"^recall@10 +0\.\d{4}", told, re.MULTILINE)
    assert names["before"] != names["after"]
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])


def test_the_workflow_installs_checks_submits_and_follows_with_commands_that_there_are(root):
    flow = yaml.safe_load((root / "examples/ci/citeboard.yml").read_text())
    lines = "\n".join(step.get("run", "") for step in flow["jobs"]["run"]["steps"]).splitlines()
    [commands] = [action.choices for action in parser()._actions if action.choices]
    used = [re.findall(r"\S+", line) for line in lines if line.startswith("citeboard ")]
    assert [words[1] for words in used] == ["data", "check", "submit", "board"]
    for words in used:
        known = commands[words[1]]._option_string_actions
        assert [word for word in words if word.startswith("--") and word not in known] == []
    assert any("pip install" in line and "/client/" in line for line in lines)


@pytest.mark.parametrize("name", ["score_a_run.ipynb", "citeboard.yml"])
def test_the_guide_names_each_of_them(root, name):
    assert name in (root / "docs/client.md").read_text()
