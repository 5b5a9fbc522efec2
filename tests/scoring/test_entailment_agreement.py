"""People beside automatic labels: agreement beyond chance, held to textbooks and scikit-learn."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.stats.jackknife import compute_score_bounds
from scoring.stats.people_and_labels import (
    AnnotatorJudgements,
    agreement,
    compute_cohen_kappa,
    compute_fleiss_kappa,
    compute_gwet_ac1,
    compute_krippendorff_alpha,
)
from tests.tasks.types.citations import write_gold, write_parses, write_run

TYPE = "positional-citations"
#: Fleiss' kappa of fourteen raters and five categories is 0.210 here: Fleiss, Levin and Paik 2003, as widely
#: reprinted.
FOURTEEN_RATERS = (
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
)


def test_fleiss_kappa_is_that_of_the_textbook():
    items = [
        [label for label, count in enumerate(row) for _ in range(count)]
        for row in FOURTEEN_RATERS
    ]
    assert compute_fleiss_kappa(items) == pytest.approx(0.20993, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_cohens_kappa_is_that_of_scikit_learn(seed):
    from sklearn.metrics import cohen_kappa_score

    draw = random.Random(seed)
    first = [draw.choice("abc") for _ in range(50)]
    second = [draw.choice((label, label, "a", "b")) for label in first]
    assert compute_cohen_kappa(first, second) == pytest.approx(
        cohen_kappa_score(first, second), rel=1e-12
    )


def test_two_raters_who_share_their_habits_have_one_kappa():
    """Scott's pi; with equal marginals it is Cohen's kappa too."""
    first, second = [1, 1, 0, 0, 1, 0], [1, 0, 1, 0, 1, 0]
    assert compute_fleiss_kappa(list(zip(first, second, strict=True))) == pytest.approx(
        compute_cohen_kappa(first, second)
    )


def test_where_chance_alone_agrees_there_is_no_kappa():
    assert math.isnan(compute_cohen_kappa([], []))
    assert math.isnan(compute_cohen_kappa([1, 1], [1, 1]))
    assert math.isnan(compute_fleiss_kappa([[1, 1], [1, 1]]))
    assert math.isnan(compute_fleiss_kappa([[1], [0]]))
    assert compute_cohen_kappa([1, 0], [0, 1]) == -1


@pytest.fixture
def words(tmp_path) -> list[str]:
    """A run whose first claim is entailed, by its first mark alone, and whose second is not."""
    parses = write_parses(tmp_path, "It rains in Oslo", "Wind blows often")
    run = write_run(
        tmp_path, {"q1": "It rains in Oslo [1][2].", "q2": "Wind blows often [1]."}
    )
    options = ["--option", f"parser={parses}", "--option", "entailment=word-overlap"]
    return [
        "agreement",
        TYPE,
        "--json",
        "--gold",
        str(write_gold(tmp_path)),
        "--run",
        str(run),
        *options,
    ]


def write_judgements(folder: Path, *lines: dict) -> list[str]:
    path = folder / "judgements.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ["--judgements", str(path)]


def judged(annotator: str, *answers: int) -> list[dict]:
    """One annotator's view of both claims, of the marks of the first, and of the first response."""
    rains, blows, mark_1, mark_2, utility = answers
    rain = {"annotator": annotator, "id": "q1", "claim": "It rains in Oslo"}
    return [
        {**rain, "recall": rains},
        {
            "annotator": annotator,
            "id": "q2",
            "claim": "Wind blows often",
            "recall": blows,
        },
        {**rain, "mark": 1, "precision": mark_1},
        {**rain, "mark": 2, "precision": mark_2},
        {
            "annotator": annotator,
            "id": "q1",
            "utility": utility,
            "citation_utility": int(utility > 3),
        },
    ]


def test_people_are_held_against_the_automatic_labels(capsys, words, tmp_path):
    lines = [
        *judged("A", 1, 0, 1, 0, 4),
        *judged("B", 1, 1, 1, 1, 2),
        *judged("C", 1, 0, 0, 1, 4),
    ]
    assert main([*words, *write_judgements(tmp_path, *lines)]) == 0
    found = json.loads(capsys.readouterr().out)
    recall, precision = found["recall"], found["precision"]
    assert (recall["items"], recall["annotators"], recall["pending"]) == (2, 3, 0)
    assert (recall["automatic"], recall["people"]) == (
        50,
        pytest.approx((50 + 100 + 50) / 3),
    )
    assert recall["cohen"] == {"A": 1.0, "B": 0.0, "C": 1.0}
    assert recall["cohen_mean"] == pytest.approx(2 / 3)
    assert recall["fleiss"] == pytest.approx(
        compute_fleiss_kappa([[1, 1, 1], [0, 1, 0]])
    )
    assert precision["cohen"] == {"A": 1.0, "B": 0.0, "C": -1.0}
    assert precision["automatic"] == 50
    assert found["utility"]["people"] == pytest.approx(10 / 3)
    assert found["citation_utility"]["people"] == pytest.approx(2 / 3)
    # One response says nothing of how much they vary.
    assert (found["utility"]["ratings"], found["utility"]["low"]) == (3, None)


def test_a_mean_of_ratings_has_the_interval_of_its_responses():
    judged = AnnotatorJudgements()
    given = [(4, 4), (2, 4), (5,), (1, 2)]
    for name, ratings in enumerate(given):
        judged.answers["utility"][f"q{name}",] = dict(zip("AB", ratings, strict=False))
    found = agreement(judged, {"recall": {}, "precision": {}})["utility"]
    means = [4, 3, 5, 1.5]
    assert (found["items"], found["ratings"], found["people"]) == (4, 7, 13.5 / 4)
    error = (sum((each - 13.5 / 4) ** 2 for each in means) / 3 / 4) ** 0.5
    low, high = compute_score_bounds(13.5 / 4, np.array(error), 4, (1, 5))
    assert (found["low"], found["high"]) == (
        pytest.approx(float(low)),
        pytest.approx(float(high)),
    )
    assert 1 < found["low"] < found["people"] < found["high"] < 5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"claim": "Snow falls"}, "the run has no claim “Snow falls” of q1"),
        ({"id": "q9"}, "the run has no claim “It rains in Oslo” of q9"),
        ({"recall": 2}, "“recall” is 2; expected one of 0, 1"),
        ({"recall": True}, "“recall” is True"),
        ({"annotator": None}, "“annotator” is no text"),
        ({"claim": None}, "“claim” is no text"),
        ({"utility": 6}, "“utility” is 6; expected one of 1, 2, 3, 4, 5"),
        ({"precision": 1}, "“mark” is no number"),
        ({"precision": 1, "mark": 3}, "the run has no mark “3” of q1"),
        (
            {"recall": 0},
            "A says otherwise on an earlier line; expected one judgement of each",
        ),
        ({"utility": "5" * 10_000}, "“utility” is '555"),
    ],
)
def test_what_people_did_not_say_of_this_run_is_told_by_line(
    capsys, words, tmp_path, change, reason
):
    good = judged("A", 1, 0, 1, 0, 4)[0]
    arguments = write_judgements(tmp_path, good, {**good, **change})
    assert main([*words, *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{arguments[1]}:2: ")
    assert reason in told


def test_a_response_that_the_run_lacks_is_named_alone(capsys, words, tmp_path):
    rated = {"annotator": "A", "id": "q9", "utility": 4}
    assert main([*words, *write_judgements(tmp_path, rated)]) == 2
    assert "the run has no response “q9”; expected" in capsys.readouterr().err


def test_labels_that_are_open_are_left_out_and_counted(capsys, words, tmp_path):
    pending = [*words[:-1], "entailment=none"]
    assert (
        main([*pending, *write_judgements(tmp_path, *judged("A", 1, 0, 1, 0, 4))]) == 0
    )
    recall = json.loads(capsys.readouterr().out)["recall"]
    assert (recall["items"], recall["pending"], recall["cohen"]) == (2, 2, {"A": None})


@pytest.mark.shared
def test_the_ratings_of_the_data_pack_have_its_means(capsys, shared, tmp_path):
    folder = shared / "alce_human_utility"
    rows = [
        json.loads(line) for line in (folder / "outputs.jsonl").read_text().splitlines()
    ]
    expected = json.loads((folder / "golden" / "aggregates.json").read_text())[
        "aggregates"
    ][0]
    own = [
        row
        for row in rows
        if (row["dataset"], row["system"]) == (expected["dataset"], expected["system"])
    ]
    gold = write_gold(tmp_path, *[{**row, "docs": []} for row in own])
    parses = write_parses(tmp_path)
    lines = [
        {"annotator": "A", "id": row["id"], "utility": row["utility_score"]}
        for row in own
    ]
    arguments = [
        "--gold",
        str(gold),
        "--run",
        str(gold),
        "--option",
        f"parser={parses}",
    ]
    assert (
        main(
            [
                "agreement",
                TYPE,
                "--json",
                *arguments,
                *write_judgements(tmp_path, *lines),
            ]
        )
        == 0
    )
    utility = json.loads(capsys.readouterr().out)["utility"]
    assert utility["items"] == expected["n"]
    assert utility["people"] == pytest.approx(expected["mean_utility"], abs=1e-9)


#: Ratings by item, how many labels raters could choose, and AC1 as irrCAC 0.4.4 (`CAC(…).gwet()`) has it.
AC1 = (
    (
        [
            [0, 0],
            [0, 0],
            [0, 0],
            [1, 0],
            [0, 0],
            [0, 0],
            [0, 0],
            [0, 0],
            [0, 1],
            [0, 0],
        ],
        2,
        0.756097560976,
    ),
    ([[2, 2, 2], [0, 0, 0], [3, 3], [1, 1], [1], [3, 3, 3]], 4, 1.0),
    ([[0, 0], [1, 1], [1, 1], [1, 1], [1, 1], [0, 1], [1, 1]], 2, 0.784615384615),
    ([[2, 3], [3], [3], [2], [3, 3], [2, 2], [0, 0]], 4, 0.687234042553),
    (
        [[0, 0], [1, 1], [3, 2], [3, 3], [1, 2], [3, 3], [0, 0], [2, 2]],
        4,
        0.667820069204,
    ),
    ([[0, 0, 0], [0, 0], [1], [0, 0], [1, 0, 1], [1, 1, 1]], 4, 0.84039408867),
    (
        [
            [1, 1, 1],
            [1, 1, 1],
            [0, 1, 0],
            [0, 0, 0],
            [1, 1, 1],
            [1, 1, 0],
            [0, 1, 1],
            [1, 1, 1],
            [1, 1, 1],
            [2, 1, 3],
            [1, 1, 1],
        ],
        4,
        0.682352941176,
    ),
    (
        [
            [1, 0, 1, 1],
            [0, 1, 0],
            [1, 1, 1],
            [1, 1, 1, 1],
            [1, 1],
            [0, 1, 0, 1],
            [1, 1, 1, 1],
            [1, 1, 1, 1],
        ],
        2,
        0.676569678407,
    ),
)


@pytest.mark.parametrize(("items", "count", "expected"), AC1)
def test_ac1_is_that_of_irrcac(items, count, expected):
    assert compute_gwet_ac1(items, range(count)) == pytest.approx(expected, abs=1e-11)


def test_ac1_needs_two_ratings_of_some_item_and_labels_that_were_offered():
    assert math.isnan(compute_gwet_ac1([], (0, 1)))
    assert math.isnan(compute_gwet_ac1([[0], [1]], (0, 1)))
    for items, labels in (([[0, 2]], (0, 1)), ([[0, 0]], (0,))):
        with pytest.raises(ValueError, match="beside the labels"):
            compute_gwet_ac1(items, labels)


@pytest.mark.parametrize(
    ("agreed", "split", "is_carried"),
    [(5, 0, True), (4, 0, False), (4, 9, False), (0, 0, False)],
)
def test_nominal_kappas_need_each_label_agreed_on_in_five_responses(
    agreed, split, is_carried
):
    judged = AnnotatorJudgements()
    answers = [(1, 1)] * agreed + [(1, 0)] * split + [(0, 0)] * 20
    for number, pair in enumerate(answers):
        both = dict(zip("AB", pair, strict=True))
        # Two claims of one response count once.
        for claim in ("It rains", "It pours"):
            judged.answers["recall"][f"q{number}", claim] = both
    labels = {item: own["A"] for item, own in judged.answers["recall"].items()}
    found = agreement(judged, {"recall": labels, "precision": {}})["recall"]
    intervals = ["fleiss_interval", "krippendorff_interval", "cohen_mean_interval"]
    for name in intervals if split or is_carried else intervals[:2]:
        assert (found[name] != "few-of-a-class") is (is_carried or agreed == 0), name
    low, high = found["ac1_interval"]
    assert low < found["ac1"] <= high


def test_kappas_and_alphas_have_intervals_over_responses():
    judged = AnnotatorJudgements()
    rng = np.random.default_rng(8)
    for number in range(30):
        own = int(rng.random() < 0.5)
        answers = {name: own if rng.random() < 0.8 else 1 - own for name in "AB"}
        judged.answers["recall"][f"q{number}", "It rains"] = answers
    labels = {
        item: answers["A"]
        for item, answers in list(judged.answers["recall"].items())[:29]
    }
    found = agreement(judged, {"recall": labels, "precision": {}})["recall"]
    low, high = found["krippendorff_interval"]
    assert -1 < low < found["krippendorff"] < high < 1
    low, high = found["cohen_intervals"]["B"]
    assert low < found["cohen"]["B"] < high
    alphas = [list(answers.values()) for answers in judged.answers["recall"].values()]
    left_out = [
        compute_krippendorff_alpha(alphas[:place] + alphas[place + 1 :], "nominal")
        for place in range(30)
    ]
    error = np.sqrt(29 * np.var(left_out))
    expected = compute_score_bounds(
        compute_krippendorff_alpha(alphas, "nominal"), error, 30, (-1.0, 1.0)
    )
    assert found["krippendorff_interval"] == pytest.approx(tuple(map(float, expected)))
