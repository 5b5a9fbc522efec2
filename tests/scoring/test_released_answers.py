"""Outputs of the programs that ALCE and ALiiCE release, in files of our own, become gold and a run."""

import json

import pytest

from scoring.__main__ import main

DOCS = [{"title": "Rain", "text": "It rains.", "score": 1.0, "id": "7"}]


def question(**fields) -> dict:
    return {
        "question": "Does it rain?",
        "docs": DOCS,
        "output": "It rains [1].",
    } | fields


@pytest.fixture
def convert(capsys, tmp_path):
    def run(content) -> tuple[int, str]:
        path = tmp_path / "output.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        out = [
            "--gold-out",
            str(tmp_path / "gold.jsonl"),
            "--out",
            str(tmp_path / "r.jsonl"),
        ]
        code = main(["papers", "convert-answers", str(path), *out])
        return code, capsys.readouterr().err

    return run


def test_outputs_of_alce_and_aliice_can_be_scored(convert, capsys, tmp_path):
    asqa = question(
        sample_id="a-1",
        output="It rains [1].<|im_end|>",
        qa_pairs=[{"question": "?", "short_answers": ["rain"]}],
        annotations=None,
        prompt="left out",
    )
    outputs = {
        "alce": {"args": {"shot": 2}, "data": [asqa]},
        "aliice": [question(answer="Yes."), question(answer="No.")],
    }
    ids = {"alce": ["a-1"], "aliice": ["1", "2"]}
    for name, content in outputs.items():
        assert convert(content) == (0, "")
        gold, run = (
            [json.loads(line) for line in (tmp_path / file).read_text().splitlines()]
            for file in ("gold.jsonl", "r.jsonl")
        )
        assert [line["id"] for line in gold] == ids[name]
        assert [line["output"] for line in run] == ["It rains [1]."] * len(gold)
        assert not {"output", "prompt"} & set(gold[0])
        files = [
            "--gold",
            str(tmp_path / "gold.jsonl"),
            "--run",
            str(tmp_path / "r.jsonl"),
        ]
        assert main(["check", "positional-citations", *files]) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "output.json: is not JSON"),
        ({"args": {}}, "output.json: holds an object; expected a list of questions"),
        ([], "output.json: holds a list"),
        (["text"], "question 1: “question” is missing"),
        ([question(output=None)], "question 1: “output” is missing; expected a text"),
        ([question(), question(docs={})], "question 2: “docs” is an object"),
        ([question(id=1), question(id="1")], "the id “1” is there twice"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_place(
    convert, tmp_path, content, said
):
    code, told = convert(content)
    assert code != 0
    assert said in told
    assert not (tmp_path / "r.jsonl").exists()
