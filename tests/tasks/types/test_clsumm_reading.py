"""How runs and gold of CL-Summ tasks 1A and 1B are read, through the offline scorer."""

import json
import shutil
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.clsumm.runs import contains_summaries, join_first_names
from tasks.types.files import open_input_files
from tests.growth.readers import in_memory
from tests.scoring.offline import refusals, score
from tests.tasks.types.corpus import answer_line, write_topic

TOPIC = "D01-0001"


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_topic(tmp_path / "gold", TOPIC)


@pytest.fixture
def run(tmp_path) -> Path:
    path = tmp_path / f"{TOPIC}.annv3.txt"
    path.write_text(
        answer_line(TOPIC, "D05-0001", "3", ["1"])
        + answer_line(TOPIC, "D05-0002", "7", ["2"])
    )
    return path


def test_the_digest_of_gold_is_of_its_letters_as_they_are(capsys, gold, run):
    paper = gold / "Reference_XML" / f"{TOPIC}.xml"
    paper.write_text(
        paper.read_text().replace("well", "na\u00efvely"), encoding="utf-8"
    )
    assert score(capsys, "clsumm-1a", [gold], run)["gold"]["sha256"].startswith(
        "c58495a31d5be9ce"
    )


@pytest.mark.parametrize(
    ("byte", "is_told"), [(0x7F, False), (0x80, True), (0x9F, True), (0xA0, False)]
)
def test_quotes_of_windows_stop_a_run_where_they_stop_the_official_program(
    capsys, gold, run, byte, is_told
):
    lines = run.read_bytes().splitlines(keepends=True)
    run.write_bytes(
        lines[0].replace(
            b"| Reference Text: ", b"| Reference Text: \xe4" + bytes([byte])
        )
        + lines[1]
    )
    told = refusals(capsys, "clsumm-1a", [gold], run) if is_told else []
    assert [f"0x{byte:02X}" in one for one in told] == [True] * is_told


def test_of_many_names_five_are_told_and_how_many_more():
    names = [f"D0{number}" for number in range(6)]
    assert join_first_names(names[:5]) == "D00, D01, D02, D03, D04"
    assert join_first_names(names) == "D00, D01, D02, D03, D04 and 1 more"


def overlap(scores: dict) -> tuple[float, float]:
    metrics = scores["metrics"]
    return metrics["overlap_precision_micro"]["value"], metrics["overlap_recall_micro"][
        "value"
    ]


def test_of_several_papers_the_topics_own_is_read(capsys, gold, run):
    other = '<PAPER>\n<S sid="0" ssid="0">Another title</S>\n</PAPER>\n'
    (gold / "Reference_XML" / "A00-0000.xml").write_text(other)
    assert score(capsys, "clsumm-1a", [gold], run)["warnings"] == []


@pytest.mark.parametrize(
    ("name", "is_taken"), [("run.jsonl", True), ("Task1/run.jsonl", False)]
)
def test_summaries_are_looked_for_outside_of_the_folder_of_task_1(name, is_taken):
    content = b'{"topic": "D01-0001", "summary": "Short."}\n'
    assert contains_summaries([in_memory(name, content)]) is is_taken


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n\r\n").encode(),
        lambda text: text.replace("(Us, 2001)", "(Möller, 2001)").encode("cp1252"),
        lambda text: text.replace(
            "</S> | Reference Offset", " | Reference Offset"
        ).encode(),
        lambda text: text.replace('sid="', "sid ='").replace('">', "' >").encode(),
    ],
    ids=[
        "UTF-8",
        "byte order mark",
        "CRLF",
        "Windows-1252",
        "unclosed tag",
        "other quotes",
    ],
)
def test_every_encoding_of_the_corpus_reads_alike(capsys, gold, run, change):
    run.write_bytes(change(run.read_text()))
    assert overlap(score(capsys, "clsumm-1a", [gold], run)) == (1, 2 / 3)


def test_a_paper_with_open_tags_and_another_encoding_keeps_its_sentences(
    capsys, gold, run
):
    paper = gold / "Reference_XML" / f"{TOPIC}.xml"
    text = (
        paper.read_text()
        .replace("<PAPER>", '<PAPER><SECTION title="Über" number="1">')
        .replace("well", "naïvely")
    )
    paper.write_bytes(text.encode("cp1252"))
    run.write_text(answer_line(TOPIC, "D05-0001", "3", ["1", "9"]))
    warnings = score(capsys, "clsumm-1a", [gold], run)["warnings"]
    assert any(
        "has no sentence 9" in warning["message"] and "0 to 4" in warning["expected"]
        for warning in warnings
    )


def test_every_problem_of_a_run_is_told_by_file_and_line(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    lines = [
        '{"topic": "D01-0001", "citing": "D05-0001", "marker": "3", "sentences": ["1"]}',
        '{"topic": "D01-0001", "citing": "D05-0002", "marker": 7, "sentences": "2"}',
        "not json",
        "[1, 2]",
        '{"citing": "D05-0002", "sentences": [1.5]}',
        '{"topic": "D01-0001", "sentences": [1], "facets": "Method"}',
        '{"topic": "D01-0001", "citing": "D05-0002", "marker": NaN, "sentences": []}',
    ]
    run.write_text("\n".join(lines))
    told = refusals(capsys, "clsumm-1a", [gold], run)
    assert [line.split(":")[1] for line in told] == [
        "2",
        "3",
        "4",
        "5",
        "6",
        "6",
        "7",
    ]
    assert all(line.startswith(str(run)) for line in told)
    assert "“sentences” is not a list of sentence ids" in told[0]
    assert "expected a list such as" in told[0]


def test_a_long_list_of_problems_is_cut_and_says_how_many_more(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text("{no\n" * 250)
    told = refusals(capsys, "clsumm-1a", [gold], run)
    assert len(told) == 1
    assert told[0].endswith(" (and 249 more lines: 2, 3, 4, 5, 6, …)")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("run.PDF", "no PDF", "a “.pdf” file"),
        ("run.jsonl", "", "no answers in this file"),
        ("run.txt", "\n\n", "no answers in this file"),
        (
            "run.jsonl",
            '{"topic": "X00-0000", "citance": 1, "sentences": [1]}',
            "answers no instance of the split",
        ),
        ("run.jsonl", "[" * 100_000, "nested 100,000 deep (limit: 100)"),
        ("run.jsonl", '{"topic": "' + "x" * 17_000_000 + '"}', "a line of more than"),
    ],
    ids=[
        "wrong kind",
        "empty JSON lines",
        "empty text",
        "no topic of the split",
        "deep JSON",
        "giant line",
    ],
)
def test_what_cannot_be_a_run_is_refused(capsys, gold, tmp_path, name, content, reason):
    run = tmp_path / name
    run.write_text(content)
    assert reason in refusals(capsys, "clsumm-1a", [gold], run)[0]


def test_half_a_character_in_json_is_pointed_out_like_any_other(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text('{"topic": "D01-0001", "citance": 1, "sentences": ["1", "\\ud800"]}')
    warnings = score(capsys, "clsumm-1a", [gold], run)["warnings"]
    assert "D01-0001 has no sentence ?" in [warning["message"] for warning in warnings]


def test_a_run_that_is_not_there_is_refused_in_a_sentence(capsys, gold, tmp_path):
    assert (
        "no such file"
        in refusals(capsys, "clsumm-1a", [gold], tmp_path / "nowhere.zip")[0]
    )


def test_doubts_are_warnings_and_the_run_is_scored(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    lines = [
        {
            "topic": TOPIC,
            "citing": "D05-0001",
            "marker": "3",
            "sentences": ["1", "9"],
            "facets": ["Weather"],
        },
        {"topic": TOPIC, "citing": "D05-0009", "marker": "3", "sentences": ["1"]},
        {"topic": "X00-0000", "citing": "D05-0001", "marker": "3", "sentences": ["1"]},
        {"topic": TOPIC, "citing": "D05-0001", "marker": "3", "sentences": ["1"]},
    ]
    run.write_text("".join(json.dumps(line) + "\n" for line in lines))
    warnings = score(capsys, "clsumm-1a", [gold], run)["warnings"]
    told = {
        (warning["line"], warning["message"].split(" ", 2)[0]) for warning in warnings
    }
    assert {
        (1, "D01-0001"),
        (1, "“Weather”"),
        (2, "topic"),
        (3, "topic"),
        (4, "the"),
    } <= told
    assert any(
        warning["line"] is None and "have no answer" in warning["message"]
        for warning in warnings
    )


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ([str(sid) for sid in range(6)], "6 sentences"),
        (["0", "2", "4", "8"], "3 separate spans"),
    ],
)
def test_a_run_over_a_limit_is_told_by_line_and_refused_where_the_task_says_so(
    capsys, tmp_path, ids, reason
):
    gold = write_topic(tmp_path / "gold", TOPIC)
    run = tmp_path / "run.jsonl"
    run.write_text(json.dumps({"topic": TOPIC, "citance": 1, "sentences": ids}))
    messages = [
        warning["message"]
        for warning in score(capsys, "clsumm-1a", [gold], run)["warnings"]
    ]
    if (
        reason == "3 separate spans"
    ):  # Three are allowed; sentence 8 does not exist and makes no span.
        assert not any("spans" in message for message in messages)
        return
    assert reason in messages
    assert (
        reason
        in refusals(capsys, "clsumm-1a", [gold], run, "--option", "over_limit=refuse")[
            0
        ]
    )


def test_a_run_without_markers_and_numbers_is_matched_in_order_and_told_so(
    capsys, tmp_path
):
    citances = [
        ("D05-0001", "3", ["1"], "Method_Citation"),
        ("D05-0001", "4", ["2"], "Method_Citation"),
    ]
    gold = write_topic(tmp_path / "gold", TOPIC, citances)
    run = tmp_path / "run.jsonl"
    run.write_text(
        "".join(
            json.dumps({"topic": TOPIC, "citing": "D05-0001", "sentences": [sid]})
            + "\n"
            for sid in "12"
        )
    )
    scores = score(capsys, "clsumm-1a", [gold], run)
    assert overlap(scores) == (1, 1)
    assert any(
        "matched with them in order" in warning["message"]
        for warning in scores["warnings"]
    )


@pytest.mark.parametrize("ending", [".xml", ".txt", ".pdf"])
def test_a_run_may_name_citing_papers_with_the_ending_of_their_file(
    capsys, tmp_path, gold, ending
):
    run = tmp_path / "run.jsonl"
    answer = {"topic": TOPIC, "citing": f"D05-0001{ending}", "sentences": ["1"]}
    run.write_text(json.dumps(answer))
    assert overlap(score(capsys, "clsumm-1a", [gold], run))[0] == 1


def test_the_same_topic_twice_is_an_error(capsys, gold, run):
    assert "is given twice" in refusals(capsys, "clsumm-1a", [gold, gold], run)[0]


def test_folders_that_are_no_topics_are_noted_and_passed_over(capsys, gold, run):
    (gold.parent / "notes").mkdir()
    (gold.parent / "notes" / "meeting.txt").write_text("nothing")
    notes = score(capsys, "clsumm-1a", [gold.parent], run)["gold"]["notes"]
    assert [note.rpartition("/")[2] for note in notes] == ["notes"]


def test_annotation_by_character_ranges_is_refused_once_for_the_whole_file(
    capsys, gold, run
):
    annotation = gold / "annotation" / f"{TOPIC}.annv3.txt"
    annotation.write_text(annotation.read_text().replace("['1']", "['8715-8768']") * 2)
    said = refusals(capsys, "clsumm-1a", [gold], run)
    assert ["a range of characters" in line for line in said] == [True], said


def test_annv3_is_preferred_and_an_option_names_another(capsys, gold, run):
    annotation = gold / "annotation"
    shutil.copy(annotation / f"{TOPIC}.annv3.txt", annotation / f"{TOPIC}.annv2.txt")
    text = (annotation / f"{TOPIC}.annv3.txt").read_text()
    (annotation / f"{TOPIC}.annv3.txt").write_text(text.replace("['2','3']", "['4']"))
    assert overlap(score(capsys, "clsumm-1a", [gold], run)) == (1 / 2, 1 / 2)
    older = score(capsys, "clsumm-1a", [gold], run, "--option", "annotation=annv2")
    assert overlap(older) == (1, 2 / 3)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["score", "clsumm-9", "--gold", "x", "--run", "y"],
            "there is no task type “clsumm-9”; there are ",
        ),
        (
            ["score", "clsumm-1a", "--gold", "x", "--run", "y", "--rules", "best"],
            "it has corrected, official-2014, official-2016, official-2017, official-2018",
        ),
        (
            [
                "score",
                "clsumm-1a",
                "--gold",
                "x",
                "--run",
                "y",
                "--option",
                "anotation=ann",
            ],
            "did you mean annotation?",
        ),
        (
            [
                "score",
                "clsumm-1a",
                "--gold",
                "x",
                "--run",
                "y",
                "--option",
                "annotation=v9",
            ],
            "expected one of auto",
        ),
        (
            [
                "score",
                "clsumm-1a",
                "--gold",
                "x",
                "--run",
                "y",
                "--option",
                "annotation",
            ],
            "expected KEY=VALUE",
        ),
    ],
)
def test_a_wrong_word_is_answered_with_the_known_ones(capsys, arguments, told):
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_participants_check_with_what_they_have(capsys, gold, run, tmp_path):
    inputs = tmp_path / "inputs"
    files = open_input_files(gold)
    chosen = task_type("clsumm-1a")
    for name, content in chosen.public_files(files, chosen.validate_options({})):
        (inputs / name).parent.mkdir(parents=True, exist_ok=True)
        (inputs / name).write_bytes(content)
    assert main(["check", "clsumm-1a", "--inputs", str(inputs), "--run", str(run)]) == 0
    assert "can be scored" in capsys.readouterr().out
    public = "".join(path.read_text() for path in inputs.rglob("*annv3.txt"))
    assert "Citation Text" in public
    assert "Method_Citation" not in public
    assert "Reference" not in public.replace("Reference Article", "")


def test_progress_is_one_json_object_a_step(capsys, gold, run):
    assert (
        main(
            [
                "score",
                "clsumm-1a",
                "--gold",
                str(gold),
                "--run",
                str(run),
                "--progress",
                "--json",
            ]
        )
        == 0
    )
    steps = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert steps[-1] == {"step": "done", "done": 1.0}
    assert [step["done"] for step in steps] == sorted(step["done"] for step in steps)


def test_facets_that_task_1a_did_not_find_count_as_missed(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    lines = [
        {"topic": TOPIC, "citance": 1, "sentences": ["1"], "facets": ["Aim", "Method"]},
        {
            "topic": TOPIC,
            "citance": 2,
            "sentences": ["4"],
            "facets": ["Results", "Aim"],
        },
    ]
    run.write_text("".join(json.dumps(line) + "\n" for line in lines))
    metrics = score(capsys, "clsumm-1b", [gold], run)["metrics"]
    assert metrics["facet_precision_micro"]["value"] == 1 / 2
    assert metrics["facet_recall_micro"]["value"] == 1 / 2
    assert metrics["facet_precision_micro_unconditional"]["value"] == 2 / 4
    assert metrics["facet_recall_micro_unconditional"]["value"] == 1
