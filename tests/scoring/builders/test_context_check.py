"""A sample of a diagnostic split as a sheet, and what people found who filled it in."""

import csv
import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.papers.context_check import SHEET_COLUMNS
from tests.scoring.builders.corpora import write_corpus
from tests.scoring.builders.test_diagnostic import build, rows
from tests.tasks.types.rankings import write_recommendation


@pytest.fixture(scope="module")
def season(tmp_path_factory) -> Path:
    corpus = write_corpus(tmp_path_factory.mktemp("corpora") / "corpus")
    return build(corpus, tmp_path_factory.mktemp("built") / "season", "--no-baselines")


def blank(gold: Path, out: Path, *more: str) -> list[dict]:
    assert (
        main(["papers", "context-sheet", "--gold", str(gold), "--out", str(out), *more])
        == 0
    )
    delimiter = "\t" if out.suffix == ".tsv" else ","
    with out.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def fill(
    path: Path, sheet: list[dict], answer, delimiter: str = ",", encoding: str = "utf-8"
) -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(
            {**line, "answer": answer(place, line)} for place, line in enumerate(sheet)
        )
    return path


def check(capsys, gold: Path, *sheets: Path, code: int = 0):
    capsys.readouterr()
    assert (
        main(
            [
                "papers",
                "context-check",
                "--gold",
                str(gold),
                "--sheet",
                *map(str, sheets),
                "--json",
            ]
        )
        == code
    )
    told = capsys.readouterr()
    if code:
        return told.err
    return {own["asked"]: own for own in json.loads(told.out)["checked"]}


def test_a_line_asks_for_each_thing_that_can_be_seen_in_a_context(season, tmp_path):
    sheet = blank(season / "gold", tmp_path / "sheet.csv", "--contexts", "20")
    by_id = {row["id"]: row for row in rows(season)}
    assert len({line["id"] for line in sheet}) == 20
    for name in {line["id"] for line in sheet}:
        own, context = [line for line in sheet if line["id"] == name], by_id[name]
        asked = {line["asked"]: line["class"] for line in own}
        assert {"sentence", "citation"} <= set(asked)
        further = set(asked) - {"sentence", "citation"}
        assert further == set(context["sampled_for"]) - {"citation_group"}
        assert all(asked[dimension] == str(context[dimension]) for dimension in further)
        assert all(
            line["sentence"] == context["sentence"] and line["cited"] for line in own
        )
        assert all(line["answer"] == line["note"] == "" for line in own)


def test_a_seed_draws_the_same_contexts_and_another_one_others(season, tmp_path):
    first = blank(season / "gold", tmp_path / "one.csv", "--contexts", "9")
    again = blank(
        season / "gold", tmp_path / "two.tsv", "--contexts", "9", "--seed", "0"
    )
    other = blank(
        season / "gold", tmp_path / "three.csv", "--contexts", "9", "--seed", "5"
    )
    assert first == again != other
    assert {line["id"] for line in first} != {line["id"] for line in other}


def test_the_share_that_is_right_has_an_interval_over_contexts(
    capsys, season, tmp_path
):
    gold = season / "gold"
    sheet = blank(gold, tmp_path / "sheet.csv", "--contexts", "40")
    wrong = {line["id"] for line in sheet[:1]}
    answer = lambda _, line: "No" if line["id"] in wrong else "yes"  # noqa: E731
    found = check(capsys, gold, fill(tmp_path / "filled.csv", sheet, answer))
    right = found["sentence"]["right"]
    assert (right["value"], right["n"], found["sentence"]["contexts"]) == (
        39 / 40,
        40,
        40,
    )
    assert 0.8 < right["low"] < 39 / 40 < right["high"] <= 1
    assert found["all"]["right"]["n"] == len(sheet)
    assert found["all"]["agreeing"]["value"] is found["all"]["alpha"] is None


def test_what_nobody_answered_counts_nowhere_and_two_contexts_have_no_interval(
    capsys, season, tmp_path
):
    gold = season / "gold"
    sheet = blank(gold, tmp_path / "sheet.csv", "--contexts", "10")
    asked = [place for place, line in enumerate(sheet) if line["asked"] == "citation"][
        :2
    ]
    found = check(
        capsys,
        gold,
        fill(tmp_path / "filled.csv", sheet, lambda n, _: "y" if n in asked else " "),
    )
    assert set(found) == {"citation", "all"}
    assert found["citation"]["right"] == {
        "value": 1.0,
        "low": None,
        "high": None,
        "n": 2,
    }


def test_two_people_have_an_agreement(capsys, season, tmp_path):
    gold = season / "gold"
    sheet = blank(gold, tmp_path / "sheet.csv", "--contexts", "12")
    one = fill(tmp_path / "one.csv", sheet, lambda n, _: "yes" if n % 3 else "no")
    two = fill(
        tmp_path / "two.csv", sheet, lambda n, _: "yes" if n % 3 or n == 0 else "no"
    )
    found = check(capsys, gold, one, two)
    assert found["all"]["agreeing"]["value"] == 1 - 1 / len(sheet)
    assert 0.8 < found["all"]["alpha"] < 1
    assert (
        main(
            [
                "papers",
                "context-check",
                "--gold",
                str(gold),
                "--sheet",
                str(one),
                str(two),
            ]
        )
        == 0
    )
    assert "alpha" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "cp1252"), ("\t", "utf-8-sig"), (",", "utf-8")]
)
def test_a_sheet_is_read_as_table_programs_save_it(
    capsys, season, tmp_path, delimiter, encoding
):
    gold = season / "gold"
    sheet = blank(gold, tmp_path / "sheet.csv", "--contexts", "5")
    path = fill(tmp_path / "filled.csv", sheet, lambda *_: "yes", delimiter, encoding)
    assert check(capsys, gold, path)["sentence"]["right"]["value"] == 1


def test_no_cell_is_taken_for_a_formula_and_the_sheet_is_read_all_the_same(
    capsys, tmp_path
):
    gold = write_recommendation(tmp_path / "gold", field=["=1+1", "Chess", "Music"])
    sheet = blank(gold, tmp_path / "sheet.csv")
    assert not any(
        str(cell).startswith("=") for line in sheet for cell in line.values()
    )
    found = check(capsys, gold, fill(tmp_path / "filled.csv", sheet, lambda *_: "yes"))
    assert found["field"]["contexts"] == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"answer": "maybe"},
            "filled.csv:2: the answer is “maybe”; expected yes, no, or nothing",
        ),
        (
            {"id": "d9", "answer": "no"},
            "filled.csv:2: the gold has no context “d9” with sentence “”",
        ),
        ({"class": "Chess", "answer": "no"}, "filled.csv:2: the gold has no context"),
        (
            {"asked": "colour", "answer": "no"},
            "with colour “”; expected a line of this gold's own sheet",
        ),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused(capsys, season, tmp_path, change, told):
    gold = season / "gold"
    sheet = blank(gold, tmp_path / "sheet.csv", "--contexts", "3")
    sheet[0] |= change
    path = fill(
        tmp_path / "filled.csv",
        sheet,
        lambda n, line: line["answer"] if n == 0 else "yes",
    )
    assert told in check(capsys, gold, path, code=2)


def test_a_line_that_is_answered_twice_is_refused_by_its_number(
    capsys, season, tmp_path
):
    gold = season / "gold"
    sheet = blank(gold, tmp_path / "sheet.csv", "--contexts", "3")
    path = fill(tmp_path / "filled.csv", [*sheet, sheet[1]], lambda *_: "no")
    assert (
        f"filled.csv:{len(sheet) + 2}: this was answered on an earlier line"
        in check(capsys, gold, path, code=2)
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "the sheet has no column “id”, “asked”, “class”, “answer”"),
        (
            "id,asked,answer\n",
            "the sheet has no column “class”; expected the columns id, asked, class",
        ),
        (
            ",".join(SHEET_COLUMNS) + "\n",
            "nothing is answered; expected yes or no in “answer”",
        ),
    ],
)
def test_what_is_no_filled_sheet_is_refused(capsys, season, tmp_path, content, told):
    path = tmp_path / "filled.csv"
    path.write_text(content)
    assert told in check(capsys, season / "gold", path, code=2)


def test_a_sheet_that_is_not_there_is_refused(capsys, season, tmp_path):
    assert "the sheet cannot be read" in check(
        capsys, season / "gold", tmp_path / "none.csv", code=2
    )


@pytest.mark.parametrize("contexts", ["0", "-1", "many", "1.5"])
def test_a_number_of_contexts_is_a_whole_one(season, tmp_path, capsys, contexts):
    out = ["--gold", str(season / "gold"), "--out", str(tmp_path / "sheet.csv")]
    with pytest.raises(SystemExit):
        main(["papers", "context-sheet", *out, f"--contexts={contexts}"])
    assert "is not a number of contexts, 1 to 999999" in capsys.readouterr().err


GOOD = {"id": "c1", "cited_id": "W1", "sentence": "As <REF> did."}


@pytest.mark.parametrize(
    ("context", "candidate", "told"),
    [
        (
            GOOD | {"sampled_for": 3},
            {"ref_id": "W1"},
            "diagnostic.jsonl:1: “sampled_for” is a number",
        ),
        (
            GOOD | {"cited_id": []},
            {"ref_id": "W1"},
            "diagnostic.jsonl:1: “cited_id” is empty",
        ),
        (GOOD, {"ref_id": None}, "references.jsonl:1: “ref_id” is missing"),
        (GOOD, ["W1"], "references.jsonl:1: "),
    ],
)
def test_gold_that_is_none_is_refused_by_file_and_line(
    capsys, tmp_path, context, candidate, told
):
    (tmp_path / "diagnostic.jsonl").write_text(json.dumps(context))
    (tmp_path / "references.jsonl").write_text(json.dumps(candidate))
    assert (
        main(
            [
                "papers",
                "context-sheet",
                "--gold",
                str(tmp_path),
                "--out",
                str(tmp_path / "sheet.csv"),
            ]
        )
        == 2
    )
    assert told in capsys.readouterr().err
    assert not (tmp_path / "sheet.csv").exists()


@pytest.mark.parametrize(
    ("out", "told"), [(".", "is a directory"), ("no/sheet.csv", "no such file")]
)
def test_a_sheet_that_cannot_be_written_is_refused_by_its_path(
    capsys, season, tmp_path, out, told
):
    path = tmp_path / out
    assert (
        main(
            [
                "papers",
                "context-sheet",
                "--gold",
                str(season / "gold"),
                "--out",
                str(path),
            ]
        )
        == 2
    )
    assert capsys.readouterr().err.startswith(f"{path}: {told}")
