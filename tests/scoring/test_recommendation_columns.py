"""Large runs are kept in columns from the file to the statistics; what follows from them is the same."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.offline.evaluate import load_statistics
from scoring.stats.breakdown import find_instances_by_class
from tasks.types import task_type
from tasks.types.columns import ClassColumn
from tasks.types.files import open_input_files
from tasks.types.ranking.lists import ListColumn
from tests.scoring.offline import score
from tests.tasks.types.rankings import write_lines, write_recommendation

SLUG = "citation-recommendation"


@pytest.fixture
def gold(tmp_path) -> Path:
    facts = {"field": ["Music", "Chess", "Music"], "citing_id": ["p1", "p1", "p2"]}
    return write_recommendation(
        tmp_path / "gold", **facts, length_class=[None, "short", "long"]
    )


@pytest.fixture
def run(tmp_path) -> Path:
    return write_lines(
        tmp_path / "run.jsonl",
        [{"id": "q1", "ranked": ["a"]}, {"id": "q3", "ranked": ["b", "c"]}],
    )


def test_gold_answers_units_and_classes_are_columns(gold, run):
    own = task_type(SLUG)
    options = own.validate_options({})
    split = own.read_gold(open_input_files(gold), options)
    answers, problems = own.read_run(open_input_files(run), split.index, options)
    pairs = own.pair(split, answers, "corrected", options)
    assert not any(problem.fatal for problem in problems)
    assert isinstance(pairs.gold, ListColumn)
    assert isinstance(pairs.answers, ListColumn)
    assert isinstance(pairs.units, ClassColumn)
    assert all(isinstance(column, ClassColumn) for column in pairs.features.values())
    assert list(pairs.answers) == [(0,), None, (1, 2)]


def test_kept_statistics_give_back_units_classes_and_the_numbers(
    capsys, gold, run, tmp_path
):
    kept = tmp_path / "statistics.npz"
    scores = score(capsys, SLUG, [gold], run, "--statistics", str(kept))
    statistics = load_statistics(kept)
    assert [statistics.unit_names[unit] for unit in statistics.units] == [
        "p1",
        "p1",
        "p2",
    ]
    assert [list(own) for own in statistics.features.values()] == [
        [("Music",), ("Chess",), ("Music",)],
        [(), ("short",), ("long",)],
    ]
    recall = statistics.matrices["ranking@10"][:, 0]
    for dimension, own in statistics.features.items():
        means = {
            label: recall[rows].mean()
            for label, rows in find_instances_by_class(own).items()
        }
        shown = {
            label: breakdown["recall@10"]["value"]
            for label, breakdown in scores["breakdowns"][dimension].items()
        }
        assert means == pytest.approx(shown)


def test_two_runs_are_compared_over_the_same_contexts(capsys, gold, run, tmp_path):
    other = write_lines(tmp_path / "other.jsonl", [{"id": "q2", "ranked": ["b"]}])
    command = [
        "compare",
        SLUG,
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--run",
        str(other),
        "--json",
    ]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]["recall@10"]
    assert (found["a"], found["b"]) == pytest.approx((2 / 3, 1 / 3))


def test_a_ranking_of_ten_takes_less_than_a_hundred_bytes(tmp_path):
    names = [f"w{number:04d}" for number in range(500)]
    cited = [(f"q{number}", names[number % 500]) for number in range(3000)]
    gold = write_recommendation(tmp_path / "gold", cited=cited)
    write_lines(
        gold / "references.jsonl", [{"paper_id": "p", "ref_id": name} for name in names]
    )
    rows = [
        {"id": name, "ranked": [names[(place * 7 + step) % 500] for step in range(10)]}
        for place, (name, _) in enumerate(cited)
    ]
    run = write_lines(tmp_path / "run.jsonl", rows)
    own = task_type(SLUG)
    options = own.validate_options({})
    index = own.read_gold(open_input_files(gold), options).index
    own.read_run(open_input_files(run), index, options)
    held = []
    # The interpreter's own table of texts may double in one of them.
    for _ in range(2):
        tracemalloc.start()
        answers, _ = own.read_run(open_input_files(run), index, options)
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(answers.lists) == 3000
    assert min(held) < 100 * len(rows)


def test_naming_the_task_types_imports_nothing_heavy(root):
    told = "import sys; from tasks.types import task_types; task_types(); print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", told],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert not {"numpy", "scipy", "sklearn", "spacy", "django"} & set(printed.split())
