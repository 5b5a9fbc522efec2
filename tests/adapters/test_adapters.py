"""The scorer as a library: the command's numbers, gold read once, and the interfaces of others."""

import json
import random

import pytest

from scoring.__main__ import main
from scoring.adapters import Scorer
from scoring.adapters.evaluate_style import load
from tasks.types import InputRefused

KIND = "citation-recommendation"


@pytest.fixture
def sample(root):
    return root / "tasks/types/citation_recommendation/sample"


@pytest.fixture
def lines(sample) -> list[dict]:
    return [
        json.loads(line) for line in (sample / "run.jsonl").read_text().splitlines()
    ]


@pytest.fixture
def printed(sample, capsys) -> dict:
    assert (
        main(
            [
                "score",
                KIND,
                "--gold",
                str(sample / "gold"),
                "--run",
                str(sample / "run.jsonl"),
                "--json",
            ]
        )
        == 0
    )
    return json.loads(capsys.readouterr().out)["metrics"]


def test_a_library_s_numbers_are_those_of_the_command(sample, lines, printed):
    scorer = Scorer(KIND, [sample / "gold"])
    for answers in (
        lines,
        sample / "run.jsonl",
        str(sample / "run.jsonl"),
        iter(lines),
    ):
        result = scorer.score(answers, intervals=True)
        assert list(result) == list(printed)
        for name, scored in result.items():
            own = (scored.value, scored.low, scored.high, scored.n, scored.signature)
            assert own == tuple(
                printed[name][part]
                for part in ("value", "low", "high", "n", "signature")
            )


def test_without_intervals_there_are_none_and_the_values_stay(sample, lines, printed):
    result = Scorer(KIND, [sample / "gold"]).score(lines)
    assert result.values_only == {name: own["value"] for name, own in printed.items()}
    assert {scored.low for scored in result.values()} == {None}


def test_answers_that_cannot_be_meant_are_refused_with_their_lines(sample, lines):
    scorer = Scorer(KIND, [sample / "gold"])
    wrong = [*lines, {"id": "nowhere", "ranked": []}]
    assert any(problem.line == len(wrong) for problem in scorer.check(wrong))
    with pytest.raises(InputRefused):
        scorer.score([{"id": 3}])


def test_what_was_added_in_batches_is_computed_once(sample, lines, printed):
    metric = load(KIND, [sample / "gold"])
    metric.add(prediction=lines[0])
    metric.add_batch(predictions=lines[1:])
    assert metric.compute() == {name: own["value"] for name, own in printed.items()}
    assert metric.compute(predictions=lines) == {
        name: own["value"] for name, own in printed.items()
    }
    assert metric.name == KIND


def test_our_provider_gives_what_those_of_ir_measures_give():
    import ir_measures
    from ir_measures import RR, R, Success

    from scoring.adapters.ir_measures_provider import PROVIDER

    draw = random.Random(0)
    docs = [f"d{number}" for number in range(40)]
    qrels = {
        f"q{q}": {doc: draw.randint(0, 2) for doc in draw.sample(docs, 12)}
        for q in range(30)
    }
    run = {
        query: {doc: draw.random() for doc in draw.sample(docs, 25)}
        for query in [*qrels, "unjudged"]
    }
    asked = [R @ 5, R @ 10, RR, RR @ 10, Success @ 1]
    ours = PROVIDER.calc_aggregate(asked, qrels, run)
    theirs = ir_measures.calc_aggregate(asked, qrels, run)
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert all(PROVIDER.supports(measure) for measure in asked)
