"""Names of processes: each is one process of one machine, and of no other."""

import os
import subprocess
import sys
from functools import partial

import psutil
import pytest

from citeboard.core.env import choose_work_folder, create_private_folder
from citeboard.core.processes import (
    build_process_group_name,
    build_unique_process_name,
    extract_host_name,
    find_machine_name,
)
from citeboard.ops.serving import touch_workers_watched_file
from tests.faults.namespaces import in_namespaces

TELL = (
    "from citeboard.core.processes import build_unique_process_name; "
    "print(build_unique_process_name(), flush=True)"
)


@pytest.fixture
def environment(root):
    return {**os.environ, "PYTHONPATH": str(root / "platform")}


def test_a_process_is_named_by_machine_group_and_start_and_alike_by_all_who_look(
    environment,
):
    process = subprocess.Popen(
        [sys.executable, "-c", f"{TELL}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    name = process.stdout.readline().strip()
    assert name == build_unique_process_name(process.pid)
    assert name.startswith(build_process_group_name(process.pid))
    assert name.startswith(f"{find_machine_name()}:{process.pid}.")
    process.communicate("\n")
    assert len(name) <= 80, "as long as the database keeps"


def test_another_process_under_the_same_number_has_another_name():
    assert build_process_group_name(1) != build_process_group_name(1).replace(
        ":1.", ":1.9"
    )
    assert build_unique_process_name().rpartition(".")[2].isdecimal()
    gone = 2**22 + 1
    assert not psutil.pid_exists(gone)
    assert build_process_group_name(gone) == f"{find_machine_name()}:{gone}.gone:"


def test_the_host_is_read_back_from_a_name(monkeypatch):
    assert extract_host_name(build_unique_process_name()) == os.uname().nodename[:32]


def test_in_a_container_the_same_number_is_another_process(environment):
    run = partial(
        subprocess.run, capture_output=True, text=True, check=True, env=environment
    )
    names = [
        run(in_namespaces([sys.executable, "-c", TELL], host=host)).stdout.strip()
        for host in ("worker-1", "worker-2", "worker-2")
    ]
    assert len(set(names)) == 3
    assert [extract_host_name(name) for name in names] == [
        "worker-1",
        "worker-2",
        "worker-2",
    ]


def test_each_user_and_each_site_has_a_work_folder_of_its_own(tmp_path):
    assert choose_work_folder(tmp_path / "a") != choose_work_folder(tmp_path / "b")
    assert not choose_work_folder(tmp_path).is_relative_to(tmp_path)


def test_a_work_folder_where_anybody_may_make_one_must_be_our_own(tmp_path):
    tmp_path.chmod(0o1777)
    assert create_private_folder(tmp_path / "own").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    for name in ("open", "link"):
        with pytest.raises(
            Exception, match=f"{name} is not a folder of this user alone"
        ):
            create_private_folder(tmp_path / name)


def test_the_watch_over_workers_makes_a_work_folder_that_scorers_take(
    tmp_path, settings
):
    """A site may be started before a worker of its machine."""
    tmp_path.chmod(0o1777)
    settings.WORK_DIR = tmp_path / "own"
    touch_workers_watched_file()
    assert list(settings.WORK_DIR.iterdir())
    assert create_private_folder(settings.WORK_DIR) == settings.WORK_DIR
