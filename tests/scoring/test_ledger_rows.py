"""Rows of the ledger without a site: refused rows, and the label that counts."""

import hashlib
import io

import pytest

from scoring.offline.ledger import read_judgements
from tasks.types.ledger import DecidedLabel, RecordedLabel, decide_label
from tests.scoring.citing import write_lines

HEADER = {"kind": "supports", "judge": "nli", "digest": "sha256:1"}


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def row(sentence: str, label: str = "full", **more) -> dict:
    return {"items": [digest(sentence), digest("Oslo\nRain.")], "label": label, **more}


@pytest.mark.parametrize(
    ("kind", "labels", "label", "is_tie"),
    [
        ("entails", ["yes", "no"], "no", True),
        ("entails", ["yes", "no", "yes"], "yes", False),
        ("supports", ["full", "none"], "partial", True),
        ("supports", ["full", "partial"], "partial", True),
        ("supports", ["partial", "none"], "none", True),
        ("supports", ["full", "partial", "none"], "partial", True),
        ("assigns", ["support", "not_support"], "partial_support", True),
        ("prefers", ["left", "right"], "tie", True),
        ("prefers", ["left", "tie"], "tie", True),
        ("prefers", ["tie", "right"], "tie", True),
        ("prefers", ["right", "right", "left"], "right", False),
        ("supports", ["no label", "full"], "full", False),
        ("supports", ["no label"], "no label", False),
    ],
)
def test_people_decide_by_majority_and_a_tie_takes_the_lower_label(
    kind, labels, label, is_tie
):
    given = [RecordedLabel(f"p{place}", 0, one) for place, one in enumerate(labels)]
    decided = decide_label(kind, given)
    assert (decided.label, decided.is_tie) == (label, is_tie)


def test_people_without_a_usable_answer_leave_it_to_the_others():
    given = [RecordedLabel("p1", 0, "no label"), RecordedLabel("", 0, "none")]
    assert decide_label("supports", given) == DecidedLabel("none")


def test_a_model_s_first_usable_answer_counts():
    given = [RecordedLabel("", 1, "none"), RecordedLabel("", 0, "no label")]
    assert decide_label("supports", given) == DecidedLabel("none")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({**row("a"), "kind": "likes"}, "“kind” is “likes”; expected entails or"),
        (row("a", "good"), "“label” is “good”; expected full or partial or none"),
        ({**row("a"), "items": ["sha256:1"]}, "“items” has 1 parts; expected sentence"),
        ({**row("a"), "items": ["x", "y"]}, "“sentence” is no digest: “x”"),
        (
            {**row("a"), "items": [f"sha1:{'0' * 40}", digest("b")]},
            "“sentence” is no digest",
        ),
        ({**row("a"), "texts": ["a", "b"]}, "“items” and “texts”; expected one of"),
        ({"texts": ["a", 1], "label": "full"}, "“document” is a number"),
        (row("a", repeat=-1), "“repeat” is -1; expected 0, 1, … 9999"),
        (row("a", repeat=True), "“repeat” is"),
        (row("a", score="high"), "“score” is “high”; expected a number"),
        (row("a", cost=-1), "“cost” is -1; expected a number from 0 on"),
        (row("a", at="yesterday"), "“at” is “yesterday”"),
        (row("a", at="2026-05-01"), "“at” is “2026-05-01”"),
        (row("a", at="0001-01-01T00:00:00+23:59"), "“at” is “0001-01-01T00:00:00"),
        (row("a", at="0001-01-01T00:00:00+14:00"), "“at” is “0001-01-01T00"),
        (row("a", 0), "“label” is 0; expected full or partial or none"),
        (row("a", by="p\u202e1"), "“by” cannot be kept"),
        (row("a", rationale="x" * 2001), "“rationale” cannot be kept"),
        (row("a", reapeat=1), "“reapeat” is no field of a judgement"),
        (row("a", judge="other"), "judgements of “other” sha256:1, before of “nli”"),
        (
            {**row("a"), "kind": "entails", "label": "yes"},
            "a judgement of kind entails",
        ),
        (row("first", "none"), "an earlier line says “full” of the same"),
    ],
)
def test_a_row_that_is_none_is_refused_by_its_line(tmp_path, broken, reason):
    path = write_lines(tmp_path / "rows.jsonl", [HEADER, row("first"), broken])
    [problem] = read_judgements(path, "rows.jsonl", io.StringIO()).problems
    assert str(problem).startswith("rows.jsonl:3: ")
    assert reason in str(problem)
