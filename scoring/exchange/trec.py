"""A task's released data in the forms of TREC, with what its provider for `ir_datasets` reads.

Topics are the XML of TREC's later tracks, documents its SGML, qrels and candidates its lines of fields. An id
may hold what the lines cannot: blanks and percent signs stand in it as in an address, `%20`.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import IO
from urllib.parse import quote

from scoring.exchange.citations import of_task
from scoring.exchange.given_out import GivenSplit
from tasks.gold.archive_writing import NO_TIME
from tasks.models import Task
from tasks.types.trec import TrecForm

#: What neither XML nor a line of text may hold.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
README = """{title}

Each folder is a split: topics.xml, documents.trec, candidates.trec where topics have documents of their own,
and qrels.txt where the gold is given out. With the scorer of this site installed:

    import ir_datasets
    from citeboard_scorer.adapters.ir_datasets_provider import register

    register("FOLDER, ZIP OR ADDRESS OF THIS ARCHIVE")
    ir_datasets.load("{name}/{split}")

Licence: {licence}

{citation}"""


def write_trec(out: IO[bytes], task: Task, form: TrecForm, splits: Sequence[GivenSplit]) -> None:
    name = f"citeboard/{task.season.slug}/{task.slug}"
    with zipfile.ZipFile(out, "w") as archive:
        about = {"name": name, "splits": [own.name for own in splits]}
        readme = README.format(
            title=f"{task.season}: {task}",
            name=name,
            split=splits[0].name,
            licence=task.season.licence or "not stated",
            citation=of_task(task).bibtex,
        )
        _put(archive, "collection.json", [json.dumps(about)])
        _put(archive, "README.txt", [readme])
        for own in splits:
            _split(archive, form, own)


def _split(archive: zipfile.ZipFile, form: TrecForm, own: GivenSplit) -> None:
    with own.inputs() as files:
        _put(archive, f"{own.name}/topics.xml", _topics(form.topics(files)))
        _put(archive, f"{own.name}/documents.trec", _documents(form.documents(files)))
        if form.candidates:
            _put(archive, f"{own.name}/candidates.trec", _candidates(form.candidates(files)))
    if own.has_gold:
        with own.answers() as files:
            lines = (f"{_id(topic)} 0 {_id(name)} {grade}\n" for topic, name, grade in form.qrels(files))
            _put(archive, f"{own.name}/qrels.txt", lines)


def _put(archive: zipfile.ZipFile, name: str, lines: Iterable[str]) -> None:
    entry = zipfile.ZipInfo(name, NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(entry, "w") as file:
        for line in lines:
            file.write(line.encode())


def _topics(topics: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<topics>\n'
    for name, text in topics:
        yield f'<topic number="{escape(_id(name))}"><query>{_text(text)}</query></topic>\n'
    yield "</topics>\n"


def _documents(documents: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in documents:
        yield f"<DOC>\n<DOCNO>{escape(_id(name))}</DOCNO>\n<TEXT>\n{_text(text)}\n</TEXT>\n</DOC>\n"


def _candidates(candidates: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """A run in the order of the collection, which says nothing of relevance."""
    for topic, names in candidates:
        for rank, name in enumerate(names, start=1):
            yield f"{_id(topic)} Q0 {_id(name)} {rank} 0 candidates\n"


def _id(name: str) -> str:
    return "".join(
        quote(sign) if sign.isspace() or sign == "%" or _CONTROL.match(sign) else sign for sign in name
    )


def _text(text: str) -> str:
    return escape(" ".join(_CONTROL.sub(" ", text).split()))
