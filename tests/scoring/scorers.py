"""Scorers that misbehave, in the place of the real one's process.

One server for all of them stays to the end of the run beside the real one; each takes a second to start.
"""

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from citeboard.core.confined.pool import ForkServer
from scoring.worker import child

SCRIPT = """
import functools, io, os, signal, sys, time
from pathlib import Path
from scoring.worker import confined
import scoring.__main__ as offline

scored, close = offline.main, os.closerange

def close_others(first, last):
    # From here on a scorer opens no file of ours.
    close(first, last)
    folder = Path(Path({place!r}).read_text())
    note = io.TextIOWrapper(open(folder / "note", "ab", buffering=0), write_through=True)
    names = {{**globals(), "note": note}}
    exec((folder / "body.py").read_text(), names)
    offline.main = names["misbehaving"]

os.closerange = close_others
confined.run_scorer_server()
"""
BODY = """
def misbehaving(arguments, **how):
    real = functools.partial(scored, **how)
{body}
"""

_server: ForkServer | None = None


def script_of(folder: Path, body: str) -> Path:
    """The program of a scorer that does what ``body`` says.

    ``real(arguments)`` in it is the real one, ``note`` a file of the folder, opened before all files were
    closed to it.
    """
    write_body(folder, body)
    return script_by_place(folder, folder)


def write_body(folder: Path, body: str) -> None:
    lines = body.strip("\n").splitlines()
    text = BODY.format(body="\n".join(f"    {line}" for line in lines))
    (folder / "body.py").write_text(text)


def script_by_place(folder: Path, acts_in: Path) -> Path:
    """A script in ``folder`` whose scorers do what the body in ``acts_in`` says when they begin."""
    script, place = folder / "scorer.py", folder / "place"
    script.write_text(SCRIPT.format(place=str(place)))
    place.write_text(str(acts_in))
    return script


@cache
def stage() -> Path:
    return Path(tempfile.mkdtemp(dir=os.environ["CITEBOARD_TEST_ROOT"]))


def put_in_place(monkeypatch, folder: Path, body: str) -> None:
    """From now on a scorer of this process does what ``body`` says."""
    write_body(folder, body)
    script = script_by_place(stage(), folder)
    command = (sys.executable, "-P", "-s", str(script))
    monkeypatch.setattr(child, "SCORER_SERVER_COMMAND", command)
    monkeypatch.setattr(child, "get_or_start_scorer_server", misbehaving_server)


_real_server = child.get_or_start_scorer_server


def misbehaving_server() -> ForkServer:
    """Return the server of scorers that misbehave, and leave the real one to the next test."""
    global _server  # noqa: PLW0603  (there is one of them in a process)
    kept, child._scorer_server = child._scorer_server, _server
    try:
        _server = _real_server()
    finally:
        child._scorer_server = kept
    return _server


def end() -> None:
    if _server is not None:
        _server.close()
