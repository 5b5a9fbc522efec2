"""A topic in the layout of CL-Summ: papers by sentence, and citances that wait for annotators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from scoring.metrics.discourse.sentences import sentence_spans
from scoring.tools.builders.corpus import OTHER, PLACEHOLDER
from scoring.tools.builders.topics import Texts, TopicChoice, contexts

ABSTRACT, TEXT, CITATIONS = "Abstract", "Text", "Citations"
#: What stands for a mark where the corpus does not say how it is printed.
MARK, OTHER_MARK = "[CITATION]", "[OTHER]"
_ODD = re.compile(r"[^A-Za-z0-9-]+")


@dataclass
class Written:
    """A paper on its way into a file: sentences, each with its section; a place is its `sid`."""

    title: str
    sentences: list[tuple[str, str]] = field(default_factory=list)
    #: Where a sentence stands, by its letters.
    places: dict[str, int] = field(default_factory=dict)

    def add(self, section: str, sentence: str, unmarked: str = "") -> int:
        """The sid of the sentence, which begins at 1; the title has 0."""
        self.sentences.append((section, sentence))
        for key in (_letters(sentence), _letters(unmarked)):
            self.places.setdefault(key, len(self.sentences))
        return len(self.sentences)

    def xml(self) -> str:
        lines = ["<PAPER>", _element(0, 0, self.title)]
        sid = 0
        for number, (section, own) in enumerate(groupby(self.sentences, key=lambda one: one[0]), start=1):
            is_abstract = section == ABSTRACT
            lines.append(
                "<ABSTRACT>"
                if is_abstract
                else f'<SECTION title={quoteattr(" ".join(section.split()))} number="{number}">'
            )
            for place, (_, sentence) in enumerate(own, start=1):
                sid += 1
                lines.append(_element(sid, place, sentence))
            lines.append("</ABSTRACT>" if is_abstract else "</SECTION>")
        return "\n".join([*lines, "</PAPER>", ""])


def file_names(ids: Sequence[str]) -> dict[str, str]:
    """Of each paper a name without a dot or slash, since files of runs are named up to the first dot."""
    names: dict[str, str] = {}
    for paper_id in ids:
        plain = _ODD.sub("-", paper_id).strip("-") or "paper"
        name, number = plain, 1
        while name in names.values():
            number += 1
            name = f"{plain}-{number}"
        names[paper_id] = name
    return names


def write_topic(store: Texts, topic: TopicChoice, names: dict[str, str], out: Path) -> int:
    """Write the topic's folder and say how many citances it has."""
    name = names[topic.paper_id]
    folder = out / name
    for part in ("Reference_XML", "Citance_XML", "annotation", "summary"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    paper = written(store, topic.paper_id)
    _write(folder / "Reference_XML" / f"{name}.xml", paper.xml())
    abstract = [sentence for section, sentence in paper.sentences if section == ABSTRACT]
    lines = [_element(sid, sid, sentence) for sid, sentence in enumerate([paper.title, *abstract])]
    _write(folder / "summary" / f"{name}.abstract.txt", "\n".join([*lines, ""]))
    citances: list[str] = []
    for one, _ in topic.citing:
        citing = written(store, one.paper_id)
        for context in contexts(store, one.paper_id, topic.paper_id):
            sid, text = _citance(citing, context)
            number = len(citances) + 1
            citances.append(
                _template(number, name, names[one.paper_id], sid, context["marker"] or MARK, text)
            )
        _write(folder / "Citance_XML" / f"{names[one.paper_id]}.xml", citing.xml())
    _write(folder / "annotation" / f"{name}.annv3.txt", "\n".join(citances))
    return len(citances)


def written(store: Texts, paper_id: str) -> Written:
    """A paper's title, abstract and text; without a text, what of it the contexts hold follows."""
    paper = next(store.rows("SELECT * FROM papers WHERE paper_id = ?", (paper_id,)))
    found = Written(paper["title"] or paper_id)
    rows = list(store.rows("SELECT * FROM texts WHERE paper_id = ? ORDER BY place", (paper_id,)))
    if not any(row["section"] == ABSTRACT for row in rows):
        for sentence in _split(paper["abstract"] or ""):
            found.add(ABSTRACT, sentence)
    for row in rows:
        found.add(row["section"] or TEXT, row["printed"], row["unmarked"])
    if not rows:
        for sentence in _split(paper["text"] or ""):
            found.add(TEXT, sentence)
    return found


def _citance(citing: Written, context: Any) -> tuple[int, str]:
    """The citing sentence's place in its paper, and its text; one that is not there is added at the end."""
    shown = context["sentence"].replace(PLACEHOLDER, context["marker"] or MARK).replace(OTHER, OTHER_MARK)
    sid = citing.places.get(_letters(context["sentence"].replace(PLACEHOLDER, OTHER)))
    if sid is None:
        for sentence in (context["before"], shown, context["after"]):
            if sentence:
                place = citing.add(CITATIONS, sentence.replace(OTHER, OTHER_MARK))
                sid = place if sentence is shown else sid
    assert sid is not None
    return sid, citing.sentences[sid - 1][1]


def _template(number: int, name: str, citing: str, sid: int, marker: str, text: str) -> str:
    """A line of annotation whose last fields are the annotator's to fill in."""
    values = {
        "Citance Number": str(number),
        "Reference Article": f"{name}.xml",
        "Citing Article": f"{citing}.xml",
        "Citation Marker Offset": f"['{sid}']",
        "Citation Marker": _field(marker),
        "Citation Offset": f"['{sid}']",
        "Citation Text": _element(sid, sid, text).replace("|", "&#124;"),
        "Reference Offset": "[]",
        "Reference Text": "",
        "Discourse Facet": "",
        "Annotator": "",
    }
    return " | ".join(f"{field}: {value}" for field, value in values.items()) + " |\n"


def _field(text: str) -> str:
    """Bars part the fields of a line."""
    return escape(" ".join(text.split())).replace("|", "&#124;")


def _element(sid: int, ssid: int, sentence: str) -> str:
    return f'<S sid="{sid}" ssid="{ssid}">{escape(" ".join(sentence.split()))}</S>'


def _split(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        yield text[start:end]


def _letters(sentence: str) -> str:
    """What two ways of printing a sentence share: its letters and digits, without marks."""
    unmarked = sentence.replace(PLACEHOLDER, "").replace(OTHER, "")
    return "".join(character for character in unmarked.lower() if character.isalnum())


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
