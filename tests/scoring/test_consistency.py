"""Factual consistency of citation texts, by the same labels as the citations of long answers."""

import json

import pytest

from scoring.__main__ import main
from scoring.metrics.base import compute_metric_value
from scoring.metrics.entailed import Consistency
from tests.scoring.offline import score
from tests.tasks.types.instances import write_gold, write_run

TYPE = "citation-text"
#: Of the first text one sentence is what the abstract says; the second has only one sentence.
TEXTS = {
    "rivers-00": "Rivers carry sand [0]. Owls eat mice.",
    "dunes-00": "Wind moves dunes [1].",
}


def scored(capsys, tmp_path, *options: str, texts=TEXTS) -> dict:
    words = [word for option in options for word in ("--option", option)]
    return score(
        capsys,
        TYPE,
        [write_gold(tmp_path)],
        write_run(tmp_path, texts),
        "--intervals",
        "0",
        *words,
    )


def label(premise: str, hypothesis: str, entailed: int) -> str:
    return json.dumps(
        {
            "premise": premise,
            "hypothesis": hypothesis,
            "entailed": entailed,
            "model": "tiny",
        }
    )


def test_the_share_of_entailed_sentences_is_taken_by_text_and_then_over_instances(
    capsys, tmp_path
):
    scores = scored(capsys, tmp_path, "entailment=word-overlap")
    consistency = scores["metrics"]["consistency"]
    assert consistency["value"] == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert "|entailment:word-overlap-0.6|" in consistency["column"]
    assert scores["breakdowns"]["dataset"]["rivers"]["consistency"]["value"] == 50


def test_a_missing_or_empty_text_has_0(capsys, tmp_path):
    other = {"dunes-00": TEXTS["dunes-00"]}
    for texts in (other, {"rivers-00": " "} | other):
        scores = scored(capsys, tmp_path, "entailment=word-overlap", texts=texts)
        assert scores["metrics"]["consistency"]["value"] == 100 / 2
        assert scores["breakdowns"]["dataset"]["rivers"]["consistency"]["value"] == 0


def test_pairs_go_out_and_labels_come_back_in_the_form_of_citations(capsys, tmp_path):
    gold, run = write_gold(tmp_path), write_run(tmp_path, TEXTS)
    decisions = tmp_path / "decisions.jsonl"
    decisions.write_text(label("Rivers carry sand.", "Rivers carry sand.", 1) + "\n")
    option = f"entailment=labels:{decisions}"
    assert (
        main(
            ["pairs", TYPE, "--gold", str(gold), "--run", str(run), "--option", option]
        )
        == 0
    )
    pairs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {pair["hypothesis"] for pair in pairs} == {
        "Owls eat mice.",
        "Wind moves dunes.",
    }
    pending = scored(capsys, tmp_path, option)
    assert pending["metrics"]["consistency"]["value"] is None
    assert pending["notes"]["pending_pairs_consistency"] == 2
    more = [label(pair["premise"], pair["hypothesis"], 0) for pair in pairs]
    decisions.write_text("\n".join([decisions.read_text().strip(), *more]) + "\n")
    assert scored(capsys, tmp_path, option)["metrics"]["consistency"]["value"] == 25


def test_without_a_judge_it_is_not_computed(capsys, tmp_path):
    assert "consistency" not in scored(capsys, tmp_path)["metrics"]


def test_answers_without_gold_count_nothing():
    metric = Consistency(
        "consistency",
        "corrected",
        part="recall",
        options={"entailment": "word-overlap"},
    )
    stats = metric.instance_stats([None], [None])
    assert str(compute_metric_value(metric, stats, [0])) == "nan"
