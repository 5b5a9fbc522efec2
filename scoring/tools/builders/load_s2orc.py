"""Load S2ORC in both of its formats, which are paragraphs with annotated spans of text
(2020, doc2json), and a single text with annotations.

S2ORC is the Semantic Scholar Open Research Corpus (Lo et al., 2020, ACL). The corpus
may include files with metadata, and with citations, their intents and authors from
S2AG. The files may be in any order, because the fields of a line show what the line
describes.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from scoring.tools.builders.contexts import add_article_contexts
from scoring.tools.builders.corpus import (
    CitationMark,
    CorpusAuthor,
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
    whole,
)
from scoring.tools.builders.store import CorpusStore
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import InputRefused, Problem, shorten_quoted_line

#: The class of citation context for each citation intent in S2AG.
TYPE_OF_S2_INTENT = {
    "background": "background",
    "methodology": "method",
    "method": "method",
    "result": "result",
}

#: Returns the files of a corpus whose lines can be read independently of each other.
files = list_corpus_files


def fits_record(record: CorpusRecord) -> bool:
    papers = {"corpusid", "pdf_parse", "latex_parse", "body_text", "mag_field_of_study"}
    return bool((papers | {"citingcorpusid", "authorid"}) & set(record))


def add(record: CorpusRecord, file: Path, store: CorpusStore) -> None:
    if {"citingcorpusid", "citedcorpusid"} <= set(record):
        pairs = zip(
            list_or_empty(record.get("contexts")),
            list_or_empty(record.get("intents")),
            strict=False,
        )
        for context, named in pairs:
            types = [
                TYPE_OF_S2_INTENT[name]
                for name in map(str, list_or_empty(named))
                if name in TYPE_OF_S2_INTENT
            ]
            if types and isinstance(context, str):
                papers = (
                    get_text(record, "citingcorpusid"),
                    get_text(record, "citedcorpusid"),
                )
                store.add_intent(*papers, context, types[0])
    elif "authorid" in record and "corpusid" not in record:
        store.add_author(_convert_author(record, file))
    elif article := _parse_article(record):
        add_article_contexts(article, store)
    elif (paper := _convert_paper(record)).paper_id:
        store.add_paper(paper)
    else:
        problem = Problem(
            file=str(file),
            message=f"a line of no kind that is known here, with {', '.join(record) or 'no fields'}",
            expected="a text, the metadata of a paper (“corpusid” or “paper_id”), a citation "
            "(“citingcorpusid” and “citedcorpusid”) or an author (“authorid”)",
            quote=shorten_quoted_line(json.dumps(record, ensure_ascii=False)[:1000]),
        )
        raise InputRefused([problem])


def _parse_article(record: CorpusRecord) -> PaperWithParagraphs | None:
    content = mapping_or_empty(record.get("content"))
    if content.get("annotations"):
        return _convert_annotated_article(record, content)
    parse = next(
        (record[key] for key in ("pdf_parse", "latex_parse") if record.get(key)), record
    )
    if "body_text" not in mapping_or_empty(parse):
        return None
    paper_id = get_text(record, "paper_id")
    references = []
    for name, value in mapping_or_empty(
        mapping_or_empty(parse).get("bib_entries")
    ).items():
        entry = mapping_or_empty(value)
        people = ", ".join(
            filter(None, map(_format_author_name, list_or_empty(entry.get("authors"))))
        )
        title, year = get_text(entry, "title"), whole(entry, "year")
        printed = (people, title, get_text(entry, "venue"), str(year or ""))
        raw, ref_id = (
            get_text(entry, "raw_text") or ". ".join(filter(None, printed)),
            f"{paper_id}:{name}",
        )
        target = get_text(entry, "link") or ref_id
        references.append(
            CorpusReference(
                ref_id=ref_id, target=target, raw=raw, title=title, year=year
            )
        )
    paragraphs = []
    for part in ("abstract", "body_text"):
        for paragraph in map(
            mapping_or_empty, list_or_empty(mapping_or_empty(parse).get(part))
        ):
            body = str(paragraph.get("text") or "")
            marks = [
                _make_citation_mark(body, span, paper_id)
                for span in _iterate_annotated_spans(
                    paragraph.get("cite_spans"), len(body)
                )
            ]
            paragraphs.append(
                Paragraph(
                    section=get_text(paragraph, "section"), text=body, marks=marks
                )
            )
    return PaperWithParagraphs(
        paper=_convert_paper(record), references=references, paragraphs=paragraphs
    )


def _convert_paper(record: CorpusRecord) -> CorpusPaper:
    abstract = record.get("abstract")
    inbound = record.get("inbound_citations")
    authors = list_or_empty(record.get("authors"))
    of_s2 = map(mapping_or_empty, list_or_empty(record.get("s2fieldsofstudy")))
    fields = list_or_empty(record.get("mag_field_of_study")) or [
        field.get("category") for field in of_s2
    ]
    return CorpusPaper(
        paper_id=get_text(record, "paper_id", "corpusid"),
        title=get_text(record, "title"),
        authors="; ".join(filter(None, map(_format_author_name, authors))),
        abstract=get_text(record, "abstract") if isinstance(abstract, str) else "",
        field=str(fields[0]) if fields and fields[0] else None,
        year=whole(record, "year"),
        citations=whole(record, "citationcount")
        if inbound is None
        else len(list_or_empty(inbound)),
        author_ids=tuple(
            filter(
                None,
                (get_text(mapping_or_empty(author), "authorId") for author in authors),
            )
        ),
    )


def _convert_author(record: CorpusRecord, file: Path) -> CorpusAuthor:
    name = get_text(record, "authorid")
    faults = [] if name else [("an author without “authorid”", "the id of an author")]
    keys = {"h_index": "hindex", "papers": "papercount", "citations": "citationcount"}
    for key in keys.values():
        if (value := record.get(key)) is not None and (
            type(value) is not int or value < 0
        ):
            message = f"“{key}” of the author “{name}” is {shorten_quoted_line(json.dumps(value))}"
            faults.append((message, "a whole number from 0"))
    if faults:
        raise InputRefused(
            Problem(file=str(file), message=m, expected=e) for m, e in faults
        )
    numbers = {field: whole(record, key) for field, key in keys.items()}
    return CorpusAuthor(author_id=name, name=get_text(record, "name"), **numbers)


def _format_author_name(author: object) -> str:
    parts = mapping_or_empty(author)
    return get_text(parts, "name") or " ".join(
        filter(None, (get_text(parts, "first"), get_text(parts, "last")))
    )


def _convert_annotated_article(
    record: CorpusRecord, content: CorpusRecord
) -> PaperWithParagraphs:
    body = str(content.get("text") or "")
    annotations = mapping_or_empty(content.get("annotations"))
    paper_id = get_text(record, "corpusid")

    def list_spans(kind: str) -> list[_AnnotatedSpan]:
        return sorted(
            _iterate_annotated_spans(annotations.get(kind), len(body)),
            key=lambda span: span[:2],
        )

    def join_texts_of_spans(kind: str) -> str:
        return " ".join(
            " ".join(body[start:end] for start, end, _ in list_spans(kind)).split()
        )

    references = []
    for start, end, span in list_spans("bibentry"):
        attributes = mapping_or_empty(span.get("attributes"))
        ref_id = f"{paper_id}:{get_text(attributes, 'id')}"
        raw = " ".join(body[start:end].split())
        target = get_text(attributes, "matched_paper_id") or ref_id
        references.append(CorpusReference(ref_id=ref_id, target=target, raw=raw))
    headings, marks = list_spans("sectionheader"), list_spans("bibref")
    paragraphs = []
    for start, end, _ in list_spans("paragraph"):
        before = [heading for heading in headings if heading[0] < start]
        section = (
            " ".join(body[before[-1][0] : before[-1][1]].split()) if before else ""
        )
        paragraph_marks = []
        for mark in (mark for mark in marks if mark[0] >= start):
            if mark[1] > end:
                break
            attributes = mapping_or_empty(mark[2].get("attributes"))
            shifted = mark[0] - start, mark[1] - start, attributes
            paragraph_marks.append(
                _make_citation_mark(body[start:end], shifted, paper_id)
            )
        paragraphs.append(
            Paragraph(section=section, text=body[start:end], marks=paragraph_marks)
        )
    paper = CorpusPaper(
        paper_id=paper_id,
        title=join_texts_of_spans("title"),
        abstract=join_texts_of_spans("abstract"),
    )
    return PaperWithParagraphs(
        paper=paper, references=references, paragraphs=paragraphs
    )


_AnnotatedSpan = tuple[int, int, CorpusRecord]


def _iterate_annotated_spans(
    annotation: object, length: int
) -> Iterator[_AnnotatedSpan]:
    if isinstance(annotation, str):
        annotation = read_json(annotation, constant=float)
    for span in map(mapping_or_empty, list_or_empty(annotation)):
        start, end = whole(span, "start"), whole(span, "end")
        if start is not None and end is not None and 0 <= start < end <= length:
            yield start, end, span


def _make_citation_mark(body: str, span: _AnnotatedSpan, paper_id: str) -> CitationMark:
    start, end, facts = span
    name = get_text(facts, "ref_id")
    return CitationMark(
        start=start,
        end=end,
        text=body[start:end],
        ref_id=f"{paper_id}:{name}" if name else None,
    )
