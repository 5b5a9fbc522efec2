"""WordNet from a folder with the files of its database, such as those of Debian's package `wordnet-base`."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.types.unavailable import Unavailable

NEEDED = (
    "data.noun",
    "data.verb",
    "data.adj",
    "data.adv",
    "index.noun",
    "index.verb",
    "index.adj",
    "index.adv",
)
#: How many lexicographer files there are; Debian leaves the list of their names out, and nothing asks for it.
LEXICOGRAPHER_FILES = 45


def missing(folder: Path) -> str:
    """What is not there, and empty where all of it is."""
    absent = [name for name in NEEDED if not (folder / name).is_file()]
    return f"{folder} has no {absent[0]}, which the database of WordNet has" if absent else ""


@lru_cache(maxsize=2)
def reader(folder: Path) -> Any:
    """NLTK's reader of the files in a folder. Raises Unavailable where it is not WordNet's."""
    if fault := missing(folder):
        raise Unavailable(fault)
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import PathPointer, SeekableUnicodeStreamReader

    class Place(PathPointer):
        """A file or folder anywhere; NLTK's own pointer takes only those of its data."""

        def __init__(self, path: Path) -> None:
            self.path = path

        def open(self, encoding: str | None = None) -> Any:
            return SeekableUnicodeStreamReader(io.BytesIO(self.path.read_bytes()), encoding)

        def join(self, name: str) -> Place:
            return Place(self.path / name)

        def file_size(self) -> int:
            return self.path.stat().st_size

    class Reader(WordNetCorpusReader):
        def open(self, name: str) -> Any:
            path = folder / name
            if name == "lexnames" and not path.is_file():
                return io.StringIO("".join(f"{n:02} {n} 0\n" for n in range(LEXICOGRAPHER_FILES)))
            # In memory: NLTK never closes its files.
            return SeekableUnicodeStreamReader(io.BytesIO(path.read_bytes()), "utf-8")

        def map_wn(self, version: str = "wordnet") -> None:
            """Of the one version that is there; other languages are not asked for."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(Place(folder), None)


class Synonyms:
    """What NLTK's METEOR asks of WordNet, each word looked up once."""

    def __init__(self, wordnet: Any) -> None:
        self._wordnet = wordnet
        self._known: dict[str, Sequence[Any]] = {}

    def synsets(self, word: str) -> Sequence[Any]:
        if word not in self._known:
            self._known[word] = self._wordnet.synsets(word)
        return self._known[word]
