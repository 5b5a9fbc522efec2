"""F1 and perplexity of rankings: held to their definitions; a run without what they need has no value."""

import json
import math

import numpy as np
import pytest
from django.urls import reverse

from scoring.__main__ import main
from scoring.metrics.ranking import F1OfMeans, RankingF1
from scoring.results.board.standings import compute_board
from tasks.gold.gold_files import load_gold
from tests import factories
from tests.api.sending import score as score_run
from tests.scoring.offline import refusals, score
from tests.tasks.types.rankings import write_lines

TYPE = "citation-recommendation"
NAMES = "abcd"
ON = ("--option", "perplexity=yes", "--intervals", "0")


@pytest.fixture
def gold(tmp_path):
    folder = tmp_path / "gold"
    folder.mkdir()
    write_lines(
        folder / "diagnostic.jsonl",
        [{"id": "x", "cited_id": "a"}, {"id": "y", "cited_id": ["b", "c"]}],
    )
    write_lines(
        folder / "references.jsonl", [{"ref_id": name, "raw": name} for name in NAMES]
    )
    return [folder]


def run(tmp_path, *lines, **both):
    given = lines or (both, both)
    rows = [
        {"id": name, "ranked": ["a", "b"], **own}
        for name, own in zip("xy", given, strict=False)
    ]
    return write_lines(tmp_path / "run.jsonl", rows)


def perplexity(capsys, gold, path, *more):
    return score(capsys, TYPE, gold, path, *ON, *more)["metrics"]["perplexity"]


def test_f1_is_that_of_each_context_or_that_of_the_means():
    gold, answers = [["a"], ["b", "c"], ["d"]], [["a", "b"], ["b", "x", "c"], None]
    precision, recall = [1 / 2, 1 / 2, 0], [1, 1 / 2, 0]
    each = [
        2 * p * r / (p + r) if p + r else 0
        for p, r in zip(precision, recall, strict=True)
    ]
    p, r = np.mean(precision), np.mean(recall)
    for kind, expected in (
        (RankingF1, np.mean(each)),
        (F1OfMeans, 2 * p * r / (p + r)),
    ):
        metric = kind("f1@2", "corrected", cut=2)
        stats = metric.instance_stats(gold, answers)
        assert metric.aggregate(stats.sum(axis=0)) == pytest.approx(expected)
        assert np.isnan(metric.aggregate(np.zeros(4)))
        assert (
            metric.aggregate(np.array([0, 0, 0, 1.0]))
            == metric.aggregate(np.array([0, 0, 0, 3.0]))
            == 0
        )


@pytest.mark.parametrize(
    ("form", "name"), [("contexts", "f1@10"), ("means", "f1_of_means@10")]
)
def test_f1_is_there_where_it_is_asked_for_and_says_which_one_it_is(
    capsys, tmp_path, gold, form, name
):
    path = run(tmp_path, {}, {})
    metrics = score(
        capsys, TYPE, gold, path, "--option", f"f1={form}", "--option", "k=1"
    )["metrics"]
    assert f"f1:{form}" in metrics[name]["signature"]
    assert "cut:10" in metrics[name]["signature"]
    assert metrics[name.replace("10", "1")]["value"] > 0
    assert not [
        plain
        for plain in score(capsys, TYPE, gold, path)["metrics"]
        if plain.startswith("f1")
    ]
    official = score(
        capsys, TYPE, gold, path, "--option", f"f1={form}", "--rules", "official"
    )["metrics"]
    assert set(official) == {"recall@10", "mrr@10"}


def test_with_one_cited_paper_f1_follows_from_recall(capsys, tmp_path, gold):
    write_lines(
        gold[0] / "diagnostic.jsonl",
        [{"id": "x", "cited_id": "b"}, {"id": "y", "cited_id": "d"}],
    )
    for form, name in (("contexts", "f1@10"), ("means", "f1_of_means@10")):
        metrics = score(
            capsys, TYPE, gold, run(tmp_path, {}, {}), "--option", f"f1={form}"
        )["metrics"]
        assert metrics[name]["value"] == pytest.approx(
            2 / 11 * metrics["recall@10"]["value"]
        )


def test_perplexity_follows_its_definition_and_what_is_left_is_shared_evenly(
    capsys, tmp_path, gold
):
    first, second = {"a": 0.5, "b": 0.2}, {"b": 0.4}
    losses = [-math.log(0.5), -(math.log(0.4) + math.log(0.6 / 3)) / 2]
    expected = pytest.approx(math.exp(sum(losses) / 2))
    found = perplexity(
        capsys, gold, run(tmp_path, {"probabilities": first}, {"probabilities": second})
    )
    assert found["value"] == expected
    assert found["n"] == 2
    assert "rest:even" in found["signature"]
    logs = [
        {"log_probabilities": {k: math.log(v) for k, v in own.items()}}
        for own in (first, second)
    ]
    assert perplexity(capsys, gold, run(tmp_path, *logs))["value"] == expected


def test_the_one_candidate_that_is_not_named_has_all_that_is_left(
    capsys, tmp_path, gold
):
    named = {"b": 0.5, "c": 0.125, "d": 0.125}
    found = perplexity(capsys, gold, run(tmp_path, probabilities=named))
    assert found["value"] == pytest.approx(4)


def test_who_gives_all_the_same_has_as_many_as_there_are_candidates(
    capsys, tmp_path, gold
):
    same = dict.fromkeys(NAMES, 0.25)
    assert perplexity(capsys, gold, run(tmp_path, probabilities=same))[
        "value"
    ] == pytest.approx(4)
    one = perplexity(capsys, gold, run(tmp_path, {"probabilities": same}, {}))["value"]
    none_answered = perplexity(capsys, gold, run(tmp_path, {"probabilities": same}))[
        "value"
    ]
    assert one == none_answered == pytest.approx(4)


def test_what_cannot_be_is_infinite(capsys, tmp_path, gold):
    for own in ({"a": 0}, {"b": 0.4, "c": 0.6}, {"b": 0.4, "c": 0.6, "d": 0.0004}):
        found = perplexity(capsys, gold, run(tmp_path, {"probabilities": own}, {}))
        assert (found["value"], found["infinite"]) == (None, True)


def test_a_perplexity_beyond_the_range_of_floats_is_infinite(capsys, tmp_path, gold):
    own = {"log_probabilities": {"a": -2_000}}
    found = perplexity(capsys, gold, run(tmp_path, own, {}))
    assert (found["value"], found["infinite"]) == (None, True)


def test_a_run_without_probabilities_has_no_perplexity_and_one_that_has_them_needs_the_option(
    capsys, tmp_path, gold
):
    assert perplexity(capsys, gold, run(tmp_path, {}, {}))["value"] is None
    trec = tmp_path / "run.trec"
    trec.write_text("x Q0 a 1 0.9 t\ny Q0 b 1 0.9 t\n")
    assert perplexity(capsys, gold, trec)["value"] is None
    metrics = score(capsys, TYPE, gold, run(tmp_path, probabilities={"a": 5}))[
        "metrics"
    ]
    assert "perplexity" not in metrics


def test_perplexity_has_intervals_classes_and_comparisons(capsys, tmp_path, gold):
    rows = [
        {"id": f"q{n}", "cited_id": "a", "field": "Music" if n % 2 else "Chess"}
        for n in range(12)
    ]
    write_lines(gold[0] / "diagnostic.jsonl", rows)
    paths = []
    for number, step in enumerate((0.05, 0.02)):
        lines = [
            {"id": f"q{n}", "ranked": ["a"], "probabilities": {"a": 0.1 + step * n}}
            for n in range(12)
        ]
        paths.append(write_lines(tmp_path / f"run{number}.jsonl", lines))
    found = score(capsys, TYPE, gold, paths[0], "--option", "perplexity=yes")
    own = found["metrics"]["perplexity"]
    assert 1 < own["low"] < own["value"] < own["high"]
    assert set(found["breakdowns"]["field"]) == {"Music", "Chess"}
    assert found["breakdowns"]["field"]["Music"]["perplexity"]["value"] < own["value"]
    given = ["--gold", str(gold[0]), "--run", str(paths[0]), "--run", str(paths[1])]
    assert main(["compare", TYPE, *given, "--option", "perplexity=yes", "--json"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["metrics"]["perplexity"]["difference"] < 0
    )


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (
            {"probabilities": [0.5]},
            "“probabilities” is a list; expected an object such as",
        ),
        ({"probabilities": {"z": 0.5}}, "are no candidates: “z”"),
        (
            {"probabilities": {"a": "0.5"}},
            "the value of “a” in “probabilities” is a text",
        ),
        (
            {"probabilities": {"a": True}},
            "the value of “a” in “probabilities” is true or false",
        ),
        (
            {"probabilities": {"a": 1.5}},
            "is out of range; expected a number from 0 to 1",
        ),
        (
            {"probabilities": {"a": -0.1}},
            "is out of range; expected a number from 0 to 1",
        ),
        (
            {"probabilities": {"a": 0.8, "b": 0.3}},
            "sum to 1.1; expected no more than 1, to 0.001",
        ),
        (
            {"log_probabilities": {"a": 0.1}},
            "expected a natural logarithm, which is never above 0",
        ),
        (
            {"log_probabilities": {"a": -(10**400)}},
            "expected a natural logarithm, which is never above 0",
        ),
        (
            {"log_probabilities": {"a": -0.1, "b": -0.1}},
            "in “log_probabilities” sum to 1.81",
        ),
        (
            {"probabilities": {}, "log_probabilities": {}},
            "both “probabilities” and “log_probabilities”",
        ),
    ],
)
def test_probabilities_that_are_none_are_refused_by_line(
    capsys, tmp_path, gold, own, told
):
    said = refusals(
        capsys, TYPE, gold, run(tmp_path, {"probabilities": {"a": 1}}, own), *ON
    )
    assert any("run.jsonl:2: " in line and told in line for line in said), said


def test_probabilities_may_exceed_1_by_just_the_tolerance(capsys, tmp_path, gold):
    path = run(tmp_path, {"probabilities": {"a": 0.5, "b": 0.501}}, {})
    words = ["check", TYPE, "--gold", str(gold[0]), "--run", str(path)]
    assert main([*words, *ON[:2]]) == 0


@pytest.mark.parametrize("option", ["f1=yes", "perplexity=maybe"])
def test_another_value_of_the_options_is_refused(capsys, tmp_path, gold, option):
    path = run(tmp_path, {}, {})
    assert (
        main(
            [
                "score",
                TYPE,
                "--gold",
                str(gold[0]),
                "--run",
                str(path),
                "--option",
                option,
            ]
        )
        == 2
    )
    assert option.partition("=")[0] in capsys.readouterr().err


@pytest.mark.django_db
def test_a_board_shows_perplexity_once_a_run_has_one_and_leaves_the_others_empty(
    client, tmp_path, gold
):
    task = factories.make_task(
        type=TYPE, rules=["corrected"], options={"perplexity": "yes"}
    )
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=gold, reason="for tests")

    def send(**own):
        content = run(tmp_path, **own).read_bytes()
        score_run(
            factories.make_submission(
                phase=phase,
                team=factories.make_team(season=task.season),
                content=content,
            )
        )
        return compute_board(phase, factories.make_user())

    assert "perplexity" not in [column.metric for column in send().filled]
    board = send(probabilities={"a": 0.5, "b": 0.2})
    [column] = [column for column in board.filled if column.metric == "perplexity"]
    assert sorted(row.scores[column.name].is_known for row in board.rows) == [
        False,
        True,
    ]
    send(probabilities={"b": 0.4, "c": 0.6})
    address = reverse("board", args=[task.season.slug, task.slug, phase.slug])
    assert "perplexity" in client.get(address).content.decode()
