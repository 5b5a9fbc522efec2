"""What is odd about gold that can be read, by the instances that pass."""

from hashlib import sha256

import pytest

from tasks.gold.findings import Findings


def found(instances) -> dict[str, list[str]]:
    findings = Findings()
    for shown, secret in instances:
        of_shown, of_all = (sha256(repr(part).encode()).digest() for part in (shown, (shown, secret)))
        findings.note(shown, secret, of_shown, of_all)
    return {finding["kind"]: finding["names"] for finding in findings.all()}


def labelled(**counts: int) -> list[tuple[dict[str, str], str]]:
    return [({"text": f"{label} {n}"}, label) for label, count in counts.items() for n in range(count)]


@pytest.mark.parametrize(("rare", "told"), [(4, {"few": ["method (4)"]}), (5, {})])
def test_a_label_that_fewer_than_five_instances_have_is_named_with_its_count(rare, told):
    assert found(labelled(result=20, method=rare)) == told


def test_answers_that_are_nearly_all_different_are_no_labels():
    assert found(labelled(**{f"answer{number}": 1 for number in range(30)})) == {}


@pytest.mark.parametrize(("among", "kinds"), [(10, {"shown"}), (9, set())])
def test_an_answer_that_is_a_field_of_half_of_what_is_shown_is_told(among, kinds):
    rows = [({"text": f"text {n}", "hint": "method" if n < among else ""}, "method") for n in range(20)]
    assert found(rows).keys() == kinds


def test_an_answer_among_candidates_or_within_a_text_is_none_that_is_shown():
    rows = [({"text": f"method {n}", "candidates": ["method", "result"]}, "method") for n in range(20)]
    assert found(rows) == {}
