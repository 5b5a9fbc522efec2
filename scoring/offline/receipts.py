"""Verify receipts, which are data that a site signs when it publishes an evaluation.

A receipt is an entry of the site's append-only log. A receipt contains a commitment to
each of the fields task, run, gold, scorer, scores and time. A commitment is the SHA-256
of a nonce (32 random bytes) and a JSON text, and reveals nothing about the text. A
person with the nonce and the text of a commitment can prove that the site signed this
text. A field of a receipt is sealed if its nonce and text are not published. The JSON
texts must be stored unchanged, byte by byte. The log is a Merkle tree whose root the
site signs, so that changed, removed or inserted entries change the root.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scoring.offline.ed25519 import KEY_BYTES, is_valid_signature
from scoring.offline.merkle import compute_leaf_hash, is_consistent, is_included
from tasks.types.guarded.json_reader import read_json

RECEIPT_FORMAT, RECEIPT_VERSION = "citeboard-receipt", 1
COMMITTED_FIELDS = ("task", "run", "gold", "scorer", "scores", "time")
NONCE_BYTES = 32
#: Each kind of signed text has its own prefix, so that signatures fit one kind only.
ENTRY_SIGNATURE_PREFIX, HEAD_SIGNATURE_PREFIX, KEY_SIGNATURE_PREFIX = (
    b"citeboard receipt 1\n",
    b"citeboard log head 1\n",
    b"citeboard key 1\n",
)
#: The signature of a log's head covers the fields in SIGNED_HEAD_FIELDS.
SIGNED_HEAD_FIELDS = ("at", "root", "size")
#: A receipt commits to the fields in COMMITTED_SCORE_FIELDS of each metric's score.
COMMITTED_SCORE_FIELDS = (
    "value",
    "infinite",
    "low",
    "high",
    "n",
    "column",
    "signature",
)

JsonObject = Mapping[str, Any]


def encode_canonical_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def compute_commitment(nonce: bytes, text: str) -> str:
    return hashlib.sha256(nonce + text.encode()).hexdigest()


def build_log_entry(commitments: Mapping[str, str]) -> str:
    return encode_canonical_json(
        {
            "receipt": RECEIPT_VERSION,
            **{name: commitments[name] for name in COMMITTED_FIELDS},
        }
    )


def encode_head_for_signature(head: JsonObject) -> bytes:
    return (
        HEAD_SIGNATURE_PREFIX
        + encode_canonical_json(
            {part: head[part] for part in SIGNED_HEAD_FIELDS}
        ).encode()
    )


def select_committed_scores(
    metrics: Mapping[str, JsonObject],
) -> dict[str, dict[str, Any]]:
    """Return the fields of each metric's score to which a receipt commits, in the
    format of `score --json`.
    """
    return {
        name: {
            part: metric[part]
            for part in COMMITTED_SCORE_FIELDS
            if part in metric and metric[part] is not False
        }
        for name, metric in metrics.items()
    }


@dataclass
class CheckedReceipt:
    """The result of checking a receipt, with the ``faults`` as messages, and the
    committed values of the ``opened`` fields, whose nonces are published.
    """

    faults: list[str] = field(default_factory=list)
    opened: dict[str, Any] = field(default_factory=dict)
    sealed: list[str] = field(default_factory=list)
    key: str = ""
    index: int | None = None
    entry_hash: bytes = b""
    head: JsonObject | None = None


def check_receipt(receipt: JsonObject, keys: Collection[str]) -> CheckedReceipt:
    """Check that one of the public keys verifies the receipt's signature, and check the
    commitments and the inclusion in the log.
    """
    checked = CheckedReceipt()
    try:
        _check_signed_receipt(receipt, keys, checked)
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as fault:
        checked.faults.append(
            f"it is not as receipts are written: {type(fault).__name__} {fault}"
        )
    return checked


def _check_signed_receipt(
    receipt: JsonObject, keys: Collection[str], checked: CheckedReceipt
) -> None:
    if (receipt["format"], receipt["version"]) != (RECEIPT_FORMAT, RECEIPT_VERSION):
        checked.faults.append(f"it is no {RECEIPT_FORMAT} of version {RECEIPT_VERSION}")
        return
    if receipt["log"] is None:
        checked.faults.append(
            "it is not in the log yet: ask the site for it again in a minute"
        )
        return
    checked.key, entry = receipt["key"], receipt["entry"].encode()
    checked.entry_hash = compute_leaf_hash(entry)
    if checked.key not in keys:
        checked.faults.append(f"the key {checked.key} is not one of the site's")
    if not is_valid_signature(
        bytes.fromhex(checked.key),
        ENTRY_SIGNATURE_PREFIX + entry,
        bytes.fromhex(receipt["signature"]),
    ):
        checked.faults.append("the signature is not that of its key")
    commitments = read_json(receipt["entry"])
    if receipt["entry"] != build_log_entry(commitments):
        checked.faults.append("the entry is not written as entries are")
    for name in COMMITTED_FIELDS:
        if (opening := receipt["openings"].get(name)) is None:
            checked.sealed.append(name)
            continue
        nonce = bytes.fromhex(opening["nonce"])
        if (
            len(nonce) == NONCE_BYTES
            and compute_commitment(nonce, opening["text"]) == commitments[name]
        ):
            checked.opened[name] = read_json(opening["text"])
        else:
            checked.faults.append(f"the {name} is not what was committed to")
    checked.head, checked.index = receipt["log"]["head"], receipt["log"]["index"]
    checked.faults += find_head_faults(checked.head, keys)
    if not is_in_log(
        checked.entry_hash,
        checked.index,
        checked.head,
        _parse_hashes(receipt["log"]["path"]),
    ):
        checked.faults.append(
            f"it does not stand at place {checked.index} of the log whose head it names"
        )


def find_head_faults(head: JsonObject, keys: Collection[str]) -> list[str]:
    if head["key"] not in keys:
        return [
            f"the log's head is signed by the key {head['key']}, which is not one of the site's"
        ]
    if not is_valid_signature(
        bytes.fromhex(head["key"]),
        encode_head_for_signature(head),
        bytes.fromhex(head["signature"]),
    ):
        return ["the signature of the log's head is not that of its key"]
    return []


def is_in_log(
    entry_hash: bytes, index: int, head: JsonObject, path: Sequence[bytes]
) -> bool:
    return is_included(
        entry_hash, index, head["size"], path, bytes.fromhex(head["root"])
    )


def is_continuation_of_log(
    before: JsonObject, after: JsonObject, path: Iterable[str]
) -> bool:
    """Return True if the log with head ``after`` begins with all entries of the log
    with head ``before``.
    """
    roots = bytes.fromhex(before["root"]), bytes.fromhex(after["root"])
    return is_consistent(before["size"], after["size"], _parse_hashes(path), *roots)


def parse_public_keys(text: str) -> set[str]:
    """Return the public keys in a text with hexadecimal digits, one key per line, or in
    the JSON list of a site. Raises ValueError.
    """
    try:
        words = [key["public"] for key in read_json(text)["keys"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        words = text.split()
    keys = {word.lower() for word in words if isinstance(word, str)}
    if not keys or any(
        len(key) != 2 * KEY_BYTES or len(bytes.fromhex(key)) != KEY_BYTES
        for key in keys
    ):
        raise ValueError
    return keys


def find_trusted_keys(
    pinned: Collection[str], listed: Iterable[JsonObject]
) -> set[str]:
    """Return the pinned public keys, and the listed public keys that a chain of
    signatures connects to a pinned key.
    """
    found = set(pinned)
    left = [key for key in listed if key["signed_by"]]
    while signed := [key for key in left if key["signed_by"] in found]:
        left = [key for key in left if key not in signed]
        for key in signed:
            message, signature = (
                KEY_SIGNATURE_PREFIX + bytes.fromhex(key["public"]),
                bytes.fromhex(key["endorsement"]),
            )
            if is_valid_signature(bytes.fromhex(key["signed_by"]), message, signature):
                found.add(key["public"])
    return found


def _parse_hashes(texts: Iterable[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]
