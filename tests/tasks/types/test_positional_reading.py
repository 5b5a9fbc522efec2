"""How gold and runs of long answers with citations are read, through the offline scorer."""

import json
import shutil
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.files import open_input_files
from tests.scoring.offline import refusals, score
from tests.tasks.types.citations import (
    RAIN,
    WIND,
    flat,
    write_gold,
    write_parses,
    write_run,
)

TYPE = "positional-citations"
OUTPUTS = {"q1": "It rains in Oslo [1].", "q2": "Wind is air that moves [1]."}


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_gold(tmp_path)


@pytest.fixture
def parses(tmp_path) -> Path:
    return write_parses(tmp_path, "It rains in Oslo", "Wind is air that moves")


def values(scores: dict) -> dict[str, float]:
    return {name: metric["value"] for name, metric in scores["metrics"].items()}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("run.json", json.dumps),
        ("run.json", lambda items: json.dumps({"data": items, "model": "ours"})),
        ("run.json", lambda items: "\n".join(map(json.dumps, items))),
        ("run.jsonl", lambda items: "\ufeff" + "\r\n".join(map(json.dumps, items))),
        (
            "run.json",
            lambda items: json.dumps(
                [{**each, "docs": [], "question": "another"} for each in items]
            ),
        ),
        (
            "run.json",
            lambda items: json.dumps(
                [{"sample_id": e["id"], "output": e["output"]} for e in items]
            ),
        ),
    ],
    ids=[
        "list",
        "data",
        "lines in a .json",
        "lines with mark and CRLF",
        "with other passages",
        "sample_id",
    ],
)
def test_every_form_of_a_run_scores_alike(capsys, gold, parses, tmp_path, name, form):
    expected = score(
        capsys, TYPE, [gold], write_run(tmp_path, OUTPUTS), *flat(parses=parses)
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / name).write_text(
        form([{"id": key, "output": output} for key, output in OUTPUTS.items()])
    )
    assert values(
        score(capsys, TYPE, [gold], other / name, *flat(parses=parses))
    ) == values(expected)
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", other)
    assert values(
        score(capsys, TYPE, [gold], Path(archive), *flat(parses=parses))
    ) == values(expected)


def test_every_problem_of_a_run_is_told_by_line(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text(
        '{"id": "q1", "output": 7}\n{"id": "q9", "output": "x"}\n{"output": "x"}\nnot json\n'
        '{"id": "q2"}\n[]\n' + json.dumps({"id": "q1", "output": "x" * 100_001})
    )
    told = refusals(capsys, TYPE, [gold], run)
    assert [line.removeprefix(f"{run}:").split(":")[0] for line in told] == [
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
    ]
    assert "“output” is a number; expected a text" in told[0]
    assert (
        "instance “q9” is not in this split; expected an id of the split, such as “q1”"
        in told[1]
    )
    assert "“id” is missing" in told[2]
    assert "100,001 characters" in told[6]


def test_the_items_of_a_list_are_named_by_their_place(capsys, gold, tmp_path):
    run = tmp_path / "run.json"
    run.write_text(
        json.dumps([{"id": "q1", "output": "x"}, {"id": "q9", "output": None}, "text"])
    )
    told = refusals(capsys, TYPE, [gold], run)
    assert [line.removeprefix(f"{run}: ").split(" is ")[0] for line in told] == [
        "item 2: instance “q9”",
        "item 2: “output”",
        "item 3",
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("run.csv", "a,b", "a “.csv” file"),
        ("run.jsonl", "", "the run answers no instance of the split"),
        ("run.json", "[]", "the run answers no instance of the split"),
        ("run.json", '{"data": [', "not JSON"),
        ("run.json", "7", "found a number"),
        ("run.json", "[" * 100_000, "not JSON"),
        ("run.json", "NaN", "NaN is not a finite number"),
    ],
)
def test_what_cannot_be_a_run_is_refused(capsys, gold, tmp_path, name, content, reason):
    run = tmp_path / name
    run.write_text(content)
    assert reason in refusals(capsys, TYPE, [gold], run)[0]


def test_doubts_are_warnings_by_line(capsys, gold, parses, tmp_path):
    run = tmp_path / "run.jsonl"
    lines = [("q1", "Wet [0][3][9]."), ("q1", "  "), ("q1", "It rains in Oslo [1].")]
    run.write_text(
        "".join(
            json.dumps({"id": key, "output": output}) + "\n" for key, output in lines
        )
    )
    told = score(capsys, TYPE, [gold], run, *flat(parses=parses))["warnings"]
    messages = [(each["line"], each["message"]) for each in told]
    again = "instance “q1” is answered again: the later answer counts"
    counts = {each["message"]: each.get("count", 1) for each in told}
    assert (1, "[0], [3], [9] stand for no passage") in messages
    assert (2, "the answer is empty") in messages
    assert ((2, again) in messages, counts[again]) == (True, 2)
    assert any(
        line is None and "1 of 2 instances have no answer" in message
        for line, message in messages
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": None}, "“question” is null; expected a text"),
        ({"docs": "Oslo"}, "“docs” is a text"),
        ({"docs": [{"title": "Oslo"}]}, "the entry at place 1 has no text"),
        (
            {"qa_pairs": [{"short_answers": ["a", 1]}]},
            "short_answers at place 1 are not all texts",
        ),
        ({"annotations": [{"answer": "x"}]}, "has no long_answer"),
        ({"id": "q2"}, "instance “q2” is there twice"),
    ],
)
def test_gold_that_cannot_be_meant_is_refused_by_place(
    capsys, tmp_path, change, reason
):
    gold = write_gold(tmp_path, WIND, {**RAIN, **change})
    told = refusals(capsys, TYPE, [gold], write_run(tmp_path, OUTPUTS))
    assert told[0].startswith(f"{gold}: item 2: ")
    assert reason in told[0]


def test_gold_may_be_one_file_for_each_data_set_and_has_one_digest_however_it_is_packed(
    capsys, parses, tmp_path
):
    folder = tmp_path / "gold"
    folder.mkdir()
    unnamed = [
        {key: value for key, value in each.items() if key != "dataset"}
        for each in (RAIN, WIND)
    ]
    (folder / "rain.json").write_text(json.dumps({"data": unnamed[:1]}))
    (folder / "wind.jsonl").write_text(json.dumps(unnamed[1]))
    run = write_run(tmp_path, OUTPUTS)
    apart = score(capsys, TYPE, [folder], run, *flat(parses=parses))
    together = score(capsys, TYPE, [write_gold(tmp_path)], run, *flat(parses=parses))
    assert apart["gold"]["sha256"] == together["gold"]["sha256"]
    assert list(apart["breakdowns"]["dataset"]) == ["rain", "wind"]


def test_no_gold_leaks_through_the_public_files(tmp_path):
    secret = "canary-5309"
    questions = [
        {
            **RAIN,
            "qa_pairs": [{"question": secret, "short_answers": [secret]}],
            "answer": secret,
            "output": secret,
        },
        {
            **WIND,
            "answer": secret,
            "annotations": [{"long_answer": secret}],
            "claims": [secret],
        },
    ]
    questions[0]["docs"] = [
        {**doc, "answers_found": [1], "summary": secret} for doc in RAIN["docs"]
    ]
    chosen = task_type(TYPE)
    files = open_input_files(write_gold(tmp_path, *questions))
    public = dict(chosen.public_files(files, chosen.validate_options({})))
    assert all(secret not in content.decode() for content in public.values())
    assert all("answers_found" not in content.decode() for content in public.values())
    assert secret not in json.dumps(
        chosen.read_gold(files, chosen.validate_options({})).index
    )


def test_participants_check_with_what_they_have_and_without_a_parser(capsys, tmp_path):
    chosen = task_type(TYPE)
    options = chosen.validate_options({})
    for name, content in chosen.public_files(
        open_input_files(write_gold(tmp_path)), options
    ):
        (tmp_path / name).write_bytes(content)
    run = write_run(tmp_path, OUTPUTS)
    assert (
        main(
            [
                "check",
                TYPE,
                "--inputs",
                str(tmp_path / "inputs.json"),
                "--run",
                str(run),
            ]
        )
        == 0
    )
    assert "can be scored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (
            "entailment=guess",
            "expected labels:PATH, model:NAME, store:MODEL, word-overlap or none",
        ),
        ("entailment=labels:", "expected labels:PATH"),
        ("splitter=spacy", "expected one of auto, rules, punkt"),
        ("merge_groups=yes", "did you mean merge-groups?"),
    ],
)
def test_a_wrong_option_is_answered_with_the_known_ones(
    capsys, gold, tmp_path, option, told
):
    run = write_run(tmp_path, OUTPUTS)
    arguments = [
        "score",
        TYPE,
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--option",
        option,
    ]
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_halves_of_characters_do_not_stop_a_scoring(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text('{"id": "q1", "output": "It rains \\ud800 [1]."}\n')
    parses = write_parses(tmp_path, "It rains")
    assert (
        score(capsys, TYPE, [gold], run, *flat(parses=parses))["metrics"]["length"][
            "value"
        ]
        == 3 / 2
    )


FORMS = {"summary": "Oslo is wet.", "extraction": "rains in Oslo"}


def with_forms(**forms: object) -> dict:
    first, *others = RAIN["docs"]
    return {**RAIN, "docs": [{**first, **forms}, *others]}


def inputs_of(path: Path, **given: str) -> dict[str, bytes]:
    chosen = task_type(TYPE)
    return dict(
        chosen.public_files(open_input_files(path), chosen.validate_options(given))
    )


@pytest.mark.parametrize(
    ("option", "forms"),
    [("all", FORMS), ("text", {}), ("summary", {"summary": FORMS["summary"]})],
)
def test_participants_get_the_shorter_forms_of_passages_that_an_option_gives_out(
    tmp_path, option, forms
):
    given = inputs_of(
        write_gold(tmp_path, with_forms(**FORMS, answers_found=1), WIND),
        passages=option,
    )
    rain, wind = json.loads(given["inputs.json"])
    assert rain["docs"] == [{**RAIN["docs"][0], **forms}, RAIN["docs"][1]]
    assert wind["docs"] == WIND["docs"]


def test_participants_read_what_the_papers_prompts_ask(tmp_path):
    assert (
        "Rewriting a claim (Table 8)"
        in inputs_of(write_gold(tmp_path))["prompts.md"].decode()
    )


def test_shorter_forms_decide_nothing_so_that_gold_with_them_is_the_same_gold(tmp_path):
    read = task_type(TYPE).read_gold
    plain = read(open_input_files(write_gold(tmp_path, RAIN, WIND)), {})
    assert (
        plain.digest
        == read(
            open_input_files(write_gold(tmp_path, with_forms(**FORMS), WIND)), {}
        ).digest
    )


def test_a_shorter_form_that_is_no_text_is_told(capsys, tmp_path):
    gold = write_gold(tmp_path, with_forms(summary=["Oslo"]))
    [told] = refusals(capsys, TYPE, [gold], write_run(tmp_path, OUTPUTS))
    assert "“docs”: summary at place 1 is a list; expected a text" in told
