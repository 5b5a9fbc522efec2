"""The measures of the forms are those of SciPy, scikit-learn, ir_measures, rouge-score, sacreBLEU and nervaluate."""

# Tables of cases are read across.
# ruff: noqa: E501

import json
import math
import random
import re
import warnings
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import sacrebleu
from nervaluate import Evaluator
from rouge_score.rouge_scorer import RougeScorer
from scipy import stats as sp
from sklearn import metrics as sk

from scoring.metrics import build_metrics
from scoring.metrics.base import WeightedMetric, build_unit_rows, compute_metric_value
from scoring.metrics.ranking import number_candidates
from scoring.stats import jackknife
from scoring.stats.significance import (
    PairedRuns,
    compute_difference_error,
    compute_difference_interval,
    run_randomisation_tests,
)
from tasks.types.declared.folder import read_declaration
from tasks.types.declared.measures import MEASURES_BY_FORM
from tasks.types.forms.evidence import VerdictWithEvidence
from tasks.types.forms.spans import SpansOfAnswer
from tasks.types.forms.texts import ReferenceTexts
from tasks.types.probabilities import LabelWithProbabilities
from tasks.types.ranking.lists import GradedListColumn, ListColumn
from tests.mass import IS_FULL

CASES = 500 if IS_FULL else 40
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "saw",
    "cats",
    "sitting",
    "there",
    "again",
]


def metrics(form, answer, measures, more=""):
    text = (
        f'[task]\nslug = "t"\ntitle = "T"\nform = "{form}"\n[task.gold]\nfield = "gold"\n[task.answer]\n{answer}\n'
        f'[[task.rules]]\nname = "corrected"\nmeasures = [{measures}]\n{more}'
    )
    return {
        metric.name: metric
        for metric in build_metrics(
            read_declaration({"task.toml": text}), "corrected", {}
        )
    }


def value(metric, gold, answers):
    return compute_metric_value(
        metric, metric.instance_stats(gold, answers), np.arange(len(gold))
    )


def same(ours, theirs, tolerance=1e-9):
    if theirs is None or math.isnan(theirs):
        return math.isnan(ours)
    return ours == pytest.approx(theirs, abs=tolerance)


@pytest.mark.mass
def test_numbers_are_correlated_as_scipy_does():
    names = [
        "pearson",
        "spearman",
        "kendall",
        "concordance",
        "mae",
        "rmse",
        "mse",
        "r2",
        "kappa_quadratic",
    ]
    built = metrics(
        "numbers",
        "least = 0\nmost = 4\nstep = 1",
        ", ".join(f'"{name}"' for name in names),
    )
    draw = np.random.default_rng(1)
    warnings.simplefilter("ignore")
    for case in range(CASES):
        size = 1 if case % 10 == 0 else int(draw.integers(2, 25))
        gold = draw.integers(0, 5, size).astype(float)
        given = (
            draw.integers(0, 5, size).astype(float)
            if case % 2
            else draw.uniform(0, 4, size)
        )
        if case % 7 == 0:
            gold[:] = 2.0
        if case % 11 == 0:
            given[:] = 3.0
        wanted = dict.fromkeys(("pearson", "spearman", "kendall"), math.nan)
        if size > 1 and np.ptp(gold) and np.ptp(given):
            wanted = {
                "pearson": sp.pearsonr(gold, given).statistic,
                "spearman": sp.spearmanr(gold, given).statistic,
                "kendall": sp.kendalltau(gold, given).statistic,
            }
        spread = np.var(gold) + np.var(given) + (gold.mean() - given.mean()) ** 2
        shared = 2 * np.cov(gold, given, bias=True)[0, 1] if size > 1 else 0.0
        wanted["concordance"] = shared / spread if spread else math.nan
        wanted["mae"] = sk.mean_absolute_error(gold, given)
        wanted["mse"] = sk.mean_squared_error(gold, given)
        wanted["rmse"] = sk.root_mean_squared_error(gold, given)
        wanted["r2"] = sk.r2_score(gold, given) if np.ptp(gold) else math.nan
        if case % 2:
            wanted["kappa_quadratic"] = sk.cohen_kappa_score(
                gold.astype(int),
                given.astype(int),
                labels=list(range(5)),
                weights="quadratic",
            )
        for name, number in wanted.items():
            ours = value(built[name], gold.tolist(), given.tolist())
            assert same(ours, number), (case, name, gold, given)


@pytest.mark.mass
def test_scores_of_a_label_have_the_areas_of_scikit_learn():
    names = '"auroc", "average_precision", "auprc", { name = "ece", measure = "ece_equal_size", bins = 3 }'
    built = metrics(
        "labels",
        'labels = ["a", "b"]\npositive = "a"\nprobabilities = "optional"',
        names,
    )
    draw = np.random.default_rng(2)
    warnings.simplefilter("ignore")
    for case in range(CASES):
        size = 1 if case % 10 == 0 else int(draw.integers(2, 30))
        truth = draw.random(size) < (0.0 if case % 9 == 0 else 0.4)
        scores = np.round(draw.random(size), 1 if case % 2 else 6)
        if case % 13 == 0:
            scores[:] = 0.5
        gold = ["a" if own else "b" for own in truth]
        answers = [
            LabelWithProbabilities("a", {"a": own, "b": 1 - own})
            for own in scores.tolist()
        ]
        both, some = 0 < truth.sum() < size, truth.any()
        assert same(
            value(built["auroc"], gold, answers),
            sk.roc_auc_score(truth, scores) if both else None,
        )
        ours = value(built["average_precision"], gold, answers)
        assert same(ours, sk.average_precision_score(truth, scores) if some else None)
        precision, recall, _ = sk.precision_recall_curve(truth, scores)
        # From the smallest recall on, each precision is the largest at any recall at least as high.
        envelope = np.maximum.accumulate(precision)
        area = float((-np.diff(recall) * envelope[:-1]).sum())
        assert same(value(built["auprc"], gold, answers), area if some else None)
        confidence, right = np.maximum(scores, 1 - scores), (scores >= 0.5) == truth
        order = np.argsort(confidence, kind="stable")
        parts = [part for part in np.array_split(order, 3) if len(part)]
        error = (
            sum(
                len(part) * abs(right[part].mean() - confidence[part].mean())
                for part in parts
            )
            / size
        )
        few = len(set(np.maximum(scores, 1 - scores).tolist())) <= 2
        assert same(value(built["ece"], gold, answers), None if few else error)


def test_measures_of_weighted_rows_have_intervals_and_tests():
    built = metrics("numbers", "", '"spearman", "kendall", "pearson"')
    draw = np.random.default_rng(3)
    gold = draw.random(60)
    a, b = (gold + draw.normal(0, noise, 60) for noise in (0.1, 0.5))
    for name in ("spearman", "kendall"):
        metric = built[name]
        rows = [
            build_unit_rows(
                metric,
                metric.instance_stats(gold.tolist(), side.tolist()),
                np.arange(60),
            )
            for side in (a, b)
        ]
        correlation = {"spearman": sp.spearmanr, "kendall": sp.kendalltau}[name]
        without = [
            correlation(np.delete(gold, place), np.delete(a, place)).statistic
            for place in range(60)
        ]
        assert metric.left_out(rows[0]) == pytest.approx(without, abs=1e-12)
        [(low, high)] = jackknife.intervals([(metric, rows[0])])
        assert low < metric.total(rows[0]) < high
        tests = run_randomisation_tests(
            [PairedRuns(metric, *rows), PairedRuns(metric, rows[0], rows[0])],
            trials=300,
            seed=0,
        )
        assert [test.p < 0.05 for test in tests] == [True, False]
        assert tests[1].p == 1.0


@pytest.mark.parametrize(
    ("name", "positives", "carrying"),
    [
        ("auroc", 4, 4),
        ("auroc", 5, 5),
        ("auroc", 36, 4),
        ("average_precision", 4, 4),
        ("average_precision", 36, 36),
        ("auprc", 5, 5),
    ],
)
def test_an_area_is_carried_by_units_of_the_rarer_class_or_of_positives(
    name, positives, carrying
):
    metric = metrics(
        "labels",
        'labels = ["a", "b"]\npositive = "a"\nprobabilities = "optional"',
        f'"{name}"',
    )[name]
    draw = np.random.default_rng(12)
    gold = ["a"] * positives + ["b"] * (40 - positives)
    scores = np.array([own == "a" for own in gold]) + draw.normal(0, 0.6, 40)
    shares = 1 / (1 + np.exp(-scores))
    answers = [
        LabelWithProbabilities("a", {"a": own, "b": 1 - own}) for own in shares.tolist()
    ]
    stats = metric.instance_stats(gold, answers)
    # Each instance is there three times, in one unit: rows are no units.
    rows = build_unit_rows(
        metric, np.repeat(stats, 3, axis=0), np.repeat(np.arange(40), 3)
    )
    [found] = jackknife.compute_intervals_or_reasons([(metric, rows)])
    other = build_unit_rows(metric, stats[::-1], np.arange(40))
    differs = compute_difference_interval(
        PairedRuns(metric, build_unit_rows(metric, stats, np.arange(40)), other)
    )
    if carrying < jackknife.MIN_INFLUENTIAL_CARRIERS:
        assert (found, differs) == ("few-carriers", None)
        return
    error = jackknife.compute_jackknife_error(metric.left_out(rows))
    expected = jackknife.compute_score_bounds(
        metric.total(rows), error, carrying, (0.0, 1.0)
    )
    assert found == pytest.approx(tuple(map(float, expected)))
    assert differs is not None


RANKED = '"recall@3", "precision@3", "map", "mrr@3", "ndcg@3", "success@3", "r_precision", "bpref", "f1@3", "mrr", "ndcg", { name = "rbp@3", measure = "rbp@3" }'


@pytest.mark.mass
def test_rankings_are_measured_as_ir_measures_does():
    built = metrics("ranking", "", RANKED, '[task.pool]\nfile = "pool.jsonl"\n')
    wanted = {
        name: ir_measures.parse_measure(theirs)
        for name, theirs in {
            "recall@3": "R@3", "precision@3": "P@3", "map": "AP", "mrr@3": "RR@3", "ndcg@3": "nDCG@3",
            "success@3": "Success@3", "r_precision": "Rprec", "bpref": "Bpref", "mrr": "RR", "ndcg": "nDCG",
        }.items()
    }  # fmt: skip
    draw = random.Random(4)
    for case in range(CASES):
        is_graded = case % 2
        qrels, run, gold, judged, grades, answers = [], [], [], [], [], []
        for query in range(1 if case % 10 == 0 else 5):
            own = {
                d: draw.choice([0, 1, 2]) if is_graded else 1
                for d in draw.sample(range(12), draw.randint(1, 5))
            }
            own[next(iter(own))] = 1
            ranked = draw.sample(range(12), draw.randint(1, 12))
            qrels += [
                ir_measures.Qrel(str(query), str(d), grade) for d, grade in own.items()
            ]
            run += [
                ir_measures.ScoredDoc(str(query), str(d), -place)
                for place, d in enumerate(ranked)
            ]
            gold.append([d for d, grade in own.items() if grade])
            judged.append(list(own))
            grades += own.values()
            answers.append(ranked)
        lists = ListColumn.of(gold)
        if is_graded:
            lists = GradedListColumn(
                lists, ListColumn.of(judged), np.array(grades, dtype=np.int32)
            )
        expected = ir_measures.calc_aggregate(list(wanted.values()), qrels, run)
        for name, measure in wanted.items():
            assert same(
                value(built[name], lists, ListColumn.of(answers)), expected[measure]
            ), (case, name)
        hits = [
            [d in own for d in ranked[:3]]
            for own, ranked in zip(gold, answers, strict=True)
        ]
        persisting = [
            0.2 * sum(0.8**place for place, is_hit in enumerate(row) if is_hit)
            for row in hits
        ]
        f1 = [
            2 * sum(row) / (3 + len(own)) for row, own in zip(hits, gold, strict=True)
        ]
        assert same(
            value(built["rbp@3"], lists, ListColumn.of(answers)), np.mean(persisting)
        )
        assert same(value(built["f1@3"], lists, ListColumn.of(answers)), np.mean(f1))
    _, none = number_candidates([["a"]], [None])
    assert value(built["bpref"], ListColumn.of([[0]]), none) == 0


def texts(draw, count):
    return [
        " ".join(draw.choices(WORDS, k=draw.randint(0, 8)))
        + draw.choice(["", ".", "\nThe end"])
        for _ in range(count)
    ]


@pytest.mark.mass
def test_texts_are_measured_against_several_references_as_rouge_score_and_sacrebleu_do():
    names = '"rouge_1", "rouge_2", "rouge_l", "rouge_lsum", { name = "stemmed", measure = "rouge_l", stemmed = true, part = "recall" }, "bleu", "chrf", "length"'
    built = metrics("text", "", names)
    plain, stemmed = (
        RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=own)
        for own in (False, True)
    )
    draw = random.Random(5)
    for case in range(CASES):
        size = 1 if case % 10 == 0 else draw.randint(2, 6)
        gold = [ReferenceTexts(texts(draw, draw.randint(1, 3))) for _ in range(size)]
        answers = texts(draw, size)
        for name, theirs in {
            "rouge_1": "rouge1",
            "rouge_2": "rouge2",
            "rouge_l": "rougeL",
            "rouge_lsum": "rougeLsum",
        }.items():
            found = [
                plain.score_multi(own, answer)[theirs].fmeasure
                for own, answer in zip(gold, answers, strict=True)
            ]
            assert same(value(built[name], gold, answers), 100 * np.mean(found)), (
                name,
                gold,
                answers,
            )
        found = [
            max(
                (plain_f(stemmed, own, answer) for own in refs),
                key=lambda s: s.fmeasure,
            ).recall
            for refs, answer in zip(gold, answers, strict=True)
        ]
        assert same(value(built["stemmed"], gold, answers), 100 * np.mean(found))
        most = max(map(len, gold))
        streams = [
            [own[place] if place < len(own) else None for own in gold]
            for place in range(most)
        ]
        assert same(
            value(built["bleu"], gold, answers),
            sacrebleu.corpus_bleu(answers, streams).score,
        )
        assert same(
            value(built["chrf"], gold, answers),
            sacrebleu.corpus_chrf(answers, streams).score,
        )
        assert value(built["length"], gold, answers) == pytest.approx(
            np.mean([len(own.split()) for own in answers])
        )


def plain_f(scorer, reference, answer):
    return scorer.score(reference, answer)["rougeL"]


def test_short_answers_are_measured_as_squad_does():
    built = metrics("text", "", '"exact_match", "token_f1"')
    gold = [
        ReferenceTexts(["The cat", "a dog"]),
        ReferenceTexts(["42"]),
        ReferenceTexts(["an"]),
        ReferenceTexts(["x y"]),
    ]
    answers = ["cat!", "42 apples", "the", None]
    assert value(built["exact_match"], gold, answers) == 50
    assert value(built["token_f1"], gold, answers) == pytest.approx(
        100 * (1 + 2 / 3 + 1 + 0) / 4
    )


def spans(text, *own):
    found = SpansOfAnswer(own)
    found.text = text
    return found


def test_spans_are_matched_as_semeval_2013_does():
    names = ", ".join(
        f'"{scheme}_{part}"'
        for scheme in ("strict", "exact", "partial", "type")
        for part in ("precision", "recall")
    )
    built = metrics(
        "spans",
        'labels = ["A", "B"]',
        f'{names}, "character_f1", "token_f1", {{ name = "iou", measure = "iou_f1", threshold = 0.5 }}',
    )
    text = "one two three four five six"
    gold = [spans(text, (0, 3, "A"), (4, 7, "A"), (8, 13, "B"), (14, 18, "A"))]
    # Right; the bounds alone; overlapping with the label; nothing of the last; and one beside all.
    answers = [SpansOfAnswer([(0, 3, "A"), (4, 7, "B"), (8, 11, "B"), (24, 27, "A")])]
    found = {name: value(metric, gold, answers) for name, metric in built.items()}
    credit = {"strict": 1, "exact": 2, "partial": 2.5, "type": 2}
    for scheme, own in credit.items():
        assert found[f"{scheme}_precision"] == own / 4
        assert found[f"{scheme}_recall"] == own / 4
    assert found["character_f1"] == pytest.approx(
        2 * 6 / (3 + 3 + 3 + 3 + 3 + 3 + 5 + 4)
    )
    assert found["token_f1"] == pytest.approx(2 * 2 / 8)
    assert found["iou"] == pytest.approx(2 * 2 / 8)
    assert value(built["strict_recall"], gold, [None]) == 0
    assert value(built["iou"], [spans(text)], [SpansOfAnswer()]) == 0
    # Of an instance that does not count nothing is counted.
    assert (
        value(
            built["strict_precision"],
            [None, *gold],
            [SpansOfAnswer([(0, 3, "A")]), *answers],
        )
        == 1 / 4
    )
    # A third of the union is too little, whichever of the two begins first.
    for first, second in (((0, 4, "A"), (2, 6, "A")), ((2, 6, "A"), (0, 4, "A"))):
        assert value(built["iou"], [spans(text, first)], [SpansOfAnswer([second])]) == 0
    # Two that share enough with one are matched once.
    assert (
        value(
            built["iou"],
            [spans(text, (0, 10, "A"), (5, 15, "A"))],
            [SpansOfAnswer([(0, 15, "A")])],
        )
        == 2 / 3
    )


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        # The first given span meets the nearer of the two, and the second the other.
        ([(0, 4), (7, 12)], [(0, 10), (9, 14)]),
        ([(0, 7), (8, 16)], [(4, 12), (5, 8)]),
    ],
)
def test_under_type_the_closest_bounds_go_first(wanted, given):
    metric = metrics("spans", 'labels = ["A"]', '"type_recall"')["type_recall"]
    gold, answer = ([(*bounds, "A") for bounds in side] for side in (wanted, given))
    assert value(metric, [spans("", *gold)], [SpansOfAnswer(answer)]) == 1


@pytest.mark.mass
def test_spans_are_matched_as_nervaluate_does():
    schemes = {
        "strict": "strict",
        "exact": "exact",
        "partial": "partial",
        "type": "ent_type",
    }
    names = [
        f"{scheme}_{part}"
        for scheme in schemes
        for part in ("precision", "recall", "f1")
    ]
    built = metrics(
        "spans", 'labels = ["A", "B"]', ", ".join(f'"{name}"' for name in names)
    )
    draw = random.Random(6)

    def drawn() -> list:
        starts = (draw.randint(0, 25) for _ in range(draw.randint(0, 5)))
        return sorted(
            {(start, start + draw.randint(1, 6), draw.choice("AB")) for start in starts}
        )

    def listed(documents):
        return [
            [
                {"label": label, "start": start, "end": end - 1}
                for start, end, label in own
            ]
            for own in documents
        ]

    for case in range(CASES):
        gold, answers = ([drawn() for _ in range(1 + case % 4)] for _ in range(2))
        theirs = Evaluator(
            listed(gold), listed(answers), tags=["A", "B"], loader="dict"
        ).evaluate()
        for name in names:
            scheme, part = name.split("_")
            expected = getattr(theirs["overall"][schemes[scheme]], part)
            assert same(value(built[name], gold, answers), expected), (
                name,
                gold,
                answers,
            )


def test_claims_with_one_label_are_scored_as_fevers_own_program_does():
    """``fever.json`` has random claims, each with label, sets, answer and sentences, and what it printed."""
    names = (
        "label_accuracy",
        "fever_score",
        "evidence_precision",
        "evidence_recall",
        "evidence_f1",
    )
    answer = 'shape = "one"\nlabels = ["S", "R"]\nabstain = "N"'
    listed = ", ".join(f'"{name}"' for name in names)
    built = metrics("evidence", answer, listed, '[task.pool]\nfile = "corpus.jsonl"\n')
    cases = json.loads((Path(__file__).parent / "fever.json").read_text())
    for case in cases:
        gold = [
            VerdictWithEvidence(label, tuple(map(frozenset, sets)))
            for label, sets, _, _ in case["claims"]
        ]
        answers = [
            label and VerdictWithEvidence(label, tuple(given))
            for _, _, label, given in case["claims"]
        ]
        assert {
            name: value(built[name], gold, answers) for name in names
        } == pytest.approx(case["numbers"])
    assert len(cases) == 20
    assert math.isnan(
        value(built["evidence_recall"], [VerdictWithEvidence("N", ())], [None])
    )


def test_the_table_in_the_docs_has_every_measure_of_every_form_once(root):
    _guide, table = (root / "docs" / "measures.md").read_text().split("| form |", 1)
    found: dict[str, list[str]] = {}
    for row in (
        line.split("|") for line in table.splitlines() if line.startswith("| ")
    ):
        found.setdefault(row[1].strip(), []).extend(re.findall(r"`(\w+)`", row[2]))
    del found["---"]
    assert {form: sorted(names) for form, names in found.items()} == {
        form: sorted(measures) for form, measures in MEASURES_BY_FORM.items()
    }


def test_differences_of_rank_correlations_have_the_interval_of_their_jackknife():
    metric = metrics("numbers", "", '"spearman"')["spearman"]
    draw = np.random.default_rng(5)
    gold, near, far = (draw.normal(size=12) for _ in range(3))

    def rows(answers, number):
        stats = metric.instance_stats(gold[:number].tolist(), answers[:number].tolist())
        return build_unit_rows(metric, stats, np.arange(number))

    near, far = gold + 0.3 * near, gold + 2 * far

    def difference(kept):
        return (
            sp.spearmanr(gold[kept], near[kept]).statistic
            - sp.spearmanr(gold[kept], far[kept]).statistic
        )

    left_out = np.array([difference(np.arange(12) != unit) for unit in range(12)])
    error = math.sqrt(((left_out - left_out.mean()) ** 2).sum() * 11 / 12)
    pair = PairedRuns(metric, rows(near, 12), rows(far, 12))
    assert compute_difference_error(pair) == pytest.approx(error)
    ends = jackknife.compute_difference_bounds(
        difference(np.arange(12) >= 0), np.asarray(error), 12.0, (-1.0, 1.0)
    )
    assert compute_difference_interval(pair) == pytest.approx(
        tuple(float(end) for end in ends)
    )
    assert (
        compute_difference_interval(PairedRuns(metric, rows(near, 4), rows(far, 4)))
        is None
    )
    assert (
        compute_difference_interval(PairedRuns(metric, rows(near, 5), rows(far, 5)))
        is not None
    )
    same = PairedRuns(metric, rows(near, 12), rows(near, 12))
    assert (compute_difference_error(same), compute_difference_interval(same)) == (
        0.0,
        None,
    )
    # With more units than are tried exactly, runs as far apart as can be have 1 of all and one more.
    gold = np.arange(40.0)
    best, worst = (
        metric.instance_stats(gold.tolist(), own.tolist()) for own in (gold, -gold)
    )
    far_apart = PairedRuns(
        metric, *(build_unit_rows(metric, own, np.arange(40)) for own in (best, worst))
    )
    [found] = run_randomisation_tests([far_apart], trials=99, seed=1)
    assert (found.p, found.trials) == (0.01, 99)


def test_each_measure_says_which_way_is_up_and_between_which_values_it_lies():
    ends = {
        **dict.fromkeys(
            ("pearson", "spearman", "kendall", "concordance"), (True, (-1, 1))
        ),
        **dict.fromkeys(("mae", "rmse", "mse"), (False, (0, math.inf))),
        "r2": (True, (-math.inf, 1)),
        "kappa_quadratic": (True, (-1, 1)),
    }
    built = metrics(
        "numbers",
        "least = 0\nmost = 4\nstep = 1",
        ", ".join(f'"{name}"' for name in ends),
    )
    assert {
        name: (own.higher_is_better, own.value_range) for name, own in built.items()
    } == ends
    ends = {
        **dict.fromkeys(
            ("accuracy", "macro_f1", "balanced_accuracy", "coverage", "auroc", "auprc"),
            (True, (0, 1)),
        ),
        **dict.fromkeys(
            ("mcc", "kappa", "kappa_linear", "kappa_quadratic"), (True, (-1, 1))
        ),
        **dict.fromkeys(
            ("ece", "ece_equal_size", "false_positive_rate"), (False, (0, 1))
        ),
        "ece_debiased": (False, (-1, 1)),
        "brier_score": (False, (0, 2)),
        "log_loss": (False, (0, math.inf)),
    }
    answer = 'labels = ["a", "b"]\npositive = "a"\nprobabilities = "optional"'
    built = metrics("labels", answer, ", ".join(f'"{name}"' for name in ends))
    assert {
        name: (own.higher_is_better, own.value_range) for name, own in built.items()
    } == ends


def test_values_of_several_resamples_at_once_are_those_of_each():
    draw = np.random.default_rng(4)
    given = draw.random(12).round(1)
    gold = draw.choice(["a", "b"], 12).tolist()
    answers = [
        LabelWithProbabilities("a" if own >= 0.5 else "b", {"a": own, "b": 1 - own})
        for own in given
    ]
    of_labels = metrics(
        "labels",
        'labels = ["a", "b"]\npositive = "a"\nprobabilities = "optional"',
        '"auroc", "average_precision", "auprc", "ece", "ece_debiased", "ece_equal_size", "brier_score", "log_loss",'
        ' "kappa", "kappa_linear", "kappa_quadratic", "mcc", "macro_f1", "weighted_f1", "micro_precision",'
        ' "balanced_accuracy", "false_positive_rate", "f1", "accuracy"',
    )
    numbers = draw.integers(0, 5, (2, 12)).astype(float).tolist()
    of_numbers = metrics(
        "numbers",
        "least = 0\nmost = 4\nstep = 1",
        '"pearson", "spearman", "kendall", "concordance", "mae", "rmse", "mse", "r2", "kappa_quadratic"',
    )
    weights = draw.integers(0, 3, (2, 3, 12)).astype(float)
    for built, own, other in ((of_labels, gold, answers), (of_numbers, *numbers)):
        for name, metric in built.items():
            rows = metric.instance_stats(own, other)

            def over(one, metric=metric, rows=rows):
                is_weighted = isinstance(metric, WeightedMetric)
                return np.asarray(
                    metric.value(rows, one)
                    if is_weighted
                    else metric.aggregate(one @ rows)
                )

            assert over(weights).shape == (2, 3), name
            each = [[float(over(one)) for one in some] for some in weights]
            np.testing.assert_allclose(over(weights), each, rtol=1e-9, err_msg=name)
