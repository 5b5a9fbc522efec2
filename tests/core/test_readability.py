"""The report of constructs that a reader has to unfold, as `make check` prints it."""

import shutil
import subprocess

import pytest

from scripts.readability import main


@pytest.fixture
def report(tmp_path, capsys):
    """Write modules below a root; return the exit code and the printed lines."""

    def run(**modules: str) -> tuple[int, list[str]]:
        for name, text in modules.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        code = main(tmp_path)
        return code, capsys.readouterr().out.splitlines()

    return run


def places(lines: list[str]) -> dict[str, list[str]]:
    """Return the printed places of each kind that has any."""
    found: dict[str, list[str]] = {}
    kind = ""
    for line in lines:
        if line.startswith("  "):
            found.setdefault(kind, []).append(line.strip())
        else:
            kind = line.removesuffix(":")
    return found


RESULTS = "three or more unnamed results"
INDEX = "tuple accessed by index"
COMPREHENSION = "assignment in a comprehension"
CONDITION = "assignment in a condition of three parts"
CONDITIONAL = "conditional within a conditional"
PACKING = "tuple unpacked to pack lines"
FORMATTER = "formatter switched off"

CONSTRUCTS = {
    "three returned values": (RESULTS, "def f(a):\n    return a, 1, 2\n", 2),
    "three yielded values": (RESULTS, "def f(a):\n    yield a, 1, 2\n", 2),
    "three results of a coroutine": (
        RESULTS,
        "async def f(a):\n    return a, 1, 2\n",
        2,
    ),
    "a parameter by index": (INDEX, "def f(row):\n    return row[3]\n", 2),
    "a parameter that is a tuple": (
        INDEX,
        "def f(row: tuple[int, str]):\n    return row[1]\n",
        2,
    ),
    "a parameter of a named type": (INDEX, "def f(row: Row):\n    return row[1]\n", 2),
    "an element of a loop": (INDEX, "for row in rows:\n    print(row[1])\n", 2),
    "an element of an element": (INDEX, "first = rows[0][1]\n", 1),
    "an attribute by index": (INDEX, "first = self.row[1]\n", 1),
    "an argument of a sort key": (INDEX, "rows.sort(key=lambda row: row[1])\n", 1),
    "a name that holds a written tuple": (INDEX, "row = (1, 2)\nlast = row[1]\n", 2),
    "a tuple in a function under a list of the module": (
        INDEX,
        "row = [1, 2]\ndef f(row):\n    return row[1]\n",
        3,
    ),
    "an assignment in a list": (
        COMPREHENSION,
        "x = [y for z in a if (y := f(z))]\n",
        1,
    ),
    "an assignment in a set": (COMPREHENSION, "x = {y for z in a if (y := f(z))}\n", 1),
    "an assignment in a dictionary": (
        COMPREHENSION,
        "x = {y: 1 for z in a if (y := f(z))}\n",
        1,
    ),
    "an assignment in a generator": (
        COMPREHENSION,
        "x = any((y := f(z)) for z in a)\n",
        1,
    ),
    "an assignment in three parts": (
        CONDITION,
        "if a and b and (c := d):\n    pass\n",
        1,
    ),
    "an assignment in three nested parts": (
        CONDITION,
        "if a and (b or (c := d)):\n    pass\n",
        1,
    ),
    "an assignment in parts with not": (
        CONDITION,
        "x = not (a or b) and (c := d)\n",
        1,
    ),
    "a conditional in the other case": (
        CONDITIONAL,
        "x = 1 if a else 2 if b else 3\n",
        1,
    ),
    "a conditional in an argument": (
        CONDITIONAL,
        "x = (\n    1 if a else\n    f(2 if b else 3)\n)\n",
        3,
    ),
    "a conditional in the condition": (
        CONDITIONAL,
        "x = 1 if (a if b else c) else 3\n",
        1,
    ),
    "an unpacked tuple": (PACKING, "x = (\n    1,\n    *(2, 3),\n)\n", 3),
    "an unpacked list": (PACKING, "x = [*[1, 2], 3]\n", 1),
    "an unpacked set": (PACKING, "x = [*{1, 2}, 3]\n", 1),
    "an unpacked tuple of arguments": (PACKING, "f(*(1, 2), a=3)\n", 1),
    "a skipped statement": (FORMATTER, "x = 1\ny = [1,2]  # fmt: skip\n", 2),
    "a skipped region": (FORMATTER, "# fmt: off\nx = [1,2]\n# fmt: on\n", 1),
    "a skip without spaces": (FORMATTER, "x = [1,2]  #fmt:skip\n", 1),
    "the other name of a skipped region": (
        FORMATTER,
        "# yapf: disable\nx = [1,2]\n",
        1,
    ),
}


@pytest.mark.parametrize(("kind", "text", "line"), CONSTRUCTS.values(), ids=CONSTRUCTS)
def test_a_construct_to_unfold_is_printed_with_its_file_and_line(
    report, kind, text, line
):
    assert places(report(tasks__jobs__queue=text)[1]) == {
        kind: [f"tasks/jobs/queue.py:{line}"]
    }


LOOKALIKES = {
    "two returned values": "def f(a):\n    return a, 1\n",
    "a returned list": "def f(a):\n    return [a, 1, 2]\n",
    "a returned tuple of unknown length": "def f(a):\n    return *a, 1, 2\n",
    "a returned named tuple": "def f(a):\n    return Row(a, 1, 2)\n",
    "a sort key of three parts": "rows.sort(key=lambda row: (row.a, row.b, row.c))\n",
    "the first element": "def f(row):\n    return row[0]\n",
    "the last element": "def f(row):\n    return row[-1]\n",
    "a slice": "def f(row):\n    return row[1:]\n",
    "a text as key": "def f(row):\n    return row['a']\n",
    "a variable index": "def f(row, i):\n    return row[i]\n",
    "an element that is assigned": "def f(row):\n    row[1] = 2\n    row[1] += 1\n    del row[1]\n",
    "an axis of an array": "def f(a):\n    return a[:, 1]\n",
    "a shape": "def f(a):\n    return a.shape[1]\n",
    "a part of a path": "def f(path):\n    return path.parents[2] / path.parts[1]\n",
    "a result of a call": "first = text.split()[1]\n",
    "a group of a match": "match = re.match(p, t)\nfirst = match[1]\n",
    "an array": "def f(a: np.ndarray):\n    return a[1]\n",
    "a typed array": "def f(a: NDArray[np.int64]):\n    return a[1]\n",
    "a list": "def f(a: list[int]):\n    return a[1]\n",
    "a quoted list": "def f(a: 'list[int]'):\n    return a[1]\n",
    "an annotated variable": "a: dict[int, str] = b\nx = a[1]\n",
    "a list of the module": "a = [1, 2]\ndef f():\n    return a[1]\n",
    "a list of the function around": "def f(a: list):\n    def g():\n        return a[1]\n    return g\n",
    "a dictionary": "a = {1: 2}\nx = a[1]\n",
    "a literal type": "x: Literal[1] = 1\n",
    "an assignment in a condition": "if a := f():\n    pass\n",
    "an assignment in two parts": "if a and (b := f()):\n    pass\n",
    "an assignment of three parts": "if (x := a and b and c):\n    pass\n",
    "a comprehension without assignment": "x = [y for z in a for y in z if y and z and a]\n",
    "two conditionals side by side": "x = (1 if a else 2) + (3 if b else 4)\n",
    "a conditional in a statement": "if a:\n    x = 1 if b else 2\nelse:\n    x = 3\n",
    "an unpacked name": "x = (*a, 1)\n",
    "an unpacked comprehension": "x = (*(y for y in a), 1)\n",
    "an unpacked conditional": "x = (*([1] if a else []), 2)\n",
    "an unpacked dictionary": "f(**{'a': 1})\n",
    "an unpacked target": "a, *(b, c) = d\n",
    "a text about the formatter": 'x = "# fmt: skip"\n',
    "the formatter switched on": "# fmt: on\nx = 1\n",
}


@pytest.mark.parametrize("text", LOOKALIKES.values(), ids=LOOKALIKES)
def test_a_lookalike_is_not_printed(report, text):
    assert places(report(tasks__jobs__queue=text)[1]) == {}


def test_a_file_has_one_line_with_all_places_of_a_kind(report):
    text = "def f(row):\n    return row[1]\n\n\ndef g(row):\n    return row[2]\n"
    assert places(report(scoring__a=text)[1]) == {INDEX: ["scoring/a.py:2,6"]}


def test_places_are_counted_by_kind_and_by_package(report):
    one, two = "x = a.b[1]\n", "x = a.b[1]\ny = 1 if a else 2 if b else 3\n"
    lines = report(
        platform__citeboard__core__a=two,
        platform__citeboard__a=one,
        tasks__jobs__deep__a=two,
        scoring__a=one,
    )[1]
    assert (
        f"by kind: {RESULTS} 0; {INDEX} 4; {COMPREHENSION} 0; {CONDITION} 0; {CONDITIONAL} 2"
        in lines[-2]
    )
    assert (
        lines[-1]
        == "by package: platform/citeboard/core 2; tasks/jobs 2; platform/citeboard 1; scoring 1"
    )


@pytest.mark.parametrize("name", ["tests__a", "scripts__a", "scoring__migrations__a"])
def test_tests_scripts_and_migrations_are_not_read(report, name):
    code, lines = report(**{name: "x = [*(1, 2)]\n"})
    assert (code, places(lines)) == (0, {})


def test_one_tuple_unpacked_to_pack_lines_fails(report):
    code, lines = report(scoring__a="x = [*(1, 2)]\n")
    assert code == 1
    assert lines[-1] == f"FAILED: {PACKING} 1; the limit is 0"


def test_five_places_without_the_formatter_pass(report):
    code, lines = report(scoring__a="x = 1  # fmt: skip\n" * 4, tasks__a="# fmt: off\n")
    assert code == 0
    assert "FAILED" not in "\n".join(lines)


def test_six_places_without_the_formatter_fail(report):
    code, lines = report(scoring__a="x = 1  # fmt: skip\n" * 5, tasks__a="# fmt: off\n")
    assert code == 1
    assert lines[-1] == f"FAILED: {FORMATTER} 6; the limit is 5"


def test_any_number_of_other_constructs_passes(report):
    allowed = [
        text
        for kind, text, _ in CONSTRUCTS.values()
        if kind not in (PACKING, FORMATTER)
    ]
    code, lines = report(
        **{f"tasks__m{number}": text for number, text in enumerate(allowed * 3)}
    )
    assert set(places(lines)) == {RESULTS, INDEX, COMPREHENSION, CONDITION, CONDITIONAL}
    assert code == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_file_that_git_ignores_is_not_read(report, tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("local.py\n")
    lines = report(tasks__local="x = a.b[1]\n", tasks__new="x = a.b[1]\n")[1]
    assert places(lines) == {INDEX: ["tasks/new.py:1"]}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_deleted_file_that_git_still_lists_is_left_out(report, tmp_path):
    report(tasks__gone="x = a.b[1]\n")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "add", "tasks"], check=True)
    (tmp_path / "tasks" / "gone.py").unlink()
    assert places(report(tasks__new="x = 1\n")[1]) == {}


def test_the_folders_are_walked_where_git_is_not_installed(report, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert places(report(tasks__a="x = a.b[1]\n")[1]) == {INDEX: ["tasks/a.py:1"]}


def test_a_module_that_is_no_python_is_an_error(report):
    with pytest.raises(SyntaxError):
        report(tasks__a="x = (\n")
