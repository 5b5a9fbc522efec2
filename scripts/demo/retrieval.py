"""Places where papers cite others, for recommending and for resolving citations; and citation texts."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from citeboard.demo.systems import DEMO_SPLIT_NAME
from scripts.demo.papers import PAPERS, Citation, Paper, Sentence, Work

Record = dict[str, Any]

YEARS = ((2006, "2004-2006"), (2012, "2007-2012"), (2020, "2013-2018"))
#: Fields with few texts.
LOW_RESOURCE = ("Linguistics", "Ecology")
REF, OTHER_REF = "<REF>", "<OTHERREF>"
#: Every second place by split; the other places belong to the ended season.
SPLITS = {DEMO_SPLIT_NAME: 0, "2024": 1}
#: One of three classes by intent.
CLASSES = {
    "Background": "background",
    "Motivation": "background",
    "Future": "background",
    "Uses": "method",
    "Extends": "method",
    "CompareOrContrast": "result",
}


def works() -> dict[str, Work]:
    """Return all citable works by id."""
    return {
        work.id: work
        for paper in PAPERS.values()
        for work in (paper.work, *paper.works)
    }


def references() -> Iterator[Record]:
    for paper in PAPERS.values():
        for work in paper.references():
            yield {"paper_id": paper.key, "ref_id": work.id, "raw": work.reference}


def papers() -> Iterator[Record]:
    for paper in PAPERS.values():
        yield {
            "paper_id": paper.key,
            "title": paper.title,
            "discipline": paper["field"],
            "year": paper["year"],
        }


def places() -> Iterator[tuple[str, Paper, Sentence, Citation]]:
    """Return all citing sentences with names."""
    for paper in PAPERS.values():
        for sentence, citation in paper.citing():
            yield f"{paper.key}-{sentence.number:02}", paper, sentence, citation


def diagnostic(split: str = DEMO_SPLIT_NAME) -> Iterator[Record]:
    counts = Counter(citation.work.id for _, _, _, citation in places())
    for number, (name, paper, sentence, citation) in enumerate(places()):
        if number % 2 != SPLITS[split]:
            continue
        text = sentence.with_mark(REF)
        before, _, after = text.partition(REF)
        words = len(text.split())
        yield {
            "id": name,
            "citing_id": paper.key,
            "cited_id": citation.work.id,
            "sentence": text,
            "field": paper["field"],
            "year_group": next(
                group for until, group in YEARS if paper["year"] <= until
            ),
            "citation_group": str(min(9, counts[citation.work.id])),
            "length_class": "short"
            if words <= 12
            else "medium"
            if words <= 18
            else "long",
            "location_class": "end"
            if len(after) <= 1
            else "middle"
            if len(before) > 20
            else "start",
            "context_type": CLASSES[citation.intent],
            "pos_before": "noun" if before.rstrip()[-1:].isalpha() else None,
            "pos_after": None if len(after) <= 1 else "verb",
            "low_resource": paper["field"] if paper["field"] in LOW_RESOURCE else None,
        }


def contexts() -> Iterator[Record]:
    for name, paper, sentence, citation in places():
        before, after = paper.neighbours(sentence)
        yield {
            "context_id": name,
            "paper_id": paper.key,
            "section": sentence.section,
            "sentence": sentence.with_mark(REF),
            "before": _without_marks(paper, before),
            "after": _without_marks(paper, after),
            "gold": [citation.work.id],
            "n_markers": 1,
        }


def _without_marks(paper: Paper, text: str) -> str:
    """Return a neighbouring sentence without the marks of other citations."""
    for sentence, _ in paper.citing():
        if sentence.text == text:
            return sentence.with_mark(OTHER_REF)
    return text


SCHEMES = ("intent", "corwa")
#: Discourse tags of citing sentences by intent.
_CORWA = {"Background": "Single_summ", "Motivation": "Single_summ"}
#: Maximum number of citation texts per paper.
MOST_TEXTS = 3


def _labels(intent: str, corwa: str | None = None) -> dict[str, str]:
    return {"intent": intent, "corwa": corwa or _CORWA.get(intent, "Reflection")}


def sentences() -> Iterator[tuple[Record, list[Paper]]]:
    for paper in PAPERS.values():
        cited = [
            (sentence, citation)
            for sentence, citation in paper.citing()
            if citation.keys
        ]
        for sentence, citation in cited[:MOST_TEXTS]:
            source = PAPERS[citation.work.id]
            labels = _labels(citation.intent)
            record = {
                "id": f"sentences-{paper.key}-{sentence.number:02}",
                "input": [" ".join(source.abstract)],
                "target": sentence.with_mark("[0]"),
                "labels": {scheme: [labels[scheme]] for scheme in SCHEMES},
            }
            yield record, [source]


def paragraphs() -> Iterator[tuple[Record, list[Paper]]]:
    """Return paragraphs on the works that a paper cites: the need, the claims, and the paper's aim."""
    for paper in PAPERS.values():
        cited: dict[str, tuple[Sentence, Citation]] = {}
        for sentence, citation in paper.citing():
            if citation.keys:
                cited.setdefault(citation.work.id, (sentence, citation))
        several = list(cited.values())[:MOST_TEXTS]
        opening, closing = paper.sentences[0], paper.sentences[1]
        texts = [opening.text]
        labels = [_labels("Motivation", "Transition")]
        for number, (sentence, citation) in enumerate(several):
            texts.append(sentence.with_mark(f"[{number}]"))
            labels.append(_labels(citation.intent))
        texts.append(closing.text)
        labels.append(_labels("Uses", "Reflection"))
        sources = [PAPERS[citation.work.id] for _, citation in several]
        record = {
            "id": f"paragraphs-{paper.key}",
            "input": [
                f"<abs> {' '.join(paper.abstract)} </abs>",
                *(" ".join(source.abstract) for source in sources),
            ],
            "target": " ".join(texts),
            "labels": {scheme: [each[scheme] for each in labels] for scheme in SCHEMES},
        }
        yield record, sources
