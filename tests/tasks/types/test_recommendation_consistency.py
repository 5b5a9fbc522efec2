"""Published rows whose figures cannot belong together are told from those that can."""

import json
from pathlib import Path

import pytest

from tasks.types.citation_recommendation import explain_contradictory_recall_and_mrr


@pytest.mark.parametrize(
    ("recall", "mrr", "words"),
    [
        (0.2, 0.1, ""),
        (0.2, 0.2, ""),
        (0.2, 0.02, ""),
        (0.0, 0.0, ""),
        (0.2, 0.019, "MRR@10 0.019 is below Recall@10 / 10, which is 0.02"),
        (0.2, 0.21, "MRR@10 0.21 is above Recall@10, which is 0.2"),
    ],
)
def test_a_reciprocal_rank_lies_between_recall_over_k_and_recall(recall, mrr, words):
    assert explain_contradictory_recall_and_mrr(recall, mrr) == words


@pytest.mark.shared
def test_the_rows_of_the_published_table_that_contradict_themselves_are_found(
    shared: Path,
):
    path = shared / "published" / "citation-recommendation-diagnostics.json"
    rows = json.loads(path.read_text())["tables"][0]["rows"]
    found = [
        row
        for row in rows
        if explain_contradictory_recall_and_mrr(
            row["values"]["R@10"], row["values"]["M@10"], rounding=0.5 * 10**-4
        )
    ]
    assert found == [row for row in rows if row.get("inconsistent")]
    assert len(found) == 38
