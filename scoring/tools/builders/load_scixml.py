"""SciXML: papers as XML files of one each, split into sentences, which may carry their rhetorical zones.

Teufel and Elhadad 2002, Collection and linguistic processing of a large-scale corpus of medical articles
(LREC); as in the ACL collection of Ritchie, Teufel and Robertson 2006 (Creating a Test Collection for
Citation-based IR Experiments, NAACL). Zones are the attribute ``AZ`` of a sentence (Argumentative Zoning) or
the type of a ``CoreSc1`` or ``annotationART`` element in it (Core Scientific Concepts, Liakata et al. 2010).

A reference list names no paper of the collection by an id: a reference means the paper whose title it has.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from scoring.tools.builders.contexts import add_article
from scoring.tools.builders.corpus import Article, Mark, Paper, Paragraph, Reference, Sentence, Sink
from tasks.types.problems import InputRefused, Problem, quoted

ZONES_OF_CHILDREN = ("CORESC1", "ANNOTATIONART")
#: A reference without a tagged title means a paper if a title of so many words or more stands in it.
MIN_TITLE_WORDS = 4
_OWN_ENTITIES = ("lt", "gt", "amp", "quot", "apos")
_ENTITY = re.compile(r"&([A-Za-z]\w*);")
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d")
_START = 4_096


def fits(path: Path) -> bool:
    """Whether there are XML files here and the first is a paper in sentences with a body."""
    first = next(iter(_files(path)), None)
    if first is None:
        return False
    with first.open("rb") as stream:
        start = stream.read(_START).decode(errors="replace").upper()
    return "<PAPER" in start and ("<METADATA" in start or "<BODY" in start or "<ABSTRACT" in start)


def load(path: Path, sink: Sink) -> None:
    """Every paper below the folder. Raises InputRefused with all files that are no papers of this form."""
    files = _files(path)
    if not files:
        expected = "files that end in .xml, one for each paper"
        raise InputRefused([Problem(file=str(path), message="no corpus was found", expected=expected)])
    titles = _titles(files)
    for file in files:
        try:
            article = _article(_root(file), file, titles)
        except RecursionError as fault:
            message = "its elements stand in each other too deeply to be read"
            raise InputRefused([Problem(file=str(file), message=message)]) from fault
        add_article(article, sink)


def _files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in found if file.suffix.lower() == ".xml" and file.is_file()]


def _root(file: Path) -> ET.Element:
    """The paper, its names in capitals. Raises InputRefused where it cannot be read as one."""
    text = file.read_bytes().decode("utf-8-sig", errors="replace")
    if "<!ENTITY" in text:
        raise InputRefused([Problem(file=str(file), message="the file declares entities of its own")])
    try:
        root = ET.fromstring(_without_encoding(_ENTITY.sub(_character, text)))  # noqa: S314  (no entities)
    except (ET.ParseError, RecursionError) as fault:
        line = fault.position[0] if isinstance(fault, ET.ParseError) else None
        content = text.splitlines()[line - 1] if line and line <= len(text.splitlines()) else ""
        message = f"not well-formed XML: {fault}"
        raise InputRefused(
            [Problem(file=str(file), line=line, message=message, quote=quoted(content))]
        ) from fault
    for element in root.iter():
        element.tag = element.tag.upper()
        element.attrib = {name.upper(): value for name, value in element.attrib.items()}
    if root.tag != "PAPER":
        message = f"the outermost element is {quoted(root.tag)}"
        raise InputRefused([Problem(file=str(file), message=message, expected="PAPER")])
    return root


def _without_encoding(text: str) -> str:
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1)


def _character(found: re.Match[str]) -> str:
    if found[1] in _OWN_ENTITIES:
        return found[0]
    meant = html.unescape(found[0])
    return meant if meant != found[0] else f"&amp;{found[1]};"


@dataclass(frozen=True, kw_only=True)
class _Titles:
    """The papers of the collection by the words of their titles; a title of two papers means neither."""

    papers: Mapping[tuple[str, ...], str]
    by_start: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]]

    def paper_of(self, title: str, raw: str) -> str | None:
        """By the tagged title alone where there is one; else by the longest that stands in the reference."""
        if title:
            return self.papers.get(_words(title))
        words = _words(raw)
        fitting = [
            own
            for place in range(len(words))
            for own in self.by_start.get(words[place : place + MIN_TITLE_WORDS], ())
            if words[place : place + len(own)] == own
        ]
        return self.papers[max(fitting, key=len)] if fitting else None


def _titles(files: Sequence[Path]) -> _Titles:
    found: dict[tuple[str, ...], list[str]] = {}
    names: dict[str, Path] = {}
    problems: list[Problem] = []
    for file in files:
        try:
            root = _root(file)
        except InputRefused as refused:
            problems += refused.problems
            continue
        name = _name(root, file)
        if name in names:
            message = f"paper “{name}” is the one of {names[name].name} too"
            problems.append(Problem(file=str(file), message=message, expected="one file for each paper"))
        names[name] = file
        found.setdefault(_words(_text(root.find("TITLE")) or _text(root.find("METADATA/TITLE"))), []).append(
            name
        )
    if problems:
        raise InputRefused(problems)
    papers = {words: own[0] for words, own in found.items() if words and len(own) == 1}
    by_start: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for words in papers:
        if len(words) >= MIN_TITLE_WORDS:
            by_start.setdefault(words[:MIN_TITLE_WORDS], []).append(words)
    return _Titles(papers=papers, by_start=by_start)


def _article(root: ET.Element, file: Path, titles: _Titles) -> Article:
    name = _name(root, file)
    entries = list(_entries(root, name, titles))
    paragraphs = list(_paragraphs(root, entries))
    metadata = root.find("METADATA")
    year = "" if metadata is None else _text(metadata.find(".//YEAR")) or _text(metadata.find(".//DATE"))
    found = _YEAR.search(year)
    authors = [] if metadata is None else [_text(author) for author in metadata.iter("AUTHOR")]
    return Article(
        paper=Paper(
            paper_id=name,
            title=_text(root.find("TITLE")) or _text(root.find("METADATA/TITLE")),
            authors="; ".join(filter(None, authors)),
            abstract=_text(root.find(".//ABSTRACT")),
            text=" ".join(
                _without_marks(sentence) for paragraph in paragraphs for sentence in paragraph.sentences
            ),
            year=int(found[0]) if found else None,
        ),
        references=[entry.reference for entry in entries],
        paragraphs=paragraphs,
    )


def _name(root: ET.Element, file: Path) -> str:
    return _text(root.find("METADATA/FILENO")) or _text(root.find("FILENO")) or file.stem


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A reference with what a mark in the text may call it by."""

    reference: Reference
    own_id: str
    surnames: tuple[str, ...]
    year: str


def _entries(root: ET.Element, paper: str, titles: _Titles) -> Iterator[_Entry]:
    for number, element in enumerate(root.iter("REFERENCE")):
        raw, title, date = _text(element), _text(element.find(".//TITLE")), _text(element.find(".//DATE"))
        own_id = element.get("ID", "")
        name = own_id or f"r{number}"
        year = _YEAR.search(date or raw)
        surnames = [_text(surname) for surname in element.iter("SURNAME")]
        yield _Entry(
            reference=Reference(
                ref_id=name,
                target=titles.paper_of(title, raw) or f"{paper}:{name}",
                raw=raw,
                title=title,
                year=int(year[0]) if year else None,
            ),
            own_id=own_id,
            surnames=tuple(surname.lower() for surname in surnames if surname),
            year=date or (year[0] if year else ""),
        )


def _paragraphs(root: ET.Element, entries: Sequence[_Entry]) -> Iterator[Paragraph]:
    body = root.find("BODY")
    if body is not None:
        yield from _paragraphs_in(body, "", entries)


def _paragraphs_in(element: ET.Element, section: str, entries: Sequence[_Entry]) -> Iterator[Paragraph]:
    for child in element:
        if child.tag == "DIV":
            yield from _paragraphs_in(child, _text(child.find("HEADER")) or section, entries)
        elif child.tag == "P":
            sentences = [_sentence(own, entries) for own in child.iter("S")]
            yield Paragraph(section=section, sentences=sentences)
        elif child.tag not in ("HEADER", "REFERENCELIST"):
            yield from _paragraphs_in(child, section, entries)


def _sentence(element: ET.Element, entries: Sequence[_Entry]) -> Sentence:
    parts: list[str] = []
    marks: list[Mark] = []

    def walk(inner: ET.Element) -> None:
        if inner.tag == "REF":
            start, printed = sum(map(len, parts)), _text(inner)
            parts.append(printed or "?")
            marks.append(
                Mark(
                    start=start,
                    end=start + len(parts[-1]),
                    text=printed,
                    ref_id=_cited(inner, printed, entries),
                )
            )
            return
        parts.append(inner.text or "")
        for child in inner:
            walk(child)
            parts.append(child.tail or "")

    walk(element)
    return Sentence(text="".join(parts), marks=marks, zone=_zone(element))


def _cited(mark: ET.Element, printed: str, entries: Sequence[_Entry]) -> str | None:
    if wanted := mark.get("REFID", "").strip("?"):
        return next((entry.reference.ref_id for entry in entries if entry.own_id == wanted), None)
    words = " ".join(filter(None, (_text(author) for author in mark.iter("REFAUTHOR")))) or printed
    year = _text(mark.find(".//DATE")) or next(iter(re.findall(r"\b\d{4}[a-z]?\b", printed)), "")
    if not year:
        return None
    named = [entry for entry in entries if entry.surnames and entry.year == year]
    fitting = [
        entry for entry in named if re.search(rf"(?<!\w){re.escape(entry.surnames[0])}(?!\w)", words.lower())
    ]
    return fitting[0].reference.ref_id if len(fitting) == 1 else None


def _zone(sentence: ET.Element) -> str | None:
    concepts = (own.get("TYPE", "") for own in sentence.iter() if own.tag in ZONES_OF_CHILDREN)
    return sentence.get("AZ", "").strip() or next(filter(None, concepts), None)


def _without_marks(sentence: Sentence) -> str:
    parts, end = [], 0
    for mark in sentence.marks:
        parts.append(sentence.text[end : mark.start])
        end = mark.end
    return " ".join(" ".join([*parts, sentence.text[end:]]).split())


def _text(element: ET.Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _words(title: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", title.lower()))
