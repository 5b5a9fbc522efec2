"""What the citation metrics do with what people write: no marks, wrong marks, no answer."""

import json
from pathlib import Path

import pytest

from scoring.offline.evaluate import load_page_of_details
from scoring.stats.signature import parse_signature
from tests.scoring.offline import score
from tests.tasks.types.citations import (
    RAIN,
    WIND,
    flat,
    write_gold,
    write_parses,
    write_run,
)

TYPE = "positional-citations"
PUBLISHED = ("--rules", "official")


@pytest.fixture
def parses(tmp_path) -> Path:
    return write_parses(
        tmp_path,
        "It rains in Oslo",
        "Wind is air that moves",
        "Rome is dry",
        "x a b",
        "x a a",
        "im_end Rome is dry",
        "It rains in oslo",
    )


def scored(
    capsys, folder: Path, outputs: dict[str, str], *more: str, questions=(RAIN, WIND)
) -> dict:
    gold = write_gold(folder, *questions)
    return score(
        capsys,
        TYPE,
        [gold],
        write_run(folder, outputs),
        *flat(parses=folder / "parses.jsonl"),
        *more,
    )


def value(scores: dict, name: str) -> float | None:
    return scores["metrics"][name]["value"]


@pytest.mark.usefixtures("parses")
def test_what_is_left_uncited_costs_aliice_nothing_and_alce_its_recall(
    capsys, tmp_path
):
    scores = scored(
        capsys,
        tmp_path,
        {"q1": "It rains in Oslo [1]. Nobody knows. Or so.", "q2": "Wind blows."},
    )
    assert value(scores, "aliice_recall") == 100
    assert value(scores, "alce_recall") == pytest.approx(100 * (1 / 3 + 0) / 2)
    assert value(scores, "alce_precision") == 50
    notes = scores["notes"]
    assert (
        notes["sentences"],
        notes["uncited_sentences"],
        notes["responses_without_claims"],
    ) == (4, 3, 1)


@pytest.mark.usefixtures("parses")
def test_a_run_without_any_mark_has_no_value_in_aliice_and_0_in_alce(capsys, tmp_path):
    scores = scored(capsys, tmp_path, {"q1": "It rains in Oslo.", "q2": "Wind blows."})
    assert (
        value(scores, "aliice_recall")
        is value(scores, "aliice_f1")
        is value(scores, "cvcp")
        is None
    )
    assert (value(scores, "alce_recall"), value(scores, "alce_precision")) == (0, 0)


@pytest.mark.usefixtures("parses")
def test_a_mark_of_no_passage_takes_its_claim_out_of_aliice_and_fails_its_sentence_in_alce(
    capsys, tmp_path
):
    outputs = {"q1": "It rains in Oslo [1]. Rome is dry [2][3]."}
    scores = scored(capsys, tmp_path, outputs, questions=(RAIN,))
    assert (value(scores, "aliice_recall"), value(scores, "aliice_precision")) == (
        100,
        100,
    )
    assert (value(scores, "alce_recall"), value(scores, "alce_precision")) == (50, 100)
    assert (
        scores["notes"]["out_of_range_marks"],
        scores["notes"]["out_of_range_claims"],
    ) == (1, 1)


@pytest.mark.usefixtures("parses")
def test_mark_0_stands_for_no_passage_and_is_official_for_the_last(capsys, tmp_path):
    outputs = {"q1": "Rome is dry [0]."}
    ours = scored(capsys, tmp_path, outputs, questions=(RAIN,))
    assert (value(ours, "aliice_recall"), value(ours, "alce_recall")) == (None, 0)
    assert ours["notes"]["out_of_range_marks"] == 1
    published = scored(capsys, tmp_path, outputs, *PUBLISHED, questions=(RAIN,))
    assert (value(published, "aliice_recall"), value(published, "alce_recall")) == (
        100,
        100,
    )
    assert published["notes"]["out_of_range_marks"] == 0


@pytest.mark.usefixtures("parses")
def test_a_question_without_an_answer_counts_as_an_empty_answer_and_is_official_not_at_all(
    capsys, tmp_path
):
    outputs = {"q2": "Wind is air that moves [1]."}
    ours = scored(capsys, tmp_path, outputs)
    assert ours["notes"]["missing_answers"] == 1
    assert (
        value(ours, "em_recall"),
        value(ours, "alce_recall"),
        value(ours, "length"),
    ) == (0, 50, 5 / 2)
    assert ours["metrics"]["alce_recall"]["n"] == 2
    published = scored(capsys, tmp_path, outputs, *PUBLISHED)
    assert (
        value(published, "em_recall"),
        value(published, "alce_recall"),
        value(published, "length"),
    ) == (
        None,
        100,
        5,
    )
    empty = scored(capsys, tmp_path, {**outputs, "q1": "  "})
    assert {name: value(empty, name) for name in empty["metrics"]} == {
        name: value(ours, name) for name in ours["metrics"]
    }
    assert (empty["notes"]["missing_answers"], empty["notes"]["empty_answers"]) == (
        0,
        1,
    )


@pytest.mark.usefixtures("parses")
def test_credit_goes_to_marks_that_are_enough_or_needed(capsys, tmp_path):
    """Passage 1 entails alone; passage 2 is neither enough nor needed; 1 marked twice is enough each time."""
    for marks, precision in (
        ("[1]", 100),
        ("[1][2]", 50),
        ("[2]", 0),
        ("[1][1]", 100),
        ("[2][1][2]", 100 / 3),
    ):
        scores = scored(
            capsys, tmp_path, {"q1": f"It rains in Oslo {marks}."}, questions=(RAIN,)
        )
        assert value(scores, "aliice_precision") == pytest.approx(precision), marks
        assert value(scores, "aliice_recall") == (0 if marks == "[2]" else 100)


@pytest.mark.usefixtures("parses")
def test_precision_is_per_mark_of_a_response_or_per_claim(capsys, tmp_path):
    outputs = {"q1": "It rains in Oslo [1][2]. Rome is dry [2]."}
    scores = scored(capsys, tmp_path, outputs, questions=(RAIN,))
    assert value(scores, "aliice_precision") == pytest.approx(100 * 2 / 3)
    assert value(scores, "aliice_precision_per_claim") == pytest.approx(75)
    assert value(scores, "aliice_f1_per_claim") == pytest.approx(2 * 100 * 75 / 175)


@pytest.mark.usefixtures("parses")
def test_the_signature_says_what_precision_is_per_and_recall_has_none(capsys, tmp_path):
    scores = scored(capsys, tmp_path, {"q1": "Rome is dry [2]."}, questions=(RAIN,))
    named = {
        name: parse_signature(scores["metrics"][name]["column"]).get("precision")
        for name in ("aliice_recall", "aliice_precision", "aliice_f1_per_claim")
    }
    assert named == {
        "aliice_recall": None,
        "aliice_precision": "per-mark",
        "aliice_f1_per_claim": "per-claim",
    }


@pytest.mark.usefixtures("parses")
def test_alce_looks_at_three_marks_of_a_sentence_and_is_official_at_the_first_line(
    capsys, tmp_path
):
    outputs = {"q1": "\n It rains in Oslo [2][2][2][1]. <|im_end|>\nRome is dry [2]."}
    scores = scored(capsys, tmp_path, outputs, questions=(RAIN,))
    assert (value(scores, "alce_recall"), value(scores, "alce_recall_all_marks")) == (
        50,
        100,
    )
    scores = scored(capsys, tmp_path, outputs, *PUBLISHED, questions=(RAIN,))
    assert (value(scores, "alce_recall"), value(scores, "alce_recall_all_marks")) == (
        0,
        100,
    )
    assert (
        value(scores, "alce_precision"),
        value(scores, "alce_precision_all_marks"),
    ) == (0, 25)
    assert scores["notes"]["sentences"] == 2


@pytest.mark.usefixtures("parses")
def test_of_equal_claims_both_count_and_is_official_the_last(capsys, tmp_path):
    """`x a a`: two claims `a`, of which only the second is entailed by its passage."""
    question = {
        **RAIN,
        "docs": [{"title": "", "text": "b"}, {"title": "", "text": "a"}],
    }
    parses = tmp_path / "parses.jsonl"
    parses.write_text(
        json.dumps(
            {
                "text": "x a a",
                "tokens": ["x", "a", "a"],
                "heads": [0, 0, 0],
                "relations": ["ROOT", "dep", "dep"],
            }
        )
    )
    outputs = {"q1": "x a [1] a [2]"}
    assert (
        value(scored(capsys, tmp_path, outputs, questions=(question,)), "aliice_recall")
        == 50
    )
    assert (
        value(
            scored(capsys, tmp_path, outputs, *PUBLISHED, questions=(question,)),
            "aliice_recall",
        )
        == 100
    )


@pytest.mark.usefixtures("parses")
def test_merged_groups_are_an_option_in_the_signature_and_lost_ones_are_counted(
    capsys, tmp_path
):
    outputs = {"q1": "It rains in Oslo [2] [?] [1]."}
    (tmp_path / "parses.jsonl").write_text(
        json.dumps(
            {
                "text": "It rains in Oslo ",
                "tokens": ["It", "rains", "in", "Oslo"],
                "heads": [1, 1, 1, 2],
                "relations": ["nsubj", "ROOT", "prep", "pobj"],
            }
        )
    )
    later = scored(capsys, tmp_path, outputs, questions=(RAIN,))
    merged = scored(
        capsys, tmp_path, outputs, "--option", "merge-groups=yes", questions=(RAIN,)
    )
    assert (later["notes"]["lost_groups"], merged["notes"]["lost_groups"]) == (1, 0)
    assert (value(later, "aliice_precision"), value(merged, "aliice_precision")) == (
        100,
        50,
    )
    assert "|groups:last|" in later["metrics"]["aliice_f1"]["column"]
    assert "|groups:merged|" in merged["metrics"]["aliice_f1"]["column"]


@pytest.mark.usefixtures("parses")
def test_references_are_the_long_answers_and_the_best_one_counts(capsys, tmp_path):
    annotated = {
        **RAIN,
        "annotations": [
            {"long_answer": "Snow falls."},
            {"long_answer": "It rains in Oslo."},
        ],
    }
    scores = scored(
        capsys, tmp_path, {"q1": "It rains in Oslo [1]."}, questions=(annotated,)
    )
    assert value(scores, "rouge_lsum_f1") == 100
    # Words count by their stems.
    past = {**RAIN, "annotations": [{"long_answer": "It rained in Oslo."}]}
    inflected = scored(
        capsys, tmp_path, {"q1": "It rains in Oslo [1]."}, questions=(past,)
    )
    assert value(inflected, "rouge_lsum_f1") == 100
    assert (
        value(
            scored(capsys, tmp_path, {"q1": "It rains."}, questions=(RAIN,)),
            "rouge_lsum_f1",
        )
        is None
    )


@pytest.mark.usefixtures("parses")
def test_short_answers_are_found_without_articles_case_and_punctuation(
    capsys, tmp_path
):
    question = {
        **RAIN,
        "qa_pairs": [
            {"short_answers": ["The  O.S.L.O", "x"]},
            {"short_answers": ["Rome"]},
        ],
    }
    scores = scored(
        capsys, tmp_path, {"q1": "It rains in oslo [1]."}, questions=(question,)
    )
    assert (value(scores, "em_recall"), value(scores, "em_all")) == (50, 0)


@pytest.mark.usefixtures("parses")
def test_the_classes_of_a_breakdown_share_out_the_whole(capsys, tmp_path):
    outputs = {
        "q1": "It rains in Oslo [1][2]. Rome is dry [2]. So what.",
        "q2": "Wind is air that moves [1].",
    }
    scores = scored(capsys, tmp_path, outputs)
    assert set(scores["breakdowns"]["sentence_length"]) == {"None", "up to 20 words"}
    by_marks = scores["breakdowns"]["marks_per_sentence"]
    assert by_marks["2"]["aliice_precision"]["value"] == 50
    assert by_marks["1"]["aliice_precision"]["value"] == 100
    # A third of the first response's marks and all of the second's are in class 1.
    assert value(scores, "aliice_precision") == pytest.approx(
        (50 * 2 / 3 + 100 * 4 / 3) / 2
    )
    assert by_marks["0"]["alce_recall"]["value"] == 0
    assert scores["breakdowns"]["dataset"]["wind"]["aliice_recall"] == {
        "value": 100,
        "n": 1,
    }
    assert (
        scores["breakdowns"]["placing"]["at sentence ends"]["positional_share"]["n"]
        == 2
    )


@pytest.mark.usefixtures("parses")
def test_long_contexts_are_a_class_of_their_own(capsys, tmp_path):
    outputs = {
        "q1": f"It rains in Oslo [1]. Rome is {'very ' * 50}dry [2].",
        "q2": "Wind is air that moves [1].",
    }
    by_length = scored(capsys, tmp_path, outputs)["breakdowns"]["sentence_length"]
    counts = {label: own["positional_share"]["n"] for label, own in by_length.items()}
    assert counts == {"over 50 words": 1, "up to 20 words": 2}


@pytest.mark.usefixtures("parses")
def test_statistics_tell_how_each_response_came_to_its_numbers(capsys, tmp_path):
    kept = tmp_path / "statistics.npz"
    outputs = {
        "q1": "It rains in Oslo [1][2]. Nobody knows. Rome is dry [7].",
        "q2": "Wind blows.",
    }
    scored(capsys, tmp_path, outputs, "--statistics", str(kept))
    all_told = dict(load_page_of_details(kept, 0, 3)[0])
    told = all_told["q1"]
    rains, nobody, rome = told["sentences"]
    assert rains["tokens"] == ["It", "rains", "in", "Oslo"]
    assert (rains["heads"], rains["relations"]) == (
        [1, 1, 1, 1],
        ["dep", "ROOT", "dep", "dep"],
    )
    assert rains["claims"] == [
        {
            "text": "It rains in Oslo",
            "marks": [1, 2],
            "counts": True,
            "entailed": True,
            "credits": [True, False],
            # The passage on Rome is not enough, and not needed either.
            "alone": [True, False],
            "others": [None, True],
        }
    ]
    assert told["passages"] == {
        str(n): passage for n, passage in enumerate(RAIN["docs"], start=1)
    }
    assert nobody["claims"] == []
    [dry] = rome["claims"]
    assert (dry["text"], dry["marks"], dry["counts"], dry["entailed"]) == (
        "Rome is dry",
        [7],
        False,
        None,
    )
    assert dry["credits"] == dry["alone"] == dry["others"] == []
    assert [each["entailed"] for each in told["alce"]] == [True, None, None]
    assert all_told["q2"]["sentences"][0]["text"] == "Wind blows."
    assert list(all_told) == ["q1", "q2"]


@pytest.mark.usefixtures("parses")
def test_equal_runs_differ_by_nothing_and_better_ones_by_what_is_better(
    capsys, tmp_path
):
    from scoring.__main__ import main

    gold = write_gold(tmp_path)
    good = write_run(
        tmp_path,
        {"q1": "It rains in Oslo [1].", "q2": "Wind is air that moves [1]."},
        "good.jsonl",
    )
    bad = write_run(
        tmp_path,
        {"q1": "It rains in Oslo [2].", "q2": "Wind is air that moves [1]."},
        "bad.jsonl",
    )
    options = flat(parses=tmp_path / "parses.jsonl")[2:]
    command = [
        "compare",
        TYPE,
        "--gold",
        str(gold),
        "--run",
        str(good),
        "--run",
        str(bad),
        *options,
        "--json",
    ]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]["aliice_recall"]
    assert (found["a"], found["b"], found["difference"]) == (100, 50, 50)
