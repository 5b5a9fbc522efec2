"""On which line a key of a TOML file stands, for files whose lines are known."""

import random
import tomllib

import pytest

from tasks.types.toml_lines import TomlKeyLines

#: What may stand behind a statement, or between two.
BETWEEN = ("\n", " # a = [1]\n", "#[b]\n", "\r\n", "\n\n", "\n# c\n\t ")
VALUES = ("1", '"a # b"', "[\n1, # ]\n2\n]", '"""\nx = 1\n"""', "{ y = 2 }", "'[z]'")


@pytest.mark.parametrize("seed", range(20))
def test_every_key_stands_on_the_line_that_it_was_written_on(seed):
    draw = random.Random(seed)
    text, wanted, table, arrays = "", {}, (), 0
    for number in range(12):
        kind = draw.choice(("key", "key", "table", "array"))
        line = text.count("\n") + 1
        if kind == "key":
            text += f"k{number} = {draw.choice(VALUES)}"
            wanted[*table, f"k{number}"] = line
        else:
            table = (f"t{number}",) if kind == "table" else ("many", arrays)
            text += f"[t{number}]" if kind == "table" else "[[many]]"
            wanted[table] = line
            if kind == "array":
                wanted.setdefault(("many",), line)
                arrays += 1
        text += draw.choice(BETWEEN)
    tomllib.loads(text)
    lines = TomlKeyLines(text)
    assert {path: lines.line(path) for path in wanted} == wanted
