"""Held to a BM25 run of 720 real contexts and the numbers that an independent program gave for it.

Source: the data pack's `bm25_recommendation.json`, made with rank-bm25 0.2.2; values have six decimals.
"""

import json
from pathlib import Path

import pytest

from scoring.tools.baselines import baseline
from tasks.types.files import open_files_of_all_inputs
from tests.resting import rests_on_scorer
from tests.scoring.offline import score
from tests.tasks.types.rankings import write_lines

SLUG = "citation-recommendation"
NAMES = {"recall_at_10": "recall@10", "mrr_at_10": "mrr@10", "ndcg_at_10": "ndcg@10"}

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture
def gold(shared: Path) -> Path:
    return shared / "unarxive_contexts"


@pytest.fixture
def golden(gold: Path) -> dict:
    return json.loads((gold / "golden" / "bm25_recommendation.json").read_text())


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def printed(value: float) -> object:
    return pytest.approx(value, abs=5.1e-7)


def json_run(golden: dict, path: Path) -> Path:
    rows = [
        {"id": own["id"], "ranked": own["top10"], "scores": own["scores"]}
        for own in golden["run"]
    ]
    return write_lines(path, rows)


def trec_run(golden: dict, path: Path) -> Path:
    path.write_text(
        "".join(
            f"{own['id']} Q0 {name} {rank} {value} bm25\n"
            for own in golden["run"]
            for rank, (name, value) in enumerate(
                zip(own["top10"], own["scores"], strict=True), start=1
            )
        )
    )
    return path


@pytest.mark.parametrize("write", [json_run, trec_run])
def test_every_value_and_every_class_is_the_same(capsys, gold, golden, tmp_path, write):
    scores = score(
        capsys, SLUG, [gold], write(golden, tmp_path / "run"), "--option", "k=1"
    )
    overall = golden["metrics"]["overall"]
    for theirs, ours in NAMES.items():
        assert scores["metrics"][ours]["value"] == printed(overall[theirs])
        assert scores["metrics"][ours]["n"] == overall["n"]
    assert scores["metrics"]["recall@1"]["value"] == printed(overall["hit_at_1"])
    assert set(scores["breakdowns"]) == set(golden["metrics"]["by_class"])
    for dimension, classes in golden["metrics"]["by_class"].items():
        assert set(scores["breakdowns"][dimension]) == set(classes)
        for label, expected in classes.items():
            own = scores["breakdowns"][dimension][label]
            assert {metric["n"] for metric in own.values()} == {expected["n"]}
            for theirs, ours in NAMES.items():
                assert own[ours]["value"] == printed(expected[theirs]), (
                    dimension,
                    label,
                )


def test_the_rank_of_the_cited_paper_is_the_same_in_every_context(gold, golden):
    """Of all 1,242 candidates, ranked in full by the same BM25."""
    from scoring.tools.baselines.retrieval import OkapiBm25, rank_candidates

    answers = rank_candidates(open_files_of_all_inputs([gold]), OkapiBm25, depth=2000)
    for own, answer in zip(golden["run"], answers, strict=True):
        assert answer["ranked"].index(own["gold"][0]) + 1 == own["rank_of_gold"]


def test_the_baseline_is_that_run_to_the_last_printed_digit(
    capsys, gold, golden, tmp_path
):
    path = tmp_path / "bm25.jsonl"
    assert baseline("bm25-okapi").write(open_files_of_all_inputs([gold]), path) == len(
        golden["run"]
    )
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["id"], row["ranked"], row["scores"]) for row in rows] == [
        (own["id"], own["top10"], own["scores"]) for own in golden["run"]
    ]


def test_the_public_inputs_name_no_cited_paper(gold):
    """Of no context anything but its text is public, and no candidate says which paper cites it."""
    from tasks.types import task_type
    from tasks.types.files import open_input_files

    own = task_type(SLUG)
    files = dict(own.public_files(open_input_files(gold), own.validate_options({})))
    contexts = [json.loads(line) for line in files["diagnostic.jsonl"].splitlines()]
    cited = {json.loads(line)["cited_id"] for line in lines(gold / "diagnostic.jsonl")}
    assert len(contexts) == 720
    assert not any(
        name in json.dumps(context) for context in contexts for name in cited
    )
    assert not any(
        "paper_id" in json.loads(line)
        for line in files["references.jsonl"].splitlines()
    )
