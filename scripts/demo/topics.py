"""Topics of the demo in the layout of the CL-Summ corpus, beside those that were written by hand."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from scoring.tools.builders.topics import (
    ABSTRACT_SECTION,
    TopicPaper,
    format_sentence_element,
)
from scripts.demo.papers import PAPERS, Paper, citances

#: Papers that become topics, by split.
TOPICS = {
    "demo": ("logs", "tides", "hands", "clocks", "catalogue"),
    "evaluation": ("peat", "prices", "dialects", "petrels"),
    "pilot": ("reading", "dating", "trend"),
}
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


def write_topics(folder: Path, keys: Sequence[str]) -> None:
    for key in keys:
        name = name_of(PAPERS[key])
        for path, text in _files(name, PAPERS[key]).items():
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
    texts: dict[str, list[str]] = {}
    quoted: dict[int, str] = {}
    for sentence in paper.sentences:
        within = texts.setdefault(sentence.section, [])
        within.append(sentence.text)
        quoted[sentence.number] = format_sentence_element(
            sentence.number, len(within), sentence.text
        )
    files = {f"Reference_XML/{topic}.xml": _paper_xml(paper.title, texts)}
    annotation: list[str] = []
    for citing, sentence, citation in citances(paper):
        name = f"{name_of(citing)}.xml"
        files[f"Citance_XML/{name}"] = _paper_xml(citing.title, _texts(citing))
        cited = [each.number for each in paper.named(*citation.keys)]
        section = citing.sections()[sentence.section]
        offsets = ",".join(f"'{number}'" for number in cited)
        fields = {
            "Citance Number": len(annotation) + 1,
            "Reference Article": f"{topic}.xml",
            "Citing Article": name,
            "Citation Marker Offset": f"['{sentence.number}']",
            "Citation Marker": citation.bracketed
            if sentence.is_in_brackets
            else citation.marker,
            "Citation Offset": f"['{sentence.number}']",
            "Citation Text": format_sentence_element(
                sentence.number, 1 + section.index(sentence), sentence.text
            ),
            "Reference Offset": f"[{offsets}]",
            "Reference Text": "".join(quoted[number] for number in cited),
            "Discourse Facet": f"{citation.facet}_Citation",
            "Annotator": "Citeboard demo",
        }
        line = " | ".join(f"{field}: {value}" for field, value in fields.items())
        annotation.append(f"{line} |\n")
    files[f"annotation/{topic}.annv3.txt"] = "\n".join(annotation)
    abstract = [
        format_sentence_element(number, number, text)
        for number, text in enumerate(paper.abstract, start=1)
    ]
    summaries = {
        "abstract": "\n".join(
            [format_sentence_element(0, None, paper.title), *abstract]
        ),
        "community": "\n".join(quoted[number] for number in sorted(_community(paper))),
        "human": paper["summary"],
    }
    return files | {
        f"summary/{topic}.{kind}.txt": f"{text}\n" for kind, text in summaries.items()
    }


def name_of(paper: Paper) -> str:
    """Return the paper's name in the corpus, with its year."""
    return f"D{paper['year'] % 100:02}-{2001 + list(PAPERS).index(paper.key)}"


def _texts(paper: Paper) -> dict[str, list[str]]:
    return {
        section: [sentence.text for sentence in sentences]
        for section, sentences in paper.sections().items()
    }


def _community(paper: Paper) -> list[int]:
    """Return the most cited sentences, at most eight."""
    counts: Counter[int] = Counter()
    for _, _, citation in citances(paper):
        counts.update(sentence.number for sentence in paper.named(*citation.keys))
    return [number for number, _ in counts.most_common(8)]


def _paper_xml(title: str, sections: Mapping[str, Sequence[str]]) -> str:
    sentences = [
        (section or ABSTRACT_SECTION, text)
        for section, texts in sections.items()
        for text in texts
    ]
    return TopicPaper(title, sentences).format_as_xml()
