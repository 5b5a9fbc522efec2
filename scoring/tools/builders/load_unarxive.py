"""Load unarXive, which has papers from arXiv as JSON Lines, with tokens in braces in
place of citations and formulas.

Saier, Krause and Färber (JCDL 2023) describe the corpus in “All arXiv Publications
Pre-Processed for NLP”.
"""

import re
from pathlib import Path

from scoring.tools.builders.contexts import add_article
from scoring.tools.builders.corpus import Article, Mark, Paper, Paragraph, Reference
from scoring.tools.builders.reading import (
    Record,
    corpus_files,
    listed,
    mapped,
    text,
    without_tokens,
)
from scoring.tools.builders.store import Store

_CITE = re.compile(r"\{\{cite:([^{}]+)\}\}")
_TOKEN = re.compile(r"\{\{(formula|figure|table|section|ref)[^{}]*\}\}")
#: Words that replace the tokens of formulas, figures and tables in sentences.
_WORDS = {name: name.upper() for name in ("formula", "figure", "table", "section")} | {
    "ref": "REFERENCE"
}

#: Return the files whose lines can be read independently.
files = corpus_files


def fits_record(record: Record) -> bool:
    return "bib_entries" in record and isinstance(record.get("metadata"), dict)


def add(record: Record, file: Path, store: Store) -> None:
    metadata, abstract = mapped(record.get("metadata")), mapped(record.get("abstract"))
    body, paper_id = listed(record.get("body_text")), text(record, "paper_id")
    references = []
    for name, value in mapped(record.get("bib_entries")).items():
        entry = mapped(value)
        ids = mapped(entry.get("ids"))
        preprints = [
            text(mapped(preprint), "id")
            for preprint in listed(entry.get("contained_arXiv_ids"))
        ]
        ids_of = (
            text(ids, "arxiv_id"),
            *preprints,
            text(ids, "open_alex_id"),
            text(ids, "doi").lower(),
        )
        target = next(filter(None, ids_of), str(name))
        raw = _words(text(entry, "bib_entry_raw"))
        references.append(Reference(ref_id=str(name), target=target, raw=raw))
    paragraphs = []
    for paragraph in body:
        if text(paragraph, "content_type") in ("", "paragraph"):
            content = _words(str(paragraph.get("text") or ""))
            cites = _CITE.finditer(content)
            marks = [
                Mark(start=cite.start(), end=cite.end(), text=cite[0], ref_id=cite[1])
                for cite in cites
            ]
            section = without_tokens(text(paragraph, "section"))
            paragraphs.append(Paragraph(section=section, text=content, marks=marks))
    unmarked = (
        " ".join(_CITE.sub(" ", _words(text(part, "text"))).split()) for part in body
    )
    dated = re.search(r"(?:^|/)(\d\d)(?:0[1-9]|1[0-2])\d?\.?\d{3,5}", paper_id)
    year = int(dated[1]) if dated else None
    paper = Paper(
        paper_id=paper_id,
        title=text(metadata, "title"),
        authors=text(metadata, "authors"),
        abstract=_words(
            text(abstract, "text")
            or text(record, "abstract")
            or text(metadata, "abstract")
        ),
        text=" ".join(unmarked),
        field=text(record, "discipline") or None,
        year=None if year is None else 1900 + year if year >= 91 else 2000 + year,
        licence=text(metadata, "license"),
    )
    add_article(
        Article(paper=paper, references=references, paragraphs=paragraphs), store
    )


def _words(content: str) -> str:
    return _TOKEN.sub(lambda match: _WORDS[match[1]], content)
