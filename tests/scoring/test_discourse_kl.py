"""KL divergence of label shares: the published numbers, and what the offline scorer makes of labels."""

import json
import math

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.metrics.discourse import (
    compute_kl_divergence,
    compute_macro_average,
    compute_published_divergence,
)
from tests.scoring import offline
from tests.scoring.discourse import intents, write_gold, write_run

OFFICIAL = ("--rules", "official")


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a)


@pytest.fixture
def scored(tmp_path, capsys):
    """Scores a run with labels against gold with labels, each by data set."""

    def score(run, gold, *more):
        files = write_gold(tmp_path / "gold", gold)
        return offline.score(
            capsys,
            "citation-text",
            files,
            write_run(tmp_path / "run.jsonl", run),
            "--intervals",
            "0",
            *more,
        )

    return score


def test_divergences_equal_the_golden_ones(shared):
    from scipy.special import rel_entr

    folder = shared / "citebench_label_distributions" / "golden"
    golden = json.loads((folder / "kl_corwa.json").read_text())
    for each in golden["kl"]:
        p, q = (np.array(golden["distributions"][each[side]]) for side in "pq")
        found = float(compute_kl_divergence(p, q))
        assert found == pytest.approx(float(rel_entr(p, q).sum()), rel=1e-12)
        if each["kl_p_q"] == "inf":
            assert math.isinf(found)
        else:
            # The file has nine decimals.
            assert round(found, 9) == each["kl_p_q"]


def test_the_macro_average_counts_an_empty_data_set_as_zeros():
    counts = np.array([[2.0, 2.0], [0.0, 0.0]])
    assert compute_macro_average(counts).tolist() == [0.25, 0.25]
    assert np.isnan(compute_macro_average(np.zeros((2, 2)))).all()


def test_the_published_form_sets_the_macro_average_against_each_gold():
    system, gold = (
        np.array([[3.0, 1.0], [1.0, 3.0]]),
        np.array([[1.0, 1.0], [1.0, 3.0]]),
    )
    found = compute_published_divergence(system, gold)
    assert found.tolist() == pytest.approx(
        [0.0, kl((0.5, 0.5), (0.25, 0.75))], rel=1e-12
    )


def smoothed(run, gold, labels=7):
    """Half a sentence more for each of six labels, and for those that are none of them."""
    p, q = (
        [
            (count + 0.5) / (sum(counts) + labels / 2)
            for count in (*counts, *[0] * (labels - len(counts)))
        ]
        for counts in (run, gold)
    )
    return kl(p, q)


def test_the_smoothed_form_is_finite_where_the_run_has_a_label_that_the_gold_lacks(
    scored,
):
    told = scored(
        {"lu": [intents("Uses", "Praise")]},
        {"lu": [intents("Background", "Background")]},
    )
    assert told["metrics"]["kl_intent"]["infinite"]
    expected = smoothed((1, 1, 0), (0, 0, 2))
    assert told["metrics"]["kl_intent_smoothed"]["value"] == pytest.approx(
        expected, rel=1e-12
    )
    assert told["breakdowns"]["dataset"]["lu"]["kl_intent_smoothed"][
        "value"
    ] == pytest.approx(expected)
    official = scored(
        {"lu": [intents("Uses")]}, {"lu": [intents("Background")]}, *OFFICIAL
    )["metrics"]
    assert official["kl_intent_smoothed"]["value"] == pytest.approx(
        smoothed((1, 0), (0, 1)), rel=1e-12
    )


def test_the_smoothed_form_is_undefined_where_a_side_has_no_labelled_sentence(scored):
    told = scored({"lu": [intents("Uses")]}, {"lu": [None]})["metrics"][
        "kl_intent_smoothed"
    ]
    assert told["value"] is None
    assert "infinite" not in told


def test_labels_of_run_and_gold_are_compared_over_all_and_by_data_set(scored):
    run = {"lu": [intents("Uses", "Background")], "xing": [intents("Background")]}
    gold = {
        "lu": [intents("Uses", "Uses", "Uses", "Background")],
        "xing": [intents("Background", "Uses")],
    }
    told = scored(run, gold)
    assert told["metrics"]["kl_intent"]["value"] == pytest.approx(
        kl((1 / 3, 2 / 3), (4 / 6, 2 / 6)), rel=1e-12
    )
    classes = told["breakdowns"]["dataset"]
    assert classes["lu"]["kl_intent"]["value"] == pytest.approx(
        kl((0.5, 0.5), (0.75, 0.25)), rel=1e-12
    )
    assert classes["xing"]["kl_intent"]["value"] == pytest.approx(
        math.log(2), rel=1e-12
    )
    assert told["metrics"]["kl_intent"]["higher_is_better"] is False
    assert told["notes"]["texts_of_the_run_with_intent_labels_of_their_own"] == 2
    assert told["notes"]["texts_of_the_gold_with_intent_labels_of_their_own"] == 2


def test_the_published_form_by_data_set_keeps_the_system_of_all_data_sets(scored):
    run = {"lu": [intents("Uses", "Background")], "xing": [intents("Background")]}
    gold = {
        "lu": [intents("Uses", "Uses", "Uses", "Background")],
        "xing": [intents("Background", "Uses")],
    }
    told = scored(run, gold, *OFFICIAL)
    macro = (0.25, 0.75)
    lu, xing = kl(macro, (0.75, 0.25)), kl(macro, (0.5, 0.5))
    classes = told["breakdowns"]["dataset"]
    assert classes["lu"]["kl_intent_published"]["value"] == pytest.approx(lu, rel=1e-12)
    assert classes["xing"]["kl_intent_published"]["value"] == pytest.approx(
        xing, rel=1e-12
    )
    assert told["metrics"]["kl_intent_published"]["value"] == pytest.approx(
        (lu + xing) / 2, rel=1e-12
    )


def test_a_label_that_the_gold_lacks_makes_it_infinite(scored):
    told = scored({"lu": [intents("Uses")]}, {"lu": [intents("Background")]})[
        "metrics"
    ]["kl_intent"]
    assert (told["value"], told["infinite"], told["low"]) == (None, True, None)


def test_a_label_outside_of_the_set_is_never_expected(scored):
    told = scored({"lu": [intents("Uses", "Praise")]}, {"lu": [intents("Uses")]})[
        "metrics"
    ]["kl_intent"]
    assert told["infinite"] is True


def test_without_labels_and_tagger_the_value_is_null_and_the_notes_say_so(scored):
    told = scored({"lu": [None, None]}, {"lu": [intents("Uses"), None]})
    assert told["metrics"]["kl_intent"]["value"] is None
    assert "infinite" not in told["metrics"]["kl_intent"]
    assert told["notes"]["texts_of_the_run_without_intent_labels"] == 2
    assert told["notes"]["texts_of_the_gold_without_intent_labels"] == 1
    assert told["notes"]["texts_of_the_run_without_corwa_labels"] == 2
    assert told["metrics"]["rouge_l_f1"]["value"] is not None


def test_another_set_of_labels_can_be_named(scored):
    found = scored(
        {"lu": [intents("method", "result")]},
        {"lu": [intents("method", "method", "method", "result")]},
        "--option",
        "intent_labels=background,method,result",
    )
    assert found["metrics"]["kl_intent"]["value"] == pytest.approx(
        kl((0.5, 0.5), (0.75, 0.25)), rel=1e-12
    )


def test_a_set_of_labels_that_is_none_is_refused_by_name(tmp_path, capsys):
    gold = write_gold(tmp_path / "gold", {"lu": [None]})
    run = write_run(tmp_path / "run.jsonl", {"lu": [None]})
    assert (
        main(
            [
                "score",
                "citation-text",
                "--gold",
                str(gold[0]),
                "--run",
                str(run),
                "--option",
                "corwa_labels=A,,A",
            ]
        )
        == 2
    )
    assert (
        "corwa_labels=A,,A: expected two or more different labels"
        in capsys.readouterr().err
    )


def test_intervals_follow_from_label_counts_without_one_text_after_the_other(
    tmp_path, capsys
):
    own = [
        intents("Uses", "Background", "Background"),
        intents("Uses", "Uses", "Background"),
    ] * 10
    gold = write_gold(tmp_path / "gold", {"lu": own[::-1]})
    given = [intents("Uses", "Background")] * 19 + [intents("Uses", "Uses")]
    run = write_run(tmp_path / "run.jsonl", {"lu": given})
    told = offline.score(capsys, "citation-text", gold, run)["metrics"]["kl_intent"]
    assert -0.2 < told["low"] < told["value"] < told["high"] < 0.2
    assert told["value"] == pytest.approx(
        0.525 * math.log(1.05) + 0.475 * math.log(0.95), rel=1e-9
    )


def test_two_runs_are_compared_even_where_one_is_infinitely_far(tmp_path, capsys):
    gold = write_gold(tmp_path / "gold", {"lu": [intents("Uses", "Background")] * 4})
    runs = [
        write_run(tmp_path / "a.jsonl", {"lu": [intents("Uses")] * 4}),
        write_run(tmp_path / "b.jsonl", {"lu": [intents("Extends")] * 4}),
    ]
    arguments = [
        "compare",
        "citation-text",
        "--gold",
        str(gold[0]),
        "--json",
        "--tests",
        "50",
    ]
    assert main([*arguments, "--run", str(runs[0]), "--run", str(runs[1])]) == 0
    told = json.loads(capsys.readouterr().out)["metrics"]["kl_intent"]
    assert told["a"] == pytest.approx(math.log(2), rel=1e-12)
    assert told["b"] is None
    assert told["difference"] is None


def test_the_signature_says_labels_sentences_treatment_and_tagger(scored):
    told = scored({"lu": [None]}, {"lu": [None]}, *OFFICIAL)["metrics"]["kl_intent"]
    column = told["column"]
    assert "|treatment:original|" in column
    assert "|sentences:citeboard-sentences-1|" in column
    assert "|tagger:none|" in column
    assert len(column) < 300
