"""Topics of the demo in the layout of the CL-Summ corpus, beside those that were written by hand."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from scoring.tools.builders.topics import ABSTRACT, Written, element
from scripts.demo.papers import DATA, PAPERS, Paper, citing_papers

#: By split the papers that become its topics, with so many citing papers and citations in each.
TOPICS = {
    "demo": PAPERS[:5],
    "evaluation": PAPERS[5:9],
    "pilot": PAPERS[9:12],
    "2024": PAPERS[12:],
}
CITING, CITATIONS = 4, 4
_FIELDS = re.compile(
    r"(?:^| \| )([A-Z][A-Za-z ]+): (.*?)(?= \| [A-Z][A-Za-z ]+: | \|$)"
)
_NUMBER = re.compile(r"'(\d+)'")
_FACET = re.compile(r"(\w+)_Citation")


@dataclass(frozen=True, kw_only=True)
class Citance:
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


def write_topics(folder: Path, papers: Sequence[Paper]) -> None:
    for paper in papers:
        name = f"D{paper.subject.year % 100:02}-{2001 + PAPERS.index(paper)}"
        for path, text in _files(name, paper).items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text, encoding="utf-8")


def read_topics(folders: Sequence[Path]) -> list[Topic]:
    topics = []
    for folder in sorted(folders, key=lambda folder: folder.name):
        name = folder.name
        root = ET.parse(folder / "Reference_XML" / f"{name}.xml").getroot()  # noqa: S314  (files of our own)
        community = (folder / "summary" / f"{name}.community.txt").read_text(
            encoding="utf-8"
        )
        annotation = (folder / "annotation" / f"{name}.annv3.txt").read_text(
            encoding="utf-8"
        )
        lines = [dict(_FIELDS.findall(line)) for line in annotation.split("\n") if line]
        citances = (
            Citance(
                topic=name,
                citing=fields["Citing Article"].removesuffix(".xml"),
                marker=_NUMBER.findall(fields["Citation Marker Offset"])[0],
                number=fields["Citance Number"],
                sentences=tuple(_NUMBER.findall(fields["Reference Offset"])),
                facets=tuple(_FACET.findall(fields["Discourse Facet"])),
            )
            for fields in lines
        )
        topic = Topic(
            name=name,
            sentences={
                s.attrib["sid"]: s.text or ""
                for s in root.iter("S")
                if s.attrib["sid"] != "0"
            },
            abstract=tuple(
                s.attrib["sid"] for part in root.iter("ABSTRACT") for s in part
            ),
            community=tuple(re.findall(r'sid="(\d+)"', community.replace("ssid", ""))),
            citances=tuple(citances),
        )
        topics.append(topic)
    return topics


def _files(topic: str, paper: Paper) -> dict[str, str]:
    sections: dict[str, list[str]] = {}
    quoted: dict[int, str] = {}
    for sentence in paper.sentences:
        texts = sections.setdefault(sentence.section, [])
        texts.append(sentence.text)
        quoted[sentence.number] = element(sentence.number, len(texts), sentence.text)
    files = {f"Reference_XML/{topic}.xml": _paper_xml(paper.title, sections)}
    subject = paper.subject
    annotation: list[str] = []
    for place, (title, citing) in enumerate(citing_papers(paper, CITING, CITATIONS)):
        name = f"D{subject.year % 100 + 1 + place:02}-{1001 + 7 * place}.xml"
        texts_of = {
            section: [text for text, _ in sentences]
            for section, sentences in citing.items()
        }
        files[f"Citance_XML/{name}"] = _paper_xml(title, texts_of)
        number = 0
        for sentences in citing.values():
            for within, (text, citation) in enumerate(sentences, start=1):
                number += 1
                if citation is None:
                    continue
                in_brackets = f"{subject.authors}, {subject.year}"
                offsets = ",".join(f"'{cited}'" for cited in citation.cited)
                fields = {
                    "Citance Number": len(annotation) + 1,
                    "Reference Article": f"{topic}.xml",
                    "Citing Article": name,
                    "Citation Marker Offset": f"['{number}']",
                    "Citation Marker": in_brackets
                    if in_brackets in text
                    else f"{subject.authors} ({subject.year})",
                    "Citation Offset": f"['{number}']",
                    "Citation Text": element(number, within, text),
                    "Reference Offset": f"[{offsets}]",
                    "Reference Text": "".join(
                        quoted[cited] for cited in citation.cited
                    ),
                    "Discourse Facet": f"{citation.facet}_Citation",
                    "Annotator": "Citeboard demo",
                }
                line = " | ".join(
                    f"{field}: {value}" for field, value in fields.items()
                )
                annotation.append(f"{line} |\n")
    files[f"annotation/{topic}.annv3.txt"] = "\n".join(annotation)
    abstract = [
        element(number, number, text)
        for number, text in enumerate(paper.abstract, start=1)
    ]
    community = paper.named(
        "idea", "aim", "weights", "result", "ablation", "hard", "apply", "people"
    )
    summaries = {
        "abstract": "\n".join([element(0, None, paper.title), *abstract]),
        "community": "\n".join(quoted[sentence.number] for sentence in community),
        "human": DATA["summary"]["human"].format_map(subject.phrases),
    }
    return files | {
        f"summary/{topic}.{kind}.txt": f"{text}\n" for kind, text in summaries.items()
    }


def _paper_xml(title: str, sections: Mapping[str, Sequence[str]]) -> str:
    sentences = [
        (section or ABSTRACT, text)
        for section, texts in sections.items()
        for text in texts
    ]
    return Written(title, sentences).xml()
