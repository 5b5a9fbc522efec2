"""Trivial runs and anomalies of gold, for built-in types and each form of declared tasks."""

import json
import re

import pytest

from scoring.offline import trivial
from scoring.offline.commands import FORMS, build_task_folder_files
from scoring.offline.trivial import GoldReport, report_on_gold, report_on_split
from tasks.types import task_type
from tasks.types.files import open_input_files
from tasks.types.judge_leaderboards import trivial as trivial_leaderboards
from tasks.types.trivial_runs import (
    FIRST_ITEM_RUN,
    REASONS_FOR_IMPOSSIBLE_RUNS,
    TRIVIAL_RUN_NAMES,
)

TYPES = [slug for slug in REASONS_FOR_IMPOSSIBLE_RUNS if slug not in FORMS]


@pytest.fixture(scope="module")
def sample(root):
    """Return the report on the sample gold of a built-in type."""

    def of(slug: str) -> GoldReport:
        folder = root / "tasks" / "types" / slug.replace("-", "_") / "sample"
        [gold] = folder.glob("gold*")
        kind = task_type(slug)
        return report_on_gold(kind, [gold], kind.validate_options({}))

    return of


def report_of(slug: str, tmp_path, **files: str) -> GoldReport:
    """Return the report on gold of a built-in type in files of these names."""
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    kind = task_type(slug)
    return report_on_gold(kind, [tmp_path], kind.validate_options({}))


def lines(rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.mark.parametrize("slug", TYPES)
def test_a_built_in_type_has_each_run_that_means_something_for_it(sample, slug):
    report = sample(slug)
    assert set(report.trivial) == set(TRIVIAL_RUN_NAMES) - set(
        REASONS_FOR_IMPOSSIBLE_RUNS[slug]
    )
    assert bool(report.best_constant) == (
        "constant" not in REASONS_FOR_IMPOSSIBLE_RUNS[slug]
    )


@pytest.mark.parametrize("slug", ["clsumm-1a", "clsumm-2"])
def test_measures_of_one_statistic_share_its_rows_of_a_run(sample, monkeypatch, slug):
    asked, measured = [], trivial.measure_run

    def note(metrics, pairs):
        asked.append((metrics[0].statistic, pairs))
        return measured(metrics, pairs)

    monkeypatch.setattr(trivial, "measure_run", note)
    sample(slug)
    names = [(statistic, id(pairs)) for statistic, pairs in asked]
    assert len(names) == len(set(names)) > 20


@pytest.mark.parametrize(
    ("slug", "instances", "rows"),
    [
        ("clsumm-1a", 3, 3),
        ("clsumm-1b", 3, 3),
        ("clsumm-2", 1, 3),
        ("cited-reports", 5, 5),
        ("judge-leaderboards", 4, 8),
    ],
)
def test_the_rows_that_were_read_are_counted(sample, slug, instances, rows):
    assert (sample(slug).instances, sample(slug).rows) == (instances, rows)


@pytest.mark.parametrize(("limit", "has_runs"), [(4, True), (3, False)])
def test_a_quick_check_ranks_no_more_systems_than_its_limit(
    root, monkeypatch, limit, has_runs
):
    """The sample has four systems."""
    monkeypatch.setattr(trivial_leaderboards, "MAX_INSTANCES_IN_QUICK_TRIAL", limit)
    kind = task_type("judge-leaderboards")
    [gold] = (root / "tasks" / "types" / "judge_leaderboards" / "sample").glob("gold*")
    files, options = open_input_files(gold), kind.validate_options({})
    split = kind.gold_of(files, options)
    report = report_on_split(kind, files, split, options, is_quick=True)
    assert (FIRST_ITEM_RUN in report.trivial) is has_runs


@pytest.mark.parametrize("form", FORMS)
def test_a_form_has_no_run_that_the_table_leaves_out(form, tmp_path):
    for name, text in build_task_folder_files(form, "own").items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    kind = task_type(str(tmp_path))
    [gold] = (tmp_path / "sample").glob("gold*")
    report = report_on_gold(kind, [gold], kind.validate_options({}))
    assert len(report.trivial) > 1
    assert not set(report.trivial) & set(REASONS_FOR_IMPOSSIBLE_RUNS[form])


def test_the_guide_has_the_table_of_runs_that_are_left_out(root):
    guide = (root / "docs" / "your-own-task.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (`.+`) \| (.+) \|$", guide, re.MULTILINE)
    told = {
        (slug, run, reason)
        for slug, runs, reason in rows
        for run in re.findall("`(.+?)`", runs)
        if run in TRIVIAL_RUN_NAMES
    }
    left_out = {
        (slug, run, reason)
        for slug, runs in REASONS_FOR_IMPOSSIBLE_RUNS.items()
        for run, reason in runs.items()
    }
    assert told == left_out


def test_the_same_sentence_of_each_paper_is_scored_as_a_run_that_names_it(sample):
    report = sample("clsumm-1a")
    # One of three answers is right, out of four sentences of the gold.
    expected = {"precision": 1 / 3, "recall": 1 / 4, "f1": 2 / 7}
    for part, value in expected.items():
        assert report.trivial["constant"][f"overlap_{part}_micro"] == pytest.approx(
            value
        )


def test_one_facet_for_all_is_named_with_its_share(sample):
    report = sample("clsumm-1b")
    assert report.best_constant in ("Aim", "Method", "Results")
    assert [finding.kind for finding in report.findings] == ["label_absent"]
    assert "“Hypothesis”" in report.findings[0].message


def test_a_measure_of_which_neither_end_is_better_is_won_by_nobody(sample):
    report = sample("citation-text")
    assert report.trivial["constant"]["length_ratio"] > 1
    assert report.findings == []


def test_the_beginning_of_a_paper_is_a_summary_within_the_limit(sample):
    shares = sample("clsumm-2").trivial
    assert shares["first"]["rouge_2_f1.abstract"] > 0 == shares["empty"]["rouge_2_f1"]


def test_a_copied_abstract_is_a_citation_text_of_its_instance(tmp_path):
    gold = [
        {"id": f"x{n}", "input": [f"Paper {n} measures.", "<abs> We."], "target": text}
        for n, text in enumerate(["Paper 0 measures.", "Rain."])
    ]
    report = report_of("citation-text", tmp_path, gold=lines(gold))
    assert report.trivial["first"]["rouge_1_f1"] == 0.5
    assert report.trivial["constant"]["rouge_1_f1"] == 0.5


def test_targets_whose_words_rouge_cannot_see_are_told(tmp_path):
    gold = [{"id": "x", "input": ["Rain."], "target": "Дождь идёт сегодня."}]
    report = report_of("citation-text", tmp_path, gold=lines(gold))
    assert "words_not_seen" in [finding.kind for finding in report.findings]


def systems(scores) -> str:
    return lines(
        {"run_id": f"s{n:02}", "topic_id": "all", "measure": "f1", "value": score}
        for n, score in enumerate(scores)
    )


def test_ids_of_systems_in_the_order_of_the_truth_are_told(tmp_path):
    gold = systems(1 - n / 20 for n in range(12))
    report = report_of("judge-leaderboards", tmp_path, gold=gold)
    assert report.trivial["first"]["kendall"] == 1
    assert -0.5 < report.trivial["random"]["kendall"] < 0.5
    assert [finding.kind for finding in report.findings] == ["answer_first"]


@pytest.mark.parametrize("scores", [[0.1, 0.9, 0.5, 0.2, 0.7], [0.5] * 12])
def test_ids_in_no_such_order_are_no_anomaly(tmp_path, scores):
    report = report_of("judge-leaderboards", tmp_path, gold=systems(scores))
    assert report.findings == []


def test_documents_of_reports_with_one_text_and_a_topic_among_them_are_told(tmp_path):
    topics = [{"request_id": "1", "title": "Who knows?"}]
    documents = [
        {"docid": "a", "text": "Rain falls."},
        {"docid": "b", "text": "rain  FALLS."},
        {"docid": "c", "text": "Who knows?"},
    ]
    report = report_of(
        "cited-reports", tmp_path, topics=lines(topics), documents=lines(documents)
    )
    kinds = [finding.kind for finding in report.findings]
    assert kinds == ["same_text_in_pool", "query_in_pool"]
