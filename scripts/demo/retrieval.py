"""Places where papers cite others, for recommending and for resolving citations; and citation texts."""

from collections.abc import Iterator
from typing import Any

from citeboard.demo.systems import chance
from scripts.demo.papers import DATA, MARKER, PAPERS, SUBJECTS, Paper, Subject

Record = dict[str, Any]

SECTIONS = ("1 Introduction", "2 Related work", "3 Method", "4 Results")
#: A paper cites its own subject and the next ones, as many as this.
NEIGHBOURS = 3
YEARS = ((2005, "2001-2005"), (2012, "2006-2012"), (2020, "2013-2020"))
#: Fields with few texts.
LOW_RESOURCE = ("Library science", "Climatology")


def reference_id(subject: Subject, kind: int) -> str:
    return f"{subject.name}-{kind + 1}"


def references() -> Iterator[Record]:
    for place, _ in enumerate(SUBJECTS):
        for subject in _cited(place):
            for kind, work in enumerate(DATA["kinds"]):
                drawn = chance("reference", subject.name, kind)
                year = subject.year - drawn.randrange(1, 9)
                raw = f"{subject.authors}, {year}. {work['title'].format_map(subject.phrases)}."
                yield {
                    "paper_id": _paper_id(place),
                    "ref_id": reference_id(subject, kind),
                    "raw": raw,
                }


def papers() -> Iterator[Record]:
    for place, subject in enumerate(SUBJECTS):
        title = f"{subject.phrases['Task']} revisited"
        yield {
            "paper_id": _paper_id(place),
            "title": title,
            "discipline": subject.field,
            "year": 2020,
        }


def diagnostic() -> Iterator[Record]:
    for number, (place, subject, kind, is_near) in enumerate(_places()):
        text = _sentence(subject, kind, is_near)
        before, _, after = text.partition("<REF>")
        words = len(text.split())
        yield {
            "id": f"{_paper_id(place)}_{number}",
            "citing_id": _paper_id(place),
            "cited_id": reference_id(subject, kind),
            "sentence": text,
            "field": SUBJECTS[place].field,
            "year_group": next(name for until, name in YEARS if subject.year <= until),
            "citation_group": str(chance("cited", subject.name, kind).randrange(10)),
            "length_class": "short"
            if words <= 9
            else "medium"
            if words <= 12
            else "long",
            "location_class": "end"
            if len(after) <= 1
            else "middle"
            if len(before) > 20
            else "start",
            "context_type": DATA["kinds"][kind]["type"],
            "pos_before": "noun" if before[-1:].isalpha() else "preposition",
            "pos_after": None if len(after) <= 1 else "verb",
            "low_resource": SUBJECTS[place].field
            if SUBJECTS[place].field in LOW_RESOURCE
            else None,
        }


def contexts() -> Iterator[Record]:
    for number, (place, subject, kind, is_near) in enumerate(_places()):
        other = SUBJECTS[(place + 1) % len(SUBJECTS)]
        yield {
            "context_id": f"{_paper_id(place)}_{number}",
            "paper_id": _paper_id(place),
            "section": SECTIONS[number % len(SECTIONS)],
            "sentence": _sentence(subject, kind, is_near),
            "before": f"{subject.phrases['Items']} have been studied for long.",
            "after": f"For {other.items} see <OTHERREF>." if number % 3 == 0 else "",
            "gold": [reference_id(subject, kind)],
            "n_markers": 1,
        }


def _places() -> Iterator[tuple[int, Subject, int, bool]]:
    for place, _ in enumerate(SUBJECTS):
        for turn in range(2 * len(DATA["kinds"])):
            subject = _cited(place)[turn % 2]
            yield place, subject, turn // 2, chance("near", place, turn).random() < 0.6


def _cited(place: int) -> list[Subject]:
    return [SUBJECTS[(place + step) % len(SUBJECTS)] for step in range(NEIGHBOURS)]


def _sentence(subject: Subject, kind: int, is_near: bool) -> str:
    text: str = DATA["kinds"][kind]["near" if is_near else "free"]
    return text.format_map(subject.phrases)


def _paper_id(place: int) -> str:
    return f"P{place + 1:02}"


SCHEMES = ("intent", "corwa")


def sentences() -> Iterator[tuple[Record, list[Paper]]]:
    for place, paper in enumerate(PAPERS):
        for turn in range(2):
            target = DATA["targets"][(place + turn) % len(DATA["targets"])]
            text = (
                target["text"].format_map(paper.subject.phrases).replace(MARKER, "[0]")
            )
            labels = {scheme: [target[scheme]] for scheme in SCHEMES}
            name = f"sentences-{2 * place + turn:02}"
            yield (
                {
                    "id": name,
                    "input": [" ".join(paper.abstract)],
                    "target": text,
                    "labels": labels,
                },
                [paper],
            )


def paragraphs() -> Iterator[tuple[Record, list[Paper]]]:
    for place, paper in enumerate(PAPERS):
        cited = [
            PAPERS[(place + step) % len(PAPERS)] for step in range(1, 3 + place % 2)
        ]
        abstract = " ".join(paper.abstract[1:3])
        targets = (DATA["targets"][(place + turn) % 2] for turn in range(len(cited)))
        parts = [DATA["first"], *targets, DATA["last"]]
        texts = [
            part["text"]
            .format_map(about.subject.phrases)
            .replace(MARKER, f"[{number - 1}]")
            for number, (part, about) in enumerate(
                zip(parts, [paper, *cited, paper], strict=True)
            )
        ]
        record = {
            "id": f"paragraphs-{place:02}",
            "input": [
                f"<abs> {abstract} </abs>",
                *(" ".join(source.abstract) for source in cited),
            ],
            "target": " ".join(texts),
            "labels": {scheme: [part[scheme] for part in parts] for scheme in SCHEMES},
        }
        yield record, cited
