"""Scorers that misbehave, in the place of the real one's process."""

import sys
from pathlib import Path

SCRIPT = """
import functools, io, os, signal, sys, time
from scoring.worker import confined
import scoring.__main__ as offline

scored = offline.main
note = io.TextIOWrapper(open({note!r}, "ab", buffering=0), write_through=True)
close = os.closerange

def close_others(first, last):
    close(first, note.fileno())
    close(note.fileno() + 1, last)

def misbehaving(arguments, **how):
    real = functools.partial(scored, **how)
{body}

os.closerange, offline.main = close_others, misbehaving
confined.main()
"""


def script_of(folder: Path, body: str) -> Path:
    """The program of a scorer that does what ``body`` says.

    ``real(arguments)`` in it is the real one, ``note`` a file of the folder, opened before all files were
    closed to it.
    """
    script = folder / "scorer.py"
    lines = body.strip("\n").splitlines()
    script.write_text(
        SCRIPT.format(
            body="\n".join(f"    {line}" for line in lines), note=str(folder / "note")
        )
    )
    return script


def put_in_place(monkeypatch, folder: Path, body: str) -> None:
    """From now on a scorer of this process does what ``body`` says."""
    script = script_of(folder, body)
    monkeypatch.setattr(
        "scoring.worker.child.SCORER_SERVER_COMMAND",
        (sys.executable, "-P", "-s", str(script)),
    )
