"""What the wheel holds: one package of its own name, whole, and the same bytes each time."""

import ast
import base64
import csv
import hashlib
import importlib
import io
import re
import tomllib
import zipfile
from email.parser import Parser

import pytest

from citeboard.web.guides import build_site_wheel
from scoring.distribution import backend
from scoring.distribution.backend import (
    CLIENT_PACKAGE_NAME,
    SCORER_PACKAGE_NAME,
    MissingModuleInWheel,
    refuse_missing_modules,
    remove_comments,
    remove_continuation_indents,
    remove_docstring_indents,
    remove_private_annotations,
    remove_private_docstrings,
    replace_names_for_wheel,
    shorten_block_indents,
    tokenize_lines,
)


@pytest.fixture
def archive(wheel):
    with zipfile.ZipFile(wheel) as opened:
        yield opened


def info(archive, name: str) -> str:
    [path] = [
        path for path in archive.namelist() if path.endswith(f".dist-info/{name}")
    ]
    return archive.read(path).decode()


def test_it_installs_client_and_scorer_and_neither_tasks_nor_scoring(archive):
    tops = {path.partition("/")[0] for path in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        CLIENT_PACKAGE_NAME,
        SCORER_PACKAGE_NAME,
    }
    assert {
        f"{CLIENT_PACKAGE_NAME}/py.typed",
        f"{SCORER_PACKAGE_NAME}/py.typed",
    } <= set(archive.namelist())
    assert not [path for path in archive.namelist() if "/papers/" in path]


def test_no_import_in_it_leads_to_the_site_s_packages_or_to_django(archive):
    named = set()
    for path in archive.namelist():
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(archive.read(path))):
                if isinstance(node, ast.Import):
                    named |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    named.add(node.module.partition(".")[0])
    assert SCORER_PACKAGE_NAME in named
    assert named.isdisjoint(
        {"tasks", "scoring", "citeboard", "django", "rest_framework"}
    )


def test_its_metadata_is_what_the_project_says(archive, root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    told = Parser().parsestr(info(archive, "METADATA"))
    assert (told["Name"], told["Version"]) == ("citeboard", project["version"])
    assert told["Requires-Python"] == project["requires-python"]
    needed = told.get_all("Requires-Dist")
    assert (
        [name for name in needed if "extra" not in name]
        == project["dependencies"]
        == []
    )
    assert told.get_all("Classifier") == project["classifiers"]
    assert not re.search(r"\]\((?!https?:)", told.get_payload())
    assert [name for name in needed if 'extra == "models"' in name and "torch" in name]
    assert "citeboard login" in told.get_payload()


def test_its_record_has_the_digest_of_every_file(archive):
    rows = list(csv.reader(io.StringIO(info(archive, "RECORD"))))
    assert {row[0] for row in rows} == set(archive.namelist())
    for path, digest, size in rows:
        if digest:
            content = archive.read(path)
            own = (
                base64.urlsafe_b64encode(hashlib.sha256(content).digest())
                .rstrip(b"=")
                .decode()
            )
            assert (digest, int(size)) == (f"sha256={own}", len(content)), path


def test_the_same_sources_give_the_same_bytes_and_the_site_hands_them_out(root, wheel):
    assert backend.build_wheel_archive(root) == (wheel.name, wheel.read_bytes())
    assert (build_site_wheel().name, build_site_wheel().content) == (
        wheel.name,
        wheel.read_bytes(),
    )


def test_every_module_of_it_that_needs_no_model_can_be_imported(importable, archive):
    for path in archive.namelist():
        if path.endswith(".py") and "__main__" not in path:
            importlib.import_module(
                path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            )


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            "from tasks.types import Problem",
            f"from {SCORER_PACKAGE_NAME}.types import Problem",
        ),
        ("import scoring.metrics.base", f"import {SCORER_PACKAGE_NAME}.metrics.base"),
        (
            'MetricRef("x", "scoring.metrics.rouge:Rouge")',
            f'MetricRef("x", "{SCORER_PACKAGE_NAME}.metrics.rouge:Rouge")',
        ),
        (
            'iter_modules(path, "tasks.types.")',
            f'iter_modules(path, "{SCORER_PACKAGE_NAME}.types.")',
        ),
        (
            'f"scoring.metrics.aliice:{name}"',
            f'f"{SCORER_PACKAGE_NAME}.metrics.aliice:{{name}}"',
        ),
        (
            "from scoring.client.connection import SiteConnection",
            f"from {CLIENT_PACKAGE_NAME}.connection import SiteConnection",
        ),
        ("`python -m scoring types`", "`citeboard types`"),
        ("`make models` installs it", "`pip install 'citeboard[models]'` installs it"),
        ('_table("tasks.gold", paths)', '_table("tasks.gold", paths)'),
        ("the scoring.", "the scoring."),
        (
            "my_scoring.metrics, scoring.metrics_of",
            "my_scoring.metrics, scoring.metrics_of",
        ),
        ("scoring/metrics/base.py", "scoring/metrics/base.py"),
    ],
)
def test_names_of_modules_are_replaced_and_nothing_else(written, read):
    assert replace_names_for_wheel(written) == read


def edited_by_tree(edit, source: str) -> str:
    lines = source.splitlines(keepends=True)
    edit(lines, ast.parse(source))
    return "".join(lines)


def edited_by_tokens(edit, source: str) -> str:
    lines = source.splitlines(keepends=True)
    edit(lines, tokenize_lines(lines))
    return "".join(lines)


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("#: Seconds.\nWAIT = 3  # at most\n", "\nWAIT = 3\n"),
        ('TEXT = "# no comment"\n', 'TEXT = "# no comment"\n'),
        ('"""A text.\n# no comment\n"""\n', '"""A text.\n# no comment\n"""\n'),
        ("WORDS = (\n    'ä',  # Umlaut\n)\n", "WORDS = (\n    'ä',\n)\n"),
    ],
)
def test_comments_are_left_out_and_every_line_keeps_its_number(source, left):
    assert edited_by_tokens(remove_comments, source) == left


@pytest.mark.parametrize(
    ("source", "left"),
    [
        (
            'def _half(x):\n    """Halve\n\n    it."""\n    return x / 2\n',
            "def _half(x):\n\n\n\n    return x / 2\n",
        ),
        (
            'class _Row:\n    """One."""\n\n    def text(self):\n        """It."""\n        return ""\n',
            'class _Row:\n\n\n    def text(self):\n\n        return ""\n',
        ),
        (
            'class _Stop(Exception):\n    """Stop."""\n',
            'class _Stop(Exception):\n    """Stop."""\n',
        ),
        (
            'def half(x):\n    """Halve it."""\n    return x / 2\n',
            'def half(x):\n    """Halve it."""\n    return x / 2\n',
        ),
        (
            'def _text():\n    return """A text."""\n',
            'def _text():\n    return """A text."""\n',
        ),
    ],
)
def test_docstrings_of_private_names_are_left_out_and_every_line_keeps_its_number(
    source, left
):
    assert edited_by_tree(remove_private_docstrings, source) == left


def test_docstrings_keep_their_text_without_the_indentation_of_the_code():
    source = (
        'class Row:\n    """A row.\n\n        An example.\n    """\n\n'
        '    def text(self):\n        """Return\n        it.\n        """\n'
        '        return """\n        text"""\n'
    )
    narrow = edited_by_tree(remove_docstring_indents, source)
    assert narrow == (
        'class Row:\n    """A row.\n\n    An example.\n"""\n\n'
        '    def text(self):\n        """Return\nit.\n"""\n'
        '        return """\n        text"""\n'
    )
    before, after = ast.parse(source).body[0], ast.parse(narrow).body[0]
    assert ast.get_docstring(before) == ast.get_docstring(after)


def test_expressions_over_several_lines_are_indented_by_one_space():
    source = (
        "def total(rows):\n    return sum(\n        row.size\n\n        for row in rows\n"
        '    ) + len("""\n        text""")\n'
    )
    narrow = edited_by_tokens(remove_continuation_indents, source)
    assert narrow == (
        "def total(rows):\n    return sum(\n row.size\n\n for row in rows\n"
        ' ) + len("""\n        text""")\n'
    )
    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(narrow))


def test_blocks_are_indented_by_one_space_a_level():
    source = (
        "if size:\n    # why\n    for row in rows:\n        total += (\n            row)\n\n"
        '    text = """\n        text"""\nelse:\n    total = 0\n'
    )
    narrow = edited_by_tokens(shorten_block_indents, source)
    assert narrow == (
        "if size:\n    # why\n for row in rows:\n  total += (\n            row)\n\n"
        ' text = """\n        text"""\nelse:\n total = 0\n'
    )
    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(narrow))


def test_private_functions_lose_their_annotations_and_no_line():
    source = (
        "def _total(\n    rows: list[\n        int\n    ], *more: int, é: str = 'x'\n) -> int:\n"
        "    count: int = 0\n    return count\n"
    )
    assert edited_by_tree(remove_private_annotations, source) == (
        "def _total(\n    rows\n\n, *more, é = 'x'\n):\n"
        "    count: int = 0\n    return count\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "def total(rows: list[int]) -> int:\n    return sum(rows)\n",
        "class Row:\n    def total(self, scale: int) -> int:\n        return scale\n",
        "@singledispatch\ndef _total(rows: int) -> int:\n    return rows\n",
        "class _Row(NamedTuple):\n    size: int\n",
    ],
    ids=["public function", "public method", "decorated function", "fields"],
)
def test_other_annotations_stay(source):
    assert edited_by_tree(remove_private_annotations, source) == source


def test_a_module_is_edited_in_all_ways_at_once_and_every_line_keeps_its_number():
    source = (
        'class Row:\n    """A row.\n\n    Of scores.\n    """\n\n'
        "    def _total(self, rows: list[int]) -> int:  # in bytes\n"
        '        """Sum."""\n        return sum(\n            rows,  # all\n        )\n'
    )
    assert backend.shorten_module(source) == (
        'class Row:\n """A row.\n\nOf scores.\n"""\n\n'
        " def _total(self, rows):\n"
        "\n  return sum(\n rows,\n )\n"
    )


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("from scoring.worker import child", "scoring.worker"),
        ("import tasks.models", "tasks.models"),
        (f"from {SCORER_PACKAGE_NAME}.gone import name", f"{SCORER_PACKAGE_NAME}.gone"),
    ],
)
def test_a_module_that_would_be_missing_stops_the_build(line, named):
    with pytest.raises(
        MissingModuleInWheel, match=f"m.py imports {named}, which is not in the wheel"
    ):
        refuse_missing_modules(
            {f"{SCORER_PACKAGE_NAME}/m.py": f"def late():\n    {line}\n".encode()}
        )
