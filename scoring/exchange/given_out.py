"""The data of a task that a reader may have, split by split, read from the storage: inputs, and open gold."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from citeboard.core import storage
from citeboard.core.release import release
from scoring.board.open_gold import may_have_gold
from scoring.exchange.packed import file_name
from scoring.exchange.released import released_phases
from tasks.models import Gold, Phase, Task
from tasks.seasons.access import may_have_inputs
from tasks.types.files import InputFile, open_input


@dataclass(frozen=True)
class GivenSplit:
    phase: Phase
    gold: Gold
    has_gold: bool

    @property
    def name(self) -> str:
        return file_name(self.phase.split)

    @contextmanager
    def inputs(self) -> Iterator[list[InputFile]]:
        with _unpacked(self.gold.public) as files:
            yield files

    @contextmanager
    def answers(self) -> Iterator[list[InputFile]]:
        """The gold; no files where it is not given out."""
        if not self.has_gold:
            yield []
            return
        with _unpacked(self.gold.file) as files:
            yield files


def given_out(task: Task, viewer: object) -> list[GivenSplit]:
    """The splits whose inputs are released, where the viewer has accepted the season's terms."""
    return [
        GivenSplit(phase, gold, may_have_gold(phase, viewer))
        for phase, gold in released_phases(task).items()
        if may_have_inputs(viewer, phase)
    ]


def etag_of(splits: Sequence[GivenSplit], form: str) -> str:
    """The same as long as a file made of them is the same."""
    stated = [form, release(), *(f"{own.gold.public} {own.gold.file} {own.has_gold}" for own in splits)]
    return f'"{hashlib.sha256("|".join(stated).encode()).hexdigest()}"'


@contextmanager
def _unpacked(name: str) -> Iterator[list[InputFile]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        with storage.gold.open(name) as kept, path.open("wb") as copy:
            shutil.copyfileobj(kept, copy)
        yield open_input(path)
