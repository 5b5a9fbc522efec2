"""Read collections that have one XML file per paper, and match references to papers by
title.
"""

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from scoring.tools.builders.contexts import add_article_contexts
from scoring.tools.builders.corpus import PaperWithParagraphs
from scoring.tools.builders.reading import make_refusal
from scoring.tools.builders.store import CorpusStore
from tasks.types.problems import (
    InputRefused,
    Problem,
    raise_if_any_problem_is_fatal,
    shorten_quoted_line,
)

#: Minimum number of words of a title that is searched in the text of a reference.
#: If the file marks the title of a reference, only the marked title is compared.
MIN_TITLE_WORDS = 4
_NAMED_ENTITY_PATTERN = re.compile(r"&([A-Za-z]\w*);")


def list_xml_files(path: Path) -> list[Path]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in files if file.suffix.lower() == ".xml" and file.is_file()]


def parse_xml_file(file: Path) -> ET.Element:
    """Return the root element. Raises InputRefused if the file is not XML or declares
    entities of its own.
    """
    text = file.read_bytes().decode("utf-8-sig", errors="replace")
    if "<!ENTITY" in text:
        raise make_refusal("the file declares entities of its own", file)

    def replace_entity(entity: re.Match[str]) -> str:
        if entity[1] in ("lt", "gt", "amp", "quot", "apos"):
            return entity[0]
        plain = html.unescape(entity[0])
        return plain if plain != entity[0] else f"&amp;{entity[1]};"

    content = re.sub(
        r"^\s*<\?xml[^>]*\?>",
        "",
        _NAMED_ENTITY_PATTERN.sub(replace_entity, text),
        count=1,
    )
    try:
        root: ET.Element = ET.fromstring(content)  # noqa: S314  (no entities)
    except (ET.ParseError, RecursionError) as fault:
        line = fault.position[0] if isinstance(fault, ET.ParseError) else None
        quote = (
            text.splitlines()[line - 1]
            if line and line <= len(text.splitlines())
            else ""
        )
        message = f"not well-formed XML: {fault}"
        problem = Problem(
            file=str(file), line=line, message=message, quote=shorten_quoted_line(quote)
        )
        raise InputRefused([problem]) from fault
    return root


def load_papers(
    path: Path,
    store: CorpusStore,
    named: Callable[[Path], tuple[str, str]],
    article_of: Callable[[Path, "TitleIndex"], PaperWithParagraphs],
) -> None:
    """Add the paper in each XML file of a collection to the store. Raises InputRefused.

    ``named`` returns the id and title of a file's paper.
    """
    if not (files := list_xml_files(path)):
        raise make_refusal(
            "no corpus was found", path, "files that end in .xml, one for each paper"
        )
    titles = TitleIndex(files, named)
    for file in files:
        try:
            article = article_of(file, titles)
        except RecursionError as fault:
            raise make_refusal(
                "its elements stand in each other too deeply to be read", file
            ) from fault
        add_article_contexts(article, store)


class TitleIndex:
    """An index that finds papers by the words of their titles. The index leaves out
    titles that several papers share.

    ``named`` returns the id and title of a file's paper. Raises InputRefused with all
    files that cannot be read or that contain the same paper.
    """

    def __init__(
        self, files: Sequence[Path], named: Callable[[Path], tuple[str, str]]
    ) -> None:
        names: dict[tuple[str, ...], list[str]] = {}
        seen: dict[str, Path] = {}
        problems: list[Problem] = []
        for file in files:
            try:
                name, title = named(file)
            except InputRefused as refused:
                problems += refused.problems
                continue
            if name in seen:
                message = f"paper “{name}” is the one of {seen[name].name} too"
                problems.append(
                    Problem(
                        file=str(file),
                        message=message,
                        expected="one file for each paper",
                    )
                )
            seen[name] = file
            names.setdefault(split_title_words(title), []).append(name)
        raise_if_any_problem_is_fatal(problems)
        self.papers = {
            words: of[0] for words, of in names.items() if words and len(of) == 1
        }
        self.by_start: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for words in self.papers:
            if len(words) >= MIN_TITLE_WORDS:
                self.by_start.setdefault(words[:MIN_TITLE_WORDS], []).append(words)

    def find_paper(self, title: str, raw: str) -> str | None:
        """If the file marks the title in the reference, return the paper with this
        title.

        If the file marks no title in the reference, return the paper with the longest
        title that the text of the reference contains.
        """
        if title:
            return self.papers.get(split_title_words(title))
        words = split_title_words(raw)
        fitting: list[tuple[str, ...]] = []
        for place in range(len(words)):
            near = self.by_start.get(words[place : place + MIN_TITLE_WORDS], ())
            fitting += (one for one in near if words[place : place + len(one)] == one)
        return self.papers[max(fitting, key=len)] if fitting else None


def split_title_words(title: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", title.lower()))


def join_element_text(element: ET.Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())
