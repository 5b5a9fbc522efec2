"""S2ORC in its two forms: paragraphs with spans (2020, doc2json), and one text with annotations.

Lo et al. 2020, S2ORC: The Semantic Scholar Open Research Corpus (ACL). Files of metadata may stand among the
others, in any order, and so may S2AG's citations with their intents, and its authors: a line is what its
fields say it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scoring.tools.builders.contexts import add_article
from scoring.tools.builders.corpus import Article, Author, Intent, Mark, Paper, Paragraph, Reference, Sink
from scoring.tools.builders.reading import Record, add_records, corpus_files, listed, mapped, text, whole
from tasks.types.problems import InputRefused, Problem, quoted

#: S2AG's intents, and the type that each is here.
CONTEXT_TYPES = {"background": "background", "methodology": "method", "method": "method", "result": "result"}


#: The files whose lines can be read on their own.
files = corpus_files


def fits_record(record: Record) -> bool:
    names = {"corpusid", "pdf_parse", "latex_parse", "body_text", "mag_field_of_study", "citingcorpusid"} | {
        "authorid"
    }
    return bool(names & set(record))


def load(path: Path, sink: Sink) -> None:
    for file in files(path):
        add_records(file, add, sink)


def add(record: Record, file: Path, sink: Sink) -> None:
    if {"citingcorpusid", "citedcorpusid"} <= set(record):
        for intent in _intents(record):
            sink.add_intent(intent)
    elif "authorid" in record and "corpusid" not in record:
        sink.add_author(_metadata_of_author(record, file))
    elif article := _article(record):
        add_article(article, sink)
    else:
        sink.add_paper(_known(_paper(record), record, file))


def _known(paper: Paper, record: Record, file: Path) -> Paper:
    if not paper.paper_id:
        raise InputRefused(
            [
                Problem(
                    file=str(file),
                    message=f"a line of no kind that is known here, with {', '.join(record) or 'no fields'}",
                    expected="a text, the metadata of a paper (“corpusid” or “paper_id”), a citation "
                    "(“citingcorpusid” and “citedcorpusid”) or an author (“authorid”)",
                    quote=quoted(json.dumps(record, ensure_ascii=False)[:1000]),
                )
            ]
        )
    return paper


def _intents(record: Record) -> Iterator[Intent]:
    contexts, intents = listed(record.get("contexts")), listed(record.get("intents"))
    for context, named in zip(contexts, intents, strict=False):
        known = [CONTEXT_TYPES[name] for name in map(str, listed(named)) if name in CONTEXT_TYPES]
        if known and isinstance(context, str):
            yield Intent(
                citing=text(record, "citingcorpusid"),
                cited=text(record, "citedcorpusid"),
                context=context,
                context_type=known[0],
            )


def _article(record: Record) -> Article | None:
    content = mapped(record.get("content"))
    if content.get("annotations"):
        return _annotated(record, content)
    parse = next((record[key] for key in ("pdf_parse", "latex_parse") if record.get(key)), record)
    if "body_text" not in mapped(parse):
        return None
    entries = mapped(mapped(parse).get("bib_entries"))
    return Article(
        paper=_paper(record),
        references=[_reference(record, str(name), mapped(entry)) for name, entry in entries.items()],
        paragraphs=[
            _paragraph(mapped(paragraph), text(record, "paper_id"))
            for part in ("abstract", "body_text")
            for paragraph in listed(mapped(parse).get(part))
        ],
    )


def _paper(record: Record) -> Paper:
    abstract = record.get("abstract")
    inbound = record.get("inbound_citations")
    fields = listed(record.get("mag_field_of_study")) or [
        mapped(field).get("category") for field in listed(record.get("s2fieldsofstudy"))
    ]
    return Paper(
        paper_id=text(record, "paper_id", "corpusid"),
        title=text(record, "title"),
        authors="; ".join(filter(None, map(_author, listed(record.get("authors"))))),
        abstract=text(record, "abstract") if isinstance(abstract, str) else "",
        field=str(fields[0]) if fields and fields[0] else None,
        year=whole(record, "year"),
        citations=whole(record, "citationcount") if inbound is None else len(listed(inbound)),
        author_ids=tuple(
            filter(None, (text(mapped(own), "authorId") for own in listed(record.get("authors"))))
        ),
    )


def _metadata_of_author(record: Record, file: Path) -> Author:
    """A line of S2AG's authors. Raises InputRefused where it names none, or a number is none."""
    name = text(record, "authorid")
    faults = [] if name else [("an author without “authorid”", "the id of an author")]
    for key in ("hindex", "papercount", "citationcount"):
        value = record.get(key)
        if value is not None and (type(value) is not int or value < 0):
            told = f"“{key}” of the author “{name}” is {quoted(json.dumps(value))}"
            faults.append((told, "a whole number from 0"))
    if faults:
        problems = [Problem(file=str(file), message=told, expected=wanted) for told, wanted in faults]
        raise InputRefused(problems)
    return Author(
        author_id=name,
        name=text(record, "name"),
        h_index=whole(record, "hindex"),
        papers=whole(record, "papercount"),
        citations=whole(record, "citationcount"),
    )


def _author(author: object) -> str:
    parts = mapped(author)
    return text(parts, "name") or " ".join(filter(None, (text(parts, "first"), text(parts, "last"))))


def _reference(record: Record, name: str, entry: Record) -> Reference:
    paper_id = text(record, "paper_id")
    people = ", ".join(filter(None, map(_author, listed(entry.get("authors")))))
    title, year = text(entry, "title"), whole(entry, "year")
    parts = (people, title, text(entry, "venue"), str(year or ""))
    return Reference(
        ref_id=f"{paper_id}:{name}",
        target=text(entry, "link") or f"{paper_id}:{name}",
        raw=text(entry, "raw_text") or ". ".join(filter(None, parts)),
        title=title,
        year=year,
    )


def _paragraph(record: Record, paper_id: str) -> Paragraph:
    content = str(record.get("text") or "")
    marks = []
    for span in map(mapped, listed(record.get("cite_spans"))):
        start, end = whole(span, "start"), whole(span, "end")
        if start is not None and end is not None and 0 <= start < end <= len(content):
            name = text(span, "ref_id")
            marks.append(
                Mark(
                    start=start,
                    end=end,
                    text=content[start:end],
                    ref_id=f"{paper_id}:{name}" if name else None,
                )
            )
    return Paragraph(section=text(record, "section"), text=content, marks=marks)


def _annotated(record: Record, content: Record) -> Article:
    whole_text = str(content.get("text") or "")
    annotations = mapped(content.get("annotations"))
    spans = {name: list(_spans(annotations.get(name), len(whole_text))) for name in _KINDS}
    paper_id = text(record, "corpusid")
    titles = [whole_text[start:end] for start, end, _ in spans["title"]]
    abstracts = [whole_text[start:end] for start, end, _ in spans["abstract"]]
    return Article(
        paper=Paper(
            paper_id=paper_id,
            title=" ".join(" ".join(titles).split()),
            abstract=" ".join(" ".join(abstracts).split()),
        ),
        references=[
            Reference(
                ref_id=f"{paper_id}:{text(attributes, 'id')}",
                target=text(attributes, "matched_paper_id") or f"{paper_id}:{text(attributes, 'id')}",
                raw=" ".join(whole_text[start:end].split()),
            )
            for start, end, attributes in spans["bibentry"]
        ],
        paragraphs=list(_annotated_paragraphs(whole_text, spans, paper_id)),
    )


_KINDS = ("title", "abstract", "paragraph", "sectionheader", "bibref", "bibentry")
_Span = tuple[int, int, Record]


def _spans(annotation: object, length: int) -> Iterator[_Span]:
    if isinstance(annotation, str):
        annotation = json.loads(annotation)
    found = []
    for span in map(mapped, listed(annotation)):
        start, end = whole(span, "start"), whole(span, "end")
        if start is not None and end is not None and 0 <= start < end <= length:
            found.append((start, end, mapped(span.get("attributes"))))
    yield from sorted(found, key=lambda span: span[:2])


def _annotated_paragraphs(
    content: str, spans: Mapping[str, Sequence[_Span]], paper_id: str
) -> Iterator[Paragraph]:
    headings, marks = list(spans["sectionheader"]), list(spans["bibref"])
    section, heading, mark = "", 0, 0
    for start, end, _ in spans["paragraph"]:
        while heading < len(headings) and headings[heading][0] < start:
            section = " ".join(content[headings[heading][0] : headings[heading][1]].split())
            heading += 1
        while mark < len(marks) and marks[mark][0] < start:
            mark += 1
        own = []
        for first, last, attributes in marks[mark:]:
            if last > end:
                break
            name = text(attributes, "ref_id")
            own.append(
                Mark(
                    start=first - start,
                    end=last - start,
                    text=content[first:last],
                    ref_id=f"{paper_id}:{name}" if name else None,
                )
            )
        yield Paragraph(section=section, text=content[start:end], marks=own)
