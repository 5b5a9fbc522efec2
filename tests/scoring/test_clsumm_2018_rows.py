"""Rows that quote nothing, and entities, as the program of 2018 has them.

The numbers were printed by the program itself, under Python 3, for these two files.
"""

import csv
import random
from pathlib import Path

import pytest

from tests.scoring.golden import PARTS, printed, stop_words
from tests.scoring.offline import score
from tests.tasks.types.corpus import HEADER

TOPIC = "W01-0101"
GOLD = (
    (
        "C1",
        "'1','2'",
        '<S sid="1">Parsing &amp; tagging models win</S><S sid="2">P &lt; Q rules</S>',
        "Method",
    ),
    ("C2", "'3'", "quotes nothing", "Aim"),
    ("C3", "'4'", '<S sid="4">Alignment models need corpora</S>', "Results"),
    ("C3", "'5'", '<S sid="5"></S>', "Aim"),
    (
        "C4",
        "'6'",
        '<S sid="6">&amp;lt;Corpora</S><S sid="6">Corpora hold sentences</S>',
        "Method",
    ),
    ("C5", "NA", "NA", "NA"),
)
RUN = (
    ("C1", "'1'", '<S sid="1">Parsing and tagging models win</S>', "Method"),
    ("C2", "'3','7'", '<S sid="3">Something quoted</S>', "Aim"),
    ("C3", "'4'", '<S sid="4">Alignment models need &amp;quot;corpora</S>', "Aim"),
    ("C4", "'6'", '<S sid="6">Corpora hold sentences</S>', "Method"),
    ("C4", "'9'", "quotes nothing", "Results"),
    ("C5", "'8'", '<S sid="8">Nobody asked</S>', "Method"),
)
OVERLAP = {"precision": 0.5, "recall": 0.75, "f1": 0.6}
FACET = {"precision": 0.5, "recall": 0.6666666666666666, "f1": 0.5714285714285715}
ROUGE_S = {
    "precision": 0.7999999733333343,
    "recall": 0.8333333055555565,
    "f1": 0.7460333084655565,
}
OFFICIAL = ("--rules", "official-2018", "--intervals", "0")


def write(path: Path, rows) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER.split(","))
        for number, (citing, offset, text, facet) in enumerate(rows, start=1):
            row = (
                number,
                TOPIC,
                citing,
                0,
                "(x)",
                0,
                f"said {number}",
                "said",
                offset,
                text,
                facet,
            )
            writer.writerow(row)


@pytest.fixture
def gold(tmp_path) -> Path:
    write(tmp_path / "gold" / TOPIC / "gold" / "Task1" / f"{TOPIC}_ada.csv", GOLD)
    return tmp_path / "gold"


@pytest.fixture
def run(tmp_path) -> Path:
    write(tmp_path / "run" / f"{TOPIC}.csv", RUN)
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("task", "family", "numbers"), [("1a", "overlap", OVERLAP), ("1b", "facet", FACET)]
)
def test_a_row_that_quotes_nothing_has_a_key_and_neither_ids_nor_facets(
    capsys, gold, run, task, family, numbers
):
    metrics = score(capsys, f"clsumm-{task}", [gold], run, *OFFICIAL)["metrics"]
    assert {
        part: metrics[f"{family}_{part}_micro"]["value"] for part in PARTS
    } == numbers


@pytest.mark.shared
def test_rouge_s_decodes_an_ampersand_once_and_leaves_such_rows_out(
    capsys, gold, run, shared
):
    options = (
        *OFFICIAL,
        *stop_words(shared / "scisumm"),
        "--option",
        "program=python3",
    )
    metrics = score(capsys, "clsumm-1a", [gold], run, *options)["metrics"]
    assert {part: metrics[f"rouge_s_star_{part}"]["value"] for part in PARTS} == {
        part: printed(value) for part, value in ROUGE_S.items()
    }


@pytest.mark.parametrize("rules", ["corrected", "official-2017"])
def test_the_order_of_gold_lines_changes_neither_digest_nor_column_nor_value(
    capsys, tmp_path, rules
):
    """Where two lines have one key the last counts, so that these keep their order."""
    lines = [
        f"Citance Number: {number} | Reference Article: {TOPIC}.xml | Citing Article: {citing}.xml | "
        f"Citation Marker Offset: ['{number}'] | Citation Offset: ['{number}'] | Citation Text: said | "
        f"Reference Offset: ['{number}'] | Reference Text: <S sid=\"{number}\">words {number}</S> | "
        "Discourse Facet: Method_Citation |"
        for number, citing in enumerate(["C1", "C1", "C2", "C3", "C3"], start=1)
    ]
    shuffled = random.Random(3).sample(lines, len(lines))
    assert shuffled != lines
    found = []
    for name, own in (("sorted", lines), ("shuffled", shuffled)):
        folder = tmp_path / name / TOPIC / "annotation"
        folder.mkdir(parents=True)
        (folder / f"{TOPIC}.annv3.txt").write_text("\n\n".join(own))
        given = tmp_path / "run.jsonl"
        given.write_text(
            f'{{"topic": "{TOPIC}", "citing": "C1", "sentences": ["1"]}}\n'
            f'{{"topic": "{TOPIC}", "citing": "C1", "sentences": ["2"]}}\n'
        )
        scores = score(
            capsys,
            "clsumm-1a",
            [tmp_path / name],
            given,
            "--rules",
            rules,
            "--intervals",
            "0",
        )
        found.append((scores["gold"]["sha256"], scores["metrics"]))
    assert found[0] == found[1]
    assert found[0][1]["overlap_recall_micro"]["value"] == 2 / 5
