"""Held to an independent computation over 1,425 real contexts, and to hand-made cases of the top-n rule.

Source: the data pack's `citation_resolution.json` and `top_n_rule_cases.json`; aggregates have six decimals.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from scoring.offline.evaluate import load_statistics
from scoring.tools.baselines import baseline
from tasks.types import task_type
from tasks.types.files import open_files_of_all_inputs, open_input_files
from tests.resting import rests_on_scorer
from tests.scoring.offline import refusals, score
from tests.tasks.types.rankings import write_lines, write_resolution

SLUG = "citation-resolution"

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture
def gold(shared: Path) -> Path:
    return shared / "unarxive_contexts"


@pytest.fixture
def golden(gold: Path) -> dict:
    return json.loads((gold / "golden" / "citation_resolution.json").read_text())


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_every_context_and_every_mean_is_the_same(capsys, gold, golden, tmp_path):
    rows = [
        {"id": own["context_id"], "ranked": own["ranking_top"]}
        for own in golden["contexts"]
    ]
    kept = tmp_path / "statistics.npz"
    run = write_lines(tmp_path / "run.jsonl", rows)
    metrics = score(capsys, SLUG, [gold], run, "--statistics", str(kept))["metrics"]
    aggregate = golden["aggregate"]
    for ours, theirs in (
        ("success@n", "accuracy_multi_citation_rule"),
        ("accuracy@1", "accuracy_any_gold_at_rank_1"),
        ("accuracy@1_per_citation", "accuracy_per_citation_rank_1"),
        ("success@n_macro", "mean_of_paper_accuracies"),
    ):
        assert metrics[ours]["value"] == pytest.approx(aggregate[theirs], abs=5.1e-7), (
            ours
        )
    assert metrics["success@n"]["n"] == aggregate["contexts"]
    successes = load_statistics(kept).matrices["resolution"][:, 0]
    in_order = {own["context_id"]: own["success"] for own in golden["contexts"]}
    ids = [json.loads(line)["context_id"] for line in lines(gold / "contexts.jsonl")]
    assert np.array_equal(successes, [in_order[name] for name in ids])


def test_the_baseline_gives_those_rankings_and_its_ties_are_counted(
    capsys, gold, golden, tmp_path
):
    path = tmp_path / "run.jsonl"
    baseline("references-tfidf-10-10").write(open_files_of_all_inputs([gold]), path)
    answers = {row["id"]: row["scores"] for row in map(json.loads, lines(path))}
    assert len(answers) == len(golden["contexts"])
    for own in golden["contexts"]:
        scores = answers[own["context_id"]]
        ranked = list(scores)[: len(own["ranking_top"])]
        assert ranked == own["ranking_top"]
        assert [list(scores).index(name) + 1 for name in own["gold"]] == own[
            "ranks_of_gold"
        ]
        assert (not any(scores.values())) == own["all_scores_zero"]
    scores = score(capsys, SLUG, [gold], path)
    assert scores["metrics"]["success@n"]["value"] == pytest.approx(
        0.192982, abs=5.1e-7
    )
    assert (
        scores["notes"]["tied_at_cut"]
        == golden["aggregate"]["contexts_with_tie_at_cut"]
    )


def test_the_hand_made_cases_of_the_rule_hold(capsys, gold, tmp_path):
    cases = json.loads((gold / "golden" / "top_n_rule_cases.json").read_text())["cases"]
    assert cases
    for number, case in enumerate(cases):
        names = sorted({*case["ranking"], *case["gold"]})
        own = write_resolution(
            tmp_path / str(number), [("c", "p", case["gold"])], [("p", names)]
        )
        run = write_lines(
            tmp_path / f"{number}.jsonl", [{"id": "c", "ranked": case["ranking"]}]
        )
        if not case["ranking"]:
            assert (
                "the run answers no instance of the split"
                in refusals(capsys, SLUG, [own], run)[0]
            )
            continue
        scores = score(capsys, SLUG, [own], run)
        assert scores["metrics"]["success@n"]["value"] == case["success"], case["case"]
        assert list(scores["breakdowns"]["group_size"]) == [str(case["n"])]


def test_the_public_inputs_name_no_cited_reference(gold):
    """The headings of this collection do, where a mark stands in one."""
    own = task_type(SLUG)
    files = dict(own.public_files(open_input_files(gold), own.validate_options({})))
    cited = {
        json.loads(line)["context_id"]: json.loads(line)["gold"]
        for line in lines(gold / "contexts.jsonl")
    }
    for line in files["contexts.jsonl"].decode().splitlines():
        assert not any(name in line for name in cited[json.loads(line)["context_id"]])
