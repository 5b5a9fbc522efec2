"""The command as scripts and terminals meet it: exit codes, JSON, colours, bars, and being stopped."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.__main__ import EXIT_CODES_HELP_TEXT, build_argument_parser
from scoring.client.connection import SiteConnection
from scoring.client.refusals import ClientCommandRefused
from scoring.offline.terminal import format_progress_bar
from tasks.types import task_types

SCORER = [sys.executable, "-m", "scoring"]


@pytest.fixture
def sample(root) -> list[str]:
    """The words that name a gold and a run."""
    folder = root / "tasks/types/clsumm_1a/sample"
    return [
        "clsumm-1a",
        "--gold",
        str(folder / "gold"),
        "--run",
        str(folder / "run.jsonl"),
    ]


def test_every_command_gives_json():
    def commands_of(command):
        [commands] = [action.choices for action in command._actions if action.choices]
        return commands

    commands = commands_of(build_argument_parser())
    for group in ("papers", "receipt", "task", "estimates", "judge"):
        commands |= commands_of(commands.pop(group))
    assert len(commands) > 20
    lacking = [
        name
        for name, own in commands.items()
        if "--json" not in own._option_string_actions
    ]
    assert lacking == []


def test_the_guide_and_the_help_list_the_same_exit_codes(root):
    rows = re.findall(
        r"^\| (\d+) \| (.+?) \|$", (root / "docs/client.md").read_text(), re.MULTILINE
    )
    unfolded = re.sub(r"\n {7}", " ", EXIT_CODES_HELP_TEXT)
    listed = [line.split(maxsplit=1) for line in unfolded.splitlines()[1:]]
    assert [[code, words.replace("`", "")] for code, words in rows] == listed


def test_nobody_reading_the_output_is_no_fault(root, sample):
    with subprocess.Popen(
        [*SCORER, "score", *sample],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (141, b"")


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="one processor has one thread anyway"
)
@pytest.mark.parametrize(
    ("given", "threads"), [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2)]
)
def test_a_run_is_scored_by_one_thread_unless_more_are_asked_for(
    root, sample, given, threads
):
    code = (
        "import os, sys\n"
        "from scoring.__main__ import main\n"
        "main(sys.argv[1:])\n"
        "print(len(os.listdir('/proc/self/task')), file=sys.stderr)\n"
    )
    environment = {
        name: value for name, value in os.environ.items() if "NUM_THREADS" not in name
    } | given
    command = [sys.executable, "-c", code, "score", *sample]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=True, env=environment
    )
    assert int(done.stderr.split()[-1]) == threads


def test_an_interrupted_command_ends_without_a_traceback(root):
    code = (
        "import os, signal\n"
        # Whatever starts the tests may have told its programs to ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from scoring import __main__ as program\n"
        "program.main = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "program.run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, b"")


def on_a_terminal(
    command: list[str], root: Path, **environment: str
) -> tuple[int, str]:
    """The exit code, and what a terminal is sent on standard error."""
    ours, theirs = pty.openpty()
    given = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        command,
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**given, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:
        # Linux says so when the other end is closed.
        pass
    os.close(ours)
    return process.wait(), shown.decode()


def refused_run(folder: Path) -> str:
    path = folder / "run.jsonl"
    path.write_text("nonsense\n")
    return str(path)


def test_problems_are_red_on_a_terminal_and_plain_elsewhere(root, sample, tmp_path):
    command = [*SCORER, "check", *sample[:-1], refused_run(tmp_path)]
    code, shown = on_a_terminal(command, root)
    assert code == 2
    assert "\x1b[31m" in shown
    assert "\x1b[31m" not in on_a_terminal(command, root, NO_COLOR="1")[1]
    told = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    ).stderr
    assert told.startswith(command[-1])
    assert "\x1b" not in told


def test_a_bar_says_how_far_it_is_and_how_long_it_takes():
    assert format_progress_bar("sending", 2.5e6, 1e7, "B", 10.0) == (
        "sending [######..................]  25% 2.5 MB of 10.0 MB, 30 s left"
    )
    assert format_progress_bar("scoring", 90, 120, "runs", 300.0).endswith(
        " 75% 90 runs of 120 runs, 1 min 40 s left"
    )
    assert format_progress_bar("nothing", 0, 0, "B", 0.0).endswith("100% 0 B of 0 B")


@pytest.mark.parametrize(
    "address",
    ["http://board.example.org", "ftp://board.example.org", "board.example.org"],
)
def test_a_token_is_not_sent_in_the_clear_nor_to_what_is_no_site(address):
    with pytest.raises(ClientCommandRefused):
        SiteConnection(address, "secret")


def test_the_client_alone_is_small_begins_at_once_and_is_the_standard_library(
    installed, unpacked
):
    """It begins at once since it loads nothing that talks to a site or computes."""
    [packages] = installed.parent.parent.glob("lib/python*/site-packages")
    ours = [
        path
        for part in packages.glob("citeboard*")
        for path in (part, *part.rglob("*"))
    ]
    assert any(path.suffix == ".pyc" for path in ours)
    # With what pip compiles and a tagger of 380 kB. Files alone: how many blocks they take differs by disk.
    assert sum(path.stat().st_size for path in ours if path.is_file()) <= 7_300_000
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    begun = subprocess.run(
        [installed, "--version"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert begun.stdout.startswith("citeboard ")
    loaded = {line.rpartition("|")[2].strip() for line in begun.stderr.splitlines()}
    assert "argparse" in loaded
    assert (
        loaded
        & {
            "ssl",
            "http.client",
            "urllib.request",
            "importlib.metadata",
            "email",
            "numpy",
        }
        == set()
    )
    code = (
        "import importlib, pkgutil, citeboard_client as client\n"
        "for module in pkgutil.walk_packages(client.__path__, 'citeboard_client.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    # Without the packages of others.
    subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path.append({str(unpacked)!r})\n{code}",
        ],
        check=True,
    )


@pytest.mark.proof
def test_the_client_says_its_version_in_150_milliseconds_of_computing(installed):
    """The least of five starts: what else the machine does takes no part in computing, but for its caches."""

    def seconds() -> float:
        before = os.times()
        subprocess.run([installed, "--version"], capture_output=True, check=True)
        after = os.times()
        return (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )

    assert min(seconds() for _ in range(5)) <= 0.15


def without_packages(unpacked, *words: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.append({str(unpacked)!r}); from citeboard_scorer.__main__ import run; run()"  # noqa: E501
    command = [sys.executable, "-I", "-S", "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_missing_is_told_with_the_extra_that_brings_it(unpacked, sample):
    told = without_packages(unpacked, "score", *sample)
    assert told.returncode == 6
    assert told.stderr == (
        "citeboard: this needs a package that is not installed: numpy; "
        "`pip install 'citeboard[score]'` brings it\n"
    )


def test_a_missing_extra_is_told_before_the_input_is_read(unpacked):
    told = without_packages(unpacked, "gold", "clsumm-1a", "--gold", "no-such-file")
    assert told.returncode == 6
    assert "`pip install 'citeboard[score]'` brings it" in told.stderr
    assert "no-such-file" not in told.stderr


PRINTED = """
import sys
sys.path.append({unpacked!r})
from argparse import Namespace
from citeboard_client import actions
value = {{"value": 0.5, "low": None, "high": None, "n": 2, "scale": 1,
         "signature": "macro_f1|no_interval:fewer than three units contribute to this number"}}
run = {{"id": 1, "system": "A", "phase": 1, "submission": 1, "kind": "baseline", "exclusion": "",
       "scores": {{"metrics": {{"macro_f1": value}}}}}}
site = Namespace(get=lambda path: {{"rows": [], "shows": "scores"}})
sys.exit(actions._print_scores(site, run, Namespace(json=False)))
"""


def test_scores_are_printed_without_the_packages_of_others(unpacked):
    program = PRINTED.format(unpacked=str(unpacked))
    command = [sys.executable, "-I", "-S", "-c", program]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert "0.500000" in told.stdout
    assert (
        "no interval: fewer than three units contribute to this number" in told.stdout
    )


def test_a_run_is_checked_without_the_packages_of_others(unpacked, sample):
    told = without_packages(unpacked, "check", *sample)
    assert (told.returncode, told.stderr) == (0, "")
    assert "can be scored" in told.stdout


def interpreters() -> list[str]:
    """Those of 3.11 and newer that this machine has, by asking each name on the path and each of pyenv's."""
    folders = [
        *os.environ.get("PATH", "").split(os.pathsep),
        *Path.home().glob(".pyenv/versions/*/bin"),
    ]
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob("python3.*[0-9]")):
            ask = "import sys; print(sys.version_info >= (3, 11), '%d.%d' % sys.version_info[:2])"
            told = subprocess.run(
                [path, "-c", ask], capture_output=True, text=True, check=False
            )
            fits, _, version = told.stdout.strip().partition(" ")
            if told.returncode == 0 and fits == "True":
                found.setdefault(version, str(path))
    return list(found.values())


@pytest.mark.slow
def test_every_interpreter_that_is_found_reads_the_wheel_and_checks_a_run_with_it(
    unpacked, sample, tmp_path
):
    """Checking and scoring are done, or say which package this interpreter lacks."""
    found = interpreters()
    assert found
    for python in found:
        environment = {"PYTHONPATH": str(unpacked), "PATH": os.environ["PATH"]}

        def run(
            *words: str, python=python, environment=environment
        ) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [python, "-W", "error", *words],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )

        compiled = run("-m", "compileall", "-q", "-f", "-o", "0", str(unpacked))
        assert compiled.returncode == 0, (python, compiled.stdout)
        types = run("-m", "citeboard_scorer", "types", "--json")
        assert [kind["slug"] for kind in json.loads(types.stdout)] == list(
            task_types()
        ), (
            python,
            types.stderr,
        )
        for command in ("check", "score"):
            done = run("-m", "citeboard_scorer", command, *sample, "--json")
            needs = "citeboard: this needs a package that is not installed: "
            assert done.returncode == (6 if done.stderr.startswith(needs) else 0), (
                python,
                done.stderr,
            )


def test_a_plug_in_that_names_the_site_s_package_is_told_the_wheel_s_name(
    installed, tmp_path
):
    (tmp_path / "beside.py").write_text(
        "from tasks.types.base import TaskType\nTASK_TYPE = None\n"
    )
    about = tmp_path / "beside-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: beside\nVersion: 1.0\n"
    )
    (about / "entry_points.txt").write_text(
        "[citeboard.task_types]\nbeside = beside:TASK_TYPE\n"
    )
    told = subprocess.run(
        [installed, "types"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode not in (0, None)
    assert told.stdout == ""
    assert told.stderr.splitlines()[-1].endswith(
        "the task type beside:TASK_TYPE cannot be loaded: it imports tasks; "
        "here the name is citeboard_scorer.types"
    )
