"""The notebook runs as it stands, and the workflow names commands that there are."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from scoring.__main__ import build_argument_parser
from tasks.types import task_type
from tasks.types.files import open_input_files


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
    [commands] = [action.choices for action in build_argument_parser()._actions if action.choices]
    used = [re.findall(r"\S+", line) for line in lines if line.startswith("citeboard ")]
    assert [words[1] for words in used] == ["data", "check", "submit", "board"]
    for words in used:
        known = commands[words[1]]._option_string_actions
        assert [word for word in words if word.startswith("--") and word not in known] == []
    assert any("pip install" in line and "/client/" in line for line in lines)


@pytest.mark.parametrize("name", ["score_a_run.ipynb", "read_a_board.ipynb", "citeboard.yml", "check-run", ".pre-commit-hooks.yaml"])
def test_the_guide_names_each_of_them(root, name):
    assert name in (root / "docs/client.md").read_text()


def shell(root: Path, *step: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command with the program of this checkout on the path."""
    program = Path(environment["RUNNER_TEMP"]) / "citeboard"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m scoring "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    given = {"PATH": path, "PYTHONPATH": str(root), **environment}
    return subprocess.run(["bash", "-e", "-c", *step], env=given, capture_output=True, text=True, check=False)


def test_action_and_hook_check_a_run_and_say_what_is_wrong_with_it(root, tmp_path):
    sample = root / "tasks/types/citation_recommendation/sample"
    with zipfile.ZipFile(tmp_path / "inputs.zip", "w") as inputs:
        kind = task_type("citation-recommendation")
        for name, content in kind.public_files(open_input_files(sample / "gold"), kind.validate_options({})):
            inputs.writestr(name, content)
    action = yaml.safe_load((root / ".github/actions/check-run/action.yml").read_text())
    step = action["runs"]["steps"][-1]
    assert {f"${{{{ inputs.{name.lower()} }}}}" for name in step["env"]} == set(step["env"].values())
    assert {name.lower() for name in step["env"]} | {"extras"} == set(action["inputs"])
    [hook] = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    for run, code in ((sample / "run.jsonl", 0), (bad, 2)):
        given = {"TYPE": "citation-recommendation", "RUN": str(run), "INPUTS": str(tmp_path / "inputs.zip")}
        args = f"{given['TYPE']} --inputs {given['INPUTS']} --run {run}"
        for words in (step["run"], f"{hook['entry']} {args}"):
            done = shell(root, words, RUNNER_TEMP=str(tmp_path), **given)
            assert (done.returncode, "bad.jsonl:1: " in done.stderr) == (code, code == 2), done.stderr
