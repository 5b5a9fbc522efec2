"""Corpora of our own in every form that a loader reads, as small as they can be."""

import json
from pathlib import Path

from scoring.tools.builders.corpus import RULES_SPLITTER_NAME, choose_splitter


class Heap:
    """Keeps what a loader reads, in the order in which it comes."""

    around = 1
    sentences = choose_splitter(RULES_SPLITTER_NAME)

    def __init__(self):
        self.papers, self.references, self.contexts, self.lengths = {}, {}, {}, []
        self.intents, self.authors, self.texts = [], {}, {}

    def add_paper(self, paper):
        self.papers[paper.paper_id] = paper

    def add_author(self, author):
        self.authors[author.author_id] = author

    def add_reference(self, paper_id, reference):
        self.references.setdefault(paper_id, []).append(reference)

    def add_context(self, paper_id, context):
        self.contexts.setdefault(paper_id, []).append(context)

    def add_intent(self, *intent):
        self.intents.append(intent)

    def add_text(self, paper_id, section, sentences):
        self.texts.setdefault(paper_id, []).append((section, list(sentences)))

    def add_sentence(self, tokens):
        self.lengths.append(tokens)


def write_lines(path: Path, rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_corpus(
    folder: Path,
    *,
    papers: int = 12,
    contexts: int = 30,
    fields=("Botany", "Music", "Chess"),
) -> Path:
    """A corpus in our own form; the length and the place of the citation change from sentence to sentence."""
    people, listed, rows = [], [], []
    for paper in range(papers):
        name = f"p{paper:03d}"
        people.append(
            {
                "paper_id": name,
                "title": f"Paper {paper}",
                "discipline": fields[paper % len(fields)],
                "year": 2021,
            }
        )
        for number in range(10):
            cited = (paper * 7 + number) % (papers * 3)
            listed.append(
                {
                    "paper_id": name,
                    "ref_id": f"{name}-r{number}",
                    "cited_paper_id": f"w{cited:03d}",
                    "raw": f"Somebody, {1996 + cited % 25}. On the matter of {cited}.",
                    "citation_count": 5 + cited,
                }
            )
        for number in range(contexts):
            length, place = 4 + (paper * 5 + number * 3) % 28, number % 3
            words = [f"word{step % 9}" for step in range(length)]
            words.insert(min(round(length * (0.15 + 0.35 * place)), length), "<REF>")
            rows.append(
                {
                    "context_id": f"{name}_{number:04d}",
                    "paper_id": name,
                    "section": "Introduction",
                    "sentence": " ".join(words).capitalize().replace("<ref>", "<REF>")
                    + ".",
                    "before": "Before.",
                    "after": "After <OTHERREF>.",
                    "gold": [f"{name}-r{number % 10}"],
                    "n_markers": 1,
                    "context_type": ("background", "method", "result")[number % 3],
                }
            )
    write_lines(folder / "papers.jsonl", people)
    write_lines(folder / "references.jsonl", listed)
    write_lines(folder / "contexts.jsonl", rows)
    return folder


def unarxive_paper() -> dict:
    text = (
        "Bells were cast early {{cite:aa}}. Their tone {{formula:f1}} depends on the alloy {{cite:aa}}, "
        "{{cite:bb}}. We follow {{cite:zz}}."
    )
    return {
        "paper_id": "2101.00001",
        "metadata": {
            "title": "On bells",
            "authors": "A. Ringer",
            "license": "CC0",
            "abstract": "We ring.",
        },
        "discipline": "Physics",
        "abstract": {"text": "We ring {{formula:f2}}."},
        "body_text": [
            {
                "section": "On {{cite:bb}}",
                "content_type": "paragraph",
                "text": text,
                "cite_spans": [],
            },
            {
                "section": "Code",
                "content_type": "listing",
                "text": "x = 1 {{cite:aa}}.",
            },
        ],
        "bib_entries": {
            "aa": {
                "bib_entry_raw": "K. Clapper, 2003. Bronze.",
                "contained_arXiv_ids": [],
                "ids": {"open_alex_id": "W1", "doi": "10.1/x"},
            },
            "bb": {
                "bib_entry_raw": "L. Yoke, 2016.",
                "contained_arXiv_ids": [{"id": "1601.00002"}],
                "ids": {},
            },
        },
    }


def s2orc_parse() -> dict:
    text = "Bells were cast early [1]. Their tone depends on the alloy [2, 3]. Yoke (2016) disagrees."

    def span(printed: str, name: str | None) -> dict:
        start = text.index(printed)
        return {
            "start": start,
            "end": start + len(printed),
            "text": printed,
            "ref_id": name,
        }

    spans = [
        span("[1]", "BIBREF0"),
        span("[2", "BIBREF1"),
        span("3]", "BIBREF2"),
        span("Yoke (2016)", "BIBREF1"),
    ]
    return {
        "paper_id": "77",
        "abstract": [],
        "body_text": [
            {"section": "Tone", "text": text, "cite_spans": spans, "ref_spans": []}
        ],
        "bib_entries": {
            "BIBREF0": {
                "title": "Bronze",
                "authors": [{"first": "K", "middle": [], "last": "Clapper"}],
                "year": 2003,
                "venue": "Alloys",
                "link": "11",
            },
            "BIBREF1": {
                "title": "Strike notes",
                "authors": [],
                "year": None,
                "venue": "",
                "link": None,
            },
            "BIBREF2": {
                "title": "Towers",
                "authors": [],
                "year": "1999",
                "venue": "",
                "link": "13",
            },
        },
    }


def s2orc_metadata() -> list[dict]:
    return [
        {
            "paper_id": "77",
            "title": "On bells",
            "authors": [{"first": "A", "last": "Ringer"}],
            "abstract": "We ring.",
            "year": 2020,
            "mag_field_of_study": ["Physics", "Art"],
            "inbound_citations": ["1", "2"],
        },
        {
            "paper_id": "11",
            "title": "Bronze",
            "authors": [],
            "abstract": None,
            "year": 2003,
            "mag_field_of_study": None,
            "inbound_citations": [str(number) for number in range(40)],
        },
    ]


def s2orc_annotated() -> dict:
    text = "On bells\nTone\nBells were cast early (Clapper, 2003). Nobody knows.\nK. Clapper, 2003. Bronze."

    def spans(*found: tuple[str, dict | None]) -> str:
        return json.dumps(
            [
                {"start": text.index(each), "end": text.index(each) + len(each)}
                | ({"attributes": attributes} if attributes else {})
                for each, attributes in found
            ]
        )

    return {
        "corpusid": 77,
        "content": {
            "text": text,
            "annotations": {
                "title": spans(("On bells", None)),
                "abstract": None,
                "sectionheader": spans(("Tone", {"n": "1."})),
                "paragraph": spans(
                    ("Bells were cast early (Clapper, 2003). Nobody knows.", None)
                ),
                "bibref": spans(("(Clapper, 2003)", {"ref_id": "b0"})),
                "bibentry": spans(
                    ("K. Clapper, 2003. Bronze.", {"id": "b0", "matched_paper_id": 11})
                ),
            },
        },
    }


def write_scixml(
    folder: Path, name: str, *, title: str, body: str = "", references: str = ""
) -> Path:
    """A paper in SciXML, its body and its reference list as given."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.xml"
    path.write_text(
        f"<?xml version='1.0' encoding='ISO-8859-1'?><!DOCTYPE PAPER SYSTEM 'paper.dtd'><PAPER><METADATA>"
        f"<FILENO>{name}</FILENO><APPEARED><CONFERENCE>ACL</CONFERENCE><YEAR>1997</YEAR></APPEARED></METADATA>"
        f"<TITLE>{title}</TITLE><AUTHORLIST><AUTHOR>A. Ringer</AUTHOR></AUTHORLIST>"
        f"<ABSTRACT><A-S ID='A-0' AZ='AIM'>We ring &alpha; bells.</A-S></ABSTRACT><BODY>{body}</BODY>"
        f"<REFERENCELIST>{references}</REFERENCELIST></PAPER>"
    )
    return path


def write_scixml_corpus(folder: Path, *, zones=("OWN", "BKG", "CTR")) -> Path:
    """One paper that cites eight others, whose subjects stand around the marks, in zones by turns."""
    names = ("bells", "tides", "chess", "bread", "kites", "moss", "ropes", "locks")
    for name in names:
        write_scixml(folder, name, title=f"All that is known about {name}")
    sentences = "".join(
        f"<P><S ID='S-{place}' AZ='{zones[place % len(zones)]}'>Of {name} much is known "
        f"(<REF REFID='{place}'>Somebody 199{place}</REF>).</S></P>"
        for place, name in enumerate(names)
    )
    references = "".join(
        f"<REFERENCE ID='{place}'><SURNAME>Somebody</SURNAME>, S. <DATE>199{place}</DATE>. "
        f"<TITLE>All That Is Known About {name}</TITLE>. In Proceedings.</REFERENCE>"
        for place, name in enumerate(names)
    )
    body = f"<DIV DEPTH='1'><HEADER ID='H-0'>2 Related work</HEADER>{sentences}</DIV>"
    write_scixml(folder, "citing", title="Everything", body=body, references=references)
    return folder
