"""What is odd about gold that can be read, by the instances that pass."""

import json
from hashlib import sha256

import pytest

from tasks.gold.packing import AnomalyCollector, prepare_gold
from tasks.types import task_type
from tasks.types.files import open_input_files
from tests.declared.folders import EXAMPLES
from tests.factories import write_corpus
from tests.tasks.types.rankings import write_lines, write_resolution


def found(instances) -> dict[str, list[str]]:
    findings = AnomalyCollector()
    for shown, secret in instances:
        of_shown, of_all = (
            sha256(repr(part).encode()).digest() for part in (shown, (shown, secret))
        )
        findings.note(shown, secret, of_shown, of_all)
    return {finding["kind"]: finding["names"] for finding in findings.all()}


def labelled(**counts: int) -> list[tuple[dict[str, str], str]]:
    return [
        ({"text": f"{label} {n}"}, label)
        for label, count in counts.items()
        for n in range(count)
    ]


@pytest.mark.parametrize(("rare", "told"), [(4, {"few": ["method (4)"]}), (5, {})])
def test_a_label_that_fewer_than_five_instances_have_is_named_with_its_count(
    rare, told
):
    assert found(labelled(result=20, method=rare)) == told


def test_answers_that_are_nearly_all_different_are_no_labels():
    assert found(labelled(**{f"answer{number}": 1 for number in range(30)})) == {}


@pytest.mark.parametrize(("among", "kinds"), [(10, {"shown"}), (9, set())])
def test_an_answer_that_is_a_field_of_half_of_what_is_shown_is_told(among, kinds):
    rows = [
        ({"text": f"text {n}", "hint": "method" if n < among else ""}, "method")
        for n in range(20)
    ]
    assert found(rows).keys() == kinds


def test_an_answer_among_candidates_or_within_a_text_is_none_that_is_shown():
    rows = [
        ({"text": f"method {n}", "candidates": ["method", "result"]}, "method")
        for n in range(20)
    ]
    assert found(rows) == {}


def of_resolution(folder):
    write_resolution(folder, [("q1", "p1", ["a", "elsewhere"]), ("q2", "p1", ["b"])])
    return task_type("citation-resolution"), ["q1: elsewhere"]


def of_facets(folder):
    cited = [
        ("D05-0001", "3", ["1"], "Method_Citation"),
        ("D05-0002", "7", ["99"], "???"),
    ]
    write_corpus(folder, citances=cited, topics=("X96-0001",))
    return task_type("clsumm-1b"), [
        "X96-0001, D05-0002 7: ???",
        "X96-0001, D05-0002 7: 99",
    ]


def of_evidence(folder):
    files = {
        path.name: path.read_text()
        for path in (EXAMPLES / "claims-and-evidence").glob("task.toml")
    }
    claim = {
        "id": "1",
        "claim": "So.",
        "evidence": {"d1": [{"sentences": [0, 3], "label": "SUPPORT"}]},
    }
    write_lines(folder / "claims.jsonl", [claim])
    write_lines(
        folder / "corpus.jsonl",
        [{"doc_id": "d1", "title": "One", "abstract": ["a", "b", "c"]}],
    )
    return task_type(json.dumps(files)), ["1: d1:3"]


@pytest.mark.parametrize("write", [of_resolution, of_facets, of_evidence])
def test_what_of_the_gold_no_answer_can_name_is_told(tmp_path, write):
    (tmp_path / "packed").mkdir()
    chosen, named = write(tmp_path / "gold")
    prepared = prepare_gold(
        chosen, open_input_files(tmp_path / "gold"), {}, tmp_path / "packed"
    )
    told = {finding["kind"]: finding["names"] for finding in prepared.findings}
    assert told["unreachable"] == named
