"""Every number that samples and drawn answers have, as the file beside this says them.

    python -m tests.scoring.standing_numbers

writes the file anew, for a change that is meant: numbers that change have another version.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import dataclasses
import hashlib
import io
import json
import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics import build_metrics
from scoring.metrics.base import (
    Metric,
    WeightedMetric,
    build_unit_rows,
    compute_metric_value,
)
from scoring.offline.compare import compare_runs
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs, measure_run
from scoring.offline.scoring import ScoringRequest, read_gold_and_run
from scoring.stats import jackknife
from scoring.stats.interval_methods import METHODS
from scoring.stats.resampling import BootstrapResampler
from scoring.stats.significance import (
    PairedRuns,
    compute_difference_error,
    compute_difference_interval,
    run_randomisation_tests,
)
from tasks.types import InputRefused, Problem, TaskType, task_type, task_types
from tasks.types.declared.folder import read_declaration
from tasks.types.files import InputFile, open_files_of_all_inputs, open_input_files
from tasks.types.forms.evidence import VerdictWithEvidence
from tasks.types.forms.labels import LabelsOfAnswer
from tasks.types.forms.spans import SpansOfAnswer
from tasks.types.forms.tags import EntitiesOfSentence
from tasks.types.forms.texts import ReferenceTexts
from tasks.types.probabilities import LabelWithProbabilities
from tasks.types.problems import SoftwareUnavailable
from tasks.types.ranking.lists import GradedListColumn, ListColumn
from tasks.types.runs import read_run
from tests.fuzz.mutations import mutated, restructured

FILE = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parents[2]
#: Two cases of drawn answers: few units, which are exchanged in all ways, and more.
SIZES = (9, 40)
#: Of each sample so many changes are read.
CHANGES = 40
TOML_VALUES = (
    "7", "-1", "0.5", "true", '""', '"x"', '"a.b"', '"../x"', "[]", "[1]", '["x"]', '["x", "x"]', "{}", "{ a = 1 }",
    '{ name = "x" }', "2026-05-01",
)  # fmt: skip
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
LABELS = ("a", "b", "c")


def rounded(value: Any) -> Any:
    """To what every machine agrees on."""
    if isinstance(value, dict):
        return {str(key): rounded(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(own) for own in value]
    if isinstance(value, float | np.floating):
        if math.isnan(value) or math.isinf(value):
            return None if math.isnan(value) else str(value)
        return 0.0 if abs(value) < 1e-12 else float(f"{value:.7g}")
    return value


#: What Python's own readers of TOML and JSON say, which differs from version to version.
_OF_PYTHON = re.compile(r"(not (?:TOML|JSON): )[^;]*")


def said(problems: Iterable[Problem]) -> list[str]:
    """Each with its place, the beginning of what is quoted, and whether it refuses nothing."""
    return [
        _OF_PYTHON.sub(r"\1…", str(problem)).replace(str(ROOT), "")
        + (f" « {problem.quote[:30]}" if problem.quote else "")
        + ("" if problem.fatal else " (a doubt)")
        for problem in problems
    ]


def digest(content: object) -> str:
    text = json.dumps(rounded(content), ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def signed(metric: Metric) -> str:
    """A digest of what signatures say of a metric, whatever the versions of packages."""
    words = (
        metric.statistic,
        metric.citation,
        metric.packages,
        dict(metric.parameters),
        type(metric).engine,
    )
    return digest(
        re.sub(
            r"\d+(\.\d+)+",
            "…",
            json.dumps(rounded(words), ensure_ascii=False, default=str),
        )
    )


# Samples of task types.


def samples() -> dict[str, tuple[TaskType, Path, dict[str, str]]]:
    found = {}
    for kind in task_types().values():
        folder = ROOT / "tasks" / "types" / kind.slug.replace("-", "_") / "sample"
        found[kind.slug] = (kind, folder)
    for folder in sorted((ROOT / "examples" / "tasks").iterdir()):
        found[folder.name] = (task_type(str(folder)), folder / "sample")
    return {
        name: (kind, folder, options_of(folder))
        for name, (kind, folder) in found.items()
        if folder.is_dir()
    }


def options_of(folder: Path) -> dict[str, str]:
    path = folder / "options.json"
    given = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: value.replace("{sample}", str(folder)) for name, value in given.items()
    }


def of_sample(name: str) -> dict[str, Any]:
    kind, folder, given = samples()[name]
    gold = (
        [folder / "gold"]
        if (folder / "gold").exists()
        else sorted(folder.glob("gold*"))
    )
    run = next(path for path in sorted(folder.iterdir()) if path.name.startswith("run"))
    options = kind.validate_options(given)
    found: dict[str, Any] = {}
    for rules in kind.rules:
        asked = ScoringRequest(
            task_type=kind, gold=gold, run=run, rules=rules, options=options
        )
        read = read_gold_and_run(asked)
        pairs = read.pairs(asked)
        metrics = build_metrics(kind, rules, options)
        found[rules] = {}
        for method in METHODS[:2]:
            resampling = IntervalSettings(resamples=50, seed=1, method=method)
            scores = evaluate_pairs(
                kind,
                pairs,
                rules=rules,
                options=options,
                gold="g",
                resampling=resampling,
            )
            found[rules][method] = {
                metric: [value.value, value.low, value.high, value.n]
                for metric, value in scores.metrics.items()
            }
        found[rules]["classes"] = {
            dimension: digest(own) for dimension, own in scores.breakdowns.items()
        }
        found[rules]["notes"] = scores.notes
        if kind.show_instances:
            shown = list(
                kind.show_instances(
                    open_files_of_all_inputs(gold), read.split, pairs, options
                )
            )
            found[rules]["shown"] = [
                len(shown),
                digest([dataclasses.astuple(one) for one in shown]),
            ]
        # Of facets a pair without an answer says so itself.
        if isinstance(pairs.answers, list) and name != "clsumm-1b":
            fewer = [
                None if place % 3 == 1 else own
                for place, own in enumerate(pairs.answers)
            ]
            both = [
                measure_run(metrics, one)
                for one in (pairs, dataclasses.replace(pairs, answers=fewer))
            ]
            found[rules]["against fewer answers"] = {
                metric: [
                    own["b"],
                    own["error"],
                    own["low"],
                    own["high"],
                    own["p"],
                    own["p_holm"],
                    own["units"],
                ]
                for metric, own in compare_runs(
                    metrics, *both, trials=99, seed=1
                ).items()
            }
    public = (
        sorted(kind.public_files(open_files_of_all_inputs(gold), options))
        if kind.public_files
        else []
    )
    found["public"] = {
        file: hashlib.sha256(content).hexdigest()[:10] for file, content in public
    }
    return found


# Samples with something changed.


def of_broken(name: str) -> list[Any]:
    """Per change the problems that refuse it, or else the numbers that it has and the first that is doubted."""
    kind, folder, given = samples()[name]
    places = (
        [folder / "gold"]
        if (folder / "gold").exists()
        else sorted(folder.glob("gold*"))
    )
    gold, options = open_files_of_all_inputs(places), kind.validate_options(given)
    [run] = open_input_files(
        next(path for path in sorted(folder.iterdir()) if path.name.startswith("run"))
    )
    split = kind.read_gold(gold, options)
    return [
        _changed(kind, options, split, gold, run, f"{name} {number}")
        for number in range(CHANGES)
    ]


def _changed(
    kind: TaskType,
    options: Any,
    split: Any,
    gold: Sequence[InputFile],
    run: InputFile,
    seed: str,
) -> Any:
    chance = random.Random(seed)
    try:
        if chance.random() < 0.4:
            place = chance.randrange(len(gold))
            split = kind.read_gold(
                [*gold[:place], damaged(gold[place], chance), *gold[place + 1 :]],
                options,
            )
        else:
            run = damaged(run, chance)
        answers, problems = read_run(kind, [run], split.index, options, name="run")
        told = said(problems)
        if any(problem.fatal for problem in problems):
            return [len(told), *told[:2], digest(told)]
        pairs = kind.pairs_of(split, answers, kind.default_rule_set, options)
        resampling = IntervalSettings(resamples=0, seed=1)
        scores = evaluate_pairs(
            kind,
            pairs,
            rules=kind.default_rule_set,
            options=options,
            gold="g",
            resampling=resampling,
        )
        return {
            "doubts": told[:1],
            "numbers": digest([own.value for own in scores.metrics.values()]),
        }
    except InputRefused as refused:
        told = said(refused.problems)
        return [len(told), *told[:2], digest(told)]
    except SoftwareUnavailable as lacking:
        return str(lacking)


def damaged(file: InputFile, chance: random.Random) -> InputFile:
    content = file.read()
    if file.suffix == ".jsonl":
        rows = restructured(
            chance, [json.loads(line) for line in content.splitlines() if line.strip()]
        )
        rows = rows if isinstance(rows, list) else [rows]
        content = "\n".join(map(json.dumps, rows)).encode()
    else:
        content = mutated(chance, content, [content])
    return InputFile(file.name, file.shown, lambda: io.BytesIO(content))


def of_declaration(name: str) -> list[Any]:
    """Per change of its TOML what refuses it, or else the names of all measures by their rules."""
    text = (ROOT / "examples" / "tasks" / name / "task.toml").read_text()
    return [
        _declared(text, random.Random(f"{name} {number}")) for number in range(CHANGES)
    ]


def _declared(text: str, chance: random.Random) -> Any:
    rows = text.split("\n")
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.choice(
            [number for number, row in enumerate(rows) if " = " in row]
        )
        key, _, value = rows[place].partition(" = ")
        how = chance.random()
        if how < 0.2:
            rows[place] = ""
        elif how < 0.4:
            rows[place] = f"{key}s = {value}"
        elif how < 0.6:
            rows.insert(
                place,
                rows[
                    chance.choice(
                        [number for number, row in enumerate(rows) if " = " in row]
                    )
                ],
            )
        else:
            rows[place] = f"{key} = {chance.choice(TOML_VALUES)}"
    try:
        kind = read_declaration({"task.toml": "\n".join(rows)})
        return {
            rules: [
                metric.name
                for metric in build_metrics(kind, rules, kind.validate_options({}))
            ]
            for rules in kind.rules
        }
    except InputRefused as refused:
        told = said(refused.problems)
        return [len(told), *told[:2], digest(told)]


# Drawn answers to tasks of each form.

DECLARED: dict[str, tuple[str, str, str]] = {
    "labels": (
        'labels = ["a", "b", "c"]\npositive = "b"\nprobabilities = "optional"\nconfidence = "optional"',
        ('"accuracy", "balanced_accuracy", "macro_precision", "macro_recall", "macro_f1", "micro_precision",'
        ' "micro_recall", "micro_f1", "weighted_precision", "weighted_recall", "weighted_f1", "precision", "recall", "f1",'
        ' "false_positive_rate", "mcc", "kappa", "kappa_linear", "kappa_quadratic", "coverage", "brier_score", "log_loss",'
        ' "auroc", "average_precision", "auprc", "ece", "ece_debiased", "ece_equal_size",'
        ' { name = "ece_3", measure = "ece", bins = 3 }, { name = "equal_3", measure = "ece_equal_size", bins = 3, pooled = true }'),
        "",
    ),
    "several": (
        'labels = ["a", "b", "c"]\nseveral = true\npositive = "b"',
        ('"exact_match", "hamming_loss", "jaccard", "samples_precision", "samples_recall", "samples_f1", "macro_f1",'
        ' "micro_f1", "weighted_f1", "f1"'),
        "",
    ),
    "numbers": (
        "least = 0\nmost = 4\nstep = 1",
        '"pearson", "spearman", "kendall", "concordance", "mae", "rmse", "mse", "r2", "kappa_quadratic"',
        "",
    ),
    "ranking": (
        "",
        ('"recall@3", "precision@3", "map", "map@2", "mrr@3", "ndcg@3", "success@3", "r_precision", "bpref", "f1@3", "mrr",'
        ' "ndcg", "rbp@3"'),
        '[task.pool]\nfile = "pool.jsonl"\n',
    ),
    "text": (
        "",
        ('"rouge_1", "rouge_2", "rouge_l", "rouge_lsum", "bleu", "chrf", "exact_match", "token_f1", "length",'
        ' { name = "stemmed", measure = "rouge_l", stemmed = true, part = "recall" }, { name = "chrf_w", measure = "chrf", words = 2 }'),
        "",
    ),
    "spans": (
        'labels = ["A", "B"]',
        ", ".join(
            f'"{name}_{part}"'
            for name in ("strict", "exact", "partial", "type", "character", "token")
            for part in ("precision", "recall", "f1")
        )
        + ', { name = "iou", measure = "iou_f1", threshold = 0.5 }, { name = "iou_p", measure = "iou_precision", threshold = 0.2 }',
        "",
    ),
    "tags": (
        'labels = ["A", "B"]',
        '"entity_precision", "entity_recall", "entity_f1"',
        "",
    ),
    "evidence": (
        'shape = "sets"\nlabels = ["S", "R"]',
        ", ".join(
            f'"{name}_{part}"'
            for name in ("sentence_selection", "sentence_label", "abstract_label_only", "abstract_rationalized")
            for part in ("precision", "recall", "f1")
        ),
        '[task.pool]\nfile = "corpus.jsonl"\n',
    ),
    "evidence-one": (
        'shape = "one"\nlabels = ["S", "R"]\nabstain = "N"',
        '"label_accuracy", "fever_score", "evidence_precision", "evidence_recall", "evidence_f1"',
        '[task.pool]\nfile = "corpus.jsonl"\n',
    ),
}  # fmt: skip


def metrics_of_form(form: str) -> list[Metric]:
    answer, measures, more = DECLARED[form]
    kind = {"several": "labels", "evidence-one": "evidence"}.get(form, form)
    text = (
        f'[task]\nslug = "t"\ntitle = "T"\nform = "{kind}"\n[task.gold]\nfield = "gold"\n[task.answer]\n{answer}\n'
        f'[[task.rules]]\nname = "corrected"\nmeasures = [{measures}]\n{more}'
    )
    return list(build_metrics(read_declaration({"task.toml": text}), "corrected", {}))


def drawn(form: str, size: int) -> tuple[Any, list[Any]]:
    """Gold, and two runs: the second is further from it. Now and then an instance has no answer."""
    draw = random.Random(f"{form} {size}")
    gold = [_gold(form, draw) for _ in range(size)]
    runs = [
        [
            None
            if draw.random() < 0.1 and form != "numbers"
            else _answer(form, own, far, draw)
            for own in gold
        ]
        for far in (0.2, 0.5)
    ]
    if form != "ranking":
        return gold, runs
    relevant = ListColumn.of(
        [[name for name, grade in own.items() if grade] for own in gold]
    )
    grades = np.array([grade for own in gold for grade in own.values()], dtype=np.int32)
    lists = [ListColumn.of([own or [] for own in run]) for run in runs]
    return GradedListColumn(
        relevant, ListColumn.of([list(own) for own in gold]), grades
    ), lists


def _gold(form: str, draw: random.Random) -> Any:
    if form == "labels":
        return draw.choice("aabc")
    if form == "several":
        return LabelsOfAnswer(label for label in LABELS if draw.random() < 0.5)
    if form == "numbers":
        return float(draw.randint(0, 4))
    if form == "ranking":
        return {
            name: draw.choice([0, 1, 2]) if place else 1
            for place, name in enumerate(draw.sample(range(9), 4))
        }
    if form == "text":
        return ReferenceTexts(
            " ".join(draw.choices(WORDS, k=draw.randint(1, 9)))
            for _ in range(draw.randint(1, 3))
        )
    if form == "spans":
        starts = sorted(draw.sample(range(0, 40, 5), draw.randint(0, 4)))
        found = SpansOfAnswer(
            (start, start + draw.randint(1, 5), draw.choice("AB")) for start in starts
        )
        found.text = "one two three four five six seven eight nine"
        return found
    if form == "tags":
        starts = sorted(draw.sample(range(0, 40, 5), draw.randint(0, 4)))
        return EntitiesOfSentence(
            (start, start + draw.randint(1, 5), draw.choice("AB")) for start in starts
        )
    sets = [
        frozenset(draw.sample(range(6), draw.randint(1, 2)))
        for _ in range(draw.randint(1, 2))
    ]
    if form == "evidence":
        own = [*sets[:1], *(other - sets[0] for other in sets[1:] if other - sets[0])]
        return {
            name: (draw.choice("SR"), tuple(own))
            for name in draw.sample(["d1", "d2", "d3"], draw.randint(0, 2))
        }
    label = draw.choice("SRN")
    return VerdictWithEvidence(
        label,
        () if label == "N" else tuple(frozenset(f"d:{n}" for n in own) for own in sets),
    )


def _answer(form: str, gold: Any, far: float, draw: random.Random) -> Any:
    is_far = draw.random() < far
    if form == "labels":
        label = draw.choice(LABELS) if is_far else gold
        raw = {own: draw.random() + (own == label) for own in LABELS}
        shares = {own: value / sum(raw.values()) for own, value in raw.items()}
        return LabelWithProbabilities(label, shares, confidence=round(draw.random(), 1))
    if form == "evidence":
        found = {
            name: (label, tuple(sorted(sets[0])))
            for name, (label, sets) in gold.items()
        }
        if is_far:
            found["d3"] = (
                draw.choice("SR"),
                tuple(draw.sample(range(6), draw.randint(0, 4))),
            )
        return found
    if form == "evidence-one":
        flat = [one for own in gold.sentences for one in sorted(own)]
        more = (
            [f"d:{draw.randint(0, 6)}" for _ in range(draw.randint(0, 6))]
            if is_far
            else []
        )
        return VerdictWithEvidence(
            draw.choice("SRN") if is_far else gold.label,
            tuple(dict.fromkeys([*more, *flat])),
        )
    if form == "ranking":
        others = draw.sample(range(9), draw.randint(1, 6))
        own = (
            others if is_far else [*sorted(gold, key=lambda name: -gold[name]), *others]
        )
        return list(dict.fromkeys(own))
    if form == "text" and not is_far:
        return gold[-1] + draw.choice(["", ".", " again"])
    own = _gold(form, draw) if is_far else gold
    return own[0] if form == "text" else own


def of_form(form: str) -> dict[str, Any]:
    return {
        str(size): dict(_of_drawn(metrics_of_form(form), *drawn(form, size)))
        for size in SIZES
    }


def _of_drawn(
    metrics: Sequence[Metric], gold: Any, runs: list[Any]
) -> Iterator[tuple[str, Any]]:
    # Two instances a unit at the end.
    size = len(gold)
    units = np.minimum(np.arange(size), size - 3)
    for metric in metrics:
        stats = [metric.instance_stats(gold, run) for run in runs]
        a, b = (build_unit_rows(metric, own, units) for own in stats)
        bounds = [
            jackknife.compute_intervals_or_reasons([(metric, own)])[0] for own in (a, b)
        ]
        own = {
            "kind": [metric.version, metric.scale, metric.higher_is_better, metric.value_range, metric.is_valid_in_one_label, signed(metric)],
            "values": [compute_metric_value(metric, one, units) for one in stats],
            "n": [metric.instances(one, np.ones(size, dtype=bool)) for one in stats],
            "intervals": bounds,
        }  # fmt: skip
        if not isinstance(metric, WeightedMetric):
            own["weights"] = digest(metric.denominators(a).tolist())
            resampler = BootstrapResampler(len(a), resamples=60, seed=1)
            own["resampled"] = [
                resampler.intervals([(metric, a)], method=method)[0]
                for method in ("bca", "percentile")
            ]
        if metric.is_exchangeable:
            pair = PairedRuns(metric, a, b)
            [test] = run_randomisation_tests([pair], trials=99, seed=1)
            own["difference"] = [
                compute_difference_error(pair),
                compute_difference_interval(pair),
                test.p,
                test.kind,
            ]
        yield metric.name, own


def everything() -> dict[str, Any]:
    return rounded(
        {
            "forms": {form: of_form(form) for form in DECLARED},
            "samples": {name: of_sample(name) for name in samples()},
            "declarations": {
                path.name: of_declaration(path.name)
                for path in sorted((ROOT / "examples" / "tasks").iterdir())
            },
            "changed": {name: of_broken(name) for name in samples()},
        }
    )


def written(value: Any, indent: str = "") -> str:
    """JSON with the lists on one line each."""
    if isinstance(value, list) and any(
        isinstance(own, str | dict) and len(str(own)) > 40 for own in value
    ):
        return (
            "[\n"
            + ",\n".join(
                f"{indent} {json.dumps(own, ensure_ascii=True)}" for own in value
            )
            + f"\n{indent}]"
        )
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    parts = (
        f"{indent} {json.dumps(key)}: {written(own, f'{indent} ')}"
        for key, own in value.items()
    )
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}" if value else "{}"


if __name__ == "__main__":
    FILE.write_text(written(everything()) + "\n")
