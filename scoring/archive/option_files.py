"""The files that options name, in an archive: entailment labels that the site keeps, and parses."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from scoring.metrics.entailment.stored import stored_model
from scoring.models import EntailmentModel
from scoring.worker.entailment_labels import label_lines
from tasks.models import Season
from tasks.types import InputRefused
from tasks.types.positional_citations.given_parses import parsed
from tasks.types.positional_citations.options import PARSER

FOLDER = "labels"


class OptionFiles:
    """Writes each file once, whichever runs were scored with it, under the digest of its content."""

    def __init__(self, archive: Path, season: Season) -> None:
        self._archive, self._season = archive, season
        self._written: dict[tuple[str, str], str | None] = {}

    def of(self, options: Mapping[str, str]) -> dict[str, str]:
        """By option the path in the archive."""
        return {name: path for name in options if (path := self._path(name, options[name]))}

    def _path(self, name: str, value: str) -> str | None:
        key = name, value
        if key not in self._written:
            lines = self._lines(name, value)
            self._written[key] = self._write(lines) if lines is not None else None
        return self._written[key]

    def _lines(self, name: str, value: str) -> Iterator[bytes] | None:
        """None where the option names no file of a kind that is known."""
        model = stored_model({name: value})
        if model is not None:
            deciding = list(EntailmentModel.objects.deciding(model, self._season).filter(decided__gt=0))
            return (line.encode() for line in label_lines(deciding)) if deciding else None
        if name == PARSER.name and _is_parses(value):
            return iter([Path(value).read_bytes()])
        return None

    def _write(self, lines: Iterator[bytes]) -> str:
        digest = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=self._archive, delete=False) as file:
            for line in lines:
                digest.update(line)
                file.write(line)
        name = f"{FOLDER}/{digest.hexdigest()[:16]}.jsonl"
        (self._archive / FOLDER).mkdir(exist_ok=True)
        shutil.move(file.name, self._archive / name)
        (self._archive / name).chmod(0o644)
        return name


def _is_parses(value: str) -> bool:
    """Whatever else lies where an option points is no part of a season."""
    if not Path(value).is_file():
        return False
    try:
        parsed([], value)
    except InputRefused:
        return False
    return True
