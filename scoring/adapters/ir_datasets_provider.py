"""Register a task's `trec.zip` with `ir_datasets`, from a folder, a zip file or a URL.

from citeboard_scorer.adapters.ir_datasets_provider import register

register("https://board.example.org/seasons/2027/recommendation/trec.zip")
ir_datasets.load("citeboard/2027/recommendation/test").qrels
"""

import tempfile
import urllib.request
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import ir_datasets
from ir_datasets.formats import (
    GenericDoc,
    GenericQuery,
    TrecDocs,
    TrecQrels,
    TrecScoredDocs,
    TrecXmlQueries,
)
from ir_datasets.util import LocalDownload

from tasks.types.guarded.json_reader import read_json

RELEVANCE_LEVEL_DESCRIPTIONS = {
    0: "not cited here",
    1: "cited here; above 1 as the organisers graded it",
}
DOWNLOAD_TIMEOUT_SECONDS = 60


class UnescapedTrecDocuments(TrecDocs):
    """Iterates over the documents of a collection with their original texts, in which
    SGML escapes are resolved.
    """

    def docs_iter(self) -> Iterator[GenericDoc]:
        for document in super().docs_iter():
            yield GenericDoc(unescape(document.doc_id), unescape(document.text).strip())


def register(source: str | Path, into: Path | None = None) -> list[str]:
    """Register a collection and return the registered names.

    A zip file is unpacked to the folder ``into``, by default a new folder.
    """
    folder = _find_or_download_collection_folder(str(source), into)
    about = read_json((folder / "collection.json").read_bytes())
    named = {f"{about['name']}/{split}": folder / split for split in about["splits"]}
    for name, split in named.items():
        ir_datasets.registry.register(name, build_data_set_of_split(split))
    return list(named)


def build_data_set_of_split(split: Path) -> Any:
    """Return the `ir_datasets` data set of a split, with documents, queries or
    relevance judgements only if the split's folder contains them.
    """
    topics = TrecXmlQueries(
        _open_local_file(split / "topics.xml"),
        GenericQuery,
        {"query": "text"},
        lang="en",
    )
    parts: list[Any] = [
        UnescapedTrecDocuments(
            _open_local_file(split / "documents.trec"), parser="text", lang="en"
        ),
        topics,
    ]
    if (split / "candidates.trec").is_file():
        parts.append(TrecScoredDocs(_open_local_file(split / "candidates.trec")))
    if (split / "qrels.txt").is_file():
        parts.append(
            TrecQrels(
                _open_local_file(split / "qrels.txt"), RELEVANCE_LEVEL_DESCRIPTIONS
            )
        )
    return ir_datasets.Dataset(*parts)


def _open_local_file(path: Path) -> LocalDownload:
    return LocalDownload(path, mkdir=False)


def _find_or_download_collection_folder(source: str, into: Path | None) -> Path:
    if not source.startswith(("https://", "http://")) and Path(source).is_dir():
        return Path(source)
    folder = into or Path(tempfile.mkdtemp(prefix="citeboard-"))
    path = Path(source)
    if source.startswith(("https://", "http://")):
        path = folder / "trec.zip"
        folder.mkdir(parents=True, exist_ok=True)
        with (
            urllib.request.urlopen(source, timeout=DOWNLOAD_TIMEOUT_SECONDS) as answer,  # noqa: S310
            path.open("wb") as file,
        ):
            while part := answer.read(1 << 20):
                file.write(part)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder
