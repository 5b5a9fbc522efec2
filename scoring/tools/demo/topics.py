"""Topics of the demo in the layout of the CL-Summ corpus, beside those that were written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from scoring.tools.demo.papers import PAPERS, Citation, CitingPaper, Paper, citing_papers, marker_of

#: How many topics are written, with so many citing papers and citations in each.
TOPICS, CITING, CITATIONS = 8, 4, 4
_FIELDS = re.compile(r"(?:^| \| )([A-Z][A-Za-z ]+): (.*?)(?= \| [A-Z][A-Za-z ]+: | \|$)")
_NUMBER = re.compile(r"'(\d+)'")
_FACET = re.compile(r"(\w+)_Citation")


@dataclass(frozen=True, kw_only=True)
class Citance:
    """A line of an annotation, as a run answers it."""

    topic: str
    citing: str
    marker: str
    number: str
    sentences: tuple[str, ...]
    facets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """What runs are made of: the reference paper's sentences and what the gold says of them."""

    name: str
    sentences: Mapping[str, str]
    abstract: tuple[str, ...]
    community: tuple[str, ...]
    citances: tuple[Citance, ...]


def write_topics(folder: Path) -> None:
    for place, paper in enumerate(PAPERS[:TOPICS]):
        year = paper.subject.year % 100
        _write(folder / f"D{year:02}-{2001 + place}", paper)


def read_topics(folders: Sequence[Path]) -> list[Topic]:
    return [_read(folder) for folder in sorted(folders, key=lambda folder: folder.name)]


def _write(folder: Path, paper: Paper) -> None:
    topic = folder.name
    for part in ("Reference_XML", "Citance_XML", "annotation", "summary"):
        (folder / part).mkdir(parents=True)
    sections: dict[str, list[str]] = {}
    for sentence in paper.sentences:
        sections.setdefault(sentence.section, []).append(sentence.text)
    _save(folder / "Reference_XML" / f"{topic}.xml", _paper_xml(paper.title, sections))
    lines: list[str] = []
    for place, citing in enumerate(citing_papers(paper, CITING, CITATIONS)):
        name = f"D{paper.subject.year % 100 + 1 + place:02}-{1001 + 7 * place}.xml"
        texts = {section: [text for text, _ in own] for section, own in citing.sections.items()}
        _save(folder / "Citance_XML" / name, _paper_xml(citing.title, texts))
        lines += _annotated(topic, paper, name, citing, len(lines))
    _save(folder / "annotation" / f"{topic}.annv3.txt", "\n".join(lines))
    _write_summaries(folder / "summary", topic, paper)


def _annotated(topic: str, paper: Paper, name: str, citing: CitingPaper, before: int) -> Iterator[str]:
    number = 0
    for own in citing.sections.values():
        for place, (text, citation) in enumerate(own, start=1):
            number += 1
            if citation is not None:
                before += 1
                yield _line(topic, paper, name, before, _s(number, place, text), number, text, citation)


def _line(
    topic: str, paper: Paper, name: str, count: int, quoted: str, at: int, text: str, citation: Citation
) -> str:
    first = {sentence.section: sentence.number for sentence in reversed(paper.sentences)}
    cited = [sentence for sentence in paper.sentences if sentence.number in citation.cited]
    quotes = "".join(
        _s(sentence.number, sentence.number - first[sentence.section] + 1, sentence.text)
        for sentence in cited
    )
    offsets = ",".join(f"'{sentence.number}'" for sentence in cited)
    fields = {
        "Citance Number": count,
        "Reference Article": f"{topic}.xml",
        "Citing Article": name,
        "Citation Marker Offset": f"['{at}']",
        "Citation Marker": marker_of(text, paper.subject),
        "Citation Offset": f"['{at}']",
        "Citation Text": quoted,
        "Reference Offset": f"[{offsets}]",
        "Reference Text": quotes,
        "Discourse Facet": f"{citation.facet}_Citation",
        "Annotator": "Citeboard demo",
    }
    return " | ".join(f"{field}: {value}" for field, value in fields.items()) + " |\n"


def _write_summaries(folder: Path, topic: str, paper: Paper) -> None:
    abstract = [_s(number, number, text) for number, text in enumerate(paper.abstract, start=1)]
    _save(folder / f"{topic}.abstract.txt", "\n".join([_s(0, None, paper.title), *abstract]) + "\n")
    community = paper.named("idea", "aim", "weights", "result", "ablation", "hard", "apply", "people")
    first = {sentence.section: sentence.number for sentence in reversed(paper.sentences)}
    quoted = (
        _s(sentence.number, sentence.number - first[sentence.section] + 1, sentence.text)
        for sentence in community
    )
    _save(folder / f"{topic}.community.txt", "\n".join(quoted) + "\n")
    human = (
        "The paper is about {task}, which {use} need and {rival} do badly. Its authors suppose that {idea}, "
        "and train {method} on half of {size} {items} from {source}. {Readers} marked them and agreed least "
        "on {hard}. The F1 is {best}, {gap} points above {rival}; {cue} bring most of that. {Easy} are "
        "nearly solved. Doubtful cases go to a person, and the method can be carried to other sources."
    )
    _save(folder / f"{topic}.human.txt", human.format_map(paper.subject.phrases) + "\n")


def _paper_xml(title: str, sections: Mapping[str, Sequence[str]]) -> str:
    number = 0
    lines = ["<PAPER>", f"\t{_s(0, None, title)}"]
    for place, (section, texts) in enumerate(sections.items()):
        lines.append(f'\t<SECTION title="{section}" number="{place}">' if section else "\t<ABSTRACT>")
        for within, text in enumerate(texts, start=1):
            number += 1
            lines.append(f"\t\t{_s(number, within, text)}")
        lines.append("\t</SECTION>" if section else "\t</ABSTRACT>")
    return "\n".join([*lines, "</PAPER>"]) + "\n"


def _s(number: int, within: int | None, text: str) -> str:
    place = "" if within is None else f' ssid="{within}"'
    return f'<S sid="{number}"{place}>{escape(text)}</S>'


def _save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _read(folder: Path) -> Topic:
    name = folder.name
    root = ET.parse(folder / "Reference_XML" / f"{name}.xml").getroot()  # noqa: S314  (files of our own)
    community = (folder / "summary" / f"{name}.community.txt").read_text(encoding="utf-8")
    return Topic(
        name=name,
        sentences={s.attrib["sid"]: s.text or "" for s in root.iter("S") if s.attrib["sid"] != "0"},
        abstract=tuple(s.attrib["sid"] for part in root.iter("ABSTRACT") for s in part),
        community=tuple(re.findall(r'sid="(\d+)"', community.replace("ssid", ""))),
        citances=tuple(_citances(folder / "annotation" / f"{name}.annv3.txt", name)),
    )


def _citances(path: Path, topic: str) -> Iterator[Citance]:
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        fields = dict(_FIELDS.findall(line))
        yield Citance(
            topic=topic,
            citing=fields["Citing Article"].removesuffix(".xml"),
            marker=_NUMBER.findall(fields["Citation Marker Offset"])[0],
            number=fields["Citance Number"],
            sentences=tuple(_NUMBER.findall(fields["Reference Offset"])),
            facets=tuple(_FACET.findall(fields["Discourse Facet"])),
        )
