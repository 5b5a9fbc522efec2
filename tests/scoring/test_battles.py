"""Battles of two systems: strengths where they exist, shares where they do not, and what each rests on."""

import json
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.human import reading
from scoring.offline.battles import convert_battle_results_to_json
from scoring.stats.battles import (
    Battle,
    compute_battle_results,
    compute_rank_ranges,
    count_wins,
    fit_log_strengths,
)

ROOT = Path(__file__).resolve().parents[2]


def battles(text: str, topics: int = 5) -> list[Battle]:
    """Of words such as `a>b` and `a=b`, one after the other on the topics; every second one changes sides."""
    found = []
    for place, word in enumerate(text.split()):
        sign = ">" if ">" in word else "="
        winner, loser = word.split(sign)
        left, right = (winner, loser) if place % 2 else (loser, winner)
        label = "tie" if sign == "=" else "left" if left == winner else "right"
        found.append(Battle(f"t{place % topics}", left, right, label))
    return found


@pytest.fixture
def written(tmp_path):
    def write(rows: list[dict] | str) -> Path:
        path = tmp_path / "battles.jsonl"
        text = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
        path.write_text(text)
        return path

    return write


def printed(capsys, path: Path) -> dict:
    assert main(["battles", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.shared
def test_strengths_equal_those_of_evalica_and_are_null_where_none_are_finite(
    capsys, written, shared: Path
):
    path = shared / "judged" / "battles" / "bradley_terry.jsonl"
    if not path.exists():
        pytest.skip("the battles are not in this copy of the corpora")
    for case in map(json.loads, path.read_text().splitlines()):
        rows = [
            {"topic": f"t{place % 20}", "left": left, "right": right, "label": label}
            for place, (left, right, label) in enumerate(case["games"])
        ]
        found = printed(capsys, written(rows))["strengths"]
        expected = case["golden"] or dict.fromkeys(found)
        assert found == pytest.approx(expected, abs=1e-6), case["case"]


def test_a_strength_that_rounds_to_0_is_printed_without_a_sign(capsys, written):
    games = (("b", "a", "tie"), ("b", "c", "left"), ("a", "c", "right"))
    rows = [
        {"topic": "t0", "left": left, "right": right, "label": label}
        for left, right, label in games
    ]
    assert main(["battles", str(written(rows))]) == 0
    assert "strength 0.000" in (said := capsys.readouterr().out)
    assert "-0.000" not in said


def test_two_systems_are_apart_by_the_logarithm_of_their_wins():
    board = compute_battle_results(battles("a>b a>b a>b b>a a=b a=b"))
    first, second = board.standings
    assert (first.system, second.system) == ("a", "b")
    assert first.strength - second.strength == pytest.approx(np.log(4 / 2))
    assert first.strength + second.strength == pytest.approx(0)
    assert (first.share, second.share) == pytest.approx((4 / 6, 2 / 6))


def test_where_a_system_never_loses_shares_of_wins_order_the_systems(capsys, written):
    board = compute_battle_results(battles("a>b a>b a>c b>c c>b b>c b>c"))
    assert not board.by_strength
    assert [own.system for own in board.standings] == ["a", "b", "c"]
    assert all(np.isnan(own.strength) for own in board.standings)
    assert [own.share for own in board.standings] == pytest.approx([1, 3 / 6, 1 / 5])
    # A single tie connects the graph, since it counts both ways.
    assert compute_battle_results(battles("a>b a>b a=c b>c c>b b>c b>c")).by_strength
    rows = [{"topic": 1, "left": "a", "right": "b", "label": "left"}]
    found = printed(capsys, written(rows))
    assert found["strengths"] == {"a": None, "b": None}
    assert found["shares"] == {"a": {"b": 1.0}, "b": {"a": 0.0}}
    assert found["ordered_by"] == "shares"
    assert found["left"] == {"share": 1.0, "low": None, "high": None, "n": 1}
    assert main(["battles", str(written(rows))]) == 0
    assert "shares of wins order the systems" in capsys.readouterr().out


def test_a_system_in_the_middle_from_the_start_does_not_end_the_fit_of_the_others():
    wins = np.array([[0.0, 3.0, 9.0], [1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])
    assert fit_log_strengths(wins) == pytest.approx([np.log(3), 0, -np.log(3)])


@pytest.mark.parametrize(
    "text",
    [
        "a>c a>c b>c b>c d>a d>b c>d",
        "a>c a>c a>c b>c b>c b>c c>a c>b a>d b>d d>c",
        "a>d b>d c>a c>b c>d d>c",
    ],
)
def test_systems_with_equal_results_share_a_rank_in_the_order_of_their_names(text):
    """The log strengths of such systems differ in the last digit."""
    standings = compute_battle_results(battles(text)).standings
    places = {own.system: (place, own.rank) for place, own in enumerate(standings)}
    assert places["b"] == (places["a"][0] + 1, places["a"][1])


def test_intervals_and_rank_ranges_come_from_leaving_out_one_topic():
    chance = np.random.default_rng(3)
    words = []
    for _ in range(20):
        words += ["a>b" if chance.random() < 0.9 else "b>a"]
        words += ["b>c" if chance.random() < 0.5 else "c>b"]
        words += ["a>c" if chance.random() < 0.9 else "c>a"]
    found = battles(" ".join(words), topics=60)
    found = [
        Battle(f"t{place // 3:02}", own.left, own.right, own.label)
        for place, own in enumerate(found)
    ]
    board = compute_battle_results(found)
    names = board.systems
    without = [
        fit_log_strengths(
            count_wins([own for own in found if own.topic != topic], names).total
        )
        for topic in sorted({own.topic for own in found})
    ]
    first = board.standings[0]
    error = np.std([own[names.index("a")] for own in without]) * np.sqrt(19)
    low, high = first.strength_bounds
    assert (high - low) / 2 == pytest.approx(2.093024 * error, rel=1e-5)
    ranges = {own.system: (own.first, own.last) for own in board.standings}
    assert ranges == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}
    [few, *_] = compute_battle_results(battles("a>b b>a a>b b>a", topics=2)).standings
    assert (few.strength_bounds, few.first, few.last) == (None, 1, 2)


@pytest.mark.parametrize(
    ("topics", "last"), [(2, [2, 2]), (3, [1, 2])], ids=["two", "three"]
)
def test_systems_far_apart_have_ranks_of_their_own_from_three_topics_on(topics, last):
    without = np.array([[8.0, 0.0], [8.001, 0.001], [8.0, 0.002]])[:topics]
    found = compute_rank_ranges(np.array([8.0, 0.001]), without, (-np.inf, np.inf))
    assert found[1].tolist() == last


def test_numbers_do_not_depend_on_how_many_tables_are_fitted_at_once(monkeypatch):
    chance = np.random.default_rng(8)
    words = [f"{a}{'>=>'[n % 3]}{b}" for n in range(30) for a, b in ("ab", "bc", "ca")]
    found = battles(" ".join(chance.permutation(words)), topics=30)
    at_once = convert_battle_results_to_json(compute_battle_results(found))
    monkeypatch.setattr("scoring.stats.battles.MAX_WIN_CELLS_IN_MEMORY", 1)
    assert convert_battle_results_to_json(compute_battle_results(found)) == at_once
    assert at_once["ordered_by"] == "strengths"


def test_memory_grows_with_battles_and_not_with_topics_times_pairs_of_systems():
    chance = np.random.default_rng(9)
    names = [f"s{number:03}" for number in range(100)]
    found = [
        Battle(f"t{place % 500}", *chance.choice(names, 2, replace=False), "left")
        for place in range(2_000)
    ]
    tracemalloc.start()
    compute_battle_results(found)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A table of topics and pairs of systems alone would take 40 MB.
    assert peak < 30e6


def test_shares_of_wins_and_of_left_sides_have_intervals_within_0_and_1():
    found = [
        Battle(f"t{place:02}", "a", "b", "right" if place == 7 else "left")
        for place in range(20)
    ]
    board = compute_battle_results(found)
    shares = [board.left.bounds, *(own.share_bounds for own in board.standings)]
    for low, high in shares:
        assert 0 <= low < high <= 1


def test_the_position_bias_counts_decided_battles_and_swapped_sides_change_nothing_else():
    one = [
        Battle(f"t{n % 4}", "a", "b", "right" if n % 3 else "left") for n in range(12)
    ]
    one += [Battle("t0", "a", "b", "tie")]
    swapped = {"left": "right", "right": "left", "tie": "tie"}
    other = [Battle(own.topic, own.right, own.left, swapped[own.label]) for own in one]
    boards = [compute_battle_results(side) for side in (one, other)]
    assert [board.left.n for board in boards] == [12, 12]
    assert [board.left.value for board in boards] == pytest.approx([4 / 12, 8 / 12])
    low, high = boards[0].left.bounds
    assert low < 4 / 12 < high
    assert boards[0].standings == boards[1].standings


def test_agreement_counts_pairs_that_several_judges_judged_whichever_side_they_saw():
    rows = [
        Battle("t1", "a", "b", "left", "x"),
        Battle("t1", "b", "a", "right", "y"),
        Battle("t2", "a", "b", "left", "x"),
        Battle("t2", "a", "b", "tie", "y"),
        Battle("t3", "a", "b", "right", "x"),
        Battle("t3", "a", "b", "right", "x"),
        Battle("t4", "a", "b", "right", "z"),
        Battle("t4", "a", "b", "right", "y"),
    ]
    found = compute_battle_results(rows).agreement
    assert (found.share.value, found.share.n) == (pytest.approx(2 / 3), 3)
    assert {judges: (own.value, own.n) for judges, own in found.by_judges.items()} == {
        ("x", "y"): (0.5, 2),
        ("y", "z"): (1.0, 1),
    }
    assert -1 < found.alpha < 1
    assert compute_battle_results(rows[4:6]).agreement is None


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"label": "won"}, "“label” is “won”; expected one of left, right, tie"),
        ({"label": 1}, "“label” is a number"),
        ({"right": "a"}, "“a” meets itself"),
        ({"left": 1, "right": "1"}, "“1” meets itself"),
        ({"left": "\u00e9", "right": "e\u0301"}, "“é” meets itself"),
        ({"topic": ["t"]}, "“topic” is a list"),
        ({"left": ""}, "“left” has 0 characters"),
        ({"left": "x" * 201}, "“left” has 201 characters"),
        ({"judge": 1.5}, "“judge” is a number"),
    ],
)
def test_a_row_with_a_fault_is_refused_by_line(capsys, written, row, told):
    good = {"topic": "t", "left": "a", "right": "b", "label": "tie"}
    assert main(["battles", str(written([good, good | row]))]) == 2
    assert f"battles.jsonl:2: {told}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "no battles are here"), ("{", "battles.jsonl"), ("[1]", "a JSON object")],
)
def test_a_file_without_battles_is_refused(capsys, written, text, told):
    assert main(["battles", str(written(text))]) == 2
    assert told in capsys.readouterr().err


@pytest.fixture(scope="module")
def simulation():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import battle_coverage
    finally:
        sys.path.pop(0)
    return battle_coverage


def test_intervals_and_rank_ranges_hold_from_15_topics_on_in_the_short_form(
    simulation, monkeypatch
):
    monkeypatch.setattr(simulation, "POPULATION", 4_000)
    for population in simulation.POPULATIONS[:2]:
        cell = simulation.counted(population, 15, 100, seed=5)
        assert cell.given > 90
        assert cell.is_held, cell
    low = simulation.Cell(
        intervals=99.0,
        ranks=99.0,
        of_shares=80.0,
        ranks_by_shares=99.0,
        given=100.0,
        sets=100,
    )
    told = "low on 15 topics: 99.0 / 99.0; 80.0 / 99.0"
    assert simulation.faults({("low", 15): low}) == [told]


@pytest.mark.proof
def test_every_cell_of_the_table_of_battles_holds(simulation):
    assert simulation.main(["--sets", "400"]) == 0


@pytest.mark.parametrize("judges", [2, 800])
def test_a_file_is_refused_whose_judges_take_too_many_comparisons(
    tmp_path, monkeypatch, judges
):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"topic": "t", "left": "a", "right": "b", "label": "tie", "judge": f"j{number}"}
        for number in range(judges)
    ]
    Path(reading.UPLOAD_FILE_NAME).write_text("\n".join(map(json.dumps, rows)))
    given = {"filename": "rows.jsonl", "systems": {"a": 1, "b": 2}, "topics": ["t"]}
    told = [problem["message"] for problem in reading.battles(given)["problems"]]
    few, many = [], ["319,600 comparisons of two labels on the same texts"]
    assert told == (few if judges == 2 else many)
