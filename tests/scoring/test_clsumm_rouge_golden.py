"""The ROUGE of task 1A in the text form, held to ROUGE-1.5.5 citance by citance and to the program of 2017.

Source: the numbers that these programs gave for four runs over twelve topics; the data pack describes them.
"""

import json
from pathlib import Path

import pytest

from scoring.offline.evaluate import load_statistics
from scoring.tools.baselines.clsumm import iterate_span_answers, select_by_mq_tfidf
from tasks.types.clsumm.topics import read_input_topics
from tasks.types.files import open_files_of_all_inputs
from tests.resting import rests_on_scorer
from tests.scoring.golden import (
    PARTS,
    gold_2017,
    golden,
    printed,
    same,
    stop_words,
    submission,
    sums_by_gold_file,
)
from tests.scoring.offline import score

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "scisumm"


@pytest.mark.parametrize("run", ["top1_majority", "top3_lexical", "oracle", "awkward"])
def test_rouge_s_of_2017_is_that_of_the_program(capsys, corpus, run, tmp_path):
    kept = tmp_path / "statistics.npz"
    options = (
        "--rules",
        "official-2017",
        "--intervals",
        "0",
        *stop_words(corpus),
        "--statistics",
        str(kept),
    )
    folder = submission(corpus, "annv3", run)
    metrics = score(capsys, "clsumm-1a", gold_2017(corpus), folder, *options)["metrics"]
    expected = golden(corpus, "annv3", run)
    for part in PARTS:
        value = metrics[f"rouge_s_star_{part}"]["value"]
        assert value == printed(
            expected["averages_as_printed"][f"task1a_rouge_{part}_avg"]
        )
    for topic, own in sums_by_gold_file(kept, "rouge_s_star").items():
        values = dict(zip(PARTS, own[:3] / own[3], strict=True))
        official = expected["per_gold_file"][f"{topic}.annv3.txt"][
            "1a_rouge_as_printed"
        ]
        assert values == {part: printed(official[part]) for part in PARTS}, topic


@pytest.mark.parametrize("rules", ["official-2014", "corrected"])
@pytest.mark.parametrize("run", ["top1_majority", "top3_lexical", "oracle"])
def test_rouge_l_is_that_of_rouge_155_for_every_citance_and_their_mean(
    capsys, corpus, run, rules, tmp_path
):
    """Fair rules read sentences in the document's order, to which ROUGE-L of whole sentences is blind."""
    kept = tmp_path / "statistics.npz"
    options = ("--rules", rules, "--intervals", "0", "--statistics", str(kept))
    folder = submission(corpus, "annv3", run)
    metrics = score(capsys, "clsumm-1a", gold_2017(corpus), folder, *options)["metrics"]
    expected = json.loads((folder.parent / "rouge_per_citance.json").read_text())
    recall, precision, f1 = expected["mean"]["stem/ROUGE-L"]
    assert metrics["rouge_l_recall"]["value"] == same(recall)
    assert metrics["rouge_l_precision"]["value"] == same(precision)
    assert metrics["rouge_l_f1"]["value"] == same(f1)
    numbers: dict[str, int] = {}
    statistics = load_statistics(kept)
    for row, (topic,) in zip(
        statistics.matrices["rouge_l"], statistics.features["topic"], strict=True
    ):
        numbers[topic] = numbers.get(topic, 0) + 1
        official = expected["per_citance"][f"{topic}#{numbers[topic]}"]["stem"][
            "ROUGE-L"
        ]
        assert [row[1], row[0], row[2]] == official, (topic, numbers[topic])


def test_the_pilots_mean_is_over_citances_and_per_topic_and_over_topics(capsys, corpus):
    run = submission(corpus, "annv3", "top3_lexical")
    options = ("--rules", "official-2014", "--intervals", "0")
    scores = score(capsys, "clsumm-1a", gold_2017(corpus), run, *options)
    topics = [own["rouge_l_f1"] for own in scores["breakdowns"]["topic"].values()]
    assert len(topics) == 12
    metrics = scores["metrics"]
    assert metrics["rouge_l_f1_macro"]["value"] == same(
        sum(own["value"] for own in topics) / 12
    )
    assert metrics["rouge_l_f1"]["value"] == same(
        sum(own["value"] * own["n"] for own in topics) / sum(own["n"] for own in topics)
    )


def test_under_the_pilots_rules_a_citance_without_an_answer_has_0(capsys, corpus):
    run = submission(corpus, "annv3", "awkward")
    scores = score(
        capsys, "clsumm-1a", gold_2017(corpus), run, "--rules", "official-2014"
    )
    assert scores["metrics"]["rouge_l_f1"]["n"] == 170
    assert scores["breakdowns"]["topic"]["P06-2124"]["rouge_l_f1"]["value"] == 0


def test_the_oldest_annotation_quotes_without_elements_and_is_gold_all_the_same(
    capsys, corpus, tmp_path
):
    """The pilot's paper gives .198, .316 and .211 for MQ's “TF.IDF” on annotation that is nearest to this."""
    topics = read_input_topics(
        open_files_of_all_inputs([corpus / "pilot"]), {"annotation": "annv2"}
    )
    run = tmp_path / "run.jsonl"
    run.write_text(
        "".join(
            json.dumps(answer) + "\n"
            for answer in iterate_span_answers(topics, select_by_mq_tfidf)
        )
    )
    options = (
        "--option",
        "annotation=annv2",
        "--rules",
        "official-2014",
        "--intervals",
        "0",
    )
    scores = score(capsys, "clsumm-1a", [corpus / "pilot"], run, *options)
    assert scores["gold"]["instances"] == 141
    assert scores["notes"]["unknown_citances"] == 0
    values = [scores["metrics"][f"rouge_l_{part}"]["value"] for part in PARTS]
    assert values == pytest.approx([0.198, 0.316, 0.211], abs=0.035)
    assert values[2] == pytest.approx(0.211, abs=0.005)
