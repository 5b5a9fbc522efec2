"""Baselines that a folder names: what they answer at their bounds, and that they print nothing."""

import pytest

from tasks.types.declared.folder import read_declaration
from tests.tasks.types.standing_reading import file, lines

TASK = """[task]
slug = "t"
title = "T"
form = "%s"
%s[task.gold]
field = "gold"
shown = ["text"]
[task.answer]
%s
[[task.rules]]
name = "corrected"
measures = ["%s"]
[[task.baselines]]
name = "%s"
%s"""
POOL = '[task.pool]\nfile = "pool.jsonl"\nid = "doc"\n'


def answers(form, answer, measure, name, *, gold, pool=(), train=(), table=""):
    said = TASK % (
        form,
        table,
        answer,
        measure,
        name,
        'train = "train.jsonl"\n' if train else "",
    )
    files = {
        "task.toml": said,
        "card.md": "A card.",
        **({"train.jsonl": lines(train)} if train else {}),
    }
    [own] = read_declaration(files).declared.baselines
    given = [
        file("gold.jsonl", lines(gold)),
        *([file("pool.jsonl", lines(pool))] if pool else []),
    ]
    return list(own.answers(given)), own.sees


@pytest.mark.parametrize(("longest", "count"), [(1000, 100), (3, 3)])
def test_bm25_ranks_a_hundred_candidates_at_most_equal_ones_in_their_order(
    capfd, longest, count
):
    pool = [
        {"doc": f"d{n:03}", "text": "Rain falls." if n == 70 else "Sand moves."}
        for n in range(120)
    ]
    gold = [
        {"id": "a", "text": "RAIN", "gold": "d070"},
        {"id": "b", "text": "none", "gold": "d001"},
    ]
    said = f'query = "text"\nlongest = {longest}'
    found, _ = answers(
        "ranking", said, "mrr@10", "bm25", gold=gold, pool=pool, table=POOL
    )
    order = [f"d{n:03}" for n in range(120)]
    assert [own["ranking"] for own in found] == [
        ["d070", *(name for name in order if name != "d070")][:count],
        order[:count],
    ]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "longest", "size"), [(29, 1000, 29), (31, 1000, 30), (31, 5, 3)]
)
def test_a_lead_is_the_first_thirty_words_and_no_longer_than_an_answer_may_be(
    words, longest, size
):
    gold = [{"id": "a", "text": " ".join("x" * words), "gold": "y"}]
    found, _ = answers("text", f"longest = {longest}", "rouge_l", "lead", gold=gold)
    assert found == [{"id": "a", "text": " ".join("x" * size)}]


@pytest.mark.parametrize(
    ("train", "expected"),
    [((), [2.5, 2.0, 1.5]), (({"id": "z", "gold": 7},), [7.0] * 3)],
)
def test_a_mean_is_that_of_the_others_or_of_the_training_data(train, expected):
    gold = [
        {"id": name, "text": "x", "gold": number}
        for name, number in (("a", 1), ("b", 2), ("c", 3))
    ]
    found, sees = answers("numbers", "", "mae", "mean", gold=gold, train=train)
    assert [own["gold"] for own in found] == expected
    assert ("gold" in sees) is not bool(train)
    assert answers("numbers", "", "mae", "mean", gold=gold[:1])[0] == [
        {"id": "a", "gold": 1}
    ]


def test_shares_are_those_of_the_other_units_and_none_where_there_is_no_other():
    said = 'labels = ["A", "B"]\nprobabilities = "optional"'
    gold = [
        {"id": str(n), "text": "x", "gold": "AAB"[n % 3], "p": f"p{n // 3}"}
        for n in range(6)
    ]
    gold[5]["gold"] = "A"
    found, _ = answers(
        "labels", said, "accuracy", "prior", gold=gold, table='unit = "p"\n'
    )
    assert [own["gold"] for own in found] == ["A"] * 6
    assert [own["probabilities"] for own in found] == [{"A": 1, "B": 0}] * 3 + [
        {"A": 2 / 3, "B": 1 / 3}
    ] * 3
    [alone], _ = answers(
        "labels", said, "accuracy", "prior", gold=gold[:1], table='unit = "p"\n'
    )
    assert alone == {"id": "0", "gold": "A"}
    [first, *_], _ = answers(
        "labels", said, "accuracy", "majority", gold=gold, table='unit = "p"\n'
    )
    assert first == {"id": "0", "gold": "A"}
