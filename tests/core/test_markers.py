"""Tests of what databases do differently run on both: `both_databases` marks them."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
DIFFERS = re.compile(
    r"transaction=True|connection\.vendor|select_for_update|IntegrityError|cursor\(\)"
)
THREADS = re.compile(r"^(?:import threading|from threading import)", re.MULTILINE)
DATABASE = re.compile(r"django_db|transactional_db|child_environment")
#: They test what SQLite alone has.
ON_SQLITE_ALONE = {"core/test_kept_connections.py", "core/test_settings.py"}


def must_be_marked(text: str) -> bool:
    has_threads = THREADS.search(text) and DATABASE.search(text)
    return bool(DIFFERS.search(text) or has_threads)


def unmarked(folder: Path) -> set[str]:
    """The files without the marker, but for those that serve pages to a browser from a thread."""
    found = set()
    for path in folder.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        is_marked = "pytest.mark.both_databases" in text
        if path.parent.name != "browser" and must_be_marked(text) and not is_marked:
            found.add(path.relative_to(folder).as_posix())
    return found


def test_files_with_threads_transactions_or_statements_have_tests_for_both_databases():
    assert unmarked(TESTS) == ON_SQLITE_ALONE


@pytest.mark.parametrize(
    "line",
    [
        "pytestmark = pytest.mark.django_db(transaction=True)",
        "import threading\npytestmark = pytest.mark.django_db",
        "from threading import Thread\ndef test_one(transactional_db): ...",
        'if connection.vendor == "postgresql": ...',
        "Season.objects.select_for_update()",
        "with pytest.raises(IntegrityError): ...",
        "with connection.cursor() as cursor: ...",
    ],
)
def test_a_file_without_the_marker_is_named(tmp_path, line):
    (tmp_path / "test_new.py").write_text(line, encoding="utf-8")
    assert unmarked(tmp_path) == {"test_new.py"}


@pytest.mark.parametrize("line", ["import threading", "pytestmark = django_db"])
def test_threads_without_a_database_and_a_database_without_threads_need_no_marker(
    tmp_path, line
):
    (tmp_path / "test_new.py").write_text(line, encoding="utf-8")
    assert unmarked(tmp_path) == set()
