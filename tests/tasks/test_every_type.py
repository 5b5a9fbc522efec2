"""What holds for every task type: a new folder is tested by its sample."""

import importlib
import json
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics import build_metrics
from scoring.metrics.base import WeightedMetric, build_unit_rows
from scoring.offline.evaluate import load_statistics
from tasks.types import OptionRefused, TaskType, task_types
from tasks.types.files import open_input_files
from tests.scoring.offline import score

TYPES = list(task_types().values())

pytestmark = pytest.mark.parametrize(
    "task_type", TYPES, ids=[kind.slug for kind in TYPES]
)


def folder(task_type: TaskType) -> Path:
    module = importlib.import_module(f"tasks.types.{task_type.slug.replace('-', '_')}")
    return Path(module.__file__).parent


def sample(task_type: TaskType) -> tuple[list[Path], Path, dict]:
    """Gold, run, and by rule set the values worked out by hand."""
    own = folder(task_type) / "sample"
    run = next(path for path in own.iterdir() if path.name.startswith("run"))
    gold = own / "gold"
    return (
        [gold] if gold.exists() else sorted(own.glob("gold*")),
        run,
        json.loads((own / "scores.json").read_text()),
    )


def sample_options(task_type: TaskType) -> list[str]:
    """What the sample is scored with where the defaults need a model; `{sample}` stands for its folder."""
    own = folder(task_type) / "sample"
    path = own / "options.json"
    given = json.loads(path.read_text()) if path.exists() else {}
    pairs = (
        f"{name}={value.replace('{sample}', str(own))}" for name, value in given.items()
    )
    return [word for pair in pairs for word in ("--option", pair)]


def scored(capsys, task_type: TaskType, *more: str) -> dict:
    gold, run, _ = sample(task_type)
    return score(capsys, task_type.slug, gold, run, *sample_options(task_type), *more)


def test_every_metric_reference_leads_to_a_metric_of_that_name_and_rule_set(task_type):
    options = task_type.validate_options({})
    for rules, declared in task_type.rules.items():
        metrics = build_metrics(task_type, rules, options)
        assert [metric.name for metric in metrics][: len(declared)] == [
            metric.name for metric in declared
        ]
        assert len({metric.name for metric in metrics}) == len(metrics)
        for metric in metrics:
            assert metric.rules == rules
            assert metric.citation, f"{metric.name} does not say where it comes from"


def test_rule_sets_are_the_corrected_one_and_official_ones(task_type):
    for rules in task_type.rules:
        assert re.fullmatch(r"corrected|official(-\d{4})?", rules)


def test_the_old_names_of_rule_sets_are_understood_and_written_as_the_new_ones(
    capsys, task_type
):
    old = {"corrected": ["fair", "default"], "official": ["as-published"]}
    for rules in task_type.rules:
        for name in old.get(rules, ()):
            scores = scored(capsys, task_type, "--rules", name, "--intervals", "0")
            assert scores["rules"] == rules
            assert all(
                f"|rules:{rules}|" in metric["column"]
                for metric in scores["metrics"].values()
            )
    if "official" not in task_type.rules:
        known = ", ".join(task_type.rules)
        with pytest.raises(
            OptionRefused, match=f"no rules “as-published”; it has {known}"
        ):
            task_type.validate_rule_set_name("as-published")


def test_the_sample_scores_what_was_worked_out_by_hand(capsys, task_type):
    _, _, expected = sample(task_type)
    assert task_type.default_rule_set in expected
    for rules, values in expected.items():
        metrics = scored(capsys, task_type, "--rules", rules)["metrics"]
        assert set(metrics) == {metric.name for metric in task_type.rules[rules]}
        for name, value in values.items():
            assert metrics[name]["value"] == pytest.approx(value, rel=1e-12), (
                rules,
                name,
            )


def test_values_of_several_sums_at_once_are_those_of_each(capsys, task_type, tmp_path):
    """Resampled weights times the matrix give stacks of sums; each value lies in its metric's range."""
    draw, kept = np.random.default_rng(0), tmp_path / "kept.npz"
    for rules in task_type.rules:
        told = scored(capsys, task_type, "--rules", rules, "--statistics", str(kept))
        statistics = load_statistics(kept)
        for metric in build_metrics(
            task_type, rules, task_type.validate_options(told["options"])
        ):
            if metric.statistic not in statistics.matrices:
                continue
            rows = build_unit_rows(
                metric, statistics.matrices[metric.statistic], statistics.units
            )
            weights = draw.integers(0, 3, (2, 3, len(rows))).astype(float)
            if isinstance(metric, WeightedMetric):
                of_rows = partial(metric.value, rows[:, 1:])
                given, carried = weights, metric.sum_carriers_by_unit(rows)[:, 0]
            else:
                of_rows, given = metric.aggregate, weights @ rows
                carried = metric.denominators(rows)
            values = np.asarray(of_rows(given))
            assert values.shape == (2, 3), metric.name
            each = [[float(of_rows(own)) for own in some] for some in given]
            np.testing.assert_allclose(values, each, rtol=1e-12, err_msg=metric.name)
            low, high = metric.value_range
            known = values[np.isfinite(values)]
            assert ((known >= low - 1e-9) & (known <= high + 1e-9)).all(), (
                metric.name,
                known,
            )
            assert carried.shape == (len(rows),)
            assert (carried >= 0).all()


def test_by_the_option_engine_packages_give_the_same_and_sign_what_they_computed(
    capsys, task_type
):
    """ROUGE of skip-bigrams, which no package has, stays this program's; the other columns stay apart."""
    if "engine" not in {option.name for option in task_type.options}:
        return
    for rules in task_type.rules:
        ours, theirs = (
            scored(capsys, task_type, "--rules", rules, "--option", f"engine={engine}")[
                "metrics"
            ]
            for engine in ("own", "package")
        )
        assert {name: metric["value"] for name, metric in theirs.items()} == {
            name: metric["value"] for name, metric in ours.items()
        }
        assert not [
            name for name, metric in ours.items() if "|engine:" in metric["signature"]
        ]
        signed = {
            name
            for name, metric in theirs.items()
            if "|engine:rouge-score-0.1.2|" in metric["column"]
        }
        computed = {
            name for name, metric in theirs.items() if metric["value"] is not None
        }
        assert signed == {name for name in computed if re.match("rouge_[^s]", name)}


def test_the_declared_dimensions_are_those_of_the_breakdowns(capsys, task_type):
    assert tuple(scored(capsys, task_type)["breakdowns"]) == task_type.dimensions


def test_the_same_command_gives_the_same_numbers(capsys, task_type):
    first, second = (scored(capsys, task_type, "--seed", "7") for _ in range(2))
    assert first == second


#: Of a paper's references the order decides between equal scores; that of the others nothing.
ORDERED = "references.jsonl"


def test_the_order_of_gold_lines_changes_neither_digest_nor_column(
    capsys, task_type, tmp_path
):
    gold, run, _ = sample(task_type)
    reversed_gold = []
    for path in gold:
        copied = tmp_path / path.name
        shutil.copytree(path, copied) if path.is_dir() else shutil.copy(path, copied)
        reversed_gold.append(copied)
    for file in (*tmp_path.rglob("*.jsonl"), *tmp_path.rglob("*.annv3.txt")):
        if file.name != ORDERED:
            file.write_text("\n".join(reversed(file.read_text().splitlines())))
    again = score(
        capsys, task_type.slug, reversed_gold, run, *sample_options(task_type)
    )
    first = scored(capsys, task_type)
    assert again["gold"]["sha256"] == first["gold"]["sha256"]
    for name, metric in first["metrics"].items():
        assert again["metrics"][name]["column"] == metric["column"]
        value = metric["value"]
        assert again["metrics"][name]["value"] == (
            value and pytest.approx(value, rel=1e-12)
        )


def test_every_signature_opens_with_its_column_key_and_names_the_rules(
    capsys, task_type
):
    scores = scored(capsys, task_type)
    columns = [metric["column"] for metric in scores["metrics"].values()]
    assert len(set(columns)) == len(columns)
    for name, metric in scores["metrics"].items():
        assert metric["signature"].startswith(metric["column"] + "|")
        assert metric["column"].startswith(
            f"{name}|rules:{task_type.default_rule_set}|"
        )
        assert scores["gold"]["sha256"].startswith(
            metric["column"].partition("gold:")[2].partition("|")[0]
        )


def without_order(index):
    """Return the index with sorted candidates: the site draws their order when gold is published."""
    pools = (
        {"pools": [sorted(pool) for pool in index["pools"]]} if "pools" in index else {}
    )
    return {**index, **pools}


def test_the_public_files_check_a_run_as_the_gold_does(task_type, tmp_path):
    gold, run, _ = sample(task_type)
    options = task_type.validate_options({})
    gold_files = [file for path in gold for file in open_input_files(path)]
    split = task_type.read_gold(gold_files, options)
    for name, content in task_type.public_files(gold_files, options):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    index = task_type.read_inputs(open_input_files(tmp_path), options)
    assert without_order(index) == without_order(json.loads(json.dumps(split.index)))
    assert (
        task_type.read_run(open_input_files(run), index, options)[1]
        == (task_type.read_run(open_input_files(run), split.index, options)[1])
    )


def test_an_unknown_option_is_refused_by_name(task_type):
    with pytest.raises(OptionRefused, match="weather"):
        task_type.validate_options({"weather": "fine"})


def test_the_card_says_what_a_participant_needs(task_type):
    card = (folder(task_type) / "card.md").read_text()
    for part in ("## Format", "## Data", "## Citation"):
        assert part in card


def test_instances_go_by_names_that_participants_know(task_type):
    """Whoever is told on which instances two runs differ learns no gold by their names."""
    gold, run, _ = sample(task_type)
    given = dict(
        word.split("=", 1) for word in sample_options(task_type) if word != "--option"
    )
    options = task_type.validate_options(given)
    gold_files = [file for path in gold for file in open_input_files(path)]
    split = task_type.read_gold(gold_files, options)
    answers, _ = task_type.read_run(open_input_files(run), split.index, options)
    public = [*task_type.public_files(gold_files, options)]
    known = " ".join(
        f"{name} {content.decode(errors='replace')}" for name, content in public
    )
    for rules in task_type.rules:
        names = task_type.pair(split, answers, rules, options).names
        assert names is not None
        words = {word for name in names for word in re.findall(r"[\w.-]+", name)}
        assert {word for word in words if word not in known} <= {"citance"}
