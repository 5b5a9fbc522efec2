"""Load unarXive, which has papers from arXiv as JSON Lines, with tokens in braces in
place of citations and formulas.

Saier, Krause and Färber (JCDL 2023) describe the corpus in “All arXiv Publications
Pre-Processed for NLP”.
"""

import re
from pathlib import Path

from scoring.tools.builders.contexts import add_article_contexts
from scoring.tools.builders.corpus import (
    CitationMark,
    CorpusPaper,
    CorpusReference,
    PaperWithParagraphs,
    Paragraph,
)
from scoring.tools.builders.reading import (
    CorpusRecord,
    get_text,
    list_corpus_files,
    list_or_empty,
    mapping_or_empty,
    remove_reference_tokens,
)
from scoring.tools.builders.store import CorpusStore

_CITATION_TOKEN_PATTERN = re.compile(r"\{\{cite:([^{}]+)\}\}")
_OBJECT_TOKEN_PATTERN = re.compile(r"\{\{(formula|figure|table|section|ref)[^{}]*\}\}")
#: Words that replace the tokens of formulas, figures and tables in sentences.
_WORD_OF_TOKEN = {
    name: name.upper() for name in ("formula", "figure", "table", "section")
} | {"ref": "REFERENCE"}

#: Return the files whose lines can be read independently.
files = list_corpus_files


def fits_record(record: CorpusRecord) -> bool:
    return "bib_entries" in record and isinstance(record.get("metadata"), dict)


def add(record: CorpusRecord, file: Path, store: CorpusStore) -> None:
    metadata, abstract = (
        mapping_or_empty(record.get("metadata")),
        mapping_or_empty(record.get("abstract")),
    )
    body, paper_id = (
        list_or_empty(record.get("body_text")),
        get_text(record, "paper_id"),
    )
    references = []
    for name, value in mapping_or_empty(record.get("bib_entries")).items():
        entry = mapping_or_empty(value)
        ids = mapping_or_empty(entry.get("ids"))
        preprints = [
            get_text(mapping_or_empty(preprint), "id")
            for preprint in list_or_empty(entry.get("contained_arXiv_ids"))
        ]
        ids_of = (
            get_text(ids, "arxiv_id"),
            *preprints,
            get_text(ids, "open_alex_id"),
            get_text(ids, "doi").lower(),
        )
        target = next(filter(None, ids_of), str(name))
        raw = _replace_object_tokens(get_text(entry, "bib_entry_raw"))
        references.append(CorpusReference(ref_id=str(name), target=target, raw=raw))
    paragraphs = []
    for paragraph in body:
        if get_text(paragraph, "content_type") in ("", "paragraph"):
            content = _replace_object_tokens(str(paragraph.get("text") or ""))
            cites = _CITATION_TOKEN_PATTERN.finditer(content)
            marks = [
                CitationMark(
                    start=cite.start(), end=cite.end(), text=cite[0], ref_id=cite[1]
                )
                for cite in cites
            ]
            section = remove_reference_tokens(get_text(paragraph, "section"))
            paragraphs.append(Paragraph(section=section, text=content, marks=marks))
    unmarked = (
        " ".join(
            _CITATION_TOKEN_PATTERN.sub(
                " ", _replace_object_tokens(get_text(part, "text"))
            ).split()
        )
        for part in body
    )
    dated = re.search(r"(?:^|/)(\d\d)(?:0[1-9]|1[0-2])\d?\.?\d{3,5}", paper_id)
    year = int(dated[1]) if dated else None
    paper = CorpusPaper(
        paper_id=paper_id,
        title=get_text(metadata, "title"),
        authors=get_text(metadata, "authors"),
        abstract=_replace_object_tokens(
            get_text(abstract, "text")
            or get_text(record, "abstract")
            or get_text(metadata, "abstract")
        ),
        text=" ".join(unmarked),
        field=get_text(record, "discipline") or None,
        year=None if year is None else 1900 + year if year >= 91 else 2000 + year,
        licence=get_text(metadata, "license"),
    )
    add_article_contexts(
        PaperWithParagraphs(paper=paper, references=references, paragraphs=paragraphs),
        store,
    )


def _replace_object_tokens(content: str) -> str:
    return _OBJECT_TOKEN_PATTERN.sub(lambda match: _WORD_OF_TOKEN[match[1]], content)
