"""How gold and runs of citation texts are read, through the offline scorer."""

import json
import shutil
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import InputRefused, task_type
from tasks.types.citation_text.instances import (
    CitationTextInstance,
    classify_unseen_word_share,
)
from tasks.types.files import open_input_files
from tests.scoring.offline import refusals, score
from tests.tasks.types.instances import (
    DUNES,
    RIVERS,
    write_gold,
    write_lines,
    write_run,
)

TYPE = "citation-text"
TEXTS = {"dunes-00": "Wind moves dunes [1].", "rivers-00": "Sand is carried [0]."}


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_gold(tmp_path)


def values(scores: dict) -> dict[str, float]:
    return {name: metric["value"] for name, metric in scores["metrics"].items()}


def split(path: Path):
    own = task_type(TYPE)
    return own.read_gold(open_input_files(path), own.validate_options({}))


def as_list(*names: str, **more: str) -> str:
    return json.dumps(
        [{"prediction": TEXTS[name], "target": "another", **more} for name in names]
    )


@pytest.mark.parametrize(
    "files",
    [
        {"run.json": as_list("dunes-00", "rivers-00")},
        {"run.json": as_list("dunes-00", "rivers-00", input="something else")},
        {"dunes.json": as_list("dunes-00"), "rivers.json": as_list("rivers-00")},
        {
            "rivers/test.json": as_list("rivers-00"),
            "dunes/test.json": as_list("dunes-00"),
        },
        {
            "a.jsonl": json.dumps(
                {"id": "rivers-00", "prediction": TEXTS["rivers-00"]}
            ),
            "dunes.json": as_list("dunes-00"),
        },
        {
            "run.json": "\n".join(
                json.dumps({"id": i, "prediction": t}) for i, t in TEXTS.items()
            )
        },
        {
            "run.jsonl": "\r\n".join(
                json.dumps({"id": i, "prediction": t, "x": 1}) for i, t in TEXTS.items()
            )
        },
    ],
    ids=[
        "list",
        "list with inputs",
        "file per data set",
        "folder per data set",
        "mixed",
        "lines",
        "CRLF",
    ],
)
def test_every_form_of_a_run_scores_alike(capsys, gold, tmp_path, files):
    expected = score(capsys, TYPE, [gold], write_run(tmp_path, TEXTS))
    folder = tmp_path / "other"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", folder))
    assert values(score(capsys, TYPE, [gold], archive)) == values(expected)
    if len(files) == 1:
        assert values(
            score(capsys, TYPE, [gold], folder / next(iter(files)))
        ) == values(expected)


def test_the_target_that_a_run_carries_is_neither_gold_nor_compared(
    capsys, gold, tmp_path
):
    """Were it compared, each answer would tell something of the gold."""
    right, wrong = (tmp_path / name for name in ("right.json", "wrong.json"))
    right.write_text(
        json.dumps(
            [{"prediction": "x", "target": each["target"]} for each in (DUNES, RIVERS)]
        )
    )
    wrong.write_text(
        json.dumps(
            [{"prediction": "x", "target": "x"}, {"prediction": "x", "target": "x"}]
        )
    )
    first, second = (score(capsys, TYPE, [gold], run) for run in (right, wrong))
    assert values(first) == values(second)
    assert first["warnings"] == second["warnings"]
    assert first["metrics"]["rouge_1_f1"]["value"] == 0


def test_a_list_without_ids_has_an_item_for_each_instance(capsys, gold, tmp_path):
    run = tmp_path / "run.json"
    run.write_text(as_list("dunes-00"))
    (told,) = refusals(capsys, TYPE, [gold], run)
    assert told == (
        f"{run}: a list of 1 predictions without ids; expected 2, one for each instance of the split in its "
        "order"
    )
    run = tmp_path / "dunes.json"
    run.write_text(as_list("dunes-00", "dunes-00"))
    assert (
        "2 predictions without ids; expected 1, one for each instance of the data set dunes"
        in (refusals(capsys, TYPE, [gold], run)[0])
    )


def test_half_of_a_character_in_a_list_is_told_as_a_question_mark(
    capsys, gold, tmp_path
):
    run = tmp_path / "run.json"
    run.write_text('[{"id": "\\ud800", "labels": {"\\udfff\\u0000": []}}]')
    told = refusals(capsys, TYPE, [gold], run)
    assert any("“labels” has “?\ufffd”" in each for each in told)
    assert any("instance “?” is not in this split" in each for each in told)


def test_of_several_lists_each_is_named_for_its_data_set(capsys, gold, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "one.json").write_text(as_list("dunes-00"))
    (folder / "rivers.json").write_text(as_list("rivers-00"))
    (told,) = refusals(capsys, TYPE, [gold], folder)
    assert told == (
        f"{folder / 'one.json'}: a list without ids in a file that is not named for a data set; "
        "expected one of dunes.json, rivers.json"
    )


def test_every_problem_of_a_run_is_told_by_line(capsys, gold, tmp_path):
    run = write_lines(
        tmp_path / "run.jsonl",
        {"id": "dunes-00", "prediction": 7},
        {"id": "dunes-07", "prediction": "x"},
        {"prediction": "x"},
        {"id": "rivers-00"},
        {"id": "rivers-00", "prediction": "x" * 100_001},
        {"id": "rivers-00", "prediction": "x", "labels": ["Uses"]},
        {
            "id": "rivers-00",
            "prediction": "x",
            "labels": {"mood": ["calm"], "intent": [1]},
        },
    )
    with run.open("a") as file:
        file.write("not json\n[]\n")
    told = [
        line.removeprefix(f"{run}:") for line in refusals(capsys, TYPE, [gold], run)
    ]
    assert sorted(line.split(":")[0] for line in told) == [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "7",
        "8",
        "9",
    ]
    assert any("“prediction” is a number; expected a text" in line for line in told)
    assert any(
        "“dunes-07” is not in this split; expected an id of the split, such as “dunes-00”"
        in e
        for e in told
    )
    assert any("100,001 characters" in line for line in told)
    assert any("“labels” has “mood”" in line for line in told)


def test_doubtful_texts_bring_warnings_and_are_counted(capsys, gold, tmp_path):
    run = write_lines(
        tmp_path / "run.jsonl",
        {"id": "dunes-00", "prediction": "See [0]1, [1] and [2] and [2]."},
        {"id": "dunes-00", "prediction": "See [0]1, [7] and [2]."},
    )
    scores = score(capsys, TYPE, [gold], run)
    told = [(warning["line"], warning["message"]) for warning in scores["warnings"]]
    assert (1, "[0]1: digits right behind a mark") in told
    assert (2, "[7], [2] stand for no cited paper") in told
    assert (2, "instance “dunes-00” is answered again: the later answer counts") in told
    assert (
        None,
        "1 of 2 instances have no prediction, the first is “rivers-00”",
    ) in told
    own = (
        "missing_predictions",
        "empty_predictions",
        "missing_marks",
        "unknown_marks",
        "damaged_marks",
    )
    assert [scores["notes"][name] for name in own] == [1, 0, 3, 2, 1]


def test_a_run_of_nothing_and_of_other_files_is_refused(capsys, gold, tmp_path):
    empty = tmp_path / "run.jsonl"
    empty.write_text("")
    assert (
        "the run answers no instance of the split"
        in refusals(capsys, TYPE, [gold], empty)[0]
    )
    picture = tmp_path / "run.png"
    picture.write_bytes(b"\x89PNG")
    assert (
        "this is a picture, not a run file; expected JSON lines"
        in refusals(capsys, TYPE, [gold], picture)[0]
    )


def test_a_data_set_is_named_by_its_records_its_file_or_its_ids(tmp_path):
    write_lines(tmp_path / "said" / "x.jsonl", {**RIVERS, "dataset": "lu"})
    write_lines(tmp_path / "file" / "lu.jsonl", RIVERS)
    write_lines(
        tmp_path / "ids" / "instances.jsonl",
        {**RIVERS, "id": "lu-00"},
        {**DUNES, "id": "lu-08"},
    )
    write_lines(tmp_path / "mixed" / "test.jsonl", RIVERS, DUNES)
    assert [
        list(split(tmp_path / name).index["datasets"])
        for name in ("said", "file", "ids", "mixed")
    ] == [
        ["lu"],
        ["lu"],
        ["lu"],
        ["test"],
    ]


def test_instances_without_ids_are_named_by_data_set_and_place(tmp_path):
    items = [{"input": ["a"], "target": "b"}] * 101
    (tmp_path / "xing.json").write_text(json.dumps(items))
    names = list(split(tmp_path / "xing.json").index["datasets"]["xing"])
    assert (names[0], names[-1]) == ("xing-000", "xing-100")


def test_the_same_gold_has_the_same_digest_however_it_is_packed(gold, tmp_path):
    archive = Path(
        shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "gold")
    )
    together = tmp_path / "together.jsonl"
    write_lines(
        together, {**DUNES, "dataset": "dunes"}, {**RIVERS, "dataset": "rivers"}
    )
    assert split(gold).digest == split(archive).digest == split(together).digest
    write_lines(gold / "rivers.jsonl", {**RIVERS, "labels": {"intent": ["Uses"]}})
    assert split(gold).digest != split(together).digest


def test_known_faults_of_the_data_are_noted_and_targets_never_quoted(gold, tmp_path):
    write_lines(gold / "xing.jsonl", {**RIVERS, "id": "xing-00"})
    assert split(gold).notes == (
        "dunes: 1 damaged marks such as `[2]9` in 1 of 1 targets",
        "dunes: 1 empty cited abstracts in 1 of 1 instances",
        "xing: the benchmark gives the citing paper's abstract as the cited one and the cited one as `<abs>`",
    )


def test_every_problem_of_gold_is_told_by_line(tmp_path):
    path = write_lines(
        tmp_path / "gold.jsonl",
        {"id": "a", "target": "x"},
        {"id": "b", "input": ["x", 1], "target": "x"},
        {"id": "c", "input": ["<abs> x </abs>"], "target": "x"},
        {"id": "d", "input": ["x"], "target": None},
        {"id": "e", "input": ["x"], "target": "x", "dataset": 3},
        {"id": "f", "input": ["x"], "target": "x"},
        {"id": "f", "input": ["x"], "target": "x"},
    )
    with pytest.raises(InputRefused) as refused:
        split(path)
    told = [(problem.line, problem.message) for problem in refused.value.problems]
    assert told == [
        (1, "“input” is missing"),
        (2, "“input” is a list, not all of it texts"),
        (3, "“input” has no abstract of a cited paper"),
        (4, "“target” is null"),
        (5, "“dataset” is a number"),
        (7, "instance “f” is there twice"),
    ]


def test_neither_targets_nor_labels_are_public(gold):
    write_lines(
        gold / "rivers.jsonl",
        {**RIVERS, "labels": {"intent": ["Uses"]}, "target": "Canary seed"},
    )
    own = task_type(TYPE)
    files = dict(own.public_files(open_input_files(gold), own.validate_options({})))
    public = b"".join(files.values())
    assert b"Rivers carry sand." in files["inputs.jsonl"]
    assert (
        files["known-faults.md"]
        == b"- dunes: 1 empty cited abstracts in 1 of 1 instances\n"
    )
    assert b"Canary" not in public
    assert b"Uses" not in public


def test_a_run_is_checked_by_the_public_inputs_alone(capsys, gold, tmp_path):
    own = task_type(TYPE)
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for name, content in own.public_files(
        open_input_files(gold), own.validate_options({})
    ):
        (inputs / name).write_bytes(content)
    run = write_run(tmp_path, TEXTS)
    assert main(["check", TYPE, "--inputs", str(inputs), "--run", str(run)]) == 0
    assert "can be scored" in capsys.readouterr().out


def test_breakdowns_are_by_data_set_cited_papers_length_faults_and_intents(
    capsys, gold, tmp_path
):
    write_lines(
        gold / "rivers.jsonl",
        {**RIVERS, "labels": {"intent": ["Uses", "Background", "Uses"]}},
    )
    broken = score(capsys, TYPE, [gold], write_run(tmp_path, TEXTS))["breakdowns"]
    assert {name: list(classes) for name, classes in broken.items()} == {
        "dataset": ["dunes", "rivers"],
        "cited_papers": ["2", "1"],
        "target_length": ["under 25 words"],
        "empty_abstracts": ["some", "none"],
        "unseen_words": ["half to three quarters", "under a quarter"],
        "target_intent": ["Uses", "Background", "None"],
    }
    assert broken["target_intent"]["Uses"]["rouge_l_f1"]["n"] == 1


@pytest.mark.parametrize(
    ("items", "target", "expected"),
    [
        (["Rivers carry sand."], "Rivers CARRY sand [0].", "under a quarter"),
        (
            ["<abs> Rivers in 1990 </abs>", "carry sand"],
            "Rivers carry mud, sand, in 1990.",
            "under a quarter",
        ),
        (
            ["Rivers carry sand."],
            "Rivers carry sand to 12 [0]3 seas.",
            "a quarter to half",
        ),
        (["Rivers."], "Rivers carry [0].", "half to three quarters"),
        ([""], "Rivers carry sand [0].", "three quarters or more"),
        ([""], "[0] on it", "under a quarter"),
    ],
)
def test_how_many_words_of_a_text_no_input_has(items, target, expected):
    assert (
        classify_unseen_word_share(CitationTextInstance("a", "b", tuple(items), target))
        == expected
    )


def test_without_a_model_bertscore_alone_is_undefined(capsys, gold, tmp_path):
    metrics = score(capsys, TYPE, [gold], write_run(tmp_path, TEXTS))["metrics"]
    assert (metrics["bertscore_f1"]["value"], metrics["bertscore_f1"]["n"]) == (None, 0)
    assert "|model:none|" in metrics["bertscore_f1"]["signature"]
    assert metrics["rouge_l_f1"]["value"] > 0


@pytest.mark.parametrize(
    "options",
    [["bertscore=yes", "bertscore_model=no/such"], ["bertscore_model=no/such"]],
)
def test_once_bertscore_is_asked_for_a_run_waits_for_its_model(
    capsys, gold, tmp_path, options
):
    words = [
        "score",
        TYPE,
        "--gold",
        str(gold),
        "--run",
        str(write_run(tmp_path, TEXTS)),
    ]
    assert (
        main([*words, *(word for option in options for word in ("--option", option))])
        == 6
    )
    told = capsys.readouterr().err
    assert "no/such" in told or "must be installed" in told


@pytest.mark.parametrize(
    "option",
    ["bertscore=perhaps", "bertscore_layer=top", "bertscore_idf=maybe", "tagger=x"],
)
def test_options_that_cannot_be_meant_are_refused(capsys, gold, tmp_path, option):
    told = refusals(
        capsys, TYPE, [gold], write_run(tmp_path, TEXTS), "--option", option
    )
    assert option.partition("=")[0] in told[0]


def test_what_participants_get_is_made_of_gold_and_of_nothing_without_targets(tmp_path):
    own = task_type(TYPE)
    path = write_lines(tmp_path / "inputs.jsonl", {"id": "a", "input": ["b"]})
    with pytest.raises(InputRefused, match="“target” is missing"):
        list(own.public_files(open_input_files(path), own.validate_options({})))
