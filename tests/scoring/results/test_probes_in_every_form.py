"""Runs that look like probes are found in tasks of every form, and the Ladder has a step in each."""

import logging

import numpy as np
import pytest

from scoring.metrics.base import Floats, Metric
from scoring.metrics.classification import Matthews
from scoring.metrics.numbers import Pearson
from scoring.metrics.weighted import (
    Auroc,
    EqualSizeCalibrationError,
    Kendall,
    RankCorrelation,
)
from scoring.models import Evaluation
from scoring.stats.leakage import (
    compute_ladder_step,
    correlate_row_values,
    count_differing_rows,
)
from tasks.types.declared.read_forms import READERS_BY_FORM
from tests.api.sending import score
from tests.declared.small_tasks import (
    SMALL_TASKS,
    declare,
    publish_gold,
)
from tests.factories import make_phase, make_season, make_submission, make_team

ROWS = 400
LABELS = ("no", "yes")
#: Measures without a value of single instances, each with how its gold is written.
MEASURES = {
    "spearman": RankCorrelation("spearman", "corrected"),
    "kendall": Kendall("kendall", "corrected"),
    "pearson": Pearson("pearson", "corrected"),
    "mcc": Matthews("mcc", "corrected", labels=LABELS),
    "auroc": Auroc("auroc", "corrected", label="yes", labels=LABELS),
    "ece": EqualSizeCalibrationError("ece", "corrected", labels=LABELS),
}


def statistics(metric: Metric, gold: Floats, answers: Floats) -> Floats:
    """Return the matrix of a run; numbers from 0 to 1 are turned into what the metric reads."""
    if isinstance(metric, RankCorrelation | Pearson):
        return metric.instance_stats(list(gold), list(answers))
    labels = [LABELS[int(value > 0.5)] for value in gold]
    if isinstance(metric, Matthews):
        answered = [LABELS[int(value > 0.5)] for value in answers]
        return metric.instance_stats(labels, answered)
    counts = np.ones(len(gold))
    is_yes = np.array([label == "yes" for label in labels])
    return np.column_stack([answers, is_yes, counts]).astype(float)


def drawn_runs(metric: Metric, noise: float) -> list[Floats]:
    """Return the matrices of four runs: random ones, or with less noise those of real systems."""
    draw = np.random.default_rng(20260401)
    gold = draw.random(ROWS)
    return [
        statistics(metric, gold, (1 - noise) * gold + noise * draw.random(ROWS))
        for _ in range(4)
    ]


@pytest.mark.parametrize("name", MEASURES)
def test_runs_that_differ_in_one_answer_differ_in_one_row(name):
    metric = MEASURES[name]
    draw = np.random.default_rng(1)
    gold, answers = draw.random(ROWS), draw.random(ROWS)
    changed = answers.copy()
    changed[7] = 1 - changed[7]
    runs = [statistics(metric, gold, own) for own in (answers, changed)]
    assert count_differing_rows(metric, *runs) == 1
    assert count_differing_rows(metric, runs[0], runs[0]) == 0


@pytest.mark.parametrize(
    "name", [name for name in MEASURES if name not in ("ece", "kendall")]
)
def test_random_answers_are_unrelated_and_those_of_systems_are_not(name):
    metric = MEASURES[name]
    found = {}
    for noise in (1.0, 0.3):
        first, *others = drawn_runs(metric, noise)
        found[noise] = np.mean(
            [correlate_row_values(metric, first, other) for other in others]
        )
    assert abs(found[1.0]) < 0.1
    assert found[0.3] > 0.25


def test_a_measure_whose_changes_show_no_error_has_no_correlation():
    first, second, *_ = drawn_runs(MEASURES["ece"], 1.0)
    assert np.isnan(correlate_row_values(MEASURES["ece"], first, second))


def test_columns_that_a_narrower_matrix_lacks_are_zero():
    metric = MEASURES["spearman"]
    wide = np.array([[1.0, 2.0, 1.0, 0.0], [2.0, 1.0, 1.0, 5.0]])
    assert count_differing_rows(metric, wide[:, :3], wide) == 1


@pytest.mark.parametrize("name", MEASURES)
def test_the_ladder_has_a_step_by_every_measure(name):
    metric = MEASURES[name]
    [stats, *_] = drawn_runs(metric, 0.3)
    rows = stats
    if not isinstance(metric, Matthews | Pearson):
        rows = np.column_stack([np.arange(len(stats)), stats])
    assert 0 < compute_ladder_step(metric, rows) < 0.2
    if rows is not stats:
        assert np.isnan(compute_ladder_step(metric, rows[:2]))


def test_every_form_has_a_small_task():
    assert set(SMALL_TASKS) == set(READERS_BY_FORM)


@pytest.fixture
def make_form(db, tmp_path):
    def make_form(form: str, **fields):
        small = SMALL_TASKS[form]
        task = declare(small, make_season())
        phase = make_phase(task=task, with_gold=False, **fields)
        publish_gold(phase, small.gold_files(), tmp_path / "gold")
        return small, phase

    return make_form


@pytest.mark.parametrize("form", SMALL_TASKS)
def test_a_near_copy_is_marked_in_every_form_and_nothing_goes_wrong(
    make_form, caplog, form
):
    small, phase = make_form(form)
    team = make_team(season=phase.task.season)
    answers = small.answers(6)
    near = [small.wrong[0], *answers[1:]]
    sent = [
        make_submission(phase=phase, team=team, content=small.run(own))
        for own in (answers, small.answers(18), near)
    ]
    with caplog.at_level(logging.ERROR):
        for each in sent:
            score(each)
    assert [
        own.getMessage() for own in caplog.records if own.levelno >= logging.ERROR
    ] == []
    found = [Evaluation.objects.get(submission=each).probe for each in sent]
    assert found == ["", "", f"copy {sent[0].number} 1 24"]


@pytest.mark.parametrize("form", SMALL_TASKS)
def test_a_phase_with_a_ladder_scores_runs_of_every_form(make_form, form):
    small, phase = make_form(form, ladder=True)
    team = make_team(season=phase.task.season)
    sent = make_submission(phase=phase, team=team, content=small.run(small.answers(20)))
    score(sent)
    evaluation = Evaluation.objects.get(submission=sent)
    assert evaluation.rank_value is not None
