"""Load corpora in SciXML, with one XML file per paper and sentences that may have
rhetorical zones.

Teufel and Elhadad (LREC 2002) describe the format in “Collection and linguistic
processing of a large-scale corpus of medical articles”. Ritchie, Teufel and Robertson
(NAACL 2006) use the format in “Creating a Test Collection for Citation-based IR
Experiments”. Rhetorical zones are the attribute ``AZ`` of a sentence (Argumentative
Zoning) or the type of a ``CoreSc1`` or ``annotationART`` element in the sentence (Core
Scientific Concepts, Liakata et al., 2010).

Reference lists have no ids of papers in the collection, so a reference is matched to a
paper by the title.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from scoring.tools.builders.corpus import (
    CitationMark,
    CorpusPaper,
    CorpusReference,
    MarkedUpSentence,
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

_YEAR_PATTERN = re.compile(r"\b(?:1[6-9]|20)\d\d")


def fits(path: Path) -> bool:
    """Return True if the first XML file of the folder is a paper in the format SciXML."""
    if (first := next(iter(list_xml_files(path)), None)) is None:
        return False
    with first.open("rb") as stream:
        start = stream.read(4_096).decode(errors="replace").upper()
    return "<PAPER" in start and (
        "<METADATA" in start or "<BODY" in start or "<ABSTRACT" in start
    )


def load(path: Path, store: CorpusStore) -> None:
    load_papers(path, store, _read_name_and_title, _read_article)


def _read_article(file: Path, titles: TitleIndex) -> PaperWithParagraphs:
    return _convert_article(_parse_scixml_root(file), file, titles)


def _parse_scixml_root(file: Path) -> ET.Element:
    root = parse_xml_file(file)
    for element in root.iter():
        element.tag = element.tag.upper()
        element.attrib = {name.upper(): value for name, value in element.attrib.items()}
    if root.tag != "PAPER":
        expected = "PAPER; GROBID's TEI is read with `--form tei`"
        raise make_refusal(
            f"the outermost element is {shorten_quoted_line(root.tag)}", file, expected
        )
    return root


def _read_name_and_title(file: Path) -> tuple[str, str]:
    root = _parse_scixml_root(file)
    return _read_paper_name(root, file), _read_title(root)


def _convert_article(
    root: ET.Element, file: Path, titles: TitleIndex
) -> PaperWithParagraphs:
    name = _read_paper_name(root, file)
    entries = []
    for number, element in enumerate(root.iter("REFERENCE")):
        raw, title, date = (
            join_element_text(element),
            join_element_text(element.find(".//TITLE")),
            join_element_text(element.find(".//DATE")),
        )
        ref_id = element.get("ID", "") or f"r{number}"
        year = _YEAR_PATTERN.search(date or raw)
        target = titles.find_paper(title, raw) or f"{name}:{ref_id}"
        whole = int(year[0]) if year else None
        reference = CorpusReference(
            ref_id=ref_id, target=target, raw=raw, title=title, year=whole
        )
        surnames = tuple(
            filter(
                None,
                (
                    join_element_text(surname).lower()
                    for surname in element.iter("SURNAME")
                ),
            )
        )
        entries.append(
            _ReferenceEntry(
                reference,
                element.get("ID", ""),
                surnames,
                date or (year[0] if year else ""),
            )
        )
    body, metadata = root.find("BODY"), root.find("METADATA")
    paragraphs = [] if body is None else list(_iterate_paragraphs(body, "", entries))
    appeared, authors = None, []
    if metadata is not None:
        appeared = _YEAR_PATTERN.search(
            join_element_text(metadata.find(".//YEAR"))
            or join_element_text(metadata.find(".//DATE"))
        )
        authors = [join_element_text(author) for author in metadata.iter("AUTHOR")]
    unmarked = []
    for sentence in (
        sentence for paragraph in paragraphs for sentence in paragraph.sentences
    ):
        ends = [0, *(mark.end for mark in sentence.marks)]
        starts = [*(mark.start for mark in sentence.marks), None]
        unmarked += [
            sentence.text[end:start] for end, start in zip(ends, starts, strict=True)
        ]
    return PaperWithParagraphs(
        paper=CorpusPaper(
            paper_id=name,
            title=_read_title(root),
            authors="; ".join(filter(None, authors)),
            abstract=join_element_text(root.find(".//ABSTRACT")),
            text=" ".join(" ".join(unmarked).split()),
            year=int(appeared[0]) if appeared else None,
        ),
        references=[entry.reference for entry in entries],
        paragraphs=paragraphs,
    )


def _read_paper_name(root: ET.Element, file: Path) -> str:
    return (
        join_element_text(root.find("METADATA/FILENO"))
        or join_element_text(root.find("FILENO"))
        or file.stem
    )


def _read_title(root: ET.Element) -> str:
    return join_element_text(root.find("TITLE")) or join_element_text(
        root.find("METADATA/TITLE")
    )


class _ReferenceEntry(NamedTuple):
    reference: CorpusReference
    own_id: str
    surnames: tuple[str, ...]
    year: str


def _iterate_paragraphs(
    element: ET.Element, section: str, entries: Sequence[_ReferenceEntry]
) -> Iterator[Paragraph]:
    for child in element:
        if child.tag == "DIV":
            yield from _iterate_paragraphs(
                child, join_element_text(child.find("HEADER")) or section, entries
            )
        elif child.tag == "P":
            sentences = [
                _convert_sentence(sentence, entries) for sentence in child.iter("S")
            ]
            yield Paragraph(section=section, sentences=sentences)
        elif child.tag not in ("HEADER", "REFERENCELIST"):
            yield from _iterate_paragraphs(child, section, entries)


def _convert_sentence(
    element: ET.Element, entries: Sequence[_ReferenceEntry]
) -> MarkedUpSentence:
    parts: list[str] = []
    marks: list[CitationMark] = []

    def walk(inner: ET.Element) -> None:
        if inner.tag == "REF":
            start, printed = sum(map(len, parts)), join_element_text(inner)
            parts.append(printed or "?")
            ref_id = _find_cited_entry(inner, printed, entries)
            marks.append(
                CitationMark(
                    start=start, end=start + len(parts[-1]), text=printed, ref_id=ref_id
                )
            )
            return
        parts.append(inner.text or "")
        for child in inner:
            walk(child)
            parts.append(child.tail or "")

    walk(element)
    children = (
        inner for inner in element.iter() if inner.tag in ("CORESC1", "ANNOTATIONART")
    )
    concepts = (inner.get("TYPE", "") for inner in children)
    zone = element.get("AZ", "").strip() or next(filter(None, concepts), None)
    return MarkedUpSentence(text="".join(parts), marks=marks, zone=zone)


def _find_cited_entry(
    mark: ET.Element, printed: str, entries: Sequence[_ReferenceEntry]
) -> str | None:
    if wanted := mark.get("REFID", "").strip("?"):
        return next(
            (entry.reference.ref_id for entry in entries if entry.own_id == wanted),
            None,
        )
    words = (
        " ".join(
            filter(
                None, (join_element_text(author) for author in mark.iter("REFAUTHOR"))
            )
        )
        or printed
    )
    year = join_element_text(mark.find(".//DATE")) or next(
        iter(re.findall(r"\b\d{4}[a-z]?\b", printed)), ""
    )
    if not year:
        return None
    dated = (entry for entry in entries if entry.surnames and entry.year == year)
    named = [(entry, re.escape(entry.surnames[0])) for entry in dated]
    fitting = [
        entry
        for entry, name in named
        if re.search(rf"(?<!\w){name}(?!\w)", words.lower())
    ]
    return fitting[0].reference.ref_id if len(fitting) == 1 else None
