"""A baseline that a declared task trains: one label or several, with probabilities where runs have them."""

import pytest

from tasks.types.declared.folder import read_declaration
from tests.tasks.types.standing_reading import file, lines

pytest.importorskip("sklearn")
TASK = """[task]
slug = "t"
title = "T"
form = "labels"
[task.gold]
field = "gold"
shown = ["text"]
[task.answer]
labels = ["rain", "wind"]
%s
[[task.rules]]
name = "corrected"
measures = ["macro_f1"]
[[task.baselines]]
name = "tfidf-logistic"
train = "train.jsonl"
"""


@pytest.mark.parametrize(
    ("several", "probabilities"), [(False, "none"), (False, "optional"), (True, "none")]
)
def test_it_answers_with_what_it_learnt_in_the_form_of_the_task(several, probabilities):
    said = "several = true" if several else f'probabilities = "{probabilities}"'
    rows = [
        {
            "id": f"i{n}",
            "text": ("drops fall", "dunes move")[n % 2],
            "gold": ("rain", "wind")[n % 2],
        }
        for n in range(8)
    ]
    if several:
        rows = [{**row, "gold": [row["gold"]]} for row in rows]
    kind = read_declaration(
        {"task.toml": TASK % said, "train.jsonl": lines(rows), "card.md": "A card."}
    )
    [own] = kind.declared.baselines
    answers = list(own.answers([file("gold.jsonl", lines(rows[:2]))]))
    [key] = set(answers[0]) - {"id", "probabilities"}
    assert [answer[key] for answer in answers] == (
        [["rain"], ["wind"]] if several else ["rain", "wind"]
    )
    for answer in answers:
        assert ("probabilities" in answer) == (probabilities != "none")
        assert sum(answer.get("probabilities", {"x": 1}).values()) == pytest.approx(1)
