"""The CSV form with several annotators: gold, runs and public inputs, through the offline scorer."""

import csv
import io
import json

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.clsumm.topics import read_gold
from tasks.types.files import open_input_files
from tests.scoring.offline import refusals, score
from tests.tasks.types.corpus import (
    HEADER,
    answer_line,
    csv_row,
    write_csv_topic,
    write_topic,
)
from tests.tasks.types.standing_reading import file

TOPIC = "P01-0001"


@pytest.fixture
def gold(tmp_path):
    """Two citances of one paper and one of another; the second annotator numbers the last one otherwise."""
    same = "said of it"
    return write_csv_topic(
        tmp_path / "gold",
        TOPIC,
        {
            "ada": [
                csv_row(TOPIC, 1, "P05-0001", ["1"]),
                csv_row(TOPIC, 2, "P05-0001", ["2"], "Aim_Citation"),
                csv_row(TOPIC, 3, "W12-0002", ["3"], text=same),
            ],
            "bob": [
                csv_row(TOPIC, 1, "P05-0001", []),
                csv_row(TOPIC, 2, "P05-0001", ["2"]),
                csv_row(TOPIC, 4, "W12-0002", ["4"], text=same),
            ],
        },
    )


def rows_run(tmp_path, rows: list[str]):
    run = tmp_path / "run" / "Task1" / f"{TOPIC}.csv"
    run.parent.mkdir(parents=True, exist_ok=True)
    run.write_text("\n".join([HEADER, *rows, ""]))
    return tmp_path / "run"


def counts(scores: dict, annotator: str) -> tuple[float, float, int]:
    own = scores["breakdowns"]["annotator"][annotator]
    recall = own["overlap_recall_micro"]
    return own["overlap_precision_micro"]["value"], recall["value"], recall["n"]


def test_fair_rules_tell_citances_of_one_paper_apart_by_number_and_what_is_left_by_order(
    capsys, gold, tmp_path
):
    run = rows_run(
        tmp_path,
        [
            csv_row(TOPIC, 1, "P05-0001", ["1"]),
            csv_row(TOPIC, 2, "P05-0001", ["2"]),
            csv_row(TOPIC, 3, "W12-0002", ["4"]),
        ],
    )
    scores = score(capsys, "clsumm-1a", [gold], run)
    assert counts(scores, "ada") == (pytest.approx(2 / 3), pytest.approx(2 / 3), 3)
    # Bob found no reference for the first citance, so that an answer to it is wrong by him.
    assert counts(scores, "bob") == (pytest.approx(2 / 3), 1, 2)
    assert scores["notes"]["matched_in_order"] == 1
    assert scores["notes"]["unknown_citances"] == 1
    assert scores["metrics"]["overlap_recall_micro"]["value"] == pytest.approx(4 / 5)


def test_the_program_of_2018_sees_the_last_row_of_each_citing_paper(
    capsys, gold, tmp_path
):
    run = rows_run(
        tmp_path,
        [
            csv_row(TOPIC, 2, "P05-0001", ["2"]),
            csv_row(TOPIC, 1, "P05-0001", ["1"]),
            csv_row(TOPIC, 3, "W12-0002", ["3"]),
        ],
    )
    scores = score(capsys, "clsumm-1a", [gold], run, "--rules", "official-2018")
    assert counts(scores, "ada") == (1 / 2, 1 / 2, 2)
    assert counts(scores, "bob") == (0, 0, 2)


def test_a_row_that_quotes_no_sentence_counts_only_under_fair_rules_and_is_told_so(
    capsys, gold, tmp_path
):
    plain = (
        csv_row(TOPIC, 2, "P05-0001", ["2"])
        .replace('<S sid=""2"">', "")
        .replace("</S>", "")
    )
    run = rows_run(tmp_path, [plain])
    corrected, official = (
        score(capsys, "clsumm-1a", [gold], run, "--rules", rules)
        for rules in ("corrected", "official-2018")
    )
    assert corrected["metrics"]["overlap_precision_micro"]["value"] == 1
    assert official["metrics"]["overlap_recall_micro"]["value"] == 0
    assert any(
        "passes the row over" in warning["message"] for warning in corrected["warnings"]
    )
    assert [
        w["line"]
        for w in corrected["warnings"]
        if "passes the row over" in w["message"]
    ] == [2]


def test_participants_get_each_citance_once_and_no_gold(gold):
    chosen = task_type("clsumm-1a")
    files = dict(
        chosen.public_files(open_input_files(gold), chosen.validate_options({}))
    )
    public = files[f"{TOPIC}/annotation/{TOPIC}.csv"].decode()
    rows = list(csv.DictReader(io.StringIO(public)))
    assert [(row["Citance Number"], row["Citing Article"]) for row in rows] == [
        ("1", "P05-0001"),
        ("2", "P05-0001"),
        ("3", "W12-0002"),
    ]
    assert not any(
        row[name]
        for row in rows
        for name in ("Reference Offset", "Reference Text", "Discourse Facet")
    )
    assert not any("gold" in name for name in files)


def test_participants_check_with_what_they_have(capsys, gold, tmp_path):
    chosen = task_type("clsumm-1a")
    for name, content in chosen.public_files(
        open_input_files(gold), chosen.validate_options({})
    ):
        (tmp_path / "inputs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "inputs" / name).write_bytes(content)
    run = rows_run(
        tmp_path,
        [csv_row(TOPIC, 1, "P05-0001", ["1"]), csv_row(TOPIC, 9, "P09-0009", ["1"])],
    )
    assert (
        main(
            [
                "check",
                "clsumm-1a",
                "--inputs",
                str(tmp_path / "inputs"),
                "--run",
                str(run),
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "has no citance number 9, P09-0009" in printed
    assert "2 citances of the answered topics have no answer" in printed


@pytest.mark.parametrize("form", ["text", "JSON"])
def test_gold_in_the_csv_form_takes_runs_in_every_form(capsys, gold, tmp_path, form):
    if form == "text":
        run = tmp_path / f"{TOPIC}.annv3.txt"
        run.write_text(
            answer_line(TOPIC, "P05-0001", "0", ["1"], number="1")
            + answer_line(TOPIC, "P05-0001", "0", ["2"], number="2")
        )
    else:
        run = tmp_path / "run.jsonl"
        run.write_text(
            "".join(
                json.dumps(
                    {
                        "topic": TOPIC,
                        "citing": "P05-0001",
                        "citance": number,
                        "sentences": [number],
                    }
                )
                + "\n"
                for number in (1, 2)
            )
        )
    assert counts(score(capsys, "clsumm-1a", [gold], run), "ada") == (
        1,
        pytest.approx(2 / 3),
        3,
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            HEADER.replace(",Discourse Facet", "") + "\n1,A,B,0,m,0,t,t,1,x\n",
            "no column “Discourse Facet”",
        ),
        (HEADER.replace(",", ";") + "\n", "no column “Reference Article”"),
        (HEADER + '\n1,A,"' + "x" * 200_000 + '"\n', "not readable as CSV"),
    ],
    ids=["a column is missing", "semicolons", "a giant field"],
)
def test_a_csv_file_that_cannot_be_read_is_refused_with_the_reason(
    capsys, gold, tmp_path, content, reason
):
    run = tmp_path / f"{TOPIC}.csv"
    run.write_text(content)
    assert reason in refusals(capsys, "clsumm-1a", [gold], run)[0]


def test_gold_without_a_single_reference_is_refused(capsys, tmp_path):
    gold = write_csv_topic(
        tmp_path / "gold", TOPIC, {"ada": [csv_row(TOPIC, 1, "P05-0001", [])]}
    )
    run = rows_run(tmp_path, [csv_row(TOPIC, 1, "P05-0001", ["1"])])
    assert "no row names a sentence" in refusals(capsys, "clsumm-1a", [gold], run)[0]


def test_scores_lie_beside_a_run_and_are_passed_over(capsys, gold, tmp_path):
    run = rows_run(tmp_path, [csv_row(TOPIC, 1, "P05-0001", ["1"])])
    (run / "scores.json").write_text('{"f1": 1}')
    (run / "Task2").mkdir()
    (run / "Task2" / f"{TOPIC}.system.txt").write_text("A summary.")
    scores = score(capsys, "clsumm-1a", [gold], run)
    assert counts(scores, "ada")[0] == 1
    assert [w["message"] for w in scores["warnings"] if "ignored" in w["message"]] == [
        "ignored: not a run file"
    ]


@pytest.mark.parametrize(
    ("folder", "papers", "name", "topic", "who"),
    [
        ("x", [], "W00_anna", "W00", "anna"),
        ("x", [], "W00", "W00", ""),
        ("W00", [], "W00_anna", "W00", "anna"),
        ("W00_1", [], "W00_1_anna", "W00_1", "anna"),
        ("x", ["W00", "W00_1"], "W00_1_anna_b", "W00_1", "anna_b"),
        ("x", ["W00"], "W001", "W001", ""),
        ("W00", ["W01"], "W00", "W00", ""),
        ("W00", [], "other", "other", ""),
    ],
)
def test_a_file_is_about_the_paper_or_folder_it_is_named_for_and_by_whom_follows_an_underscore(
    folder, papers, name, topic, who
):
    row = f"{HEADER}\n{csv_row(topic, 1, 'D05-0001', ['1'], 'Method')}\n"
    summary = "A summary."
    paper = '<PAPER><S sid="1">A</S></PAPER>'
    beside = [file(f"{folder}/Reference_XML/{own}.xml", paper) for own in papers]
    found = read_gold(
        [file(f"{folder}/gold/Task1/{name}.csv", row), *beside], {"annotation": "auto"}
    )
    assert [(own.name, own.files[0].annotator) for own in found.content] == [
        (topic, who)
    ]
    if len(papers) != 1:
        summaries = [file(f"{folder}/gold/Task2/{name}.human.txt", summary), *beside]
        split = task_type("clsumm-2").read_gold(summaries, {})
        assert [own.name for own in split.content] == [topic]


@pytest.mark.parametrize("slug", ["clsumm-1a", "clsumm-1b"])
@pytest.mark.parametrize("wrong", [1, 2, 5])
def test_a_topic_of_one_citance_counts_as_much_in_a_macro_average_as_one_of_more(
    capsys, tmp_path, slug, wrong
):
    cited = [
        (f"D05-000{n}", str(n), ["1"], "Method_Citation") for n in range(1, wrong + 1)
    ]
    root = tmp_path / "gold"
    write_topic(root, "A01-0001", cited[:1])
    write_topic(root, "B01-0001", cited)
    texts = {"A01-0001": [answer_line("A01-0001", *cited[0])], "B01-0001": []}
    for citing, marker, _, _ in cited:
        texts["B01-0001"].append(
            answer_line("B01-0001", citing, marker, ["4"], "Aim_Citation")
        )
    run = tmp_path / "run" / "Task1"
    run.mkdir(parents=True)
    for topic, lines in texts.items():
        (run / f"{topic}.annv3.txt").write_text("".join(lines))
    metrics = score(capsys, slug, [root], run.parent, "--intervals", "0")["metrics"]
    name = "overlap" if slug == "clsumm-1a" else "facet"
    assert [
        metrics[f"{name}_{part}_macro"]["value"]
        for part in ("precision", "recall", "f1")
    ] == [0.5] * 3
