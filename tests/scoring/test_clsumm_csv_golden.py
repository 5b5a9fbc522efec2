"""Held to what the official program of 2018 to 2020 printed: four runs over two topics, and published runs.

Source: the CL-SciSumm 2018 scorer and the scores that its organisers published; the data pack describes the
numbers.
"""

from pathlib import Path

import pytest

from tests.resting import rests_on_scorer
from tests.scoring.golden import (
    PARTS,
    gold_2018,
    golden,
    printed,
    published,
    same,
    scores_of_counts,
    stop_words,
    submission,
    sums_by_gold_file,
)
from tests.scoring.offline import score

RUNS = ("top1_majority", "top3_lexical", "oracle_first_annotator", "awkward")
PUBLISHED = ("team49", "team15")
TASKS = [("clsumm-1a", "overlap", "1a"), ("clsumm-1b", "facet", "1b")]
OFFICIAL = ("--rules", "official-2018", "--intervals", "0")
#: What the program of 2018 adds to the number of citances before it divides by it.
ALMOST_NOTHING = 1e-7

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "scisumm"


@pytest.mark.parametrize(("task", "family", "number"), TASKS)
@pytest.mark.parametrize("run", RUNS)
def test_every_gold_file_has_the_official_counts_and_scores(
    capsys, corpus, run, task, family, number, tmp_path
):
    kept = tmp_path / "statistics.npz"
    folder = submission(corpus, "csv", run)
    score(capsys, task, gold_2018(corpus), folder, *OFFICIAL, "--statistics", str(kept))
    expected = {
        name.removesuffix(".csv"): own[number]
        for name, own in golden(corpus, "csv", run)["per_gold_file"].items()
    }
    counts = sums_by_gold_file(kept, family)
    assert {name: tuple(own) for name, own in counts.items()} == {
        name: (own["tp"], own["fp"], own["fn"]) for name, own in expected.items()
    }
    for name, own in expected.items():
        assert scores_of_counts(counts[name]) == {
            part: same(own[part]) for part in PARTS
        }


@pytest.mark.parametrize(("task", "family", "number"), TASKS)
@pytest.mark.parametrize("run", RUNS)
def test_micro_and_macro_are_those_of_the_official_program(
    capsys, corpus, run, task, family, number
):
    """Macro is over gold files, of which each topic has three, whatever is resampled."""
    metrics = score(
        capsys, task, gold_2018(corpus), submission(corpus, "csv", run), *OFFICIAL
    )["metrics"]
    expected = golden(corpus, "csv", run)["averages_as_printed"]
    for part in PARTS:
        for average in ("micro", "macro"):
            value = metrics[f"{family}_{part}_{average}"]["value"]
            assert value == printed(expected[f"task{number}_{part}_{average}_avg"]), (
                part,
                average,
            )


def test_intervals_resample_topics_whatever_the_number_of_annotators(capsys, corpus):
    run = submission(corpus, "csv", "top3_lexical")
    options = ("--rules", "official-2018", "--method", "percentile")
    scores = score(capsys, "clsumm-1a", gold_2018(corpus), run, *options)
    macro = scores["metrics"]["overlap_recall_macro"]
    assert "|units:2|" in macro["signature"]
    assert macro["low"] < macro["value"] < macro["high"]


@pytest.mark.parametrize("run", RUNS)
def test_the_official_rouge_of_task_1a_is_that_of_the_program(
    capsys, corpus, run, tmp_path
):
    kept = tmp_path / "statistics.npz"
    options = (*OFFICIAL, *stop_words(corpus), "--statistics", str(kept))
    folder = submission(corpus, "csv", run)
    metrics = score(capsys, "clsumm-1a", gold_2018(corpus), folder, *options)["metrics"]
    expected = golden(corpus, "csv", run)
    for part in PARTS:
        value = metrics[f"rouge_s_star_{part}"]["value"]
        assert value == printed(
            expected["averages_as_printed"][f"task1a_rouge_{part}_avg"]
        )
    for name, values in rouge_by_gold_file(kept).items():
        own = expected["per_gold_file"][f"{name}.csv"]["1a_rouge_as_printed"]
        assert values == {part: printed(own[part]) for part in PARTS}, name


def rouge_by_gold_file(kept: Path) -> dict[str, dict[str, float]]:
    return {
        name: dict(zip(PARTS, own[:3] / (own[3] + ALMOST_NOTHING), strict=True))
        for name, own in sums_by_gold_file(kept, "rouge_s_star").items()
    }


@pytest.mark.parametrize(("task", "family", "number"), TASKS)
@pytest.mark.parametrize("team", PUBLISHED)
def test_published_overlap_scores_are_met_for_every_gold_file(
    capsys, corpus, team, task, family, number, tmp_path
):
    kept = tmp_path / "statistics.npz"
    folder, expected = published(corpus, team)
    score(capsys, task, gold_2018(corpus), folder, *OFFICIAL, "--statistics", str(kept))
    found = sums_by_gold_file(kept, family)
    assert len(found) == 6
    for name, counts in found.items():
        for part, value in scores_of_counts(counts).items():
            assert value == printed(expected[f"{name}.csv_task{number}_{part}"]), (
                name,
                part,
            )


@pytest.mark.parametrize(
    ("team", "program"), [("team49", "python2"), ("team15", "python3")]
)
def test_published_rouge_of_task_1a_is_met_by_the_program_that_the_run_was_scored_with(
    capsys, corpus, team, program, tmp_path
):
    """Team 15's scores are printed as Python 3 prints them, whose dicts keep the order of insertion."""
    kept = tmp_path / "statistics.npz"
    folder, expected = published(corpus, team)
    options = (
        *stop_words(corpus),
        "--option",
        f"program={program}",
        "--statistics",
        str(kept),
    )
    score(capsys, "clsumm-1a", gold_2018(corpus), folder, *OFFICIAL, *options)
    found = rouge_by_gold_file(kept)
    assert len(found) == 6
    for name, values in found.items():
        for part, value in values.items():
            assert value == printed(expected[f"{name}.csv_task1a_{part}_rouge"]), (
                name,
                part,
            )


def test_without_stop_words_the_official_rouge_is_empty_and_a_note_says_why(
    capsys, corpus
):
    run = submission(corpus, "csv", "top1_majority")
    scores = score(capsys, "clsumm-1a", gold_2018(corpus), run, *OFFICIAL)
    assert scores["metrics"]["rouge_s_star_f1"]["value"] is None
    assert scores["metrics"]["overlap_f1_micro"]["value"] is not None
    assert scores["notes"]["stopwords_not_given"] == 1
    given = score(
        capsys, "clsumm-1a", gold_2018(corpus), run, *OFFICIAL, *stop_words(corpus)
    )
    assert "stopwords_not_given" not in given["notes"]


def test_fair_rules_score_each_annotator_and_all_together(capsys, corpus):
    """The first annotator's own answers: all right against himself, less so against the others."""
    run = submission(corpus, "csv", "oracle_first_annotator")
    scores = score(capsys, "clsumm-1a", gold_2018(corpus), run, "--intervals", "0")
    by_annotator = scores["breakdowns"]["annotator"]
    assert set(by_annotator) == {"aakansha", "swastika", "sweta", "vardha"}
    assert by_annotator["aakansha"]["overlap_f1_micro"]["value"] == 1
    assert by_annotator["swastika"]["overlap_f1_micro"]["value"] < 0.3
    pooled = scores["metrics"]["overlap_f1_micro"]["value"]
    assert 0.35 < pooled < 0.45


def test_fair_rules_tell_the_citances_of_one_citing_paper_apart(capsys, corpus):
    run = submission(corpus, "csv", "oracle_first_annotator")
    corrected, official = (
        score(
            capsys,
            "clsumm-1a",
            gold_2018(corpus),
            run,
            "--rules",
            rules,
            "--intervals",
            "0",
        )
        for rules in ("corrected", "official-2018")
    )
    instances = [
        each["breakdowns"]["annotator"]["aakansha"]["overlap_recall_micro"]["n"]
        for each in (corrected, official)
    ]
    assert instances == [38, 29]
    # One citance has another number in two annotators' files; its answer finds it in order.
    assert corrected["notes"]["matched_in_order"] == 2
