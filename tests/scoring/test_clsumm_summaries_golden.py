"""Task 2, held to what the official scripts of 2018 and ROUGE-1.5.5 gave for three runs over 14 topics.

Source: the scripts' own output, ROUGE-1.5.5 on cleaned gold, and one published run; the data pack describes
them.
"""

from pathlib import Path

import pytest

from scoring.metrics.clsumm import draw_bootstrap_weights
from scoring.offline.evaluate import load_statistics
from tests.resting import rests_on_scorer
from tests.scoring.golden import (
    PARTS,
    gold_2018,
    gold_summaries,
    golden,
    printed,
    published,
    same,
    stop_words,
    submission,
)
from tests.scoring.offline import score

RUNS = ("lead250", "lead600", "awkward")
KINDS = ("abstract", "community", "human")
OFFICIAL = ("--rules", "official-2018", "--intervals", "0")
#: What the scripts print, and what it is.
PRINTED = {"rouge_2": "R2", "rouge_su_star": "RSU4"}

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "scisumm"


@pytest.mark.parametrize("run", RUNS)
def test_every_topic_and_every_average_is_that_of_the_official_scripts(
    capsys, corpus, run
):
    folder = submission(corpus, "task2", run)
    options = (*OFFICIAL, *stop_words(corpus))
    scores = score(capsys, "clsumm-2", gold_summaries(corpus), folder, *options)
    official = golden(corpus, "task2", run)["official_2018_raw_gold"]["scores"]
    checked = 0
    for measure, name in PRINTED.items():
        for kind in KINDS:
            for part in PARTS:
                metric = f"{measure}_{part}.{kind}"
                average = official[f"{kind}_task2_{name}_{part}_avg"]
                assert scores["metrics"][metric]["value"] == average, metric
                for topic, own in scores["breakdowns"]["topic"].items():
                    # A topic without a summary of this kind is not printed.
                    if f"{topic}_{kind}_task2_{name}_{part}" in official:
                        expected = printed(
                            official[f"{topic}_{kind}_task2_{name}_{part}"]
                        )
                        assert own[metric]["value"] == expected, (topic, metric)
                        checked += 1
                    else:
                        assert own[metric]["value"] == 0
    assert checked + 2 * 3 * 3 == len(official)


@pytest.mark.parametrize("run", RUNS)
def test_fair_scores_are_those_of_rouge_155_on_cleaned_gold_with_all_annotators(
    capsys, corpus, run, tmp_path
):
    kept = tmp_path / "statistics.npz"
    folder = submission(corpus, "task2", run)
    score(
        capsys,
        "clsumm-2",
        gold_summaries(corpus),
        folder,
        "--intervals",
        "0",
        "--statistics",
        str(kept),
    )
    expected = golden(corpus, "task2", run)["rouge155_clean_gold"]["stem"]
    statistics = load_statistics(kept)
    checked = 0
    for measure in ("1", "2", "l", "su4"):
        for kind in KINDS:
            matrix = statistics.matrices[f"rouge_{measure}.{kind}"]
            for row, (topic,) in zip(matrix, statistics.features["topic"], strict=True):
                if f"{topic}/{kind}" in expected:
                    official = expected[f"{topic}/{kind}"][f"ROUGE-{measure.upper()}"]
                    assert [row[1], row[0], row[2]] == official, (topic, kind, measure)
                    checked += 1
    assert checked == 4 * len(expected)


def test_fair_values_are_means_over_topics_and_a_topic_without_the_kind_is_left_out(
    capsys, corpus
):
    folder = submission(corpus, "task2", "lead250")
    scores = score(
        capsys, "clsumm-2", gold_summaries(corpus), folder, "--intervals", "0"
    )
    by_topic = scores["breakdowns"]["topic"]
    assert by_topic["N01-1011"]["rouge_2_f1.community"]["value"] is None
    for kind, topics in (("abstract", 14), ("community", 13), ("human", 14)):
        values = [own[f"rouge_2_f1.{kind}"]["value"] for own in by_topic.values()]
        counted = [value for value in values if value is not None]
        metric = scores["metrics"][f"rouge_2_f1.{kind}"]
        assert metric["n"] == len(counted) == topics
        assert metric["value"] == same(sum(counted) / topics)


@pytest.mark.parametrize("engine", ["own", "package"])
def test_the_published_scores_of_task_2_are_met_by_the_program_that_the_run_was_scored_with(
    capsys, corpus, engine
):
    """Tags removed, the last annotator by name: with both, all 36 published numbers of the run are equal."""
    folder, expected = published(corpus, "team15")
    options = (
        *OFFICIAL,
        *stop_words(corpus),
        f"--option=engine={engine}",
        "--option=program=python3",
    )
    scores = score(capsys, "clsumm-2", gold_2018(corpus), folder, *options)
    checked = 0
    for topic, own in scores["breakdowns"]["topic"].items():
        for measure, name in PRINTED.items():
            for kind in KINDS:
                for part in PARTS:
                    official = expected[f"{topic}_{kind}_task2_{name}_{part}"]
                    assert own[f"{measure}_{part}.{kind}"]["value"] == printed(official)
                    checked += 1
    assert checked == 36


def test_where_the_annotator_that_decided_is_unknown_the_range_of_the_value_is_told(
    capsys, corpus
):
    folder, _ = published(corpus, "team15")
    options = (*OFFICIAL, *stop_words(corpus), "--option", "annotator_range=yes")
    metrics = score(capsys, "clsumm-2", gold_2018(corpus), folder, *options)["metrics"]
    for measure in PRINTED:
        for kind in ("community", "human"):
            name = f"{measure}_f1.{kind}"
            least, own, most = (
                metrics[each]["value"]
                for each in (f"{name}.least", name, f"{name}.most")
            )
            assert least <= own <= most
            assert least < most
            assert metrics[name]["column"] != metrics[f"{name}.most"]["column"]


def test_the_resamples_are_those_of_the_48_bit_generator():
    """`perl -e 'srand(0); print int(rand(3)) for 1..3'` prints 0, 2, 0 where Perl uses drand48."""
    weights = draw_bootstrap_weights(3)
    assert weights.shape == (1000, 3)
    assert (weights.sum(axis=1) == 3).all()
    assert weights[0].tolist() == [2, 0, 1]
