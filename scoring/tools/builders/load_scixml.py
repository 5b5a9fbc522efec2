"""SciXML: papers as XML files of one each, split into sentences, which may carry their rhetorical zones.

Teufel and Elhadad 2002, Collection and linguistic processing of a large-scale corpus of medical articles
(LREC); as in the ACL collection of Ritchie, Teufel and Robertson 2006 (Creating a Test Collection for
Citation-based IR Experiments, NAACL). Zones are the attribute ``AZ`` of a sentence (Argumentative Zoning) or
the type of a ``CoreSc1`` or ``annotationART`` element in it (Core Scientific Concepts, Liakata et al. 2010).

A reference list names no paper of the collection by an id: a reference means the paper whose title it has.
"""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from scoring.tools.builders.contexts import add_article
from scoring.tools.builders.corpus import (
    Article,
    Mark,
    Paper,
    Paragraph,
    Reference,
    Sentence,
)
from scoring.tools.builders.reading import refusal
from scoring.tools.builders.store import Store
from tasks.types.problems import InputRefused, Problem, quoted, refuse

#: A reference without a tagged title means a paper if a title of so many words or more stands in it.
MIN_TITLE_WORDS = 4
_ENTITY = re.compile(r"&([A-Za-z]\w*);")
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d")


def fits(path: Path) -> bool:
    """Return whether the folder has XML files, the first of which is a paper with a body in sentences."""
    if (first := next(iter(_files(path)), None)) is None:
        return False
    with first.open("rb") as stream:
        start = stream.read(4_096).decode(errors="replace").upper()
    return "<PAPER" in start and (
        "<METADATA" in start or "<BODY" in start or "<ABSTRACT" in start
    )


def load(path: Path, store: Store) -> None:
    if not (files := _files(path)):
        raise refusal(
            "no corpus was found", path, "files that end in .xml, one for each paper"
        )
    titles = _Titles(files)
    for file in files:
        try:
            article = _article(_root(file), file, titles)
        except RecursionError as fault:
            raise refusal(
                "its elements stand in each other too deeply to be read", file
            ) from fault
        add_article(article, store)


def _files(path: Path) -> list[Path]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in files if file.suffix.lower() == ".xml" and file.is_file()]


def _root(file: Path) -> ET.Element:
    """The paper, its names in capitals. Raises InputRefused where it cannot be read as one."""
    text = file.read_bytes().decode("utf-8-sig", errors="replace")
    if "<!ENTITY" in text:
        raise refusal("the file declares entities of its own", file)

    def character(entity: re.Match[str]) -> str:
        if entity[1] in ("lt", "gt", "amp", "quot", "apos"):
            return entity[0]
        plain = html.unescape(entity[0])
        return plain if plain != entity[0] else f"&amp;{entity[1]};"

    content = re.sub(r"^\s*<\?xml[^>]*\?>", "", _ENTITY.sub(character, text), count=1)
    try:
        root = ET.fromstring(content)  # noqa: S314  (no entities)
    except (ET.ParseError, RecursionError) as fault:
        line = fault.position[0] if isinstance(fault, ET.ParseError) else None
        quote = (
            text.splitlines()[line - 1]
            if line and line <= len(text.splitlines())
            else ""
        )
        message = f"not well-formed XML: {fault}"
        problem = Problem(
            file=str(file), line=line, message=message, quote=quoted(quote)
        )
        raise InputRefused([problem]) from fault
    for element in root.iter():
        element.tag = element.tag.upper()
        element.attrib = {name.upper(): value for name, value in element.attrib.items()}
    if root.tag != "PAPER":
        raise refusal(f"the outermost element is {quoted(root.tag)}", file, "PAPER")
    return root


class _Titles:
    """The papers of the collection by the words of their titles; a title of two papers means neither. Raises
    InputRefused with all files that cannot be read, and papers that are there twice.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        names: dict[tuple[str, ...], list[str]] = {}
        seen: dict[str, Path] = {}
        problems: list[Problem] = []
        for file in files:
            try:
                root = _root(file)
            except InputRefused as refused:
                problems += refused.problems
                continue
            if (name := _name(root, file)) in seen:
                message = f"paper “{name}” is the one of {seen[name].name} too"
                problems.append(
                    Problem(
                        file=str(file),
                        message=message,
                        expected="one file for each paper",
                    )
                )
            seen[name] = file
            names.setdefault(_words(_title(root)), []).append(name)
        refuse(problems)
        self.papers = {
            words: of[0] for words, of in names.items() if words and len(of) == 1
        }
        self.by_start: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for words in self.papers:
            if len(words) >= MIN_TITLE_WORDS:
                self.by_start.setdefault(words[:MIN_TITLE_WORDS], []).append(words)

    def paper_of(self, title: str, raw: str) -> str | None:
        """By the tagged title alone where there is one; else by the longest that stands in the reference."""
        if title:
            return self.papers.get(_words(title))
        words = _words(raw)
        fitting: list[tuple[str, ...]] = []
        for place in range(len(words)):
            near = self.by_start.get(words[place : place + MIN_TITLE_WORDS], ())
            fitting += (one for one in near if words[place : place + len(one)] == one)
        return self.papers[max(fitting, key=len)] if fitting else None


def _article(root: ET.Element, file: Path, titles: _Titles) -> Article:
    name = _name(root, file)
    entries = []
    for number, element in enumerate(root.iter("REFERENCE")):
        raw, title, date = (
            _text(element),
            _text(element.find(".//TITLE")),
            _text(element.find(".//DATE")),
        )
        ref_id = element.get("ID", "") or f"r{number}"
        year = _YEAR.search(date or raw)
        target = titles.paper_of(title, raw) or f"{name}:{ref_id}"
        whole = int(year[0]) if year else None
        reference = Reference(
            ref_id=ref_id, target=target, raw=raw, title=title, year=whole
        )
        surnames = tuple(
            filter(
                None, (_text(surname).lower() for surname in element.iter("SURNAME"))
            )
        )
        entries.append(
            _Entry(
                reference,
                element.get("ID", ""),
                surnames,
                date or (year[0] if year else ""),
            )
        )
    body, metadata = root.find("BODY"), root.find("METADATA")
    paragraphs = [] if body is None else list(_paragraphs_in(body, "", entries))
    appeared, authors = None, []
    if metadata is not None:
        appeared = _YEAR.search(
            _text(metadata.find(".//YEAR")) or _text(metadata.find(".//DATE"))
        )
        authors = [_text(author) for author in metadata.iter("AUTHOR")]
    unmarked = []
    for sentence in (
        sentence for paragraph in paragraphs for sentence in paragraph.sentences
    ):
        ends = [0, *(mark.end for mark in sentence.marks)]
        starts = [*(mark.start for mark in sentence.marks), None]
        unmarked += [
            sentence.text[end:start] for end, start in zip(ends, starts, strict=True)
        ]
    return Article(
        paper=Paper(
            paper_id=name,
            title=_title(root),
            authors="; ".join(filter(None, authors)),
            abstract=_text(root.find(".//ABSTRACT")),
            text=" ".join(" ".join(unmarked).split()),
            year=int(appeared[0]) if appeared else None,
        ),
        references=[entry.reference for entry in entries],
        paragraphs=paragraphs,
    )


def _name(root: ET.Element, file: Path) -> str:
    return (
        _text(root.find("METADATA/FILENO")) or _text(root.find("FILENO")) or file.stem
    )


def _title(root: ET.Element) -> str:
    return _text(root.find("TITLE")) or _text(root.find("METADATA/TITLE"))


class _Entry(NamedTuple):
    reference: Reference
    own_id: str
    surnames: tuple[str, ...]
    year: str


def _paragraphs_in(
    element: ET.Element, section: str, entries: Sequence[_Entry]
) -> Iterator[Paragraph]:
    for child in element:
        if child.tag == "DIV":
            yield from _paragraphs_in(
                child, _text(child.find("HEADER")) or section, entries
            )
        elif child.tag == "P":
            sentences = [_sentence(sentence, entries) for sentence in child.iter("S")]
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
            ref_id = _cited(inner, printed, entries)
            marks.append(
                Mark(
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
    return Sentence(text="".join(parts), marks=marks, zone=zone)


def _cited(mark: ET.Element, printed: str, entries: Sequence[_Entry]) -> str | None:
    if wanted := mark.get("REFID", "").strip("?"):
        return next(
            (entry.reference.ref_id for entry in entries if entry.own_id == wanted),
            None,
        )
    words = (
        " ".join(filter(None, (_text(author) for author in mark.iter("REFAUTHOR"))))
        or printed
    )
    year = _text(mark.find(".//DATE")) or next(
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


def _text(element: ET.Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _words(title: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", title.lower()))
