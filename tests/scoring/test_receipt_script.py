"""The script for Node that checks receipts by the guide alone: on the sample, and on answers of a site."""

import copy
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from scoring.offline import merkle
from scoring.offline.receipts import (
    ENTRY_SIGNATURE_PREFIX,
    HEAD_SIGNATURE_PREFIX,
    KEY_SIGNATURE_PREFIX,
    check_receipt,
    encode_head_for_signature,
)
from scoring.receipts import log
from tasks.models import Phase
from tests import factories
from tests.api.conftest import API
from tests.api.sending import score

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")


@dataclass(frozen=True)
class Printed:
    code: int
    lines: list[str]


@pytest.fixture
def folder(root):
    return root / "docs" / "receipts"


@pytest.fixture
def sample(folder) -> dict[str, Any]:
    return json.loads((folder / "receipt.json").read_text())


@pytest.fixture
def check(folder, tmp_path):
    """Return a function that runs the script on a value, or on the text of a file."""

    def run(content: object, *keys: str) -> Printed:
        file, key_file = tmp_path / "file.json", tmp_path / "keys.txt"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        key_file.write_text("\n".join(keys) or (folder / "keys.txt").read_text())
        command = [str(NODE), str(folder / "check_receipt.js"), str(file)]
        done = subprocess.run(
            [*command, str(key_file)], capture_output=True, text=True, check=False
        )
        return Printed(done.returncode, (done.stdout + done.stderr).splitlines())

    return run


def changed(receipt: dict[str, Any], *path: str | int, value: object) -> dict[str, Any]:
    """Return a copy in which the value at this path is another one."""
    copied = copy.deepcopy(receipt)
    holder: Any = copied
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return copied


def swapped(text: str) -> str:
    return text.translate(str.maketrans("01", "10"))


@needs_node
def test_the_script_and_the_scorer_both_accept_the_sample_of_the_guide(
    check, folder, sample
):
    key = (folder / "keys.txt").read_text().strip()
    assert check_receipt(sample, {key}).faults == []
    printed = check(sample)
    assert (printed.code, printed.lines[0]) == (0, "receipt 1: right")
    replaced = json.loads((folder / "log.json").read_text())
    printed = check(replaced)
    assert (printed.code, printed.lines[0]) == (0, "log: right")
    assert printed.lines[-1].endswith(replaced["head"]["key"])
    assert check(replaced, replaced["head"]["key"]).code == 0


@needs_node
def test_the_script_finds_each_change_of_the_sample_in_one_list(check, sample):
    """Each case, and the fault that the script must name."""
    signature, entry = sample["signature"], sample["entry"]
    cases = [
        (("entry",), entry.replace("0", "1", 1), "entry: the signature is wrong"),
        (("entry",), entry.replace(",", ", "), "not canonical JSON"),
        (("signature",), swapped(signature), "entry: the signature is wrong"),
        (("signature",), signature[:-2], "signature: expected 128 hexadecimal"),
        (("key",), "zz" * 32, "public key: expected 64 hexadecimal digits"),
        (("key",), "0" * 64, "is not one of the keys that you trust"),
        (("openings", "scores", "text"), "{}", "scores: the text is not the one"),
        (("openings", "run", "nonce"), "", "nonce of run: expected 64"),
        (("log", "head", "root"), "0" * 64, "head of the log: the signature is wrong"),
        (("log", "head", "size"), 6, "head of the log: the signature is wrong"),
        (("log", "path"), sample["log"]["path"][:-1], "not at place 2 of the log"),
        (("log", "path"), sample["log"]["path"] * 2, "not at place 2 of the log"),
        (("log", "index"), 3, "not at place 3 of the log"),
        (("log", "index"), -1, "not at place -1 of the log"),
        (("log",), None, "not in the log yet"),
        (("log",), {}, "not written as the site writes it"),
        (("openings",), None, "not written as the site writes it"),
        (("version",), 2, "no citeboard-receipt of version 1"),
    ]
    printed = check([changed(sample, *path, value=value) for path, value, _ in cases])
    assert printed.code == 1
    parts = re.split(r"^receipt \d+: ", "\n".join(printed.lines), flags=re.MULTILINE)[
        1:
    ]
    for (path, _, fault), part in zip(cases, parts, strict=True):
        assert part.startswith("WRONG"), path
        assert fault in part, (path, part)


@needs_node
@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read as JSON"),
        (lambda text: "", "cannot be read as JSON"),
        (lambda text: "[]", "expected receipts"),
        (lambda text: "[3]", "expected receipts"),
    ],
)
def test_the_script_refuses_a_file_that_is_cut_or_holds_no_receipt(
    check, sample, cut, message
):
    printed = check(cut(json.dumps(sample)))
    assert printed.code == 2
    assert message in printed.lines[-1]


@needs_node
def test_the_script_refuses_a_file_without_a_key(check, sample):
    printed = check(sample, "no key")
    assert (printed.code, "64 hexadecimal digits" in printed.lines[0]) == (2, True)


@needs_node
@pytest.mark.django_db
def test_the_script_accepts_receipts_heads_and_entries_of_a_site_and_no_other_key(
    check,
):
    phase = factories.make_phase(board=Phase.Audience.EVERYONE, shows_teams=False)
    runs = [factories.make_submission(phase=phase) for _ in range(3)]
    for run in runs:
        score(run)
    log.create_or_extend_receipt_log()
    client = Client()
    [receipt] = client.get(f"{API}/submissions/{runs[1].pk}/receipts/").json()
    entries = client.get(f"{API}/log/entries/").json()
    key = receipt["key"]
    printed = check(receipt, key)
    assert (printed.code, "  run: sealed" in printed.lines) == (0, True)
    assert check(receipt, "0" * 64).code == 1
    printed = check(entries, key)
    hashes = [
        merkle.compute_leaf_hash(row["content"].encode()) for row in entries["results"]
    ]
    assert printed.code == 0
    assert printed.lines[1::2] == [f"  leaf hash {value.hex()}" for value in hashes]
    entries["results"][2]["content"] += " "
    assert check(entries, key).lines[4] == "entry 2: WRONG"
    log.replace_signing_key()
    answer = client.get(f"{API}/log/").json()
    printed = check(answer, key)
    assert (printed.code, len(printed.lines)) == (0, 4)
    answer["keys"][1]["endorsement"] = swapped(answer["keys"][1]["endorsement"])
    assert check(answer, key).code == 1


def test_the_guide_gives_the_values_of_the_sample(root, folder, sample):
    page = (root / "docs" / "receipts.md").read_text(encoding="utf-8")
    entry = sample["entry"].encode()
    head = sample["log"]["head"]
    later = json.loads((folder / "log.json").read_text())["keys"][1]["public"]
    key_message = KEY_SIGNATURE_PREFIX + bytes.fromhex(later)
    gold = sample["openings"]["gold"]
    content = [gold["nonce"], gold["text"], sample["key"], head["root"]]
    hashes = [
        hashlib.sha256(bytes.fromhex(gold["nonce"]) + gold["text"].encode()),
        hashlib.sha256(ENTRY_SIGNATURE_PREFIX + entry),
        hashlib.sha256(b"\0" + entry),
        hashlib.sha256(key_message),
    ]
    content += [found.hexdigest() for found in hashes]
    content.append(
        encode_head_for_signature(head).removeprefix(HEAD_SIGNATURE_PREFIX).decode()
    )
    assert [value for value in content if f"        {value}\n" not in page] == []
    sizes = [
        len(ENTRY_SIGNATURE_PREFIX + entry),
        len(entry),
        len(encode_head_for_signature(head)),
        len(key_message),
    ]
    assert [size for size in sizes if f"{size} bytes" not in page] == []
    for prefix in (ENTRY_SIGNATURE_PREFIX, HEAD_SIGNATURE_PREFIX, KEY_SIGNATURE_PREFIX):
        assert f"`{prefix.decode().rstrip()}`" in page


@pytest.mark.django_db
def test_the_guide_and_the_page_of_the_log_lead_to_the_script(client):
    for address in ("/docs/receipts/", "/log/"):
        page = client.get(address).content.decode()
        [link] = re.findall(r'href="/static/(\S+)" download="check_receipt.js"', page)
        assert finders.find(link)
