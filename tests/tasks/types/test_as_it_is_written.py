"""What comes from files and command lines is handed on as it stands there, in any language."""

import json

import pytest

from tasks.types.base import (
    OptionRefused,
    parse_option_arguments,
    replace_paths_by_file_names,
)
from tasks.types.baselines import Baseline
from tasks.types.clsumm.topics import read_input_topics
from tasks.types.declared.folder import read_declaration
from tasks.types.jsonlines import format_as_json_lines
from tasks.types.trivial_runs import make_run_file
from tests.tasks.types.corpus import HEADER, csv_row
from tests.tasks.types.standing_reading import file, lines

TASK = """[task]
slug = "t"
title = "T"
form = "labels"
[task.gold]
field = "größe"
shown = ["text"]
[task.answer]
labels = ["klein", "größer"]
[[task.rules]]
name = "corrected"
measures = ["accuracy"]
"""


def test_an_option_is_all_behind_the_first_equals_sign():
    assert parse_option_arguments(["a=b=c=d", "e="]) == {"a": "b=c=d", "e": ""}
    with pytest.raises(OptionRefused):
        parse_option_arguments(["a=b", "c"])


def test_of_places_of_this_machine_the_last_part_is_printed():
    given = {
        "a": "C:/x/y",
        "b": "/x/y:z",
        "c": "labels:/x/y",
        "d": "labels:y",
        "e": "C:y",
        "f": r"C:\x\y",
    }
    printed = {
        "a": "y",
        "b": "y:z",
        "c": "labels:y",
        "d": "labels:y",
        "e": "C:y",
        "f": "y",
    }
    assert replace_paths_by_file_names(given) == printed


def test_a_baseline_writes_a_line_for_each_answer_as_people_read_it(tmp_path):
    own = Baseline(
        name="b",
        summary="",
        source="",
        answers=lambda files: iter([{"a": "é"}, {"b": 2}]),
    )
    assert own.write([], tmp_path / "run.jsonl") == 2
    assert (tmp_path / "run.jsonl").read_text(
        encoding="utf-8"
    ) == '{"a": "é"}\n{"b": 2}\n'


def test_lines_of_json_and_trivial_runs_have_the_letters_of_any_language():
    record = {"größe": "中"}
    written = '{"größe": "中"}\n'.encode()
    assert format_as_json_lines([record]) == written
    [run] = make_run_file([record], 2)
    assert run.read() == written


def test_a_declared_task_is_told_as_it_is_written():
    kind = read_declaration({"task.toml": TASK, "measures.py": "", "card.md": "no"})
    assert json.loads(kind.reference) == {"task.toml": TASK, "measures.py": ""}
    assert "größe" in kind.reference
    assert kind.reference.index("measures.py") < kind.reference.index("task.toml")
    assert '{"id": "s1", "größe": "klein"}' in kind.run_form.described


def test_gold_is_the_same_whatever_the_order_of_its_keys_and_another_where_it_says_more():
    kind = read_declaration({"task.toml": TASK})
    rows = [
        {"id": "a", "text": "é", "größe": "klein"},
        {"id": "b", "text": ["ß", 1], "größe": "größer"},
    ]
    turned = [dict(reversed(row.items())) for row in reversed(rows)]
    digests = [
        kind.read_gold([file("gold.jsonl", lines(own))], {}).digest
        for own in (rows, turned, [{**rows[0], "x": 1}, rows[1]])
    ]
    assert digests[0] == digests[1] != digests[2]
    assert digests[0][:12] == "66d195f5581f"
    assert kind.declared.digest[:12] == "bcc587d7eb18"


PAPER = '<PAPER><S sid="0">A title.</S><S sid="1">{}</S></PAPER>'


@pytest.mark.parametrize("found", [(True, True), (True, False), (False, False)])
def test_citances_come_with_their_papers_and_of_gold_those_alone_for_which_something_was_found(
    found,
):
    rows = [
        csv_row("A", place + 1, f"B{place}.txt", ["1"], "Method") for place in range(2)
    ]
    offset = "\"'1'\""
    rows = [
        own if is_found else own.replace(offset, "")
        for own, is_found in zip(rows, found, strict=True)
    ]
    files = [
        file("A/Reference_XML/A.xml", PAPER.format("One.")),
        *(file(f"A/Citance_XML/B{n}.xml", PAPER.format(f"B {n}.")) for n in range(2)),
        file("A/annotation/A.csv", "\n".join([HEADER, *rows]) + "\n"),
    ]
    [topic] = read_input_topics(files, {"annotation": "auto"})
    papers = [
        [one.text for one in topic.get_sentences_of_citing_paper(citance)]
        for citance in topic.citances
    ]
    there = [n for n in range(2) if found[n]] or [0, 1]
    assert papers == [["A title.", f"B {n}."] for n in there]
