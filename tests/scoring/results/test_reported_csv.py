"""Published tables from CSV: judged as those from JSON, every figure as it is printed."""

import pytest

from scoring.models import Reported
from tests.scoring.publications import load, refusals

pytestmark = pytest.mark.django_db

TOML = """\
[paper]
key = "own-2020"
authors = ["Ada Own"]
year = 2020
title = "A title"
venue = "A venue"

[[tables]]
file = "one.csv"
id = "Table 1"
kind = "results"
what = "Systems by topic"
row_key = ["system", "topic"]
scale = "fraction"
higher_is_better = true

[tables.metrics.Length]
scale = "words"
"""
CSV = """\
system,topic,F1,P,Length
Heron,one,0.320,0.25*,"1,200"
Ibis,one,0.32 ± 0.01,–,98.5 (2.1)
Jay,one,<0.01,.5,−0
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "one.csv").write_text(CSV, encoding="utf-8-sig")
    (tmp_path / "own.toml").write_text(TOML, encoding="utf-8")
    return tmp_path


@pytest.mark.both_databases
def test_every_figure_is_kept_as_it_is_printed(folder):
    assert load(folder / "own.toml") == [
        "own-2020: new", "Table 1: 9 figures new", "own-2020: at /published/own-2020/",
    ]  # fmt: skip
    figures = {
        (figure.system, figure.metric): figure for figure in Reported.objects.all()
    }
    assert (figures["Heron", "P"].printed, figures["Heron", "P"].mark) == ("0.25", "*")
    assert (figures["Heron", "Length"].value, figures["Heron", "Length"].printed) == (
        1200,
        "1,200",
    )
    assert (figures["Ibis", "F1"].value, figures["Ibis", "F1"].deviation) == (
        0.32,
        0.01,
    )
    assert (figures["Ibis", "P"].value, figures["Ibis", "P"].printed) == (None, "")
    assert (
        figures["Ibis", "Length"].printed_deviation,
        figures["Ibis", "Length"].scale,
    ) == ("2.1", "words")
    assert (figures["Jay", "F1"].value, figures["Jay", "F1"].less_than) == (None, 0.01)
    assert (figures["Jay", "F1"].line, figures["Jay", "F1"].features) == (
        3,
        {"topic": "one"},
    )
    assert load(folder / "own.toml") == ["own-2020: at /published/own-2020/, as it was"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("0.320", "1.32", "F1 is 1.32"),
        ("0.320", "about a third", "entry 1, F1: “about a third” is no figure"),
        ("Ibis,one", "Heron,one", "two entries are of Heron, one"),
        ("0.320,", "0.320,0.1,", "one.csv:2: 6 cells; the head has 5"),
        ("topic,F1", "topic,P", "one.csv:1: the column “P” is there twice"),
        ("Length\n", "Words\n", "one.csv has no column “Length”; it has F1, P, Words"),
        ('"1,200"', '"1,200', "one.csv:"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_loaded(folder, before, after, told):
    assert before in CSV
    (folder / "one.csv").write_text(CSV.replace(before, after, 1), encoding="utf-8")
    assert told in "\n".join(refusals(folder / "own.toml"))
    assert not Reported.objects.exists()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            '"one.csv"',
            '"../one.csv"',
            "expected the name of a CSV file beside this one",
        ),
        ('"one.csv"', '"two.csv"', "two.csv"),
        ("[tables.metrics.Length]", "[tables.metrics.Length", "cannot be read"),
        ('scale = "fraction"', 'scale = "share"', "“scale” is “share”"),
        ("year = 2020", "yaer = 2020", "yaer"),
        ("[[tables]]", "[tables]", "is not a list of [[tables]]"),
        ('row_key = ["system", "topic"]', "row_key = 1", "topic: “one” is no figure"),
    ],
)
def test_a_description_that_cannot_be_meant_is_refused(folder, before, after, told):
    (folder / "own.toml").write_text(TOML.replace(before, after, 1), encoding="utf-8")
    assert told in "\n".join(refusals(folder / "own.toml"))
    assert not Reported.objects.exists()
