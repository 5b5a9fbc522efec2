"""The claims of a run as a sheet, and how many keep their label when they are rewritten."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from tests.tasks.types.citations import write_gold, write_parses, write_run

OUTPUTS = {
    "q1": "It rains in Oslo [1]. Rome is dry [2]. It rains in Oslo [1]. Rome is dry [7].",
    "q2": "Wind is air that moves [1].",
}


@pytest.fixture
def given(tmp_path) -> list[str]:
    parses = write_parses(
        tmp_path, "It rains in Oslo", "Rome is dry", "Wind is air that moves"
    )
    gold, run = write_gold(tmp_path), write_run(tmp_path, OUTPUTS)
    return ["--gold", str(gold), "--run", str(run), "--option", f"parser={parses}"]


@pytest.fixture
def sheet(tmp_path, given, capsys) -> list[dict]:
    out = tmp_path / "sheet.jsonl"
    assert main(["papers", "claim-sheet", *given, "--out", str(out)]) == 0
    capsys.readouterr()
    return [json.loads(line) for line in out.read_text().splitlines()]


def filled(folder: Path, sheet: list[dict], **texts: str) -> Path:
    """The sheet with these texts for claims that begin with a word."""
    path = folder / "filled.jsonl"
    lines = [
        {**line, "rewritten": texts.get(line["claim"].split()[0], "")} for line in sheet
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def checked(capsys, given: list[str], path: Path, *more: str, code: int = 0):
    assert (
        main(["papers", "claim-check", *given, "--sheet", str(path), "--json", *more])
        == code
    )
    told = capsys.readouterr()
    return json.loads(told.out) if code == 0 else told.err


OVERLAP = ("--option", "entailment=word-overlap")


def test_the_sheet_has_each_claim_that_counts_once_with_its_sentence(sheet):
    assert [
        (line["id"], line["claim"], line["marks"], line["rewritten"]) for line in sheet
    ] == [
        ("q1", "It rains in Oslo", [1], ""),
        ("q1", "Rome is dry", [2], ""),
        ("q2", "Wind is air that moves", [1], ""),
    ]
    assert sheet[1]["sentence"] == "Rome is dry [2]."


def test_claims_are_the_same_whose_both_forms_are_entailed_or_neither(
    capsys, tmp_path, given, sheet
):
    path = filled(
        tmp_path,
        sheet,
        It="It rains in Oslo",
        Rome="Paris was always wet",
        Wind="Wind is air",
    )
    found = checked(capsys, given, path, *OVERLAP)
    assert found["entailment"] == "word-overlap-0.6"
    rain, wind, both = found["data_sets"]
    assert (
        rain["dataset"],
        rain["claims"],
        rain["same"],
        rain["no_longer_entailed"],
    ) == ("rain", 2, 1, 1)
    assert rain["unchanged_texts"] == 1
    assert (wind["claims"], wind["same"]) == (1, 1)
    assert (both["dataset"], both["claims"], both["same"], both["pending"]) == (
        "all",
        3,
        2,
        0,
    )


def test_claims_that_were_not_rewritten_do_not_count(capsys, tmp_path, given, sheet):
    [only] = checked(
        capsys, given, filled(tmp_path, sheet, Wind="Wind moves"), *OVERLAP
    )["data_sets"]
    assert (only["dataset"], only["claims"]) == ("wind", 1)


def test_without_labels_all_are_pending_and_what_has_to_be_decided_is_written(
    capsys, tmp_path, given, sheet
):
    path = filled(tmp_path, sheet, Wind="Wind moves")
    [only] = checked(capsys, given, path, "--pairs", str(tmp_path / "pairs.jsonl"))[
        "data_sets"
    ]
    assert (only["claims"], only["same"], only["pending"]) == (1, 0, 1)
    pairs = [
        json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()
    ]
    assert [pair["hypothesis"] for pair in pairs] == [
        "Wind is air that moves",
        "Wind moves",
    ]
    labels = tmp_path / "labels.jsonl"
    told = [
        {**pair, "entailed": int("that" in pair["hypothesis"]), "model": "m"}
        for pair in pairs
    ]
    labels.write_text("".join(f"{json.dumps(line)}\n" for line in told))
    [only] = checked(capsys, given, path, "--option", f"entailment=labels:{labels}")[
        "data_sets"
    ]
    assert (only["same"], only["no_longer_entailed"], only["pending"]) == (0, 1, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"claim": "It snows"}, "the run has no such claim of “q1”"),
        ({"marks": "1"}, "“marks” is no list of numbers"),
        ({"marks": [True]}, "“marks” is no list of numbers"),
        ({"rewritten": None}, "“rewritten” is no text"),
    ],
)
def test_a_line_that_is_not_of_the_sheet_is_told_by_its_number(
    capsys, tmp_path, given, sheet, change, said
):
    path = filled(tmp_path, [{**sheet[0], **change}], It="It rains")
    if "rewritten" in change:
        path.write_text(json.dumps({**sheet[0], **change}) + "\n")
    told = checked(capsys, given, path, *OVERLAP, code=2)
    assert said in told
    assert "filled.jsonl:1: " in told


def test_a_claim_rewritten_twice_and_an_empty_sheet_are_refused(
    capsys, tmp_path, given, sheet
):
    twice = filled(tmp_path, [sheet[0], sheet[0]], It="It rains")
    assert "rewritten on an earlier line" in checked(
        capsys, given, twice, *OVERLAP, code=2
    )
    assert "no claim is rewritten" in checked(
        capsys, given, filled(tmp_path, sheet), *OVERLAP, code=2
    )
