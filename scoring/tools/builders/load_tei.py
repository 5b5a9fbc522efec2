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

from scoring.tools.builders.corpus import (
    CitationMark,
    CorpusPaper,
    CorpusReference,
    PaperWithParagraphs,
    Paragraph,
)
from scoring.tools.builders.reading import make_refusal
from scoring.tools.builders.store import CorpusStore
from scoring.tools.builders.xml_papers import (
    TitleIndex,
    join_element_text,
    list_xml_files,
    load_papers,
    parse_xml_file,
)
from tasks.types.problems import shorten_quoted_line

_TEI_NAMESPACE = "{http://www.tei-c.org/ns/1.0}"
_XML_ID_ATTRIBUTE = "{http://www.w3.org/XML/1998/namespace}id"
_YEAR_PATTERN = re.compile(r"\b(?:1[6-9]|20)\d\d")
#: Suffixes that GROBID adds to the name of the input file.
_REMOVED_NAME_ENDINGS = (".tei", ".grobid")


def fits(path: Path) -> bool:
    """Return True if the first XML file of the folder is in the format TEI."""
    if (first := next(iter(list_xml_files(path)), None)) is None:
        return False
    with first.open("rb") as stream:
        return re.search(rb"<(?:\w+:)?TEI[\s>]", stream.read(4_096)) is not None


def load(path: Path, store: CorpusStore) -> None:
    load_papers(path, store, _read_name_and_title, _read_article)


def _read_article(file: Path, titles: TitleIndex) -> PaperWithParagraphs:
    return _convert_article(_parse_tei_root(file), _read_paper_name(file), titles)


def _parse_tei_root(file: Path) -> ET.Element:
    root = parse_xml_file(file)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_TEI_NAMESPACE)
    if root.tag != "TEI":
        expected = "TEI, as GROBID's processFulltextDocument writes it"
        raise make_refusal(
            f"the outermost element is {shorten_quoted_line(root.tag)}", file, expected
        )
    return root


def _read_paper_name(file: Path) -> str:
    name = file.stem
    for ending in _REMOVED_NAME_ENDINGS:
        name = name.removesuffix(ending)
    return name


def _read_name_and_title(file: Path) -> tuple[str, str]:
    return _read_paper_name(file), _read_title(_parse_tei_root(file))


def _read_title(root: ET.Element) -> str:
    return join_element_text(root.find("teiHeader/fileDesc/titleStmt/title"))


def _convert_article(
    root: ET.Element, name: str, titles: TitleIndex
) -> PaperWithParagraphs:
    references = {
        entry.get(_XML_ID_ATTRIBUTE, ""): _convert_reference(entry, name, titles)
        for entry in root.iterfind("text/back//listBibl/biblStruct")
    }
    body = root.find("text/body")
    paragraphs = [] if body is None else list(_iterate_paragraphs(body, "", references))
    unmarked = (
        text
        for paragraph in paragraphs
        for text in _iterate_text_between_marks(paragraph)
    )
    header = root.find("teiHeader")
    source = None if header is None else header.find("fileDesc/sourceDesc/biblStruct")
    authors = (
        []
        if source is None
        else [_read_person_name(one) for one in source.iter("author")]
    )
    return PaperWithParagraphs(
        paper=CorpusPaper(
            paper_id=name,
            title=_read_title(root),
            authors="; ".join(filter(None, authors)),
            abstract=join_element_text(root.find("teiHeader/profileDesc/abstract")),
            text=" ".join(" ".join(unmarked).split()),
            year=_find_publication_year(
                root.find("teiHeader/fileDesc/publicationStmt")
            ),
        ),
        references=list(references.values()),
        paragraphs=paragraphs,
    )


def _convert_reference(
    entry: ET.Element, name: str, titles: TitleIndex
) -> CorpusReference:
    title = join_element_text(entry.find("analytic/title")) or join_element_text(
        entry.find("monogr/title")
    )
    raw = next(
        (
            join_element_text(note)
            for note in entry.iter("note")
            if note.get("type") == "raw_reference"
        ),
        "",
    )
    people = ", ".join(filter(None, map(_read_person_name, entry.iter("author"))))
    year = _find_publication_year(entry)
    printed = raw or ". ".join(filter(None, (people, title, str(year or ""))))
    ref_id = f"{name}:{entry.get(_XML_ID_ATTRIBUTE, '')}"
    return CorpusReference(
        ref_id=ref_id,
        target=titles.find_paper(title, printed) or ref_id,
        raw=printed,
        title=title,
        year=year,
    )


def _read_person_name(author: ET.Element) -> str:
    name = author.find("persName")
    return "" if name is None else " ".join(join_element_text(part) for part in name)


def _find_publication_year(element: ET.Element | None) -> int | None:
    for date in () if element is None else element.iter("date"):
        if year := _YEAR_PATTERN.search(date.get("when") or join_element_text(date)):
            return int(year[0])
    return None


def _iterate_paragraphs(
    element: ET.Element, section: str, references: Mapping[str, CorpusReference]
) -> Iterator[Paragraph]:
    for child in element:
        if child.tag == "div":
            head = join_element_text(child.find("head")) or section
            yield from _iterate_paragraphs(child, head, references)
        elif child.tag == "p":
            yield _convert_paragraph(child, section, references)


def _convert_paragraph(
    element: ET.Element, section: str, references: Mapping[str, CorpusReference]
) -> Paragraph:
    parts: list[str] = []
    marks: list[CitationMark] = []

    def walk(inner: ET.Element) -> None:
        if inner.tag == "ref" and inner.get("type") == "bibr":
            start, printed = sum(map(len, parts)), join_element_text(inner) or "?"
            parts.append(printed)
            cited = references.get(inner.get("target", "").removeprefix("#"))
            ref_id = cited.ref_id if cited else None
            marks.append(
                CitationMark(
                    start=start, end=start + len(printed), text=printed, ref_id=ref_id
                )
            )
            return
        parts.append(inner.text or "")
        for child in inner:
            walk(child)
            # GROBID writes no space between two `s` elements.
            parts.append(child.tail or (" " if child.tag == "s" else ""))

    walk(element)
    return Paragraph(section=section, text="".join(parts), marks=marks)


def _iterate_text_between_marks(paragraph: Paragraph) -> Iterator[str]:
    end = 0
    for mark in paragraph.marks:
        yield paragraph.text[end : mark.start]
        end = mark.end
    yield paragraph.text[end:]
