"""Gold and runs of tasks of the field about the invented literature, for `examples/field-tasks`."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from citeboard.demo.systems import FIELD_TASK_SYSTEMS, DemoSystem, create_seeded_random
from scripts.demo import retrieval
from scripts.demo.papers import PAPERS, Paper, Work, write_lines

Record = dict[str, Any]
#: Arguments: a row of the gold, the system, and its random draws.
Answer = Callable[[Record, DemoSystem, Random], Record]

INTENTS = ("Background", "Uses", "CompareOrContrast", "Motivation", "Extends", "Future")
#: Venues of the references that systems verify.
VENUES = ("Annals of Weather History", "Journal of Coastal Records", "Seabird Studies")
LONGEST = 20


def write_field_tasks(folder: Path) -> None:
    for name, (gold, answer) in {
        "citation-intent": (
            intents(),
            _label(tuple(dict.fromkeys(retrieval.CLASSES.values()))),
        ),
        "citation-intent-acl": (intents_of_six(), _label(INTENTS)),
        "citation-worthiness": (worthiness(), _worthy),
        "citation-spans": (spans(), _spans),
        "reference-verification": (references(), _verified),
        "text-similarity": (similarities(), _similar),
    }.items():
        rows = list(gold)
        write_lines(folder / name / "gold" / "gold.jsonl", rows)
        _write_runs(folder / name, rows, answer)
    _write_claims(folder / "claims-and-evidence")
    _write_posts(folder / "source-retrieval")


def _write_runs(folder: Path, rows: Iterable[Record], answer: Answer) -> None:
    rows = list(rows)
    for system in FIELD_TASK_SYSTEMS:
        lines = []
        for number, row in enumerate(rows):
            drawn = create_seeded_random(system.name, folder.name, number)
            lines.append(answer(row, system, drawn))
        write_lines(folder / f"{system.slug}.jsonl", lines)


def _is_right(system: DemoSystem, drawn: Random) -> bool:
    return drawn.random() < system.quality


def _sections() -> dict[str, str]:
    return {
        "Introduction": "introduction",
        "Data": "method",
        "Method": "method",
        "Results": "results",
        "Discussion": "discussion",
    }


def intents() -> Iterator[Record]:
    sections = _sections()
    for name, paper, sentence, citation in retrieval.places():
        yield {
            "id": name,
            "paper": paper.key,
            "section": sections[sentence.section],
            "text": sentence.text,
            "label": retrieval.CLASSES[citation.intent],
        }


def intents_of_six() -> Iterator[Record]:
    for name, _, sentence, citation in retrieval.places():
        yield {"id": name, "text": sentence.text, "label": citation.intent}


def _label(labels: tuple[str, ...]) -> Answer:
    def answer(row: Record, system: DemoSystem, drawn: Random) -> Record:
        right = _is_right(system, drawn)
        return {
            "id": row["id"],
            "label": row["label"] if right else drawn.choice(labels),
        }

    return answer


def worthiness() -> Iterator[Record]:
    """Return sentences with citations in brackets, without the brackets, and as many without citations."""
    sections = _sections()
    for paper in PAPERS.values():
        body = [sentence for sentence in paper.sentences if sentence.section]
        cited = [sentence for sentence in body if sentence.is_in_brackets]
        plain = [sentence for sentence in body if sentence.citation is None]
        chosen = [*cited, *plain[: len(cited)]]
        for sentence in sorted(chosen, key=lambda sentence: sentence.number):
            yield {
                "id": f"{paper.key}-{sentence.number:02}",
                "paper": paper.key,
                "section": sections[sentence.section],
                "text": sentence.unmarked,
                "label": "yes" if sentence.is_in_brackets else "no",
            }


def _worthy(row: Record, system: DemoSystem, drawn: Random) -> Record:
    is_right = _is_right(system, drawn)
    label = row["label"] if is_right else drawn.choice(("yes", "no"))
    sure = round(0.5 + drawn.random() * (0.5 if is_right else 0.3), 2)
    other = "no" if label == "yes" else "yes"
    return {
        "id": row["id"],
        "label": label,
        "probabilities": {label: sure, other: round(1 - sure, 2)},
    }


def spans() -> Iterator[Record]:
    """Return pairs of successive sentences; the citing sentences are the spans."""
    for paper in PAPERS.values():
        for first, second in paper.pairs():
            if first.citation is None and second.citation is None:
                continue
            text = f"{first.text} {second.text}"
            places = [
                place
                for sentence, place in (
                    (first, [0, len(first.text)]),
                    (second, [len(first.text) + 1, len(text)]),
                )
                if sentence.citation is not None
            ]
            yield {
                "id": f"{paper.key}-{first.number:02}",
                "text": text,
                "spans": places,
            }


def _spans(row: Record, system: DemoSystem, drawn: Random) -> Record:
    found = []
    for start, end in row["spans"]:
        if _is_right(system, drawn):
            found.append([start, end])
        elif drawn.random() < 0.7:
            # The first half of the sentence, up to a word boundary.
            half = row["text"].rfind(" ", start, start + 2 + (end - start) // 2)
            found.append([start, half if half > start else end])
    return {"id": row["id"], "spans": found}


def references() -> Iterator[Record]:
    """Return each reference of the literature; every second has an error."""
    kinds = (
        "placeholder_authors",
        "future_date",
        "near_miss_title",
        "wrong_venue",
        "swapped_authors",
        "invented_title",
    )
    for number, work in enumerate(retrieval.works().values(), start=1):
        drawn = create_seeded_random("reference", work.id)
        venue = drawn.choice(VENUES)
        published = f"{work.year}-{drawn.randrange(1, 13):02}-15"
        row: Record = {
            "bibtex_key": work.id,
            "bibtex_type": "article",
            "fields": {
                "author": work.authors,
                "title": work.title,
                "journal": venue,
                "year": str(work.year),
            },
            "label": "VALID",
            "generation_method": "real",
            "source_conference": venue,
            "publication_date": published,
        }
        if number % 2 == 0:
            kind = kinds[number // 2 % len(kinds)]
            row["fields"] |= _faults(work, drawn)[kind]
            row |= {
                "label": "HALLUCINATED",
                "generation_method": "invented"
                if kind.startswith("inv")
                else "changed",
                "hallucination_type": kind,
                "difficulty_tier": 1 + kinds.index(kind) // 2,
            }
        yield row


def _faults(work: Work, drawn: Random) -> dict[str, dict[str, str]]:
    other = drawn.choice([each for each in retrieval.works().values() if each != work])
    first, *rest = work.title.split(": ")[0].split(" ")
    return {
        "placeholder_authors": {"author": "Doe, John and Smith, Jane"},
        "future_date": {"year": "2031"},
        "near_miss_title": {"title": " ".join(["On", first, *rest[:-1], "Revisited"])},
        "wrong_venue": {"journal": "Letters on Inland Lakes"},
        "swapped_authors": {"author": other.authors},
        "invented_title": {"title": f"Towards a Unified View of {other.title}"},
    }


def _verified(row: Record, system: DemoSystem, drawn: Random) -> Record:
    is_right = _is_right(system, drawn)
    labels = ("HALLUCINATED", "VALID")
    label = row["label"] if is_right else drawn.choice(labels)
    answer = {
        "bibtex_key": row["bibtex_key"],
        "label": label,
        "confidence": round(0.5 + drawn.random() * (0.5 if is_right else 0.4), 2),
    }
    if label == "HALLUCINATED":
        kind = (
            row.get("hallucination_type", "wrong_venue") if is_right else "wrong_venue"
        )
        answer["predicted_hallucination_type"] = kind
    return answer


def similarities() -> Iterator[Record]:
    """Return claims, each with a sentence that restates or denies it, or of another subject."""
    keys = list(PAPERS)
    number = 0
    for place, paper in enumerate(PAPERS.values()):
        other = PAPERS[keys[(place + 4) % len(keys)]]
        for turn, (label, sentence, claim) in enumerate(_claims(paper)):
            restated = 4 + create_seeded_random("alike", paper.key, turn).randrange(2)
            pairs = [
                (paper.abstract[sentence - 1], restated if label == "SUPPORT" else 2),
                (paper.abstract[sentence % len(paper.abstract)], 1),
                (other.abstract[turn], 0),
            ]
            for second, score in pairs[: 3 if turn else 2]:
                number += 1
                yield {
                    "id": f"t{number}",
                    "first": claim,
                    "second": second,
                    "score": score,
                }


def _similar(row: Record, system: DemoSystem, drawn: Random) -> Record:
    value = row["score"] + drawn.gauss(0, 2.6 * (1 - system.quality))
    return {"id": row["id"], "score": round(min(5.0, max(0.0, value)), 2)}


def _claims(paper: Paper) -> Iterator[tuple[str, int, str]]:
    for line in paper["claims"]:
        label, _, text = line.partition(" | ")
        kind, sentence = label.split()
        yield kind, int(sentence), text


def _write_claims(folder: Path) -> None:
    keys = list(PAPERS)
    corpus = [
        {"doc_id": number, "title": paper.title, "abstract": paper.abstract}
        for number, paper in enumerate(PAPERS.values(), start=1)
    ]
    claims: list[Record] = []
    for number, paper in enumerate(PAPERS.values(), start=1):
        for label, sentence, claim in _claims(paper):
            other = 1 + create_seeded_random("beside", claim).randrange(len(keys))
            evidence = {str(number): [{"sentences": [sentence - 1], "label": label}]}
            claims.append(
                {
                    "id": len(claims) + 1,
                    "claim": claim,
                    "evidence": evidence,
                    "cited_doc_ids": sorted({number, other}),
                }
            )
        # The abstract gives no evidence: the citance is of another paper.
        others = [sentence for sentence in paper.sentences if sentence.key == "apply"]
        claims += [
            {
                "id": len(claims) + 1,
                "claim": sentence.text,
                "evidence": {},
                "cited_doc_ids": [number],
            }
            for sentence in others
        ]
    write_lines(folder / "gold" / "corpus.jsonl", corpus)
    write_lines(folder / "gold" / "claims.jsonl", claims)
    _write_runs(folder, claims, _evidence)


def _evidence(row: Record, system: DemoSystem, drawn: Random) -> Record:
    right = {
        document: {"sentences": sets[0]["sentences"], "label": sets[0]["label"]}
        for document, sets in row["evidence"].items()
    }
    if not _is_right(system, drawn):
        document = str(drawn.randrange(1, 1 + len(PAPERS)))
        label = drawn.choice(("SUPPORT", "CONTRADICT"))
        right = {document: {"sentences": [drawn.randrange(5)], "label": label}}
    return {"id": str(row["id"]), "evidence": right}


def _write_posts(folder: Path) -> None:
    works = retrieval.works()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["cord_uid", "title", "abstract"])
    for work in works.values():
        abstract = PAPERS[work.id].abstract if work.id in PAPERS else []
        writer.writerow([work.id, work.title, " ".join(abstract)])
    gold = folder / "gold"
    gold.mkdir(parents=True, exist_ok=True)
    (gold / "collection.csv").write_text(out.getvalue(), encoding="utf-8")
    posts = [
        {"post_id": str(number), "tweet_text": text, "cord_uid": key}
        for number, (key, text) in enumerate(
            ((paper.key, post) for paper in PAPERS.values() for post in paper["posts"]),
            start=1,
        )
    ]
    lines = ["post_id\ttweet_text\tcord_uid"]
    lines += ["\t".join(post.values()) for post in posts]
    (gold / "gold.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def ranking(row: Record, system: DemoSystem, drawn: Random) -> Record:
        others = [work for work in works if work != row["cord_uid"]]
        ranked = drawn.sample(others, LONGEST)
        place = (
            0 if _is_right(system, drawn) else drawn.choice((1, 2, 4, 7, 9, LONGEST))
        )
        ranked.insert(place, row["cord_uid"])
        return {"post_id": row["post_id"], "ranking": ranked[:LONGEST]}

    _write_runs(folder, posts, ranking)
