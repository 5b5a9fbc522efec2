"""Building CL-Summ topics from a corpus: folders in its layout, and a data sheet of how they came about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scoring.metrics.discourse.sentences import RULES
from scoring.tools.builders.clsumm_statistics import statistics, statistics_rows
from scoring.tools.builders.loading import SENTENCES, loader
from scoring.tools.builders.reading import digest_of
from scoring.tools.builders.topic_files import file_names, write_topic
from scoring.tools.builders.topics import Texts, TopicRules, choose
from tasks.types.clsumm.inputs import read_input_topics
from tasks.types.files import open_inputs
from tasks.types.problems import InputRefused, Problem

TOPICS, SHEET, FACTS = "topics", "datasheet.md", "datasheet.json"


def build_topics(corpus: Path, out: Path, rules: TopicRules, *, form: str = "auto") -> dict[str, Any]:
    """Write `topics/` and the data sheet, and give its facts. Raises InputRefused."""
    read = loader(form, corpus)
    if (out / TOPICS).exists():
        raise InputRefused(
            [Problem(file=str(out / TOPICS), message="it is there already", expected="a new folder")]
        )
    with TemporaryDirectory(prefix="citeboard-topics-") as folder, Texts(Path(folder) / "corpus") as store:
        read.load(corpus, store)
        chosen = choose(store, rules)
        papers = [one.paper_id for topic in chosen.topics for one, _ in topic.citing]
        names = file_names(list(dict.fromkeys([*(topic.paper_id for topic in chosen.topics), *papers])))
        (out / TOPICS).mkdir(parents=True)
        for topic in chosen.topics:
            write_topic(store, topic, names, out / TOPICS)
        facts = {
            "corpus": {"form": read.name, "sha256": digest_of(corpus), **store.sizes()},
            "rules": {**asdict(rules), "sentences": "as given" if read.name in SENTENCES else RULES},
            "cited_papers": chosen.eligible + chosen.left_out.total(),
            "left_out": dict(sorted(chosen.left_out.items())),
            "eligible": chosen.eligible,
            "topics": [_told(topic, names) for topic in chosen.topics],
        }
    if chosen.topics:
        made = read_input_topics(open_inputs([out / TOPICS]), {"annotation": "auto"})
        facts["statistics"] = statistics(made, [])
    (out / FACTS).write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (out / SHEET).write_text("\n".join(_sheet(facts)), encoding="utf-8")
    return facts


def _told(topic: Any, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": names[topic.paper_id],
        "paper": topic.paper_id,
        "title": topic.title,
        "year": topic.year,
        "citations": topic.citations,
        "citing": [
            {"name": names[one.paper_id], "paper": one.paper_id, "year": one.year, "because": why}
            for one, why in topic.citing
        ],
    }


def _sheet(facts: Mapping[str, Any]) -> Iterator[str]:
    made, eligible = len(facts["topics"]), facts["eligible"]
    yield f"# Data sheet\n\n{made:,} topics of {eligible:,} papers that could be one.\n"
    for title, values in (
        ("Corpus", facts["corpus"]),
        ("Rules", facts["rules"]),
        ("Left out", facts["left_out"]),
    ):
        yield f"## {title}\n\n|  |  |\n| --- | --- |"
        yield from (
            f"| {_cell(str(name).replace('_', ' '))} | {_cell(value)} |" for name, value in values.items()
        )
        yield ""
    yield f"## Topics\n\n| topic | year | citations | citing paper | year | because |\n|{' --- |' * 6}"
    for topic in facts["topics"]:
        for one in topic["citing"]:
            cells = (
                topic["name"],
                topic["year"],
                topic["citations"],
                one["name"],
                one["year"],
                one["because"],
            )
            yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""
    if "statistics" in facts:
        yield "## Statistics\n\n|  |  |\n| --- | --- |"
        yield from (f"| {name} | {value} |" for name, value in statistics_rows(facts["statistics"]))
        yield ""


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("|", "\\|")
