"""Held to what the released programs of ALiiCE and ALCE gave for five sets of answers, with a stand-in for
TRUE.

The data pack describes the numbers and the stand-in. Its parses are those of an older pipeline, which the
small one imitates.
"""

import json
from pathlib import Path

import pytest

from tests.resting import rests_on_scorer
from tests.scoring.offline import score

SYSTEMS = ("demo", "positional", "shifted", "uncited", "untidy")
TYPE = "positional-citations"
#: Metric, part of the golden file, and number there.
EXPECTED = {
    "aliice_recall": ("aliice_repo_aliice", "citation_recall"),
    "aliice_precision": ("aliice_repo_aliice", "citation_precision"),
    "aliice_recall_by_sentence": ("aliice_repo_alce", "citation_recall"),
    "aliice_precision_by_sentence": ("aliice_repo_alce", "citation_precision"),
    "alce_recall": ("alce_at_most_3", "citation_rec"),
    "alce_precision": ("alce_at_most_3", "citation_prec"),
    "alce_recall_all_marks": ("alce_at_most_None", "citation_rec"),
    "alce_precision_all_marks": ("alce_at_most_None", "citation_prec"),
    "cvcp": ("cv", "cv"),
    "length": ("length", "avg_length"),
    "length_deviation": ("length", "length_std"),
    "em_recall": ("asqa_correctness", "str_em"),
    "em_all": ("asqa_correctness", "str_hit"),
}

#: The program prints these as shares.
SHARES = {
    "aliice_recall_deviation": ("aliice_repo_aliice", "recall_std"),
    "aliice_precision_deviation": ("aliice_repo_aliice", "precision_std"),
}

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture(params=SYSTEMS)
def system(request, shared: Path) -> dict:
    path = shared / "aliice" / "golden" / "citation_eval.json"
    return json.loads(path.read_text())["systems"][request.param]


@pytest.fixture
def options(shared: Path) -> list[str]:
    pytest.importorskip("spacy")
    return [
        "--rules",
        "official",
        "--option",
        f"parser={shared / 'spacy' / 'en_test_sm'}",
        "--intervals",
        "0",
    ]


def score_responses(capsys, folder: Path, responses: list[dict], *options: str) -> dict:
    """Gold and run as they come: one list that has both."""
    path = folder / "responses.json"
    path.write_text(json.dumps(responses))
    return score(capsys, TYPE, [path], path, *options)


def same(expected: float | None) -> object:
    return (
        pytest.approx(expected, rel=1e-12, abs=1e-12) if expected is not None else None
    )


def values(scores: dict) -> dict[str, float | None]:
    return {name: metric["value"] for name, metric in scores["metrics"].items()}


def test_every_number_is_that_of_the_released_programs(
    capsys, system, options, tmp_path
):
    overlap = ("--option", "entailment=word-overlap")
    found = values(
        score_responses(capsys, tmp_path, system["responses"], *options, *overlap)
    )
    for name, (part, number) in EXPECTED.items():
        assert found[name] == same(system["expected"][part][number]), name
    for name, (part, number) in SHARES.items():
        share = None if found[name] is None else found[name] / 100
        assert share == same(system["expected"][part][number]), name
    assert found["rouge_lsum_f1"] == same(system["expected"]["eli5_rougeLsum_mean"])


def test_every_response_has_the_numbers_of_the_released_programs(
    capsys, system, options, tmp_path
):
    overlap = ("--option", "entailment=word-overlap")
    rouge = {
        each["id"]: 100 * each["f"]
        for each in system["expected"]["eli5_rougeLsum_each"]
    }
    for response in system["responses"]:
        found = values(
            score_responses(capsys, tmp_path, [response], *options, *overlap)
        )
        for name, (part, number) in EXPECTED.items():
            own = {
                each["id"]: each
                for each in system["expected"][part].get("per_response", [])
            }
            if own:
                assert found[name] == same(own[response["id"]][number]), (
                    response["id"],
                    name,
                )
        assert found["rouge_lsum_f1"] == same(rouge.get(response["id"]))


def test_exactly_the_pairs_are_asked_that_the_released_program_asked(
    capsys, system, options, tmp_path
):
    """With the labels of the golden file's own log nothing is open, and the numbers are the same."""
    entailment_labels = tmp_path / "labels.jsonl"
    parts = ("aliice_repo_aliice", "aliice_repo_alce")
    asked = [
        call
        for part in parts
        for response in system["expected"][part]["per_response"]
        for call in response["nli_calls"]
    ]
    entailment_labels.write_text("".join(json.dumps(call) + "\n" for call in asked))
    decided = ("--option", f"entailment=labels:{entailment_labels}")
    scores = score_responses(capsys, tmp_path, system["responses"], *options, *decided)
    for name in (
        "aliice_recall",
        "aliice_precision",
        "aliice_recall_by_sentence",
        "aliice_precision_by_sentence",
    ):
        part, number = EXPECTED[name]
        assert scores["metrics"][name]["value"] == same(
            system["expected"][part][number]
        )
    assert scores["notes"]["pending_pairs_aliice"] == 0
    assert scores["notes"]["pending_pairs_aliice_by_sentence"] == 0


def test_position_variation_is_the_golden_one_by_either_formula(
    capsys, shared, options, tmp_path
):
    golden = json.loads(
        (shared / "aliice" / "golden" / "position_variation.json").read_text()
    )
    responses = [
        {"id": str(number), "question": "?", "docs": [], "output": case["response"]}
        for number, case in enumerate(golden["cases"])
    ]
    paper = ["--rules", "corrected", *options[2:]]
    for response, case in zip(responses, golden["cases"], strict=True):
        published = values(score_responses(capsys, tmp_path, [response], *options))
        assert published["cvcp"] == pytest.approx(case["published_code"], abs=1e-8)
        ours = values(score_responses(capsys, tmp_path, [response], *paper))
        assert ours["cvcp"] == pytest.approx(
            case["formula_of_the_paper_mean"], abs=1e-8
        )
        assert ours["cvcp_pooled"] == pytest.approx(case["published_code"], abs=1e-8)
    together = values(score_responses(capsys, tmp_path, responses, *options))
    assert together["cvcp"] == pytest.approx(
        golden["pooled_published_code_over_these_responses"], abs=1e-8
    )


def test_lengths_of_the_answers_that_people_rated_are_those_of_the_data_pack(
    capsys, shared, tmp_path
):
    folder = shared / "alce_human_utility"
    rows = [
        json.loads(line) for line in (folder / "outputs.jsonl").read_text().splitlines()
    ]
    aggregates = json.loads((folder / "golden" / "aggregates.json").read_text())[
        "aggregates"
    ]
    parses = tmp_path / "parses.jsonl"
    parses.write_text("")
    assert len(aggregates) == 8
    for expected in aggregates:
        own = [
            row
            for row in rows
            if (row["dataset"], row["system"])
            == (expected["dataset"], expected["system"])
        ]
        assert len(own) == expected["n"]
        responses = [{**row, "docs": []} for row in own]
        options = ("--intervals", "0", "--option", f"parser={parses}")
        scores = score_responses(capsys, tmp_path, responses, *options)
        assert scores["metrics"]["length"]["value"] == pytest.approx(
            expected["mean_length"], abs=1e-6
        )
        assert scores["notes"]["uncited_sentences"] == scores["notes"]["sentences"]
        assert scores["metrics"]["aliice_recall"]["value"] is None
        assert scores["metrics"]["alce_recall"]["value"] == 0
