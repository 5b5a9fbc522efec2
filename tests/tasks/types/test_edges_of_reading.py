"""What is read at the edges of what is allowed, and where a fault is said to stand."""

import json
from dataclasses import replace

import pytest

from tasks.types import InputRefused, task_type
from tasks.types.base import MetricRef
from tasks.types.clsumm.annotation import (
    AnnotationSource,
    iterate_csv_elements,
    read_csv_rows,
)
from tasks.types.declared.folder import read_declaration
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tasks.types.problems import Problem
from tasks.types.ranking.runs import (
    MAX_METADATA_HEADER_BYTES,
    RankingReadingSettings,
    read_metadata_header,
    read_ranked_run,
)
from tasks.types.registry import load_task_type_of_inputs
from tasks.types.text import iterate_json_objects
from tests.scoring.standing_numbers import said
from tests.tasks.types.standing_reading import build_ranking_index, file, lines

FORM = '[task]\nslug = "t"\ntitle = "T"\nform = "numbers"\n[task.gold]\nfield = "g"\n'
RULES = '[[task.rules]]\nname = "corrected"\nmeasures = ["mae"]\n'


def declared(answer: str, rules: str = RULES, form: str = FORM):
    return read_declaration({"task.toml": f"{form}[task.answer]\n{answer}\n{rules}"})


def refusals(call) -> list[str]:
    with pytest.raises(InputRefused) as refused:
        call()
    return said(refused.value.problems)


def test_the_type_of_inputs_is_found_without_making_a_measure(tmp_path, monkeypatch):
    monkeypatch.setattr(MetricRef, "build_metric", None)
    (tmp_path / "systems.jsonl").write_text('{"run_id": "a"}\n')
    assert load_task_type_of_inputs(tmp_path).slug == "judge-leaderboards"


def test_a_step_is_above_0():
    assert declared("step = 0.1").slug
    [told] = refusals(lambda: declared("step = 0"))
    assert "“step” is 0" in told


def test_a_measure_may_count_from_1():
    labels = FORM.replace("numbers", "labels")
    counted = 'measures = [{ name = "e", measure = "ece", bins = %d }]'
    rules = '[[task.rules]]\nname = "corrected"\n' + counted
    answer = 'labels = ["a", "b"]\nconfidence = "needed"'
    assert declared(answer, rules % 1, labels).metrics == ("e",)
    assert refusals(lambda: declared(answer, rules % 0, labels))


@pytest.mark.parametrize(
    ("value", "is_read"), [(9.9e149, True), (1e150, False), (-1e150, False)]
)
def test_a_number_whose_squares_have_no_sum_is_none(value, is_read):
    gold = [file("gold.jsonl", lines([{"id": "a", "g": value}, {"id": "b", "g": 1}]))]
    kind = declared("")
    if is_read:
        assert kind.read_gold(gold, {}).instances == 2
    else:
        assert "a number" in refusals(lambda: kind.read_gold(gold, {}))[0]


@pytest.mark.parametrize("names", [["questions.json"], ["questions.json", "more.json"]])
def test_gold_in_which_nothing_is_names_its_file_where_it_is_one(names):
    kind = task_type("positional-citations")
    options = kind.validate_options({"entailment": "word-overlap"})
    [told] = refusals(
        lambda: kind.read_gold([file(name, "[]") for name in names], options)
    )
    assert told.startswith("questions.json") == (len(names) == 1)


def test_a_tag_that_closes_nothing_hides_nothing():
    text = '</S></S><S sid="1">a</S></S></S><S sid="2">b<S sid="3">c</S></S><S sid="4">d</S>'
    assert [sid for sid, _ in iterate_csv_elements(text)] == ["1", "2", "4"]


@pytest.mark.parametrize(
    ("end", "copies"), [("a b c d e f g h z", 1), ("a b c d e f g y z", 0)]
)
def test_a_summary_that_has_four_fifths_of_the_abstract_is_a_copy(end, copies):
    kind = task_type("clsumm-2")
    gold = [
        file(
            "W00-1000/Reference_XML/W00-1000.xml",
            "<PAPER><S sid='1'>One two.</S></PAPER>",
        ),
        file("W00-1000/summary/W00-1000.abstract.txt", "a b c d e f g h i j k l"),
    ]
    options = kind.validate_options({})
    split = kind.read_gold(gold, options)
    run, _ = kind.read_run(
        [file("run.jsonl", lines([{"topic": "W00-1000", "summary": end}]))],
        split.index,
        options,
    )
    assert (
        kind.pairs_of(split, run, kind.default_rule_set, options).notes[
            "copies_of_the_abstract"
        ]
        == copies
    )


def test_a_row_of_too_few_fields_is_quoted_and_ignored():
    kind = task_type("clsumm-1a")
    header = "Citance Number,Reference Article,Citing Article,Citation Marker Offset,Citation Marker,"
    header += "Citation Offset,Citation Text,Reference Offset,Reference Text,Discourse Facet,Annotator\n"
    answers = file("Task1/W00-1000.csv", header + "1,W00-1000,short\n\n")
    options = kind.validate_options({})
    index = kind.read_gold(
        [file(f"W00-1000/{name}", text) for name, text in _topic()], options
    ).index
    _, problems = kind.read_run([answers], index, options)
    quoted = [own.quote for own in problems if "ignored" in own.message]
    assert quoted == ["1,W00-1000,short"]
    # In gold it is no fault: annotators leave remarks.
    told: list = []
    assert list(read_csv_rows(answers, told, AnnotationSource.GOLD)) == told == []


def _topic():
    yield (
        "Reference_XML/W00-1000.xml",
        "<PAPER><S sid='0'>T</S><S sid=\"1\">One.</S></PAPER>",
    )
    fields = (
        "Citance Number: 1",
        "Reference Article: W00-1000.xml",
        "Citing Article: C.xml",
        "Citation Marker Offset: ['1']",
        "Citation Marker: (Us)",
        "Citation Offset: ['1']",
        'Citation Text: <S sid="1">As (Us).</S>',
        "Reference Offset: ['1']",
        'Reference Text: <S sid="1">One.</S>',
        "Discourse Facet: Method_Citation",
        "Annotator: us |",
    )
    yield "annotation/W00-1000.ann.txt", " | ".join(fields) + "\n"


def test_a_summary_of_lines_is_of_texts_alone():
    kind = task_type("clsumm-2")
    gold = [
        file(
            "W00-1000/Reference_XML/W00-1000.xml",
            "<PAPER><S sid='1'>One two.</S></PAPER>",
        ),
        file("W00-1000/summary/W00-1000.human.txt", "One two three."),
    ]
    options = kind.validate_options({})
    index = kind.read_gold(gold, options).index
    for summary, is_read in (
        (["One.", "Two."], True),
        (["One.", 2], False),
        ([1, 2], False),
    ):
        run = [file("run.jsonl", json.dumps({"topic": "W00-1000", "summary": summary}))]
        _, problems = kind.read_run(run, index, options)
        assert any(own.fatal for own in problems) != is_read


def test_probabilities_sum_to_no_more_than_1_with_what_is_rounded():
    index = build_ranking_index(["q1"], [["a", "b"]], None)
    for less, is_read in ((0, True), (0.0009, True), (0.001, True), (0.01, False)):
        row = {
            "id": "q1",
            "ranked": ["a", "b"],
            "probabilities": {"a": 1, "b": less},
        }
        _, problems = read_ranked_run(
            [file("run", lines([row]))], index, RankingReadingSettings(declares=True)
        )
        assert any(own.fatal for own in problems) != is_read


@pytest.mark.parametrize(
    "content", [b"{\n" * 1003, b"[" + b",\n".join([b"7"] * 1003) + b"]"]
)
def test_nothing_is_read_behind_a_thousand_problems_on_lines_or_in_a_list(content):
    problems: list[Problem] = []
    assert list(iterate_json_objects(file("f", content), problems)) == []
    assert len(problems) == 1001
    assert str(problems[-1]).startswith("f:1001: not read from here on")


@pytest.mark.parametrize("reading", range(2, CURRENT_PARSING_RULES_VERSION + 1))
@pytest.mark.parametrize("form", ["%s", "[%s]"], ids=["line", "list"])
def test_a_key_that_occurs_twice_is_quoted_up_to_its_hundredth_letter(form, reading):
    problems: list[Problem] = []
    text = form % f'{{"{"k" * 101}": 1, "{"k" * 101}": 2}}'
    own = replace(file("f", text), reading=reading)
    assert list(iterate_json_objects(own, problems)) == []
    [told] = said(problems)
    assert f"the key “{'k' * 100}” occurs twice in one object" in told


@pytest.mark.parametrize(("more", "length"), [(0, MAX_METADATA_HEADER_BYTES), (1, 1)])
def test_a_header_of_a_run_is_read_up_to_its_largest_size(more, length):
    half = MAX_METADATA_HEADER_BYTES // 2
    text = b"#" + b"x" * (half - 1) + b"\n#" + b"y" * (half - 2 + more) + b"\n"
    header = b"# ir_metadata.start\n" + text + b"# ir_metadata.end\n"
    assert len(read_metadata_header(file("run", header))) + 1 == length
