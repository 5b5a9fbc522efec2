"""The sandbox of official programs: what a hostile program tries there, and what comes of it."""

import os
from pathlib import Path

import pytest

from citeboard.core.confined.limits import ResourceLimits
from citeboard.core.confinement import is_fully_confined
from scoring.metrics.official import ProgramCall, ProgramFailed, run_program_unconfined
from scoring.worker.program_sandbox import (
    MAX_OPEN_FILES,
    build_limits_of_program,
    build_program_pool,
    run_program_twice,
)
from tasks.types.declared.official_program import format_program_json

ROOT = Path(__file__).parents[2]
SECRET = "the gold of another run"
REFUSED = "the official program ended in PermissionError"
HOSTILE = {
    "open('/etc/passwd').read()": REFUSED,
    "import os; os.listdir('/')": REFUSED,
    "import os; os.fork()": REFUSED,
    "import subprocess; subprocess.run(['true'])": REFUSED,
    "import os; os.system('true') and os.kill(1, 9)": REFUSED,
    "import os; os.kill(os.getppid(), 9)": REFUSED,
    "import threading; threading.Thread(target=print).start()": "ended in RuntimeError",
    "import socket; socket.socket()": REFUSED,
    "import urllib.request as u; u.urlopen('http://127.0.0.1')": "ended in an error",
    "import os; os.symlink('/etc/passwd', '/app/output/scores.json')": REFUSED,
    "import os; os.link('/app/input/ref/g.txt', '/app/output/a')": REFUSED,
    "import os; os.mkfifo('/app/output/scores.json')": REFUSED,
    "import os; os.mkdir('/app/output/scores.json')": "left no numbers",
    "open('/tmp/citeboard-left-behind', 'w')": REFUSED,
    "import os, resource as r; r.prlimit(os.getppid(), r.RLIMIT_CPU)": REFUSED,
    "import resource as r; r.prlimit(0, r.RLIMIT_NOFILE, (9, 9))": REFUSED,
    "import resource as r; r.setrlimit(r.RLIMIT_CPU, (9, 9))": "ended in ValueError",
    "import os; os.sched_setaffinity(0, {0})": REFUSED,
    "import os; os.sched_setaffinity(os.getppid(), {0})": REFUSED,
    "import os; os.setpriority(os.PRIO_PROCESS, 0, 19)": REFUSED,
    "import os; os.nice(1)": REFUSED,
    "open('/app/output/a', 'wb').write(b'0' * (65 << 20))": "a file of more than 64 MB",
    "x = bytearray(1 << 40)": "it needed more than",
    "while True: pass": "it took more than 1 s of computing",
    "import time; time.sleep(60)": "it took more than",
    "raise KeyError(open('/app/input/ref/g.txt').read())": "ended in KeyError",
    "raise type(open('/app/input/ref/g.txt').read().strip(), (Exception,), {})": "ended in an error",
    "import sys; sys.exit('the gold of this run')": "ended with an exit code",
    "import os; os._exit(0)": "ended without an answer",
    "import random; open('/app/output/scores.txt', 'w').write(f'acc: {random.random()}')":
        "gives other numbers when it runs again",
    "open('/app/output/scores.json', 'w').write('{\"acc\": NaN}')": "left no finite number under “acc”",
    "open('/app/output/scores.json', 'w').write('{\"other\": 1}')": "left no number under “acc”",
    "open('/app/output/scores.json', 'w').write('[' * 100000)": "left no numbers",
}  # fmt: skip
#: Until they have used too much.
FILLING = {
    "b'0' * (60 << 20)": "it wrote more than 256 MB",
    "b''": "it wrote more than 1,000 files",
}


def called(source: str, *, text: str = "") -> ProgramCall:
    files = {"score.py": source}
    return ProgramCall(
        text=text or format_program_json("python3 score.py", files),
        columns=("acc",),
        gold=("g.txt", b"hush\n"),
        answers=("a.txt", b"hush\n"),
    )


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    if not is_fully_confined():
        pytest.skip("this machine has no sandbox for official programs")
    folder = tmp_path_factory.mktemp("programs")
    other = folder / "other"
    other.mkdir()
    (other / "gold").write_text(SECRET)
    text = called("pass").text
    pool = build_program_pool(text, root=ROOT, work_folder=folder)
    yield pool
    pool.close()


def limits(**changed: float):
    facts = {"cpu_seconds": 4, "wall_seconds": 120.0, "memory_mb": 1024, "file_mb": 64}
    return build_limits_of_program(ResourceLimits(**{**facts, **changed}))


def run(pool, source: str, **changed: float) -> float:
    return float(run_program_twice(pool, limits(**changed), called(source))[0])


@pytest.mark.parametrize("act", HOSTILE)
def test_what_a_hostile_program_does_ends_as_a_sentence_without_a_word_of_the_gold(
    pool, act, caplog, capfd
):
    wall = {"wall_seconds": 8.0} if "sleep" in act else {}
    with pytest.raises(ProgramFailed) as refused:
        run(pool, f"print(open('/app/input/ref/g.txt').read())\n{act}\n", **wall)
    [problem] = refused.value.problems
    assert HOSTILE[act] in problem.message, problem.message
    said = f"{problem} {caplog.text} {''.join(capfd.readouterr())}"
    assert "hush" not in said
    assert "the gold of" not in said
    assert not Path("/tmp/citeboard-left-behind").exists()


@pytest.mark.parametrize("content", FILLING)
def test_a_program_that_fills_the_disk_is_ended_and_its_folder_removed(pool, content):
    source = (
        "import itertools, time\nfor n in itertools.count():\n"
        f"    open(f'/app/output/{{n}}', 'wb').write({content})\n    time.sleep(0.002)\n"
    )
    with pytest.raises(ProgramFailed, match=FILLING[content]):
        run(pool, source, cpu_seconds=80)
    assert [path.name for path in pool._folder.iterdir()] == ["other"]


def test_files_without_a_name_count_as_long_as_they_are_open(pool):
    source = (
        "import os, time\nfiles = []\nfor n in range(5):\n"
        "    files.append(open(f'/app/output/{n}', 'wb'))\n"
        "    os.unlink(f'/app/output/{n}')\n"
        "    files[-1].write(b'0' * (60 << 20))\n"
        "time.sleep(100)\n"
    )
    with pytest.raises(ProgramFailed, match="it wrote more than 256 MB"):
        run(pool, source, cpu_seconds=80)


def test_a_program_has_few_files_open_at_once(pool):
    source = "files = [open(f'/app/output/{n}', 'w') for n in range(40)]"
    with pytest.raises(ProgramFailed, match="ended in OSError"):
        run(pool, source)


def test_a_program_may_read_its_own_limits(pool):
    source = (
        "import resource as r\n"
        "value = r.getrlimit(r.RLIMIT_NOFILE)[0] + r.prlimit(0, r.RLIMIT_NOFILE)[0]\n"
        "open('/app/output/scores.json', 'w').write('{\"acc\": %d}' % value)"
    )
    assert run(pool, source) == 2 * MAX_OPEN_FILES


def test_a_program_reads_no_gold_of_others_nor_code_nor_environment_of_the_site(
    pool, monkeypatch
):
    monkeypatch.setenv("CITEBOARD_SECRET", SECRET)
    paths = [
        *pool._folder.glob("other/gold"),
        ROOT / "platform" / "citeboard" / "settings.py",
        Path(f"/proc/{os.getppid()}/environ"),
        Path(f"/proc/{os.getpid()}/environ"),
    ]
    source = f"""
import os
read = [name for name, value in os.environ.items() if "gold of another" in value]
for path in {list(map(str, paths))} + ["../../../other/gold", "/app/../../other/gold"]:
    try:
        read.append(open(path).read())
    except OSError:
        pass
for module in ("citeboard.settings", "django.conf"):
    try:
        read.append(__import__(module))
    except Exception:
        pass
read = [one for one in read if "django" not in getattr(one, "__name__", "")]
open("/app/output/scores.json", "w").write('{{"acc": %d}}' % len(read))
"""
    assert run(pool, source) == 0


@pytest.mark.parametrize(
    "told", ['{"scores": {"acc": "1"}}', '{"scores": []}', "[]", '{"failed": "hush"}']
)
def test_what_a_program_writes_in_the_name_of_the_sandbox_is_not_believed(pool, told):
    source = (
        f"import os\nos.chdir('../..')\nopen('result.json', 'w').write({told!r})\n"
        "os._exit(0)\n"
    )
    with pytest.raises(ProgramFailed):
        run(pool, source)


BY_ARGUMENTS = """
import sys
gold, answers = (open(f"{sys.argv[1]}/{name}").read() for name in ("ref/g.txt", "res/a.txt"))
assert gold == answers
open(sys.argv[2] + "/scores.txt", "w").write("acc: 0.5\\n")
"""
BY_VARIABLES = """
import os, sys
from helper import value
assert os.environ["input"] == sys.argv[1]
open(os.path.join(sys.argv[2], "scores.txt"), "w").write(f"acc: {value}")
"""
BY_LITERALS = """
import os
from pathlib import Path
here = os.path.dirname(os.path.realpath(__file__))
assert open(os.path.join(here, "helper.py")).read()
assert (Path(__file__).resolve().parent / "helper.py").read_text()
root = "/app"
assert os.path.isdir(f"{root}/input/res")
open("/app/output/scores.json", "w").write('{"acc": 0.5}')
"""
BY_WORKING_FOLDER = """
assert open("helper.py").read()
open("../output/scores.txt", "w").write("acc: 0.5")
"""


@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("python /app/program/score.py /app/input /app/output", BY_ARGUMENTS),
        ("python3 $program/score.py ${input} $output", BY_VARIABLES),
        ("python3 score.py", BY_LITERALS),
        ("python3 score.py", BY_WORKING_FOLDER),
    ],
)
def test_commands_and_folders_of_both_platforms_work_here_and_offline(
    pool, command, source
):
    files = {"score.py": source, "helper.py": "value = 0.5"}
    call = called("", text=format_program_json(command, files))
    assert run_program_twice(pool, limits(), call).tolist() == [0.5]
    assert run_program_unconfined(call).tolist() == [0.5]


def test_a_program_has_the_packages_of_the_site(pool):
    call = called(
        "import numpy as np\nfrom scipy.stats import rankdata\nimport json\n"
        "json.dump({'acc': float(np.mean(rankdata([3, 1])))}, open('/app/output/scores.json', 'w'))"
    )
    own = build_program_pool(
        call.text, root=ROOT, work_folder=pool._folder / "packages"
    )
    try:
        assert run_program_twice(own, limits(), call).tolist() == [1.5]
    finally:
        own.close()
        (pool._folder / "packages").rmdir()


@pytest.mark.parametrize("name", ["scoring", "tasks", "citeboard"])
def test_a_module_named_like_a_package_of_the_site_is_that_of_the_program(pool, name):
    files = {
        "score.py": f"import {name}.own\nimport {name}\n{name}.own.write({name}.VALUE)",
        f"{name}/__init__.py": "VALUE = 0.5",
        f"{name}/own.py": "def write(value):\n"
        "    text = '{\"acc\": %s}' % value\n"
        "    open('/app/output/scores.json', 'w').write(text)",
    }
    call = called("", text=format_program_json("python3 score.py", files))
    assert run_program_twice(pool, limits(), call).tolist() == [0.5]
    assert run_program_unconfined(call).tolist() == [0.5]


@pytest.mark.parametrize(
    "name", ["scoring.metrics", "tasks.types", "citeboard.core.confined.pool"]
)
def test_a_program_cannot_import_the_site(pool, name):
    with pytest.raises(ProgramFailed, match="ended in ModuleNotFoundError"):
        run(pool, f"import {name}")
