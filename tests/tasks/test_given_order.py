"""Candidates are given out in an order that only the gold's nonce decides, and scores keep that order."""

import io
import json
import zipfile

import pytest

from citeboard.core import storage
from scoring.__main__ import main
from tasks.gold.gold_files import load_gold
from tasks.models import Gold
from tasks.models.declarations import store_declaration
from tasks.types import given_order
from tasks.types.declared.folder import read_declaration
from tasks.types.files import open_input_files
from tasks.types.given_order import sort_candidates_by_hmac
from tests import factories

NONCE = "1f" * 32
TASK = """[task]
slug = "own"
title = "Own"
form = "ranking"
[task.gold]
field = "answers"
shown = ["query"]
[task.answer]
query = "query"
%s
[[task.rules]]
name = "corrected"
measures = ["mrr@10"]
"""
LISTS = TASK % 'candidates = "options"'
POOL = TASK % '[task.pool]\nfile = "pool.jsonl"\nid = "id"'
NAMES = [f"d{n}" for n in range(8)]
ROWS = [
    {"id": f"q{n}", "query": "?", "options": NAMES, "answers": ["d0"]}
    for n in range(10)
]


def test_the_order_depends_on_nonce_and_instance_alone():
    ordered = sort_candidates_by_hmac(NAMES, NONCE, "q1")
    assert sorted(ordered) == NAMES
    assert ordered == sort_candidates_by_hmac(reversed(NAMES), NONCE, "q1")
    orders = {
        tuple(sort_candidates_by_hmac(NAMES, nonce, instance))
        for nonce in (NONCE, "2e" * 32)
        for instance in ("", "q1", "q2")
    }
    assert len(orders) == 6
    assert tuple(NAMES) not in orders


def lines(rows) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def published(tmp_path, declared: str, **files) -> Gold:
    task_type = read_declaration({"task.toml": declared, "card.md": "A card."})
    task = factories.make_task(
        type=task_type.slug,
        declaration=store_declaration(task_type),
        rules=["corrected"],
    )
    phase = factories.make_phase(task=task, with_gold=False)
    paths = []
    for name, rows in files.items():
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text(lines(rows), encoding="utf-8")
    return load_gold(task=task, split=phase.split, paths=paths, reason="First.")[0]


def public_rows(gold: Gold, name: str) -> list[dict]:
    with storage.gold_file_storage.open(gold.public) as stored:
        archive = zipfile.ZipFile(io.BytesIO(stored.read()))
    return [json.loads(line) for line in archive.read(name).splitlines()]


@pytest.mark.django_db
@pytest.mark.parametrize("has_order", [True, False])
def test_candidates_of_new_gold_are_given_out_in_its_order(
    tmp_path, monkeypatch, has_order
):
    monkeypatch.setattr(
        given_order, "FIRST_VERSION_ORDERING_DECLARED", 1 if has_order else 99
    )
    gold = published(tmp_path, LISTS, gold=ROWS)
    given = [row["options"] for row in public_rows(gold, "inputs.jsonl")]
    expected = [
        sort_candidates_by_hmac(NAMES, gold.nonce, row["id"]) if has_order else NAMES
        for row in ROWS
    ]
    assert given == expected
    with storage.gold_file_storage.open(gold.index) as stored:
        assert json.load(stored)["pools"] == expected
    # Once more the same content is no new version, and its order stays.
    again, is_new = load_gold(
        task=gold.task,
        split=gold.split,
        paths=[tmp_path / "gold.jsonl"],
        reason="Again.",
    )
    assert (is_new, again.public, again.index) == (False, gold.public, gold.index)


@pytest.mark.django_db
def test_a_pool_is_given_out_in_its_order_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(given_order, "FIRST_VERSION_ORDERING_DECLARED", 1)
    pool = [{"id": name, "text": f"Text {name}."} for name in NAMES]
    rows = [{"id": "q", "query": "?", "answers": ["d0"]}]
    gold = published(tmp_path, POOL, gold=rows, pool=pool)
    given = public_rows(gold, "pool.jsonl")
    assert [row["id"] for row in given] == sort_candidates_by_hmac(NAMES, gold.nonce)
    with storage.gold_file_storage.open(gold.public) as stored:
        (tmp_path / "inputs.zip").write_bytes(stored.read())
    index = gold.task.task_type.read_inputs(
        open_input_files(tmp_path / "inputs.zip"), {}
    )
    with storage.gold_file_storage.open(gold.index) as stored:
        assert json.load(stored)["pools"] == index["pools"]


def test_equal_scores_keep_the_order_given_out_with_the_nonce_and_that_of_the_file_without(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(given_order, "FIRST_VERSION_ORDERING_DECLARED", 1)
    (tmp_path / "task.toml").write_text(LISTS)
    (tmp_path / "inputs.jsonl").write_text("{}\n")
    gold, run = tmp_path / "gold.jsonl", tmp_path / "run.jsonl"
    gold.write_text(lines(ROWS))
    equal = dict.fromkeys(NAMES, 0.5)
    run.write_text(lines({"id": row["id"], "scores": equal} for row in ROWS))
    words = ["score", str(tmp_path), "--gold", str(gold), "--run", str(run)]
    words += ["--intervals", "0", "--json"]

    def scored(*more: str):
        assert main([*words, *more]) == 0
        return json.loads(capsys.readouterr().out)

    plain = scored()
    assert plain["metrics"]["mrr@10"]["value"] == 1
    assert plain["notes"]["tied_scores"] == 70
    places = [
        sort_candidates_by_hmac(NAMES, NONCE, row["id"]).index("d0") + 1 for row in ROWS
    ]
    expected = sum(1 / place for place in places) / len(places)
    value = scored("--nonce", NONCE)["metrics"]["mrr@10"]["value"]
    assert value == pytest.approx(expected)
    # A table without ranks orders equal scores likewise, whatever its rows are ordered by.
    table = [f"{row['id']},{name},0.5" for row in ROWS for name in reversed(NAMES)]
    words[5] = str(tmp_path / "run.csv")
    (tmp_path / "run.csv").write_text("\n".join(["id,document,score", *table]))
    assert scored()["metrics"]["mrr@10"]["value"] == 1
    value = scored("--nonce", NONCE)["metrics"]["mrr@10"]["value"]
    assert value == pytest.approx(expected)
