"""MAUVE held to the package mauve-text, from features, and from texts on an untrained tiny model."""

from dataclasses import replace

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser

from scoring.metrics import SoftwareUnavailable
from scoring.metrics.answers import AnswerMauve
from scoring.metrics.base import compute_metric_value
from scoring.metrics.mauve import (
    Mauve,
    _compute_cluster_means,
    cluster_jointly,
    compute_divergence_curve_area,
)
from scoring.results.board.leaders import iterate_leader_searches_of_board
from scoring.results.board.standings import compute_board
from tasks.types.positional_citations.questions import (
    QuestionWithPassages,
    WholeAnswerRow,
)
from tests import factories
from tests.scoring import boards
from tests.scoring.citation_texts import make_phase, make_run
from tests.scoring.compared import compare
from tests.scoring.offline import printed, score
from tests.tasks.types import citations
from tests.tasks.types.instances import write_gold, write_run
from tests.web.reading import text_of

#: What mauve-text 0.4.0 gives with faiss-cpu 1.15.1, scikit-learn 1.9.1 and NumPy 2.4.6 for the features of
#: ``sample``: `mauve.compute_mauve(p_features=p, q_features=q).mauve`, computed once outside of this project.
GOLDEN = {
    (1, 60, 60, 8, 0.0, 4): 0.9460248413105223,
    (2, 100, 80, 16, 0.3, 6): 0.7963631746592545,
    (3, 250, 250, 12, 0.5, 10): 0.7198761170003785,
    (4, 40, 41, 64, 0.2, 3): 0.9925929604743562,
    (5, 500, 400, 24, 0.4, 20): 0.7014552457164611,
    (6, 30, 30, 5, 2.0, 3): 0.9412218001067658,
    (7, 2, 3, 4, 0.1, 1): 0.9876647842297751,
    (8, 300, 300, 768, 0.3, 5): 0.007898113289419582,
}
#: The same for the features of ``alike``, where clusters run empty and others are split.
GOLDEN_ALIKE = 0.2403902572652229


def sample(seed: int, gold: int, answers: int, width: int, shift: float, modes: int):
    """Features around common middles, those of the answers moved in one direction."""
    random = np.random.RandomState(seed)
    middles = random.standard_normal((modes, width)) * 2
    p = middles[random.randint(modes, size=gold)] + random.standard_normal(
        (gold, width)
    )
    moved = middles[
        random.randint(modes, size=answers)
    ] + shift * random.standard_normal(width)
    return p, moved + random.standard_normal((answers, width))


def alike():
    """Four different features in all, two of which the answers have."""
    random = np.random.RandomState(9)
    base = random.standard_normal((4, 6))
    return base[random.randint(4, size=120)], base[random.randint(2, 4, size=120)]


def mauve(p, q) -> float:
    first, second = cluster_jointly(p, q)
    size = max(first.max(), second.max()) + 1
    return compute_divergence_curve_area(
        *(
            np.bincount(labels, minlength=size) / len(labels)
            for labels in (first, second)
        )
    )


@pytest.mark.parametrize("case", GOLDEN)
def test_the_same_features_give_what_the_package_gives(case):
    assert mauve(*sample(*case)) == pytest.approx(GOLDEN[case], abs=1e-9)


def test_how_long_a_feature_is_does_not_matter():
    p, q = sample(1, 60, 60, 8, 0.0, 4)
    assert mauve(p / 100, q / 100) == pytest.approx(mauve(p, q), rel=1e-6)


def test_clusters_that_run_empty_are_split_as_the_package_splits_them():
    assert mauve(*alike()) == pytest.approx(GOLDEN_ALIKE, abs=1e-9)


def test_the_points_of_a_cluster_keep_their_order_among_points_of_other_clusters():
    """The last digits of a sum of 32-bit numbers depend on the order."""
    labels = np.arange(1000) % 2
    points = np.random.RandomState(3).standard_normal((1000, 4)).astype(np.float32)
    sizes = np.array([500, 500, 0], dtype=np.float32)
    in_order = np.array([*range(0, 1000, 2), *range(1, 1000, 2)])
    sums = np.add.reduceat(points[in_order], [0, 500], axis=0)
    means = _compute_cluster_means(points, labels, sizes)
    assert means.tolist() == [*(sums / np.float32(500)).tolist(), [0.0] * 4]


def test_equal_shares_have_1_and_such_as_share_no_cluster_next_to_nothing():
    assert compute_divergence_curve_area(
        np.array([0.5, 0.5]), np.array([0.5, 0.5])
    ) == pytest.approx(1)
    assert (
        compute_divergence_curve_area(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.01
    )


WORDS = ("<pad>", "<unk>", "rivers", "carry", "sand", "wind", "moves", "dunes", ".")
TEXTS = [
    "rivers carry sand .",
    "wind moves dunes",
    "sand",
    "dunes . rivers",
    "carry wind",
    "moves sand dunes",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A GPT-2 of one layer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("mauve") / "model"
    torch.manual_seed(5)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32}
    transformers.GPT2Model(
        transformers.GPT2Config(vocab_size=len(WORDS), **sizes)
    ).save_pretrained(folder)
    words = models.WordLevel(
        {word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"
    )
    tokenizer = Tokenizer(words)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=32,
    ).save_pretrained(folder)
    return str(folder)


def of_model(folder: str) -> Mauve:
    return Mauve("mauve", "corrected", options={"mauve_model": folder})


def by_itself(folder: str, text: str):
    """The feature of one text, with nothing beside it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    given = tokenizer(text, return_tensors="pt", truncation=True, max_length=32)
    with torch.inference_mode():
        found = AutoModel.from_pretrained(folder).eval()(input_ids=given["input_ids"])
    return found.last_hidden_state[0, -1].double().numpy()


def value(folder: str, gold, answers) -> float:
    metric = of_model(folder)
    return compute_metric_value(
        metric, metric.instance_stats(gold, answers), np.arange(len(gold))
    )


def test_texts_are_compared_by_what_the_model_makes_of_each_alone(model):
    gold = [f"{one} {other}" for one in TEXTS for other in TEXTS]
    # A text is read as far as the model reaches, which is 32 tokens.
    gold[7] = " ".join(TEXTS * 9)
    answers = [f"{text} dunes dunes" for text in TEXTS for _ in TEXTS[:3]] + gold[:18]
    features = [
        np.array([by_itself(model, text) for text in side]) for side in (gold, answers)
    ]
    assert value(model, gold, answers) == pytest.approx(
        100 * mauve(*features), abs=1e-9
    )
    # An answer without gold counts for nothing.
    assert value(model, [*gold, None], [*answers, "sand"]) == value(
        model, gold, answers
    )


def test_empty_answers_count_against_a_run_and_one_text_has_no_value(model):
    gold = [f"{one} {other}" for one in TEXTS for other in TEXTS]
    values = [
        value(model, gold, [*gold[:kept], *[""] * (36 - kept)])
        for kept in (36, 24, 12, 0)
    ]
    assert values[0] == pytest.approx(100)
    assert values == sorted(values, reverse=True)
    assert 0 < values[-1] < 1
    assert np.isnan(value(model, ["sand"], ["sand"]))
    assert np.isnan(value(model, [None, None], ["sand", "wind"]))


@pytest.mark.parametrize("method", ["wilson-jackknife", "percentile", "bca"])
def test_it_is_a_column_without_interval_and_classes_where_the_option_names_a_model(
    capsys, tmp_path, model, method
):
    gold = write_gold(tmp_path)
    run = write_run(
        tmp_path, {"rivers-00": "rivers carry sand", "dunes-00": "wind moves dunes"}
    )
    assert "mauve" not in score(capsys, "citation-text", [gold], run)["metrics"]
    found = score(
        capsys,
        "citation-text",
        [gold],
        run,
        "--option",
        f"mauve_model={model}",
        "--method",
        method,
    )
    mauve_value = found["metrics"]["mauve"]
    assert 0 <= mauve_value["value"] <= 100
    assert mauve_value["low"] is mauve_value["high"] is None
    assert "|model:sha256-" in mauve_value["column"]
    of_classes = [
        own["mauve"]["value"] for own in found["breakdowns"]["dataset"].values()
    ]
    assert of_classes
    assert set(of_classes) == {None}


def test_answers_are_read_behind_their_questions_without_marks_and_up_to_100_words(
    model,
):
    metric = AnswerMauve("mauve", "corrected", options={"mauve_model": model})
    questions = [
        QuestionWithPassages(
            str(place), "", "wind ?", (), references=(f"{text} {text}!", "other")
        )
        for place, text in enumerate(TEXTS)
    ]
    outputs = [f"{text} sand dunes !" for text in TEXTS]
    answers = [
        WholeAnswerRow(
            question=question,
            features={},
            plain=output,
            is_positional=False,
            sentences=(),
        )
        for question, output in zip(questions, outputs, strict=True)
    ]
    answers[0] = replace(answers[0], plain=f"{'sand ' * 98}dunes carry")
    outputs[0] = f"{'sand ' * 98}".strip()
    questions[1] = replace(
        questions[1], references=("other",), answer=f"{TEXTS[1]} {TEXTS[1]}!"
    )
    short = QuestionWithPassages("s", "", "wind ?", (), short_answers=(("sand",),))
    stats = metric.instance_stats(
        [*questions, short, None], [*answers, answers[1], answers[2]]
    )
    assert stats[:, -1].tolist() == [1.0] * 6 + [0.0, 0.0]
    read = of_model(model).instance_stats(
        [f"wind ? {text} {text}".rstrip(".") for text in TEXTS],
        [f"wind ? {text}".rstrip(" !") for text in outputs],
    )
    assert stats[:6].tolist() == read.tolist()


def test_answers_have_the_column_where_the_option_names_a_model(
    capsys, tmp_path, model
):
    wind = {**citations.WIND, "id": "q3", "question": "What moves dunes?"}
    gold = citations.write_gold(tmp_path, citations.RAIN, citations.WIND, wind)
    run = citations.write_run(
        tmp_path, {"q2": "Wind [1] moves.", "q3": "Wind carries sand [1]."}
    )
    parses = citations.write_parses(tmp_path, "Wind moves", "Wind carries sand")
    options = ("--option", f"mauve_model={model}", "--option", f"parser={parses}")
    found = score(capsys, "positional-citations", [gold], run, *options)["metrics"][
        "mauve"
    ]
    assert (0 <= found["value"] <= 100, found["n"], found["low"]) == (True, 2, None)
    assert "|texts:question-answer-100" in found["column"]


def test_two_runs_are_neither_compared_by_it_nor_does_it_say_what_a_test_set_can_show(
    capsys, tmp_path, model
):
    gold = write_gold(tmp_path)
    runs = []
    for name, text in (("a", "rivers carry sand"), ("b", "wind moves dunes .")):
        (tmp_path / name).mkdir()
        runs.append(write_run(tmp_path / name, {"rivers-00": text, "dunes-00": text}))
    option = ("--option", f"mauve_model={model}")
    for command in ("compare", "power"):
        found = printed(capsys, command, "citation-text", [gold], runs, *option)
        assert "rouge_l_f1" in found["metrics"]
        assert "mauve" not in found["metrics"]


def test_a_model_that_is_not_there_is_told(tmp_path):
    pytest.importorskip("torch")
    absent = of_model(str(tmp_path / "none"))
    [requirement] = absent.requirements()
    assert requirement.kind == "MAUVE model"
    assert "neither a folder here" in requirement.missing
    with pytest.raises(SoftwareUnavailable, match="neither a folder here"):
        absent.instance_stats(["a"], ["b"])


@pytest.mark.django_db
def test_board_and_comparison_show_its_values_and_say_that_nothing_is_tested(
    client, tmp_path, model
):
    phase = make_phase(tmp_path, options={"mauve_model": model}, shows_instances=True)
    runs = []
    for name, text in (("a", "rivers carry sand"), ("b", "wind moves dunes .")):
        (tmp_path / name).mkdir()
        team = factories.make_team(season=phase.task.season)
        runs.append(make_run(phase, tmp_path / name, text=text, team=team))
    compare(phase)
    board = compute_board(phase, AnonymousUser())
    assert all(0 <= row.scores["mauve"].value <= 100 for row in board.rows)
    assert {
        question.metric.name for question in iterate_leader_searches_of_board(board)
    }.isdisjoint({"mauve"})
    sentence = "MAUVE: rows of two runs cannot be exchanged under this measure"
    assert sentence in text_of(client.get(boards.address("board", phase)))
    chosen = {"a": runs[0].pk, "b": runs[1].pk}
    page = text_of(client.get(boards.address("compare", phase), chosen))
    assert sentence in page
    assert page.count("not tested") == 1
