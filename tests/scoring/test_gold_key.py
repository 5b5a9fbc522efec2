"""The key of gold: an HMAC that nobody can guess, of a digest that does not depend on the order of lines."""

import hashlib
import hmac
import itertools
import json
import random
import shutil
import zipfile
from pathlib import Path

import pytest

from scoring.offline.gold_key import build_archived_gold_key
from scoring.offline.scoring import read_split
from tasks.types import TaskType, task_type
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tests.scoring.offline import printed, refusals, score
from tests.tasks.test_every_type import TYPES, sample, scored

NONCE = "5f" * 32
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INTENT, LABELS = (
    EXAMPLES / "tasks" / "citation-intent",
    ("background", "method", "result"),
)


@pytest.fixture
def small(tmp_path) -> Path:
    """The gold of five texts that everybody can read."""
    return write(tmp_path / "gold.jsonl", ("method", "result", "method", *LABELS[:2]))


def write(path: Path, labels: tuple[str, ...]) -> Path:
    rows = [
        {"id": f"s{number}", "text": f"Text {number}.", "section": "Results"}
        for number in range(len(labels))
    ]
    lines = [
        json.dumps({**row, "label": label})
        for row, label in zip(rows, labels, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


def run_of(folder: Path, count: int) -> Path:
    path = folder / "run.jsonl"
    lines = [
        json.dumps({"id": f"s{number}", "label": "method"}) for number in range(count)
    ]
    path.write_text("\n".join(lines))
    return path


def guessed(folder: Path, count: int, key: str) -> list[tuple[str, ...]]:
    """What somebody finds who knows the texts and tries all labels."""
    kind = task_type(str(INTENT))
    return [
        labels
        for labels in itertools.product(LABELS, repeat=count)
        if read_split(kind, [write(folder / "guess.jsonl", labels)], {}).digest == key
    ]


def test_the_plain_digest_of_a_small_set_gives_its_answers_away_and_the_key_does_not(
    capsys, small, tmp_path
):
    result = score(capsys, str(INTENT), [small], run_of(tmp_path, 5), "--nonce", NONCE)
    [answers] = guessed(tmp_path, 5, result["gold"]["sha256"])
    assert answers == ("method", "result", "method", "background", "method")
    assert guessed(tmp_path, 5, result["gold"]["hmac_sha256"]) == []


def test_with_the_nonce_columns_have_the_hmac_and_the_plain_digest_stays_beside_it(
    capsys, small, tmp_path
):
    run = run_of(tmp_path, 5)
    plain = score(capsys, str(INTENT), [small], run)
    salted = score(capsys, str(INTENT), [small], run, "--nonce", NONCE)
    digest = plain["gold"]["sha256"]
    expected = hmac.new(
        bytes.fromhex(NONCE), digest.encode(), hashlib.sha256
    ).hexdigest()
    assert salted["gold"]["sha256"] == digest
    assert salted["gold"]["hmac_sha256"] == expected
    assert "hmac_sha256" not in plain["gold"]
    for result, key in ((plain, digest), (salted, expected)):
        for metric in result["metrics"].values():
            assert f"|gold:{key[:12]}|" in metric["column"]
            assert f"|gold:{key[:12]}|" in metric["signature"]


def test_the_nonce_is_read_from_the_file_that_the_gold_s_archive_has(
    capsys, small, tmp_path
):
    archive = tmp_path / "gold.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(small, small.name)
        packed.writestr("nonce.txt", f"{NONCE}\n")
    (tmp_path / "nonce.txt").write_text(f"{NONCE}\n")
    run = run_of(tmp_path, 5)
    given = ("--nonce", str(tmp_path / "nonce.txt"))
    of_archive = score(capsys, str(INTENT), [archive], run, *given)
    of_file = score(capsys, str(INTENT), [small], run, "--nonce", NONCE)
    assert of_archive == of_file


def test_two_runs_are_compared_under_the_key_of_the_board(capsys, small, tmp_path):
    run = run_of(tmp_path, 5)
    result = printed(
        capsys, "compare", str(INTENT), [small], [run, run], "--nonce", NONCE
    )
    assert len(result["gold"]["hmac_sha256"]) == 64


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--nonce", "5f", "expected 64 hexadecimal digits"),
        ("--nonce", NONCE.upper(), "expected 64 hexadecimal digits"),
        ("--nonce", f"{NONCE}00", "expected 64 hexadecimal digits"),
        ("--nonce", "no-such-file", "expected 64 hexadecimal digits"),
        ("--digest-rule", "0", "this release knows 1 to 2"),
        ("--digest-rule", "3", "this release knows 1 to 2"),
        ("--reading", "0", f"this release knows 1 to {CURRENT_PARSING_RULES_VERSION}"),
        ("--reading", "4", f"this release knows 1 to {CURRENT_PARSING_RULES_VERSION}"),
    ],
)
def test_what_is_no_key_is_refused(option, value, reason, capsys, small, tmp_path):
    [line] = refusals(capsys, str(INTENT), [small], run_of(tmp_path, 5), option, value)
    assert reason in line


def test_a_file_that_holds_no_nonce_is_refused(capsys, small, tmp_path):
    given = ("--nonce", str(small))
    [line] = refusals(capsys, str(INTENT), [small], run_of(tmp_path, 5), *given)
    assert "expected 64 hexadecimal digits" in line


def shuffled(
    folder: Path, line_ends: bytes, suffixes=(".jsonl", ".csv", ".tsv")
) -> None:
    """Shuffle the lines of the files and end them otherwise; a table's header stays first."""
    for path in folder.rglob("*"):
        if path.suffix not in suffixes:
            continue
        lines = path.read_bytes().splitlines()
        head = lines[:1] if path.suffix in (".csv", ".tsv") else []
        rest = lines[len(head) :]
        random.Random(5).shuffle(rest)
        path.write_bytes(line_ends.join([*head, *rest]) + line_ends)


FOLDERS = sorted((EXAMPLES / "tasks").iterdir())


@pytest.mark.parametrize("line_ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_digests_of_declared_tasks_depend_on_no_order_and_no_line_ends(
    folder, line_ends, tmp_path
):
    gold = EXAMPLES / "field-tasks" / folder.name / "gold"
    copy = Path(shutil.copytree(gold, tmp_path / "gold"))
    kind = task_type(str(folder))
    before = read_split(kind, [gold], {})
    shuffled(copy, line_ends)
    assert read_split(kind, [copy], {}).digest == before.digest


@pytest.mark.parametrize("line_ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("kind", TYPES, ids=[kind.slug for kind in TYPES])
def test_digests_of_built_in_types_depend_on_no_order_and_no_line_ends(
    kind: TaskType, line_ends, tmp_path
):
    gold, _run, _scores = sample(kind)
    copies = []
    for path in gold:
        copy = tmp_path / path.name
        shutil.copytree(path, copy) if path.is_dir() else shutil.copyfile(path, copy)
        copies.append(copy)
    before = read_split(kind, gold, kind.validate_options({}))
    shuffled(tmp_path, line_ends, (".jsonl",))
    if line_ends == b"\r\n":
        for path in tmp_path.rglob("*.txt"):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    after = read_split(kind, copies, kind.validate_options({}))
    assert after.digest == before.digest


def test_another_answer_and_another_document_of_the_pool_are_another_digest(tmp_path):
    folder = EXAMPLES / "field-tasks" / "claims-and-evidence" / "gold"
    kind = task_type(str(EXAMPLES / "tasks" / "claims-and-evidence"))
    before = read_split(kind, [folder], {}).digest
    for name, old, new in (
        ("corpus.jsonl", '"abstract": ["', '"abstract": ["Changed. '),
        ("claims.jsonl", '"claim": "', '"claim": "Changed. '),
    ):
        copy = Path(shutil.copytree(folder, tmp_path / name))
        text = (copy / name).read_text()
        assert old in text
        (copy / name).write_text(text.replace(old, new, 1))
        assert read_split(kind, [copy], {}).digest != before


def test_digests_of_before_are_computed_by_their_own_rule(tmp_path, capsys):
    folder = Path(__file__).with_name("gold_of_release_0_3")
    kind = str(EXAMPLES / "tasks" / "claims-and-evidence")
    run, copy = (
        folder / "run.jsonl",
        Path(shutil.copytree(folder, tmp_path / "copy")),
    )
    shuffled(copy / "gold", b"\n")
    first, other = (
        score(capsys, kind, [gold / "gold"], run, "--digest-rule", "1")
        for gold in (folder, copy)
    )
    assert first["gold"]["sha256"] != other["gold"]["sha256"]
    assert first["gold"]["rule"] == 1
    # As release 0.3.0 printed it.
    assert first["gold"]["sha256"].startswith("6dd91293c9292270")


@pytest.mark.parametrize("rule", ["1", "2"])
def test_a_type_without_a_pool_has_one_digest_by_all_rules(rule, capsys):
    kind = task_type("citation-text")
    plain = scored(capsys, kind)
    assert (
        scored(capsys, kind, "--digest-rule", rule)["gold"]["sha256"]
        == (plain["gold"]["sha256"])
    )


def test_an_archive_of_before_names_neither_rule_nor_nonce_nor_reading():
    key = build_archived_gold_key({"sha256": "0" * 64})
    assert (key.nonce, key.rule, key.reading) == ("", 1, 1)
