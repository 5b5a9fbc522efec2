"""unarXive: papers of arXiv as JSON lines, marks and formulas as tokens in braces inside the text.

Saier, Krause and Färber 2023, unarXive 2022: All arXiv Publications Pre-Processed for NLP (JCDL).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scoring.tools.builders.contexts import add_article
from scoring.tools.builders.corpus import Article, Mark, Paper, Paragraph, Reference, Sink
from scoring.tools.builders.reading import (
    Record,
    add_records,
    corpus_files,
    listed,
    mapped,
    text,
    without_tokens,
)

_CITE = re.compile(r"\{\{cite:([^{}]+)\}\}")
_TOKEN = re.compile(r"\{\{(formula|figure|table|section|ref)[^{}]*\}\}")
#: What stands for a formula, figure or table in a sentence.
_WORDS = {
    "formula": "FORMULA",
    "figure": "FIGURE",
    "table": "TABLE",
    "section": "SECTION",
    "ref": "REFERENCE",
}


#: The files whose lines can be read on their own.
files = corpus_files


def fits_record(record: Record) -> bool:
    return "bib_entries" in record and isinstance(record.get("metadata"), dict)


def load(path: Path, sink: Sink) -> None:
    for file in files(path):
        add_records(file, add, sink)


def add(record: Record, file: Path, sink: Sink) -> None:
    add_article(_article(record), sink)


def _article(record: Record) -> Article:
    metadata = mapped(record.get("metadata"))
    abstract = record.get("abstract")
    return Article(
        paper=Paper(
            paper_id=text(record, "paper_id"),
            title=text(metadata, "title"),
            authors=text(metadata, "authors"),
            abstract=_words(
                text(mapped(abstract), "text") or text(record, "abstract") or text(metadata, "abstract")
            ),
            text=" ".join(
                _without_marks(text(paragraph, "text")) for paragraph in listed(record.get("body_text"))
            ),
            field=text(record, "discipline") or None,
            year=_year(text(record, "paper_id")),
            licence=text(metadata, "license"),
        ),
        references=[
            _reference(str(name), mapped(entry)) for name, entry in mapped(record.get("bib_entries")).items()
        ],
        paragraphs=list(_paragraphs(record)),
    )


def _reference(name: str, entry: Record) -> Reference:
    ids = mapped(entry.get("ids"))
    preprints = [text(mapped(preprint), "id") for preprint in listed(entry.get("contained_arXiv_ids"))]
    target = next(filter(None, [text(ids, "arxiv_id"), *preprints]), "")
    return Reference(
        ref_id=name,
        target=target or text(ids, "open_alex_id") or text(ids, "doi").lower() or name,
        raw=_words(text(entry, "bib_entry_raw")),
    )


def _paragraphs(record: Record) -> Iterator[Paragraph]:
    for paragraph in listed(record.get("body_text")):
        if text(paragraph, "content_type") not in ("", "paragraph"):
            continue
        content = _words(str(paragraph.get("text") or ""))
        marks = [
            Mark(start=found.start(), end=found.end(), text=found[0], ref_id=found[1])
            for found in _CITE.finditer(content)
        ]
        yield Paragraph(section=without_tokens(text(paragraph, "section")), text=content, marks=marks)


def _words(content: str) -> str:
    return _TOKEN.sub(lambda found: _WORDS[found[1]], content)


def _without_marks(content: str) -> str:
    return " ".join(_CITE.sub(" ", _words(content)).split())


def _year(paper_id: str) -> int | None:
    found = re.search(r"(?:^|/)(\d\d)(?:0[1-9]|1[0-2])\d?\.?\d{3,5}", paper_id)
    if not found:
        return None
    two = int(found[1])
    return 1900 + two if two >= 91 else 2000 + two
