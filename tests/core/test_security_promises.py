"""Each sentence of SECURITY.md on what we hold names tests, and these exist."""

import ast
import re
from pathlib import Path

import pytest

NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def promises(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return by sentence the files and functions of its tests."""
    section = text.partition("## What we hold")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return {
        sentence.strip("| "): NAMED.findall(tests)
        for sentence, _, tests in (row.partition(" | ") for row in rows)
    }


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing(text: str, root: Path) -> list[str]:
    """Return the tests that a text names and nobody has written."""
    return [
        f"{file}::{name}"
        for named in promises(text).values()
        for file, name in named
        if not (root / file).is_file() or (name and name not in functions(root / file))
    ]


def test_each_sentence_names_a_test(root):
    found = promises((root / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(found) >= 8
    assert [sentence for sentence, named in found.items() if not named] == []


def test_each_test_that_a_sentence_names_exists(root):
    assert missing((root / "SECURITY.md").read_text(encoding="utf-8"), root) == []


@pytest.mark.parametrize(
    "named",
    [
        "tests/core/test_nowhere.py",
        "tests/core/test_security_promises.py::test_none",
        "tests/core/test_security_promises.py::promise",
    ],
)
def test_a_test_that_does_not_exist_is_found(root, named):
    text = f"## What we hold\n\n| we hold | tests |\n| --- | --- |\n| A word. | `{named}` |\n"
    assert [own.removesuffix("::") for own in missing(text, root)] == [named]
