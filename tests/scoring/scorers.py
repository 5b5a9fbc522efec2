"""Scorers that misbehave, in the place of the real one's process."""

import sys
from pathlib import Path

SCRIPT = """
import os, signal, sys, time
from scoring.worker import confined
import scoring.__main__ as offline

real = offline.main
note = open({note!r}, "a")

def misbehaving(arguments):
{body}

offline.main = misbehaving
sys.exit(confined.main())
"""


def script_of(folder: Path, body: str) -> Path:
    """The program of a scorer that does what ``body`` says.

    ``real(arguments)`` in it is the real one, ``note`` a file of the folder, opened before all files were
    closed to it.
    """
    script = folder / "scorer.py"
    lines = body.strip("\n").splitlines()
    script.write_text(
        SCRIPT.format(body="\n".join(f"    {line}" for line in lines), note=str(folder / "note"))
    )
    return script


def put_in_place(monkeypatch, folder: Path, body: str) -> None:
    """From now on a scorer of this process does what ``body`` says."""
    script = script_of(folder, body)
    monkeypatch.setattr("scoring.worker.child.COMMAND", (sys.executable, "-P", "-s", str(script)))
