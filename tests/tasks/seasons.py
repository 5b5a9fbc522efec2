"""A season folder of our own, and the command that loads it."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.factories import run_bytes, write_corpus

SEASON = """\
[season]
slug = "small"
title = "A small season"
organisers = ["ada@example.org"]
public = true
[[tasks]]
slug = "1a"
title = "Cited text spans"
type = "clsumm-1a"
rules = ["corrected", "official-2017"]

[[tasks.gold]]
paths = ["corpus"]

[[tasks.phases]]
slug = "practice"
title = "Practice"
opens = 2020-01-01T00:00:00Z
closes = 2090-01-01T00:00:00Z
runs_per_day = 3
board = "organisers"
[[tasks.phases]]
slug = "final"
title = "Final"
opens = 2020-03-01T12:00:00
closes = 2090-05-08T23:59:59
time_zone = "Europe/Rome"
runs_in_total = 5
board = "nobody"
counting = "last"

[[tasks.baselines]]
system = "Lead"
run = "lead.jsonl"
"""


def write_season(folder: Path, text: str = SEASON) -> Path:
    """A folder with a season file, its corpus and its baseline."""
    write_corpus(folder / "corpus")
    (folder / "lead.jsonl").write_bytes(run_bytes())
    (folder / "season.toml").write_text(text, encoding="utf-8")
    return folder


def edit(folder: Path, *replacements: tuple[str, str]) -> None:
    """Change the season file; what is to be replaced must be there."""
    path = folder / "season.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")


def load(folder: Path, **options) -> list[str]:
    """What the command says has changed; its lines on single keys are those of `keys_told`."""
    return [line for line in _said(folder, **options) if not line.startswith("  ")]


def keys_told(folder: Path, **options) -> list[str]:
    """By key what it was and is, as the command says it."""
    return [line.strip() for line in _said(folder, **options) if line.startswith("  ")]


def _said(folder: Path, **options) -> list[str]:
    out = io.StringIO()
    call_command("load_season", str(folder), stdout=out, **options)
    return out.getvalue().splitlines()


def conflicts(folder: Path, **options) -> list[str]:
    """The lines in which the command says what it would undo; the test fails where it does not."""
    err = io.StringIO()
    with pytest.raises(CommandError) as failed:
        call_command(
            "load_season", str(folder), stdout=io.StringIO(), stderr=err, **options
        )
    lines = err.getvalue().splitlines()
    assert failed.value.returncode == 3, failed.value
    assert str(failed.value).startswith(f"{len(lines)} key")
    return lines


def refusals(folder: Path, **options) -> list[str]:
    """The lines in which the command says why it refuses; the test fails where it does not."""
    err = io.StringIO()
    with pytest.raises(CommandError) as failed:
        call_command(
            "load_season", str(folder), stdout=io.StringIO(), stderr=err, **options
        )
    lines = err.getvalue().splitlines()
    count = f"{len(lines)} problem{'' if len(lines) == 1 else 's'}"
    assert (str(failed.value), failed.value.returncode) == (
        f"{count}; nothing was loaded",
        2,
    )
    return lines
