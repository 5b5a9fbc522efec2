"""QAMPARI's and ELI5's measures, held to ALCE's own functions and to the decisions that it published."""

import json

import pytest

from tests.scoring.offline import refusals, score
from tests.tasks.types.citations import flat, write_gold, write_parses, write_run

TYPE = "positional-citations"
DOCS = [{"title": "Cars", "text": "All of them are cars."}]
#: The numbers are what ALCE's `compute_qampari_f1` gives for these answers without their marks.
LISTS = {
    "cars": (
        [
            ["Ford Model T", "Model T"],
            ["Ford A"],
            ["The Edsel"],
            ["Galaxie"],
            ["Pinto"],
            ["Mustang"],
        ],
        "Model T [1], ford a [2], Edsel, an Omnibus [1][3].\nGalaxie, Pinto",
        (75.0, 60.0, 66.66666666666666),
    ),
    "six": (
        [["a1"], ["a2"], ["a3"], ["a4"], ["a5"], ["a6"], ["a7"]],
        "a1, a2, a3, a4, a5, a6, b, b.",
        (75.0, 100.0, 85.71428571428571),
    ),
    "none": ([["x y"]], " , .", (0.0, 0.0, 0.0)),
    "twice": (
        [["Oslo"], ["Oslo", "Kristiania"]],
        "Oslo, Oslo, Rome",
        (66.66666666666666, 100.0, 80.0),
    ),
}
TOGETHER = (54.166666666666664, 65.0, 58.09523809523809)
METRICS = ("qampari_precision", "qampari_recall_5", "qampari_f1_5")


def question(name: str, **more) -> dict:
    return {
        "id": name,
        "question": f"What of {name}?",
        "docs": DOCS,
        "dataset": name,
        **more,
    }


def scored(capsys, folder, questions, outputs, *more, rules="corrected") -> dict:
    parses = write_parses(folder, "Model T", "Pinto")
    gold = write_gold(folder, *questions)
    run = write_run(folder, outputs)
    options = flat(more, parses=parses)
    return score(capsys, TYPE, [gold], run, *options, "--rules", rules)


def test_lists_of_answers_score_as_in_alce(capsys, tmp_path):
    questions = [question(name, answers=own) for name, (own, _, _) in LISTS.items()]
    outputs = {
        name: output.replace(" [1]", "").replace(" [2]", "").replace("[3]", "")
        for name, (_, output, _) in LISTS.items()
    }
    scores = scored(capsys, tmp_path, questions, outputs, rules="official")
    for name, (_, _, expected) in LISTS.items():
        own = scores["breakdowns"]["dataset"][name]
        assert [own[metric]["value"] for metric in METRICS] == pytest.approx(
            expected, rel=1e-14
        )
    assert [scores["metrics"][metric]["value"] for metric in METRICS] == pytest.approx(
        TOGETHER, rel=1e-14
    )


def test_every_line_of_a_list_is_read_outside_of_the_official_rules(capsys, tmp_path):
    questions = [question("cars", answers=[["Model T"], ["Pinto"]])]
    outputs = {"cars": "1. Model T [1]\n2. Pinto [2]"}
    scores = scored(capsys, tmp_path, questions, outputs)
    assert [scores["metrics"][metric]["value"] for metric in METRICS] == [100] * 3


def test_marks_are_no_part_of_an_answer_and_a_question_without_lists_does_not_count(
    capsys, tmp_path
):
    questions = [
        question("cars", answers=[["Model T"]]),
        question("wind", answer="Air."),
    ]
    scores = scored(capsys, tmp_path, questions, {"cars": "Model T [1]."})
    precision = scores["metrics"]["qampari_precision"]
    assert (precision["value"], precision["n"]) == (100, 1)


@pytest.mark.parametrize(("rules", "in_first"), [("official", 2), ("corrected", 3)])
def test_the_claims_that_an_answer_entails_are_official_on_its_first_line(
    capsys, tmp_path, rules, in_first
):
    claims = ["cars are old", "roads are long", "owls fly"]
    questions = [
        question("cars", claims=claims),
        question("owls", claims=claims[2:]),
        question("wind"),
    ]
    outputs = {"cars": "Cars are old and roads are narrow.\nowls fly", "owls": ""}
    scores = scored(capsys, tmp_path, questions, outputs, rules=rules)
    recall = scores["metrics"]["claim_recall"]
    # Three fifths of the words of two claims are in the first line; an empty answer entails nothing.
    assert recall["value"] == pytest.approx(100 * (in_first / 3 + 0) / 2)
    assert "|entailment:word-overlap-0.6|" in recall["column"]
    assert scores["notes"]["pending_pairs_claim_recall"] == 0


@pytest.mark.shared
def test_claim_recall_by_the_published_decisions_is_the_published_one(
    capsys, tmp_path, shared
):
    """The decisions of four systems on the questions of ELI5 that were rated; one label a claim."""
    lines = (shared / "alce_human_utility" / "outputs.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["dataset"] == "eli5"]
    golden = json.loads(
        (shared / "alce_human_utility" / "golden" / "aggregates.json").read_text()
    )
    checked = 0
    for own in (own for own in golden["aggregates"] if own["dataset"] == "eli5"):
        system = [row for row in rows if row["system"] == own["system"]]
        labels = [row["automatic_correctness_scores"] for row in system]
        questions = [
            question(
                row["id"], claims=[f"claim {place}" for place in range(len(label))]
            )
            for row, label in zip(system, labels, strict=True)
        ]
        outputs = {row["id"]: f"Answer {number}." for number, row in enumerate(system)}
        decisions = tmp_path / "decisions.jsonl"
        decisions.write_text(
            "".join(
                json.dumps(
                    {
                        "premise": f"Answer {number}.",
                        "hypothesis": f"claim {place}",
                        "entailed": int(label),
                    }
                )
                + "\n"
                for number, own_labels in enumerate(labels)
                for place, label in enumerate(own_labels)
            )
        )
        scores = scored(
            capsys, tmp_path, questions, outputs, f"entailment=labels:{decisions}"
        )
        assert (
            round(scores["metrics"]["claim_recall"]["value"], 6)
            == own["mean_correctness_x100"]
        )
        checked += 1
    assert checked == 4


def test_gold_that_lists_no_texts_is_refused_by_place(capsys, tmp_path):
    gold = write_gold(
        tmp_path, question("a", answers=["x"]), question("b", claims="none")
    )
    said = "\n".join(refusals(capsys, TYPE, [gold], write_run(tmp_path, {"a": "x"})))
    assert "“answers” is no list of spellings" in said
    assert "“claims” are not all texts" in said
