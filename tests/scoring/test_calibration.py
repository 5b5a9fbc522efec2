"""Brier score and expected calibration error, held to scikit-learn; probabilities from a run to its page."""

import copy
import json
import re

import numpy as np
import pytest
from django.urls import reverse

from scoring.metrics.calibration import (
    Brier,
    CalibrationError,
    DebiasedCalibrationError,
    compute_calibration_p_value,
)
from tasks.gold.gold_files import load_gold
from tasks.types.files import open_input_files
from tasks.types.forms.labels import LabelTask
from tasks.types.probabilities import LabelWithProbabilities
from tests import factories
from tests.api.sending import score as score_run
from tests.scoring.offline import refusals, score
from tests.tasks.types.corpus import write_topic

LABELS = ("a", "b", "c")
TYPE, TOPIC = "clsumm-1b", "D01-0001"
ON = ("--option", "calibration=yes")


def drawn(seed: int, count: int = 200, labels=LABELS):
    """Gold labels and answers whose probabilities tell something of them."""
    rng = np.random.default_rng(seed)
    given = rng.dirichlet(np.full(len(labels), 0.6), count).round(3)
    given[:, -1] = 1 - given[:, :-1].sum(axis=1)
    gold = [str(rng.choice(labels, p=(row + 0.3) / (row + 0.3).sum())) for row in given]
    answers = [
        LabelWithProbabilities(
            labels[row.argmax()], dict(zip(labels, row.tolist(), strict=True))
        )
        for row in given
    ]
    return gold, answers, given


def value(metric, gold, answers) -> float:
    return float(metric.total(metric.instance_stats(gold, answers)))


@pytest.mark.parametrize("labels", [LABELS, ("no", "yes")])
def test_the_brier_score_is_that_of_scikit_learn(labels):
    gold, answers, given = drawn(1, labels=labels)
    metric = Brier("brier_score", "corrected", labels=labels)
    from sklearn.metrics import brier_score_loss

    wanted = brier_score_loss(gold, given, labels=labels, scale_by_half=False)
    assert value(metric, gold, answers) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("bins", [5, 10, 15])
def test_the_calibration_error_follows_from_scikit_learns_curve(bins):
    gold, answers, given = drawn(bins)
    metric = CalibrationError("ece", "corrected", labels=LABELS, bins=bins)
    stats = metric.instance_stats(gold, answers)
    right = [
        LABELS[row.argmax()] == label for row, label in zip(given, gold, strict=True)
    ]
    from sklearn.calibration import calibration_curve

    shares, confidences = calibration_curve(right, given.max(axis=1), n_bins=bins)
    counts, confidence, hits = stats.sum(axis=0).reshape(3, bins)
    filled = counts > 0
    assert hits[filled] / counts[filled] == pytest.approx(shares)
    assert confidence[filled] / counts[filled] == pytest.approx(confidences)
    wanted = (np.abs(shares - confidences) * counts[filled]).sum() / len(gold)
    assert value(metric, gold, answers) == pytest.approx(wanted, rel=1e-12)
    assert metric.parameters["bins"] == bins


def binned(seed, *, off=0.0, count=200):
    """Sums of the rows of a run that is right as often as it says, or less often."""
    rng = np.random.default_rng(seed)
    given = rng.uniform(0.5, 1, count)
    is_right = rng.random(count) < given - off
    answers = [
        LabelWithProbabilities("yes", {"yes": own, "no": 1 - own}) for own in given
    ]
    gold = np.where(is_right, "yes", "no").tolist()
    return (
        CalibrationError("ece", "corrected", labels=("yes", "no"))
        .instance_stats(gold, answers)
        .sum(axis=0)
    )


def test_the_debiased_error_takes_off_what_drawing_the_shares_again_adds():
    """As Kumar's package has it, by drawing; a bin of one instance stays as it is."""
    rng = np.random.default_rng(5)
    debiased = DebiasedCalibrationError(
        "ece_debiased", "corrected", labels=("yes", "no")
    )
    sums = binned(1, off=0.1)
    sums[[0, 10, 20]] = 1, 0.05, 1
    counts, confidence, right = sums.reshape(3, 10)
    filled = counts > 0
    sizes = counts[filled]
    means, shares = confidence[filled] / sizes, right[filled] / sizes
    weights = sizes / sizes.sum()
    plain = (weights * np.abs(means - shares)).sum()
    drawn = rng.normal(
        shares, np.sqrt(shares * (1 - shares) / sizes), (200_000, len(sizes))
    )
    wanted = 2 * plain - (weights * np.abs(drawn - means)).sum(axis=1).mean()
    assert float(debiased.aggregate(sums)) == pytest.approx(wanted, abs=2e-4)
    assert not debiased.has_honest_interval
    assert np.isnan(debiased.aggregate(np.zeros(30)))


def test_of_calibrated_runs_two_fifths_of_the_error_go_and_the_test_rejects_as_seldom_as_it_says():
    runs = [binned(seed) for seed in range(200)]
    error, debiased = (
        np.mean(
            [
                float(kind("e", "corrected", labels=("yes", "no")).aggregate(run))
                for run in runs
            ]
        )
        for kind in (CalibrationError, DebiasedCalibrationError)
    )
    # 2 E|Z| - E|Z + Z'|, with Z and Z' alike.
    assert debiased / error == pytest.approx(2 - 2**0.5, abs=0.05)
    p = np.array([compute_calibration_p_value(run) for run in runs])
    assert (p <= 0.05).mean() <= 0.09
    assert 0.4 < p.mean() < 0.65
    off = np.array(
        [compute_calibration_p_value(binned(seed, off=0.15)) for seed in range(40)]
    )
    assert (off <= 0.05).mean() > 0.9
    assert off.min() >= 1 / 10_000
    assert np.isnan(compute_calibration_p_value(np.zeros(30)))


def test_a_confidence_on_an_edge_is_in_the_lower_bin_and_certainty_in_the_last():
    metric = CalibrationError("ece", "corrected", labels=("yes", "no"), bins=4)
    answers = [
        LabelWithProbabilities("yes", {"yes": own, "no": 1 - own})
        for own in (0.5, 0.75, 1.0)
    ]
    counts = metric.instance_stats(["yes"] * 3, answers)[:, :4]
    assert counts.argmax(axis=1).tolist() == [1, 2, 3]


def test_without_any_probabilities_there_is_no_value_and_single_missing_ones_cost_one():
    brier = Brier("brier_score", "corrected", labels=LABELS)
    error = CalibrationError("ece", "corrected", labels=LABELS)
    for metric in (brier, error):
        assert np.isnan(value(metric, ["a", "b"], ["a", None]))
    sure = LabelWithProbabilities("a", {"a": 1.0})
    gold, answers = ["a", "b", "c", None], [sure, None, "c", sure]
    assert value(brier, gold, answers) == pytest.approx(2 / 3)
    assert brier.notes(brier.instance_stats(gold, answers)) == {
        "instances_without_probabilities": 2
    }
    assert value(error, gold, answers) == 0


def test_a_label_with_probabilities_is_the_label_and_survives_a_copy():
    answer = copy.deepcopy(LabelWithProbabilities("a", {"a": 0.75, "b": 0.25}))
    assert answer == "a"
    assert answer.probabilities == {"a": 0.75, "b": 0.25}


def test_runs_of_labels_may_give_probabilities(tmp_path):
    task = LabelTask(labels=LABELS)
    lines = [
        {"id": "1", "label": "a", "probabilities": {"a": 0.5, "b": 0.5}},
        {"id": "2", "label": "b"},
        {"id": "3", "label": "c", "probabilities": {"c": 0.5}},
        {"id": "4", "label": "c", "probabilities": {"d": 1}},
    ]
    run = tmp_path / "run.jsonl"
    run.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers, problems = task.read_run(
        open_input_files(run), {"instances": ["1", "2", "3", "4"]}, {}
    )
    assert answers == {"1": "a", "2": "b"}
    assert answers["1"].probabilities == {"a": 0.5, "b": 0.5}
    assert [(problem.line, problem.message) for problem in problems] == [
        (3, "“probabilities” sum to 0.5"),
        (4, "“d” in “probabilities” is no label"),
    ]


@pytest.fixture
def gold(tmp_path):
    return write_topic(tmp_path / "gold", TOPIC)


def write_run(path, *probabilities):
    """Answers to both citances of the topic, whose facets are Method and Results."""
    lines = [
        {
            "topic": TOPIC,
            "citance": number,
            "sentences": ["1"],
            "facets": ["Method"],
            **more,
        }
        for number, more in enumerate(probabilities, start=1)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_facets_with_probabilities_have_a_calibration_and_the_other_columns_stay(
    capsys, gold, tmp_path
):
    given = [
        {"probabilities": {"Method": 0.8, "Aim": 0.2}},
        {"probabilities": {"method_citation": 0.6, "Results": 0.4}},
    ]
    run = write_run(tmp_path / "run.jsonl", *given)
    metrics = score(capsys, TYPE, [gold], run, *ON)["metrics"]
    assert metrics["brier_score"]["value"] == pytest.approx((0.08 + 0.72) / 2)
    assert metrics["ece"]["value"] == pytest.approx((0.2 + 0.6) / 2)
    assert "|bins:10|" in metrics["ece"]["signature"]
    plain = score(
        capsys, TYPE, [gold], write_run(tmp_path / "plain.jsonl", {}, {}), *ON
    )["metrics"]
    assert plain["brier_score"]["value"] is plain["ece"]["value"] is None
    off = score(capsys, TYPE, [gold], run)["metrics"]
    assert off == {
        name: own
        for name, own in plain.items()
        if name not in ("brier_score", "ece", "ece_debiased")
    }


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"Method": NaN}', "NaN is not a finite number"),
        ('{"Method": 1.5, "Aim": -0.5}', "the probability of Method is 1.5"),
        ('{"Method": -0.5, "Aim": 1.5}', "the probability of Method is -0.5"),
        ('{"Method": 0.5, "Aim": 0.4}', "“probabilities” sum to 0.9"),
        ('{"Method": "0.5"}', "the probability of Method is a text"),
        ('{"Method": true}', "the probability of Method is"),
        (
            '{"Method": 1' + "0" * 400 + "}",
            "the probability of Method is a whole number beyond 0 and 1",
        ),
        ('{"Method": 0.5, "method_citation": 0.5}', "“probabilities” has Method twice"),
        ('{"Taste": 1}', "“Taste” in “probabilities” is no label"),
        ("{}", "“probabilities” sum to 0"),
        ("[0.5, 0.5]", "“probabilities” is a list"),
    ],
)
def test_probabilities_that_are_none_are_refused_by_line(
    capsys, gold, tmp_path, written, said
):
    run = write_run(tmp_path / "run.jsonl", {}, {"probabilities": "HERE"})
    run.write_text(run.read_text().replace('"HERE"', written))
    [line] = [line for line in refusals(capsys, TYPE, [gold], run, *ON) if said in line]
    assert "2" in line
    assert score(
        capsys,
        TYPE,
        [gold],
        write_run(tmp_path / "good.jsonl", {}, {"probabilities": None}),
        *ON,
    )


@pytest.mark.django_db
@pytest.mark.parametrize("min_class_size", [1, 2])
def test_a_runs_page_has_the_reliability_chart_and_its_table(
    client, gold, tmp_path, min_class_size
):
    task = factories.make_task(
        type=TYPE,
        rules=["corrected"],
        options={"calibration": "yes"},
        min_class_size=min_class_size,
    )
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=[gold], reason="for tests")
    lead = factories.make_user()
    team = factories.make_team(season=task.season, lead=lead)
    given = [
        {"probabilities": {"Method": 0.8, "Aim": 0.2}},
        {"probabilities": {"Method": 0.6, "Results": 0.4}},
    ]
    content = write_run(tmp_path / "run.jsonl", *given).read_bytes()
    run = factories.make_submission(phase=phase, team=team, content=content)
    plain = factories.make_submission(
        phase=phase,
        team=team,
        content=write_run(tmp_path / "plain.jsonl", {}, {}).read_bytes(),
    )
    score_run(run)
    score_run(plain)
    client.force_login(lead)
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    found = re.search(
        r'<script id="reliability-data" type="application/json">(.*?)</script>', page
    )
    own = json.loads(found[1])["data"][0]
    cells = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert (
        "Expected calibration error 0.4000; without what distances by chance add to it, 0.4000."
        in cells
    )
    assert "p = 0.5" in cells
    if min_class_size == 1:
        assert (own["x"], own["y"]) == ([0.6, 0.8], [0.0, 1.0])
        assert "0.5 to 0.6 1 0.6000 0.0000 0.7 to 0.8 1 0.8000 1.0000" in cells
    else:
        assert own["x"] == []
        assert "Bins of fewer than 2 instances are not shown" in cells
    assert (
        "reliability-data"
        not in client.get(reverse("submission", args=[plain.pk])).content.decode()
    )
