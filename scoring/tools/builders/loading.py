"""Which form a corpus has, and the loader that reads it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scoring.tools.builders.corpus import Sink
from scoring.tools.builders.reading import Record, corpus_files, records
from tasks.types.problems import InputRefused, Problem

#: The name of each form and the module that reads it.
FORMS = {
    "lines": "scoring.tools.builders.load_lines",
    "clsumm": "scoring.tools.builders.load_clsumm",
    "unarxive": "scoring.tools.builders.load_unarxive",
    "s2orc": "scoring.tools.builders.load_s2orc",
    "scixml": "scoring.tools.builders.load_scixml",
}
#: The forms whose texts are in sentences.
SENTENCES = ("lines", "scixml", "clsumm")


@dataclass(frozen=True)
class Loader:
    """What reads a form: the whole corpus, or line by line the files whose lines stand on their own.

    A form whose files belong together has neither ``files`` nor ``add``.
    """

    name: str
    load: Callable[[Path, Sink], None]
    files: Callable[[Path], Sequence[Path]] | None
    add: Callable[[Record, Path, Sink], None] | None
    #: Whether its texts are paragraphs, and not sentences.
    has_paragraphs: bool = True


def loader(form: str, path: Path) -> Loader:
    """The form's loader; `auto` looks at the corpus. Raises InputRefused where no form fits."""
    if not path.exists():
        raise InputRefused([Problem(file=str(path), message="there is no such file or folder")])
    name = form if form != "auto" else _form_of(path)
    module = importlib.import_module(FORMS[name])
    own = {part: getattr(module, part, None) for part in ("files", "add")}
    return Loader(name, module.load, **own, has_paragraphs=name not in SENTENCES)


def _form_of(path: Path) -> str:
    modules = {name: importlib.import_module(module) for name, module in FORMS.items()}
    for name, module in modules.items():
        if hasattr(module, "fits") and module.fits(path):
            return name
    first = next((record for file in corpus_files(path) for record in records(file)), None)
    for name, module in modules.items():
        if first is not None and hasattr(module, "fits_record") and module.fits_record(first):
            return name
    raise InputRefused(
        [
            Problem(
                file=str(path),
                message="the form of this corpus is not known",
                expected=f"one of {', '.join(FORMS)}",
            )
        ]
    )
