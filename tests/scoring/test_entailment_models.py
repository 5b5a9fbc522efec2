"""Deciding with a model: what it is asked, what its answer means, and that it is never asked twice."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import UNAVAILABLE_EXIT_CODE, main
from scoring.metrics import entailment
from scoring.metrics.entailment import EntailmentPair, ModelJudge, format_model_prompt
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.offline import score
from tests.scoring.test_learned import make_model as make_random_classifier
from tests.scoring.tinymodel import make_model
from tests.tasks.types.citations import RAIN, write_gold, write_parses, write_run

PAIRS = [
    EntailmentPair("Title: Oslo\nIt rains, yes.", "rain"),
    EntailmentPair("It is dry.", "rain"),
    EntailmentPair("dry", "yes"),
]
ANSWERS = [True, False, True]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def pairs(tmp_path) -> Path:
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"premise": pair.premise, "hypothesis": pair.hypothesis}
        for pair in [*PAIRS, PAIRS[0]]
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def decide(model: Path, pairs: Path, entailment_labels: Path, *more: str) -> int:
    return main(
        [
            "decide",
            "--model",
            str(model),
            "--pairs",
            str(pairs),
            "--labels",
            str(entailment_labels),
            *more,
        ]
    )


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_pair_is_asked_as_true_was_trained():
    assert (
        format_model_prompt(EntailmentPair("Title: T\nText", "claim"))
        == "premise: Title: T\nText hypothesis: claim"
    )


def test_entailed_is_what_the_model_answers_with_1(model):
    assert ModelJudge(str(model)).decide(PAIRS) == ANSWERS


NLI = {0: "contradiction", 1: "neutral", 2: "ENTAILMENT"}


WORDS = ["wind", "moves", "sand", "dunes", "wind moves dunes", "sand ."]
RANDOM_PAIRS = [EntailmentPair(one, other) for one in WORDS for other in WORDS]


def make_classifier(folder: Path, labels: dict[int, str]) -> Path:
    """A random classifier of pairs as it comes from the hub, by which no label is always the likeliest."""
    import torch
    from transformers import BertForSequenceClassification

    make_random_classifier(folder, labels=len(labels))
    model = BertForSequenceClassification.from_pretrained(folder)
    model.config.id2label = labels
    scores = torch.cat([logits(folder, pair) for pair in RANDOM_PAIRS])
    with torch.no_grad():
        model.classifier.bias -= scores.median(dim=0).values
    model.save_pretrained(folder)
    return folder


def logits(folder: Path, pair: EntailmentPair):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    given = AutoTokenizer.from_pretrained(folder)(
        pair.premise, pair.hypothesis, return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**given).logits


def test_a_classifier_entails_a_pair_if_that_is_its_likeliest_label(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    folder = make_classifier(tmp_path / "nli", NLI)
    likeliest = [NLI[int(logits(folder, pair).argmax())] for pair in RANDOM_PAIRS]
    expected = [label == "ENTAILMENT" for label in likeliest]
    assert ModelJudge(str(folder), batch=8).decide(RANDOM_PAIRS) == expected
    assert len(set(expected)) == 2
    long = EntailmentPair("wind moves dunes . " * 100, "sand")
    assert ModelJudge(str(folder)).decide([long])[0] in (True, False)


def test_a_classifier_without_a_label_of_entailment_is_named_with_its_labels(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    folder = make_classifier(tmp_path / "moods", {0: "glad", 1: "sad"})
    with pytest.raises(
        SoftwareUnavailable, match=r"has the labels glad, sad; expected one"
    ):
        ModelJudge(str(folder)).decide(PAIRS)


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_the_size_of_a_batch_changes_no_label(model, batch):
    assert ModelJudge(str(model), batch=batch).decide(PAIRS) == ANSWERS


def test_labels_are_added_to_a_file_once(capsys, model, pairs, tmp_path):
    entailment_labels = tmp_path / "labels.jsonl"
    assert decide(model, pairs, entailment_labels) == 0
    printed = capsys.readouterr()
    assert "3 pairs decided by tiny@" in printed.out
    assert json.loads(printed.err.splitlines()[-1]) == {"step": "deciding", "done": 1.0}
    assert {
        (each["hypothesis"], each["entailed"]) for each in read(entailment_labels)
    } == {
        ("rain", 1),
        ("rain", 0),
        ("yes", 1),
    }
    before = entailment_labels.read_text()
    assert decide(model, pairs, entailment_labels) == 0
    assert "0 pairs decided by tiny@" in capsys.readouterr().out
    assert entailment_labels.read_text() == before


def test_a_stopped_deciding_goes_on_behind_its_last_whole_line(
    capsys, model, pairs, tmp_path, monkeypatch
):
    whole, torn = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    decide(model, pairs, whole, "--batch", "1")
    first, second, _ = whole.read_text().splitlines(keepends=True)
    torn.write_text(first + second[:20])
    asked = []
    answers = entailment._generate_answers
    monkeypatch.setattr(
        entailment,
        "_generate_answers",
        lambda *given: asked.extend(given[2]) or answers(*given),
    )
    decide(model, pairs, torn, "--batch", "1")
    assert len(asked) == 2
    assert torn.read_text() == whole.read_text()


def test_each_batch_is_on_disk_before_the_next_is_asked(
    model, pairs, tmp_path, monkeypatch
):
    entailment_labels = tmp_path / "labels.jsonl"
    answers = entailment._generate_answers
    written = []

    def watched(folder, device, questions):
        written.append(
            len(read(entailment_labels)) if entailment_labels.exists() else 0
        )
        return answers(folder, device, questions)

    monkeypatch.setattr(entailment, "_generate_answers", watched)
    decide(model, pairs, entailment_labels, "--batch", "1")
    assert written == [0, 1, 2]


def test_labels_of_another_model_are_not_mixed_in(capsys, model, pairs, tmp_path):
    entailment_labels = tmp_path / "labels.jsonl"
    entailment_labels.write_text(
        json.dumps({"premise": "a", "hypothesis": "b", "entailed": 1, "model": "other"})
        + "\n"
    )
    assert decide(model, pairs, entailment_labels) == 2
    assert "holds labels of other, not of tiny@" in capsys.readouterr().err
    assert len(read(entailment_labels)) == 1


def test_what_is_no_pair_is_told_by_line(capsys, model, tmp_path):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"premise": "a", "hypothesis": "b"}\n{"premise": "a"}\n')
    assert decide(model, pairs, tmp_path / "labels.jsonl") == 2
    assert capsys.readouterr().err.startswith(f"{pairs}:2: not a pair; expected")


def test_a_model_that_is_not_there_is_named_with_the_way_around_it(
    capsys, pairs, tmp_path
):
    assert (
        decide(Path("nobody/no-such-model"), pairs, tmp_path / "labels.jsonl")
        == UNAVAILABLE_EXIT_CODE
    )
    told = capsys.readouterr().err
    assert "nobody/no-such-model is not on this machine" in told
    assert "python -m scoring pairs" in told


def test_a_run_scored_by_the_model_and_by_the_labels_of_it_that_a_site_keeps_stands_in_one_column(
    capsys, model, tmp_path
):
    parses = write_parses(tmp_path, "It rains")
    task = [write_gold(tmp_path, RAIN)], write_run(tmp_path, {"q1": "It rains [1][2]."})
    options = ["--intervals", "0", "--option", f"parser={parses}", "--option"]
    by_model = score(
        capsys, "positional-citations", *task, *options, f"entailment=model:{model}"
    )
    words = [
        "--gold",
        str(task[0][0]),
        "--run",
        str(task[1]),
        "--option",
        f"parser={parses}",
    ]
    assert main(["pairs", "positional-citations", *words]) == 0
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(capsys.readouterr().out)
    entailment_labels = tmp_path / "labels.jsonl"
    decide(model, pairs, entailment_labels)
    capsys.readouterr()
    alone = score(
        capsys,
        "positional-citations",
        *task,
        *options,
        f"entailment=labels:{entailment_labels}",
    )
    column = by_model["metrics"]["alce_recall"]["column"]
    assert alone["metrics"]["alce_recall"]["column"] != column
    name = column.partition("|entailment:")[2].partition("|")[0]
    head = json.dumps({"model": name, "kept": True})
    entailment_labels.write_text(f"{head}\n{entailment_labels.read_text()}")
    by_file = score(
        capsys,
        "positional-citations",
        *task,
        *options,
        f"entailment=labels:{entailment_labels}",
    )
    for name in ("aliice_recall", "alce_recall"):
        one, other = by_model["metrics"][name], by_file["metrics"][name]
        assert {**one, "signature": ""} == {**other, "signature": ""}
        assert "|entailment_labels:" in other["signature"]
        assert by_model["metrics"][name]["value"] == 0
        assert "|entailment:tiny@" in by_model["metrics"][name]["column"]
