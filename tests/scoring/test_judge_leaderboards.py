"""Judges against the truth: equal to the program of TREC AutoJudge, in every form, with what is left out."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.metrics.leaderboards import LeaderboardCorrelation, RankDistance
from scoring.stats.jackknife import compute_jackknife_interval
from scoring.stats.significance import PairedRuns, run_randomisation_tests
from tasks.types import InputRefused, task_type
from tasks.types.files import open_input_files
from tasks.types.judge_leaderboards.leaderboards import SystemScore
from tests.scoring.offline import refusals, score

TYPE = "judge-leaderboards"
NAMES = ("kendall", "pearson", "spearman", "tauap_b", "tau_gap")
SYSTEMS = [f"s{number:02}" for number in range(12)]
TOPICS = ("t1", "t2", "t3")


def lines(rows) -> str:
    fields = ("run_id", "topic_id", "measure", "value")
    return "".join(
        json.dumps(dict(zip(fields, row, strict=True))) + "\n" for row in rows
    )


def drawn(seed: int, measure: str = "m", topics=TOPICS) -> list[tuple]:
    chance = random.Random(seed)
    return [
        (system, topic, measure, round(place / 12 + chance.gauss(0, 0.3), 3))
        for place, system in enumerate(SYSTEMS)
        for topic in topics
    ]


@pytest.fixture
def files(tmp_path):
    """Write truth and judge; JSON lines unless the names say otherwise."""

    def write(truth, judge, gold="truth.jsonl", run="judge.jsonl") -> tuple:
        paths = tmp_path / gold, tmp_path / run
        for path, rows in zip(paths, (truth, judge), strict=True):
            path.write_text(rows if isinstance(rows, str) else lines(rows))
        return [paths[0]], paths[1]

    return write


def values(capsys, gold, run, *more) -> dict[str, float | None]:
    told = score(capsys, TYPE, gold, run, "--intervals", "0", *more)
    return {name: metric["value"] for name, metric in told["metrics"].items()}


@pytest.mark.shared
def test_values_equal_those_of_the_program_of_autojudge(shared: Path):
    path = shared / "judged" / "judges" / "correlations.jsonl"
    if not path.exists():
        pytest.skip("the correlations of judges are not in this copy of the corpora")
    for case in map(json.loads, path.read_text().splitlines()):
        sides = [
            [SystemScore(value, {}) for value in case[side]]
            for side in ("truth", "judge")
        ]
        for name, expected in case["golden"].items():
            coefficient, _, best = name.partition("@")
            metric = LeaderboardCorrelation(
                name, "corrected", coefficient=coefficient, best=int(best or 0)
            )
            stats = metric.instance_stats(*sides)
            value = float(metric.value(stats, np.ones(len(stats))))
            if expected is None:
                assert np.isnan(value), (case["case"], name)
            else:
                assert value == pytest.approx(expected, abs=1e-9), (case["case"], name)


def test_each_form_of_a_leaderboard_gives_the_same_numbers(capsys, files, tmp_path):
    truth, judge = drawn(1), drawn(2, "grade")
    expected = values(capsys, *files(truth, judge))
    forms = {
        "run.txt": "{0} {1} {2} {3}\n",
        "tot.tsv": "{0}\t{2}\t{1}\t{3}\n",
        "ranking.trec": "{1} Q0 {0} 1 {3} {2}\n",
    }
    for name, form in forms.items():
        text = "".join(form.format(*row) for row in judge)
        assert values(capsys, *files(truth, text, run=name)) == expected, name
    folder = tmp_path / "of trec_eval"
    folder.mkdir()
    for system in SYSTEMS:
        named = f"runid all {system}\n" if system == "s00" else ""
        own = [row for row in judge if row[0] == system]
        name = "first.eval" if named else f"{system}.txt"
        text = "".join(f"{row[2]} {row[1]} {row[3]}\n" for row in own)
        (folder / name).write_text(named + text)
    gold, _ = files(truth, judge)
    assert values(capsys, gold, folder) == expected
    (folder / "again.txt").write_text("runid all s00\ngrade t1 0.5\n")
    told = refusals(capsys, TYPE, gold, folder)
    assert any("“s00” has a second value of “grade” on “t1”" in line for line in told)


def test_the_topic_all_counts_where_it_is_and_else_the_mean_over_topics(capsys, files):
    truth = drawn(1)
    overall = [
        (system, "all", "m", sum(row[3] for row in truth if row[0] == system) / 3)
        for system in SYSTEMS
    ]
    by_topic = values(capsys, *files(truth, drawn(2)))
    of_all = values(capsys, *files(overall, drawn(2)))
    assert {name: of_all[name] for name in NAMES} == pytest.approx(
        {name: by_topic[name] for name in NAMES}
    )
    assert of_all["kendall_by_topic"] is None
    reversed_ = [(*row[:3], -row[3]) for row in overall]
    both = values(capsys, *files([*truth, *reversed_], drawn(2)))
    assert both["pearson"] == pytest.approx(-by_topic["pearson"])
    assert both["kendall_by_topic"] == by_topic["kendall_by_topic"]


def test_below_three_systems_and_without_differences_there_is_no_value(capsys, files):
    few = [row for row in drawn(1) if row[0] in SYSTEMS[:2]]
    found = values(capsys, *files(few, few))
    assert found.pop("rank_distance") == 0
    assert set(found.values()) == {None}
    equal = [(*row[:3], 0.5) for row in drawn(1)]
    found = values(capsys, *files(drawn(1), equal))
    assert found["kendall"] is found["pearson"] is found["spearman"] is None
    assert found["tau_gap"] is not None


def test_systems_left_out_score_0_and_both_kinds_are_reported(capsys, files):
    truth = drawn(1)
    judge = [row for row in drawn(2) if row[0] != "s03"]
    zeros = [("s03", topic, "m", 0.0) for topic in TOPICS]
    gold, run = files(truth, [*judge, ("other", "t1", "m", 9.0)])
    told = score(capsys, TYPE, gold, run, "--intervals", "0")
    assert told["notes"] == {"missing_systems": 1, "unknown_systems": 1}
    assert main(["check", TYPE, "--gold", str(gold[0]), "--run", str(run)]) == 0
    said = capsys.readouterr().out
    assert "1 of 12 systems of the run are not in the truth and are left out" in said
    assert "1 of 12 systems have no score and count as 0, the first is “s03”" in said
    expected = values(capsys, *files(truth, [*judge, *zeros]))
    assert {n: m["value"] for n, m in told["metrics"].items()} == expected


def test_the_measures_of_both_sides_are_named_by_options_or_the_only_ones(
    capsys, files
):
    truth = [*drawn(1, "f1"), *drawn(3, "other")]
    judge = [*drawn(2, "grade"), *drawn(4, "words")]
    gold, run = files(truth, judge)
    assert "the rows have 2 measures: f1, other" in refusals(capsys, TYPE, gold, run)[0]
    options = ("--option", "measure=f1")
    [told] = refusals(capsys, TYPE, gold, run, *options)
    assert "the rows have 2 measures: grade, words" in told
    [told] = refusals(capsys, TYPE, gold, run, "--option", "measure=f2")
    assert "no row has the measure “f2”" in told
    options = (*options, "--option", "judge_measure=grade")
    found = values(capsys, gold, run, *options)
    assert found == values(capsys, *files(drawn(1, "f1"), drawn(2, "grade")))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"run_id": "s01", "topic_id": "t1", "value": 1}', "“measure” is missing"),
        (lines([("s01", "t1", "m", "high")]), "“value” is a text"),
        (lines([("s01", "t1", "m", 1e16)]), "“value” is too large"),
        (lines([("", "t1", "m", 1)]), "“run_id” has 0 characters"),
        (lines([("s01", "t1", "m", 1)] * 2), "has a second value of “m” on “t1”"),
        ("s01 t1 m 1\ns02 t1 m high\n", "judge.txt:2: “high” is no number"),
        ("s01 t1 m 0,5\n" * 4, "“0,5” is no number"),
        ("s01 t1 m nan\n", "“nan” is no number"),
        ("s01 t1 m 1_0\n", "“1_0” is no number"),
        ("s01 t1 m 1\ns02 t1 1\n", "judge.txt:2: a line of 3 columns"),
        (
            "s01 t1 m 1\ns01 t1 m 2\n",
            "judge.txt:2: “s01” has a second value of “m” on “t1”",
        ),
        ("s1 a m 1\ns1 b n 1\n", "either may be the topic"),
        ("runid all a\nrunid all b\nm t1 1\n", "the file has 2 runs"),
        ("a b\n", "a line of 2 columns"),
        ("", "the run answers no instance"),
        ("x t1 m 1\n", "the run answers no instance"),
    ],
)
def test_what_is_wrong_with_a_leaderboard_is_told(capsys, files, text, told):
    gold, run = files(drawn(1), text, run="judge.txt")
    assert any(told in line for line in refusals(capsys, TYPE, gold, run))


def test_public_inputs_name_systems_and_topics_by_id_whatever_the_truth_says(files):
    [path], _ = files(drawn(1)[::-1], "")
    kind = task_type(TYPE)
    public = dict(kind.public_files(open_input_files(path), {}))
    assert set(public) == {"systems.jsonl", "topics.jsonl"}
    named = [
        json.loads(line)["run_id"] for line in public["systems.jsonl"].splitlines()
    ]
    assert named == SYSTEMS
    assert b"0." not in b"".join(public.values())
    other, _ = files(drawn(7), "")
    assert dict(kind.public_files(open_input_files(other[0]), {})) == public
    files(drawn(1)[::-1], "")
    for name, content in public.items():
        path.with_name(name).write_bytes(content)
    inputs = [*open_input_files(path.with_name("systems.jsonl")),
              *open_input_files(path.with_name("topics.jsonl"))]  # fmt: skip
    assert (
        kind.read_inputs(inputs, {}) == kind.read_gold(open_input_files(path), {}).index
    )
    ordered, _ = files(drawn(1), "")
    assert (
        kind.read_gold(open_input_files(path), {}).digest
        == kind.read_gold(open_input_files(ordered[0]), {}).digest
    )


@pytest.mark.parametrize("name", [None, 7, "", "s" * 201])
def test_public_inputs_whose_names_are_no_names_are_refused_by_line(tmp_path, name):
    path = tmp_path / "systems.jsonl"
    path.write_text(f'{{"run_id": "s01"}}\n{json.dumps({"run_id": name})}\n')
    with pytest.raises(InputRefused, match=r"systems\.jsonl:2: no “run_id”"):
        task_type(TYPE).read_inputs(open_input_files(path), {})


@pytest.mark.parametrize(
    ("systems", "topics", "told"),
    [
        (1001, 1, "the truth has 1,001 systems; expected at most 1,000"),
        (
            251,
            200,
            "the truth has 50,200 systems times topics; expected at most 50,000",
        ),
    ],
)
def test_a_truth_that_would_take_hours_is_refused(files, systems, topics, told):
    rows = [
        f"s{system} t{topic} m 1"
        for system in range(systems)
        for topic in range(topics)
    ]
    [path], _ = files("\n".join(rows), "")
    with pytest.raises(InputRefused, match=told):
        task_type(TYPE).read_gold(open_input_files(path), {})


@pytest.mark.parametrize(
    ("name", "is_gold"),
    [
        ("truth.jsonl", True),
        ("runs/system.v1", True),
        ("README.md", False),
        ("nonce.txt", False),
        ("__MACOSX/truth.jsonl", False),
    ],
)
def test_files_beside_the_truth_are_no_gold(name, is_gold):
    assert task_type(TYPE).is_gold_file(name) is is_gold


def test_the_interval_is_the_jackknife_s_over_systems(capsys, files):
    truth, judge = drawn(1), drawn(2)
    told = score(capsys, TYPE, *files(truth, judge))["metrics"]["tau_gap"]
    left_out = []
    for system in SYSTEMS:
        without = [[row for row in side if row[0] != system] for side in (truth, judge)]
        left_out.append(values(capsys, *files(*without))["tau_gap"])
    low, high = compute_jackknife_interval(told["value"], left_out, (-1.0, 1.0))
    assert (told["low"], told["high"]) == pytest.approx((low, high), rel=1e-9)


def test_two_judges_are_compared_whatever_their_scales():
    metric = LeaderboardCorrelation("pearson", "corrected", coefficient="pearson")
    ordinal = LeaderboardCorrelation("kendall", "corrected", coefficient="kendall")
    chance = np.random.default_rng(4)
    truth = chance.random(12)
    sides = [truth + chance.normal(0, spread, 12) for spread in (0.1, 0.5)]
    tested = []
    for scale in (1.0, 1000.0):
        for one in (metric, ordinal):
            rows = [
                np.column_stack(
                    [np.arange(12), one.instance_stats(
                        [SystemScore(value, {}) for value in truth],
                        [SystemScore(value, {}) for value in side],
                    )]
                )
                for side in (sides[0], scale * sides[1] + scale - 1)
            ]  # fmt: skip
            [test] = run_randomisation_tests(
                [PairedRuns(one, *rows)], trials=1000, seed=0
            )
            tested.append(test.p)
    assert tested[:2] == pytest.approx(tested[2:])
    distance = RankDistance("rank_distance", "corrected")
    [score_] = [SystemScore(1.0, {})]
    assert distance.instance_stats([score_], [None]).tolist() == [[0.0, 1.0]]
