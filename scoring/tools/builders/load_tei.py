"""Load corpora in GROBID's TEI format, with one XML file per paper, in which paragraphs
have citation marks.

Lopez (ECDL 2009) presents GROBID in “Combining Automatic Bibliographic Data Recognition
and Term Extraction”. A citation mark is a ``ref`` of the type ``bibr``. The attribute
``target`` of the mark is the ``xml:id`` of a ``biblStruct``. A reference refers to the
paper of the collection with the same title, or otherwise to a paper outside the
collection.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from scoring.tools.builders.corpus import Article, Mark, Paper, Paragraph, Reference
from scoring.tools.builders.reading import refusal
from scoring.tools.builders.store import Store
from scoring.tools.builders.xml_papers import (
    Titles,
    load_papers,
    parsed,
    text_of,
    xml_files,
)
from tasks.types.problems import quoted

_NAMESPACE = "{http://www.tei-c.org/ns/1.0}"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d")
#: Suffixes that GROBID adds to the name of the input file.
_ENDINGS = (".tei", ".grobid")


def fits(path: Path) -> bool:
    """Return True if the first XML file of the folder is in the format TEI."""
    if (first := next(iter(xml_files(path)), None)) is None:
        return False
    with first.open("rb") as stream:
        return re.search(rb"<(?:\w+:)?TEI[\s>]", stream.read(4_096)) is not None


def load(path: Path, store: Store) -> None:
    load_papers(path, store, _name_and_title, _read_article)


def _read_article(file: Path, titles: Titles) -> Article:
    return _article(_xml_root(file), _name(file), titles)


def _xml_root(file: Path) -> ET.Element:
    root = parsed(file)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_NAMESPACE)
    if root.tag != "TEI":
        expected = "TEI, as GROBID's processFulltextDocument writes it"
        raise refusal(f"the outermost element is {quoted(root.tag)}", file, expected)
    return root


def _name(file: Path) -> str:
    name = file.stem
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _name_and_title(file: Path) -> tuple[str, str]:
    return _name(file), _title(_xml_root(file))


def _title(root: ET.Element) -> str:
    return text_of(root.find("teiHeader/fileDesc/titleStmt/title"))


def _article(root: ET.Element, name: str, titles: Titles) -> Article:
    references = {
        entry.get(_ID, ""): _reference(entry, name, titles)
        for entry in root.iterfind("text/back//listBibl/biblStruct")
    }
    body = root.find("text/body")
    paragraphs = [] if body is None else list(_paragraphs(body, "", references))
    unmarked = (text for paragraph in paragraphs for text in _without_marks(paragraph))
    header = root.find("teiHeader")
    source = None if header is None else header.find("fileDesc/sourceDesc/biblStruct")
    authors = (
        [] if source is None else [_person_name(one) for one in source.iter("author")]
    )
    return Article(
        paper=Paper(
            paper_id=name,
            title=_title(root),
            authors="; ".join(filter(None, authors)),
            abstract=text_of(root.find("teiHeader/profileDesc/abstract")),
            text=" ".join(" ".join(unmarked).split()),
            year=_publication_year(root.find("teiHeader/fileDesc/publicationStmt")),
        ),
        references=list(references.values()),
        paragraphs=paragraphs,
    )


def _reference(entry: ET.Element, name: str, titles: Titles) -> Reference:
    title = text_of(entry.find("analytic/title")) or text_of(entry.find("monogr/title"))
    raw = next(
        (
            text_of(note)
            for note in entry.iter("note")
            if note.get("type") == "raw_reference"
        ),
        "",
    )
    people = ", ".join(filter(None, map(_person_name, entry.iter("author"))))
    year = _publication_year(entry)
    printed = raw or ". ".join(filter(None, (people, title, str(year or ""))))
    ref_id = f"{name}:{entry.get(_ID, '')}"
    return Reference(
        ref_id=ref_id,
        target=titles.paper_of(title, printed) or ref_id,
        raw=printed,
        title=title,
        year=year,
    )


def _person_name(author: ET.Element) -> str:
    name = author.find("persName")
    return "" if name is None else " ".join(text_of(part) for part in name)


def _publication_year(element: ET.Element | None) -> int | None:
    for date in () if element is None else element.iter("date"):
        if year := _YEAR.search(date.get("when") or text_of(date)):
            return int(year[0])
    return None


def _paragraphs(
    element: ET.Element, section: str, references: Mapping[str, Reference]
) -> Iterator[Paragraph]:
    for child in element:
        if child.tag == "div":
            head = text_of(child.find("head")) or section
            yield from _paragraphs(child, head, references)
        elif child.tag == "p":
            yield _paragraph(child, section, references)


def _paragraph(
    element: ET.Element, section: str, references: Mapping[str, Reference]
) -> Paragraph:
    parts: list[str] = []
    marks: list[Mark] = []

    def walk(inner: ET.Element) -> None:
        if inner.tag == "ref" and inner.get("type") == "bibr":
            start, printed = sum(map(len, parts)), text_of(inner) or "?"
            parts.append(printed)
            cited = references.get(inner.get("target", "").removeprefix("#"))
            ref_id = cited.ref_id if cited else None
            marks.append(
                Mark(start=start, end=start + len(printed), text=printed, ref_id=ref_id)
            )
            return
        parts.append(inner.text or "")
        for child in inner:
            walk(child)
            # GROBID writes no space between two `s` elements.
            parts.append(child.tail or (" " if child.tag == "s" else ""))

    walk(element)
    return Paragraph(section=section, text="".join(parts), marks=marks)


def _without_marks(paragraph: Paragraph) -> Iterator[str]:
    end = 0
    for mark in paragraph.marks:
        yield paragraph.text[end : mark.start]
        end = mark.end
    yield paragraph.text[end:]
