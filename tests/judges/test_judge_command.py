"""`python -m scoring judge run`: rows for the ledger, resumption, budget, dry run, refusals without keys."""

import json

import pytest

from scoring.__main__ import UNAVAILABLE_EXIT_CODE, main
from tests.judges.stub import said, status, stub_endpoint, write_judges

PRICE = '{ input = 0.4, output = 1.6, currency = "USD" }'
ITEMS = [
    {"sentence": f"Sentence {number}.", "document": "Oslo\nIt rains in Oslo."}
    for number in range(6)
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(item)}\n" for item in [*ITEMS, ITEMS[0]]))
    return path


def run(tmp_path, pairs, judges, *more, name="support-a") -> int:
    out = tmp_path / "rows.jsonl"
    judges, out = ("--judges", str(judges)), ("--out", str(out))
    return main(["judge", "run", name, str(pairs), *judges, *out, *more])


def rows(tmp_path) -> list[dict]:
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_rows_are_written_and_nothing_is_asked_again(tmp_path, pairs, capsys):
    with stub_endpoint(lambda prompt, nth: said("Full")) as stub:
        judges = write_judges(tmp_path, stub.address, price=PRICE)
        assert run(tmp_path, pairs, judges, "--json") == 0
        assert json.loads(capsys.readouterr().out)["labels"] == len(ITEMS)
        first = rows(tmp_path)
        # A kill may cut the last line short.
        path = tmp_path / "rows.jsonl"
        path.write_text(path.read_text()[:-30])
        assert run(tmp_path, pairs, judges) == 0
    assert len(stub.prompts) == len(ITEMS) + 1
    assert {row["label"] for row in rows(tmp_path)} == {"full"}
    assert sorted(row["items"] for row in rows(tmp_path)) == sorted(
        row["items"] for row in first
    )
    assert all(row["kind"] == "supports" and row["cost"] > 0 for row in first)


def test_a_dry_run_asks_nothing_and_a_budget_is_never_exceeded(tmp_path, pairs, capsys):
    with stub_endpoint(lambda prompt, nth: said("Full")) as stub:
        judges = write_judges(tmp_path, stub.address, price=PRICE)
        assert run(tmp_path, pairs, judges, "--dry-run", "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["questions"], told["currency"]) == (len(ITEMS), "USD")
        assert 0 < told["cost"] < told["most"]
        assert not stub.prompts
        budget = told["most"] / len(ITEMS) * 1.01
        assert run(tmp_path, pairs, judges, "--budget", str(budget), "--json") == 0
        assert json.loads(capsys.readouterr().out)["cost"] <= budget
        assert 0 < len(stub.prompts) < len(ITEMS)


def test_no_key_is_printed_or_written(tmp_path, pairs, capsys, monkeypatch):
    monkeypatch.setenv("CITEBOARD_JUDGE_KEY_A", "sk-secret-7")
    with stub_endpoint(lambda prompt, nth: status(401)) as stub:
        key = '"env:CITEBOARD_JUDGE_KEY_A"'
        judges = write_judges(tmp_path, stub.address, key=key)
        assert run(tmp_path, pairs, judges) == UNAVAILABLE_EXIT_CODE
    assert stub.keys == {"Bearer sk-secret-7"}
    told = capsys.readouterr()
    assert "refuses the key (401)" in told.err
    assert "sk-secret" not in told.out + told.err
    assert "sk-secret" not in (tmp_path / "rows.jsonl").read_text()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"key": '"sk-secret-7"'}, "does not name the place of a key"),
        ({"key": '"env:HOME"'}, "does not name the place of a key"),
        ({"key": "7"}, "“key” is no text"),
        ({"address": '"https://me:sk-secret-7@host/v1"'}, "contains a user"),
        ({"address": '"https://host/v1?key=sk-secret-7"'}, "no such address"),
        ({"address": '"ftp://host/v1"'}, "no such address"),
        ({"address": '"https://host:x/v1"'}, "is no address"),
        ({"kind": '"oracle"'}, "“kind” is missing or unknown"),
        ({"at_once": "0"}, "“at_once” is no such number"),
        ({"at_once": "1.5"}, "“at_once” is no such number"),
        ({"timeout": "inf"}, "“timeout” is no such number"),
        ({"temperature": "true"}, "“temperature” is no such number"),
        ({"price": "{ input = 1 }"}, "“price” is incomplete"),
        ({"price": '{ input = -1, output = 1, currency = "USD" }'}, "“input” is no such"),
        ({"price": '{ input = 1, output = 1, currency = "usd" }'}, "“currency” is no"),
        ({"secret": '"sk-secret-7"'}, "“secret” is no field"),
        ({"name": '" a"'}, "“name” is missing or no such text"),
    ],
)  # fmt: skip
def test_a_faulty_declaration_is_refused_without_its_values(
    tmp_path, pairs, capsys, fields, told
):
    judges = write_judges(tmp_path, "http://127.0.0.1:1/v1", **fields)
    assert run(tmp_path, pairs, judges) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "sk-secret" not in said


def test_a_missing_key_names_its_place(tmp_path, pairs, capsys, monkeypatch):
    monkeypatch.delenv("CITEBOARD_JUDGE_KEY_A", raising=False)
    key = '"env:CITEBOARD_JUDGE_KEY_A"'
    judges = write_judges(tmp_path, "http://127.0.0.1:1/v1", key=key)
    assert run(tmp_path, pairs, judges) == UNAVAILABLE_EXIT_CODE
    assert "the variable CITEBOARD_JUDGE_KEY_A" in capsys.readouterr().err


def test_items_of_two_kinds_and_unknown_judges_are_refused(tmp_path, capsys):
    judges = write_judges(tmp_path, "http://127.0.0.1:1/v1")
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        f'{json.dumps(ITEMS[0])}\n{{"premise": "a", "hypothesis": "b"}}\n{{"premise": 3}}\n'
    )
    assert run(tmp_path, pairs, judges) == 2
    assert "pairs.jsonl:2" in capsys.readouterr().err
    assert run(tmp_path, pairs, judges, name="other") == 2
    assert "declares no judge “other”" in capsys.readouterr().err
