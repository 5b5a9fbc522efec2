"""Texts for human judges: of cited reports, and of declared tasks of texts."""

import json

from tasks.types import task_type
from tasks.types.files import InputFile
from tasks.types.forms.texts import TextTask
from tests.tasks.types.standing_reading import file


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def records(name: str, *rows: object) -> InputFile:
    return file(name, lines(*rows))


def test_a_report_has_its_marks_and_lists_its_documents_without_naming_its_system():
    kind = task_type("cited-reports")
    topic = {"request_id": "7", "title": "Why does it rain?", "background": "I ask."}
    nuggets = {"qid": "7", "nuggets": [{"text": "Secret.", "importance": "vital"}]}
    gold = [records("topics.jsonl", topic), records("nuggets.jsonl", nuggets)]
    asked = kind.human_evaluation
    assert asked.sources(gold) == {
        "7": (("Topic", "Why does it rain?"), ("Background", "I ask."))
    }
    report = {
        "metadata": {"team_id": "us", "run_id": "our-run", "topic_id": "7"},
        "references": ["d1", "d2"],
        "responses": [
            {"text": "It rains.", "citations": [1, 1, 9]},
            {"text": " "},
            {"text": "So it is.", "citations": [0, 1]},
        ],
    }
    index = kind.read_inputs(gold, {})
    run, _ = kind.read_run([records("run.jsonl", report)], index, {})
    assert asked.texts(run) == {
        "7": "It rains. [1][?] So it is. [2][1]\n\n[1] d2\n[2] d1"
    }


def test_a_declared_text_stands_beside_the_fields_that_are_shown():
    task = TextTask(field="answer", shown=("question", "facts"))
    row = {"id": "i", "question": "Why?", "facts": ["a"], "answer": "So.", "key": "k"}
    gold = [records("gold.jsonl", row)]
    asked = task.human_evaluation
    assert asked.sources(gold) == {"i": (("question", "Why?"), ("facts", '["a"]'))}
    index = task.read_inputs(gold, {})
    answer = {"id": "i", "text": "Because."}
    run, _ = task.read_run([records("run.jsonl", answer)], index, {})
    assert asked.texts(run) == {"i": "Because."}
