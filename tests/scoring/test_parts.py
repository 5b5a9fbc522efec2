"""The public and the private part of a split, as the offline scorer draws them."""

import numpy as np
import pytest

from scoring.offline.parts import (
    SplitPart,
    draw_units_by_seed,
    find_rows_of_parts,
    parse_part,
)
from scoring.offline.scoring import read_split
from scoring.stats.leakage import (
    compute_ladder_step,
    compute_max_bits_by_ladder,
    compute_max_bits_by_scores,
    round_score_by_ladder,
)
from tasks.types import OptionRefused, Pairs, task_type
from tasks.types.citation_recommendation import TASK_TYPE
from tests.factories import answers, run_bytes, write_corpus
from tests.tasks.test_every_type import scored


def whole(units, classes) -> Pairs:
    """Each unit has one row, of this class."""
    return Pairs(
        gold=list(units),
        answers=list(units),
        units=units,
        features={"field": [(label,) for label in classes]},
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_class_has_its_share_in_the_public_part(seed):
    units = [f"p{number}" for number in range(200)]
    classes = ["rare" if number < 20 else "frequent" for number in range(200)]
    drawn = draw_units_by_seed(TASK_TYPE, whole(units, classes), 30, seed)
    assert len(drawn) == 60
    assert sum(classes[units.index(unit)] == "rare" for unit in drawn) == 6


def test_the_draw_is_the_same_again_and_another_by_another_seed():
    units = [f"p{number}" for number in range(50)]
    pairs = whole(units, ["one"] * 50)
    first, again, other = (
        draw_units_by_seed(TASK_TYPE, pairs, 30, seed) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_the_draw_does_not_follow_from_what_a_run_answers(tmp_path):
    kind = task_type("clsumm-1a")
    topics = tuple(f"D01-00{number}" for number in range(10, 20))
    split = read_split(
        kind,
        [write_corpus(tmp_path / "gold", topics=topics)],
        kind.validate_options({}),
    )
    drawn = []
    for own in (topics, topics[:3]):
        path = tmp_path / "run.jsonl"
        path.write_bytes(run_bytes(answers(topics=own)))
        run = offline_answers(kind, split, path)
        for rules in ("corrected", "official-2018"):
            asked = split, run, rules, kind.validate_options({})
            pairs = kind.pairs_of(*asked)
            rows, rest = find_rows_of_parts(
                kind, SplitPart("public", 30, 7), pairs, *asked
            )
            assert not set(rows.tolist()) & set(rest.tolist())
            drawn.append({pairs.units[row] for row in rows.tolist()})
    every, same, *less = drawn
    assert len(every) == 3
    assert same == every
    assert all(found <= every for found in less)


def offline_answers(kind, split, path):
    from tasks.types.files import open_input_files
    from tasks.types.runs import read_run

    return read_run(
        kind, open_input_files(path), split.index, kind.validate_options({}), name="run"
    )[0]


@pytest.mark.parametrize(
    "slug", ["citation-recommendation", "citation-resolution", "citation-text"]
)
def test_the_two_parts_are_all_of_the_split(slug, capsys):
    everything = scored(capsys, task_type(slug))
    parts = [
        scored(capsys, task_type(slug), f"--part={name}-50-3")
        for name in ("public", "private")
    ]
    for name, metric in everything["metrics"].items():
        assert sum(part["metrics"][name]["n"] for part in parts) == metric["n"], name
        for part in parts:
            assert f"|part:{part['part']}|" in part["metrics"][name]["column"]
            other = next(one for one in parts if one is not part)
            assert part["other_part"]["metrics"][name] == other["metrics"][name]


@pytest.mark.parametrize(
    "text", ["", "public", "public-0-7", "public-100-7", "both-30-7", "public-30-x"]
)
def test_what_is_no_part_is_refused(text):
    with pytest.raises(OptionRefused, match="expected public or private"):
        parse_part(text)


def test_the_ladder_tells_a_number_on_the_grid_of_its_step_and_only_a_better_one():
    assert round_score_by_ladder(0.4321, 0.05, None) == 0.45
    assert round_score_by_ladder(0.4321, 0.05, 0.39) is None
    assert round_score_by_ladder(0.4321, 0.05, 0.35) == 0.45
    assert round_score_by_ladder(None, 0.05, None) is None
    assert round_score_by_ladder(12.3, 5.0, -20.0, sign=-1) == 10.0
    assert round_score_by_ladder(12.3, 5.0, -15.0, sign=-1) is None


def test_the_step_is_the_standard_error_rounded_up_and_that_of_a_coin_where_all_units_are_alike():
    from scoring.metrics import build_metrics

    kind = task_type("citation-recommendation")
    recall = build_metrics(kind, "corrected", kind.validate_options({}))[0]
    width = len(recall.columns)

    def rows(values):
        table = np.zeros((len(values), width))
        table[:, recall.columns.index(recall.column)], table[:, -1] = values, 1
        return table

    half = compute_ladder_step(recall, rows([0.0, 1.0] * 50))
    assert half == 0.1, "0.0503 is rounded up"
    assert compute_ladder_step(recall, rows([1.0] * 100)) == 0.05
    assert np.isnan(compute_ladder_step(recall, rows([1.0, 0.0])))


def test_more_tries_numbers_and_instances_tell_more():
    assert (
        compute_max_bits_by_scores(10, [128])
        < compute_max_bits_by_scores(20, [128])
        < compute_max_bits_by_scores(20, [128, 20])
        < compute_max_bits_by_scores(20, [256, 20])
    )
    assert compute_max_bits_by_ladder(1825, 10_000) < compute_max_bits_by_scores(
        1825, [10_000]
    )
