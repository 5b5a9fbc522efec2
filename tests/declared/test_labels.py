"""Tasks of labels: equal to scikit-learn, on data of the field and on random cases with the edges."""

# Tables of cases are read across.
# ruff: noqa: E501

import json
import math
import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from scoring.metrics import build_metrics
from scoring.metrics.base import compute_metric_value
from tasks.types.declared.folder import read_declaration
from tasks.types.forms.labels import LabelsOfAnswer, SubstituteLabel, _apply_treatment
from tasks.types.probabilities import LabelWithProbabilities
from tests.declared.folders import EXAMPLES, lines, shared, write
from tests.mass import IS_FULL
from tests.scoring import offline

LABELS = ("a", "b", "c")
#: Random cases; all of them where proofs by mass are asked for.
CASES = 500 if IS_FULL else 40
TOML = """[task]
slug = "t"
title = "T"
form = "labels"

[task.gold]
field = "label"

[task.answer]
labels = ["a", "b", "c"]
positive = "b"
probabilities = "optional"
{more}
[[task.rules]]
name = "corrected"
measures = [{measures}]
"""


def metrics(names, more=""):
    text = TOML.format(measures=", ".join(f'"{name}"' for name in names), more=more)
    kind = read_declaration({"task.toml": text})
    return {metric.name: metric for metric in build_metrics(kind, "corrected", {})}


def value(metric, gold, answers):
    stats = metric.instance_stats(gold, answers)
    return compute_metric_value(metric, stats, np.arange(len(gold)))


def cases(count=CASES):
    """Random labels; now and then one instance, one class, no positive, or missing answers."""
    draw = np.random.default_rng(27)
    for number in range(count):
        size = 1 if number % 10 == 0 else int(draw.integers(2, 30))
        known = LABELS[: 1 + number % 3]
        gold = [str(label) for label in draw.choice(known, size)]
        answers = [str(label) for label in draw.choice(LABELS, size)]
        if number % 4 == 0:
            answers = [None if draw.random() < 0.3 else answer for answer in answers]
        yield gold, answers


def same(ours, theirs):
    return (
        math.isnan(ours)
        if theirs is None or math.isnan(theirs)
        else ours == pytest.approx(theirs, abs=1e-9)
    )


@pytest.mark.mass
def test_single_labels_are_measured_as_scikit_learn_does():
    names = [
        "accuracy",
        "balanced_accuracy",
        "mcc",
        "kappa",
        "kappa_linear",
        "kappa_quadratic",
        "false_positive_rate",
    ]
    averages = [f"{average}_{part}" for average in ("macro", "micro", "weighted") for part in ("precision", "recall", "f1")]  # fmt: skip
    built = metrics([*names, *averages, "precision", "recall", "f1"])
    warnings.simplefilter("ignore")
    for gold, answers in cases():
        given = [answer or "missing" for answer in answers]
        scored = {name: value(metric, gold, answers) for name, metric in built.items()}
        parts = {
            average: sk.precision_recall_fscore_support(
                gold, given, labels=LABELS, average=average, zero_division=0
            )[:3]
            for average in ("macro", "micro", "weighted")
        }
        wanted = {
            f"{average}_{part}": number
            for average, numbers in parts.items()
            for part, number in zip(("precision", "recall", "f1"), numbers, strict=True)
        }
        own = sk.precision_recall_fscore_support(
            gold, given, labels=["b"], zero_division=0
        )[:3]
        wanted |= {
            part: float(number[0])
            for part, number in zip(("precision", "recall", "f1"), own, strict=True)
        }
        wanted["accuracy"] = sk.accuracy_score(gold, given)
        wanted["balanced_accuracy"] = sk.balanced_accuracy_score(gold, given)
        wanted["mcc"] = sk.matthews_corrcoef(gold, given)
        wanted["kappa"] = sk.cohen_kappa_score(gold, given)
        others = [
            answer for own, answer in zip(gold, answers, strict=True) if own != "b"
        ]
        wanted["false_positive_rate"] = (
            others.count("b") / len(others) if others else math.nan
        )
        both = [
            (own, answer) for own, answer in zip(gold, answers, strict=True) if answer
        ]
        left_out = [answer or _apply_treatment("left-out", None) for answer in answers]
        for weights in ("linear", "quadratic"):
            pairs = zip(*both, strict=True) if both else ([], [])
            scored[f"kappa_{weights}"] = value(
                built[f"kappa_{weights}"], gold, left_out
            )
            wanted[f"kappa_{weights}"] = (
                sk.cohen_kappa_score(*map(list, pairs), labels=LABELS, weights=weights)
                if both
                else math.nan
            )
        for name, number in wanted.items():
            assert same(scored[name], number), (
                name,
                gold,
                answers,
                scored[name],
                number,
            )


@pytest.mark.mass
def test_several_labels_are_measured_as_scikit_learn_does():
    names = [
        "exact_match",
        "hamming_loss",
        "jaccard",
        "samples_precision",
        "samples_recall",
        "samples_f1",
    ]
    averages = [f"{average}_f1" for average in ("macro", "micro", "weighted")]
    built = metrics([*names, *averages, "f1"], more="several = true")
    draw = np.random.default_rng(28)
    for number in range(CASES):
        size = 1 if number % 10 == 0 else int(draw.integers(2, 20))
        table = [
            draw.random((size, 3)) < (0.0 if number % 25 == 0 else 0.5)
            for _ in range(2)
        ]
        gold, answers = (
            [LabelsOfAnswer(np.array(LABELS)[row]) for row in side] for side in table
        )
        if number % 4 == 0:
            answers = [own if draw.random() < 0.8 else None for own in answers]
            table[1] *= np.array([own is not None for own in answers])[:, None]
        wanted, given = table
        expected = {
            "exact_match": sk.accuracy_score(wanted, given),
            "hamming_loss": sk.hamming_loss(wanted, given),
            "jaccard": sk.jaccard_score(
                wanted, given, average="samples", zero_division=0
            ),
            "f1": sk.f1_score(wanted, given, average=None, zero_division=0)[1],
        }
        for average in ("samples", "macro", "micro", "weighted"):
            expected[f"{average}_f1"] = sk.f1_score(
                wanted, given, average=average, zero_division=0
            )
        expected["samples_precision"] = sk.precision_score(
            wanted, given, average="samples", zero_division=0
        )
        expected["samples_recall"] = sk.recall_score(
            wanted, given, average="samples", zero_division=0
        )
        for name, own in expected.items():
            assert same(value(built[name], gold, answers), own), (name, gold, answers)


@pytest.mark.mass
def test_log_loss_and_brier_score_are_those_of_scikit_learn():
    built = metrics(["log_loss", "brier_score"])
    draw = np.random.default_rng(29)
    for number in range(CASES):
        size = int(draw.integers(1, 20))
        gold = [str(label) for label in draw.choice(LABELS[: 1 + number % 3], size)]
        shares = draw.dirichlet(np.ones(3) * (0.05 if number % 5 == 0 else 1), size)
        answers = [
            LabelWithProbabilities("a", dict(zip(LABELS, row.tolist(), strict=True)))
            for row in shares
        ]
        expected = sk.log_loss(gold, shares, labels=list(LABELS))
        assert same(value(built["log_loss"], gold, answers), expected)
        truth = np.array([[label == own for label in LABELS] for own in gold])
        assert same(
            value(built["brier_score"], gold, answers),
            ((shares - truth) ** 2).sum(axis=1).mean(),
        )
    assert math.isnan(value(built["log_loss"], ["a"], ["a"]))


def test_what_is_left_out_counts_in_no_confusions_and_what_stands_in_counts_as_its_label():
    built = metrics(["accuracy", "f1", "coverage"])
    gold = ["a", "b", "b", "a"]
    left_out = _apply_treatment("left-out", None)
    assert value(built["accuracy"], gold, ["a", "b", "a", left_out]) == pytest.approx(
        2 / 3
    )
    assert value(built["coverage"], gold, ["a", "b", "a", left_out]) == 0.75
    abstained = _apply_treatment("left-out", LabelWithProbabilities("UNSURE"))
    assert value(built["coverage"], gold, ["a", "b", "a", abstained]) == 1
    label_alone, answer = (
        _apply_treatment(SubstituteLabel("a"), None),
        _apply_treatment(SubstituteLabel("a", 0.55), None),
    )
    assert value(built["accuracy"], gold, ["a", "b", "b", label_alone]) == 1
    assert value(built["coverage"], gold, ["a", "b", "b", label_alone]) == 0.75
    assert value(built["coverage"], gold, ["a", "b", "b", answer]) == 1


def test_of_several_right_labels_any_is_right_and_a_wrong_answer_stands_against_the_first(
    tmp_path, capsys
):
    toml = TOML.format(
        measures='"accuracy", "macro_f1", { name = "f1_c", measure = "f1", label = "c" }',
        more="any_of = true",
    )
    gold = [
        {"id": "1", "label": ["a", "b"]},
        {"id": "2", "label": ["c", "a"]},
        {"id": "3", "label": ["b"]},
    ]
    run = [
        {"id": "1", "label": "b"},
        {"id": "2", "label": "b"},
        {"id": "3", "label": "b"},
    ]
    folder = write(tmp_path / "t", toml, gold, run)
    sample = folder / "sample"
    found = offline.score(
        capsys, str(folder), [sample / "gold.jsonl"], sample / "run.jsonl"
    )["metrics"]
    assert found["accuracy"]["value"] == pytest.approx(2 / 3)
    assert found["f1_c"]["value"] == 0
    assert found["macro_f1"]["value"] == pytest.approx((0 + 0.8 + 0) / 3)


@pytest.mark.parametrize(
    ("more", "line", "told"),
    [
        ("several = true", {"id": "1", "label": "a,b"}, "“a,b” is no label"),
        ("several = true", {"id": "1", "label": ["a", "a"]}, "“label” names a twice; expected each label once"),
        ("", {"id": "1", "label": "ab" * 500}, f"“{'ab' * 50}” is no label"),
        ('confidence = "needed"', {"id": "1", "label": "a"}, "“confidence” is missing"),
        ('confidence = "needed"', {"id": "1", "label": "a", "confidence": 1.5}, "“confidence” is 1.5"),
        ("", {"id": "1", "label": "a", "probabilities": {"a": 2}}, "the probability of a is a whole number; expected a number"),
        ("", {"key": "1", "label": "a"}, "“id” is missing"),
    ],
)  # fmt: skip
def test_runs_are_checked_by_line(tmp_path, capsys, more, line, told):
    gold = [{"id": "1", "label": ["a"] if "several" in more else "a"}]
    run = [{"id": "1", "label": gold[0]["label"], "confidence": 0.5}]
    folder = write(
        tmp_path / "t", TOML.format(measures='"macro_f1"', more=more), gold, run
    )
    path = tmp_path / "run.jsonl"
    path.write_text(lines([line]))
    [found, *_] = offline.refusals(
        capsys, str(folder), [folder / "sample" / "gold.jsonl"], path
    )
    assert f"run.jsonl:1: {told.partition(';')[0]}" in found


@pytest.mark.parametrize(
    ("data", "example", "train"), [("scicite_intents", "citation-intent", 7320), ("acl_arc_intents", "citation-intent-acl", 1588)]
)  # fmt: skip
def test_baselines_of_the_field_s_data_have_the_numbers_of_scikit_learn_s_report(
    data, example, train, tmp_path, capsys
):
    place = shared(data)
    folder = tmp_path / example
    for path in (EXAMPLES / example).rglob("*.*"):
        (folder / path.relative_to(EXAMPLES / example)).parent.mkdir(
            parents=True, exist_ok=True
        )
        (folder / path.relative_to(EXAMPLES / example)).write_bytes(path.read_bytes())
    (folder / "train.jsonl").write_bytes((place / "train.jsonl").read_bytes())
    with (folder / "task.toml").open("a") as toml:
        toml.write(
            '\n[[task.baselines]]\nname = "tfidf-logistic"\ntrain = "train.jsonl"\n'
        )
    gold = {
        row["id"]: row["label"]
        for row in map(json.loads, (place / "dev.jsonl").read_text().splitlines())
    }
    assert len((place / "train.jsonl").read_text().splitlines()) == train
    labels = sorted(set(gold.values()))
    for name in ("majority", "tfidf-logistic"):
        run = tmp_path / f"{name}.jsonl"
        assert (
            offline.main(
                [
                    "baseline",
                    str(folder),
                    name,
                    "--gold",
                    str(place / "dev.jsonl"),
                    "--out",
                    str(run),
                ]
            )
            == 0
        )
        capsys.readouterr()
        answers = {
            row["id"]: row["label"]
            for row in map(json.loads, run.read_text().splitlines())
        }
        found = offline.score(capsys, str(folder), [place / "dev.jsonl"], run)
        report = sk.classification_report(
            list(gold.values()),
            [answers[key] for key in gold],
            labels=labels,
            output_dict=True,
            zero_division=0,
        )
        values = {key: metric["value"] for key, metric in found["metrics"].items()}
        assert values["macro_f1"] == pytest.approx(
            report["macro avg"]["f1-score"], abs=1e-12
        )
        assert values["accuracy"] == pytest.approx(
            sk.accuracy_score(list(gold.values()), [answers[key] for key in gold])
        )
        for label in labels:
            assert values[f"f1_{label.lower()}"] == pytest.approx(
                report[label]["f1-score"], abs=1e-12
            )
    assert values["macro_f1"] > 0.3
