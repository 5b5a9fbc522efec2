"""A small task on cited reports with people and a judge, whose scores can be estimated."""

import json
import random
from pathlib import Path

from scoring.__main__ import main

REPORTS = "cited-reports"
TOPICS, NUGGETS, SENTENCES = 24, 4, 3
SYSTEMS = ("a", "b")


def write(path: Path, records: list) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def sentence(system: str, topic: int, place: int) -> str:
    return f"Sentence {place} of {system} on {topic}."


def report_text(system: str, topic: int) -> str:
    return " ".join(sentence(system, topic, place) for place in range(SENTENCES))


def document(place: int) -> str:
    return f"Document {place}\nText {place}."


def decided(*parts: object, share: float = 0.6) -> bool:
    """Return a verdict that follows from the parts alone."""
    return random.Random(" ".join(map(str, parts))).random() < share


class World:
    """Gold, runs and judges of a small task on cited reports. People and the judge differ in some labels."""

    def __init__(self, folder: Path, *, accuracy: float = 0.85) -> None:
        self.folder, self.accuracy = folder, accuracy
        topics = [
            {"request_id": str(topic), "title": f"Topic {topic}"}
            for topic in range(TOPICS)
        ]
        documents = [
            {
                "docid": f"d{place}",
                "title": f"Document {place}",
                "text": f"Text {place}.",
            }
            for place in range(SENTENCES)
        ]
        banks = [
            {
                "topic_id": str(topic),
                "nuggets": [
                    {"nugget_id": f"n{place}", "text": f"Fact {place} of {topic}."}
                    for place in range(NUGGETS)
                ],
            }
            for topic in range(TOPICS)
        ]
        self.gold = write(folder / "gold.jsonl", [*topics, *documents, *banks])
        self.runs = [self.run(system) for system in SYSTEMS]

    def run(self, system: str) -> Path:
        records = [
            {
                "metadata": {
                    "team_id": "t",
                    "run_id": system,
                    "topic_id": str(topic),
                },
                "responses": [
                    {
                        "text": sentence(system, topic, place),
                        "citations": [f"d{place}"],
                    }
                    for place in range(SENTENCES)
                ],
            }
            for topic in range(TOPICS)
        ]
        return write(self.folder / f"{system}.jsonl", records)

    def people(self, texts: dict) -> bool:
        return decided(sorted(texts.items()))

    def judge(self, texts: dict) -> bool:
        is_right = decided("judge", sorted(texts.items()), share=self.accuracy)
        return self.people(texts) == is_right

    def everything(self, kind: str) -> list[dict]:
        """Return the texts of all judgements of both systems."""
        if kind == "supports":
            return [
                {
                    "sentence": sentence(system, topic, place),
                    "document": document(place),
                }
                for system in SYSTEMS
                for topic in range(TOPICS)
                for place in range(SENTENCES)
            ]
        return [
            {
                "topic": f"Topic {topic}",
                "nugget": f"Fact {place} of {topic}.",
                "report": report_text(system, topic),
            }
            for system in SYSTEMS
            for topic in range(TOPICS)
            for place in range(NUGGETS)
        ]

    def judged(self, kind: str) -> list[str]:
        """Return the options that name the judge's labels of everything."""
        yes, no = LABELS[kind]
        rows = [
            {"kind": kind, "texts": texts, "label": yes if self.judge(texts) else no}
            for texts in self.everything(kind)
        ]
        path = write(self.folder / f"judge-{kind}.jsonl", rows)
        return ["--option", f"{OPTIONS[kind]}={path}"]

    def sheet(self, of: str, *more: str) -> list[dict]:
        out = self.folder / "sheet.jsonl"
        runs = [word for run in self.runs for word in ("--run", str(run))]
        words = ["estimates", "sheet", REPORTS, "--gold", str(self.gold), *runs]
        assert main([*words, "--of", of, "--out", str(out), *more]) == 0
        return [json.loads(line) for line in out.read_text().splitlines()]

    def filled(self, rows: list[dict], by: str = "A") -> Path:
        head, *asked = rows
        yes, no = LABELS[head["kind"]]
        labelled = [
            {**row, "label": yes if self.people(row["texts"]) else no} for row in asked
        ]
        return write(
            self.folder / f"people-{by}.jsonl", [{**head, "by": by}, *labelled]
        )

    def estimates(self, capsys, of: str, people: Path, *more: str) -> dict:
        kind = KINDS[of]
        capsys.readouterr()
        runs = [word for run in self.runs for word in ("--run", str(run))]
        words = ["estimates", "scores", REPORTS, "--gold", str(self.gold), *runs]
        status = main(
            [
                *words,
                "--of",
                of,
                "--people",
                str(people),
                *self.judged(kind),
                *more,
                "--json",
            ]
        )
        told = capsys.readouterr()
        assert status == 0, told.err
        return json.loads(told.out)


LABELS = {"supports": ("full", "none"), "assigns": ("support", "not_support")}
OPTIONS = {"supports": "supports", "assigns": "assignments"}
KINDS = {"nuggets": "assigns", "citations": "supports"}
