"""Writing the invented part of the demo season into a folder, as its season file names it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scoring.tools.demo import answers, retrieval, texts
from scoring.tools.demo.chance import write_lines
from scoring.tools.demo.systems import write_runs
from scoring.tools.demo.topics import read_topics, write_topics


def write_demo(folder: Path, written_by_hand: Sequence[Path]) -> None:
    """Everything but the topics that were written by hand, whose citances the runs answer as well."""
    topics = folder / "topics"
    write_topics(topics)
    write_lines(folder / "citation-texts" / "sentences.jsonl", (record for record, _ in texts.sentences()))
    write_lines(folder / "citation-texts" / "paragraphs.jsonl", (record for record, _ in texts.paragraphs()))
    write_lines(folder / "recommendation" / "references.jsonl", retrieval.references())
    write_lines(folder / "recommendation" / "diagnostic.jsonl", retrieval.diagnostic())
    write_lines(folder / "resolution" / "references.jsonl", retrieval.references())
    write_lines(folder / "resolution" / "contexts.jsonl", retrieval.contexts())
    write_lines(folder / "resolution" / "papers.jsonl", retrieval.papers())
    questions = folder / "positional" / "questions.json"
    questions.parent.mkdir()
    answers.write_questions(questions)
    write_runs(folder / "runs", read_topics([*topics.iterdir(), *written_by_hand]))
    # Parses and labels are of the answers as they were written.
    parses = folder / "positional" / "parses.jsonl"
    answers.write_parses(parses)
    answers.write_labels(
        folder / "positional" / "labels.jsonl",
        gold=questions,
        runs=sorted((folder / "runs" / "positional").iterdir()),
        parses=parses,
    )
