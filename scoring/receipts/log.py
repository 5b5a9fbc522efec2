"""The log of receipts.

Receipts are saved together with the scores of a run. Soon afterwards, a process that
has locked the log appends the waiting receipts.
"""

import json
import logging
import secrets
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from citeboard.core.commits import call_after_commit
from citeboard.core.instants import format_day
from citeboard.core.refusals import ActionRefused
from citeboard.core.release import compute_release_digest
from scoring.models import Evaluation, LogEntry, LogHead, LogNode, Receipt, SigningKey
from scoring.offline import merkle, receipts
from scoring.offline.receipts import KEY_SIGNATURE_PREFIX
from scoring.offline.terminal import find_installed_version
from tasks.types.base import replace_paths_by_file_names


class SigningKeyUnavailable(ActionRefused):
    """An error about a signing key that cannot be used. Scores are published without
    signed receipts until the key can be used again.
    """


@dataclass(frozen=True)
class ReceiptSigner:
    row: SigningKey
    private: Ed25519PrivateKey

    def sign(self, message: bytes) -> str:
        return self.private.sign(message).hex()


def get_or_create_signer() -> ReceiptSigner:
    """Return the key with which receipts are signed now. Create the first signing key
    if no signing key exists. Raises SigningKeyUnavailable.

    The caller must lock the log of receipts before the call.
    """
    current = find_current_signing_key()
    if settings.RECEIPT_KEY:
        private, known = _load_configured_key()
        return (
            ReceiptSigner(known, private)
            if known
            else _switch_to_signing_key(private, "", current)
        )
    return (
        ReceiptSigner(current, _derive_private_key(current))
        if current
        else _create_signer(None)
    )


def find_current_signing_key() -> SigningKey | None:
    return SigningKey.objects.filter(retired_at=None).first()


def find_signing_key_problem() -> str:
    """Return the reason for which receipts cannot be signed, or an empty text if a
    signing key exists or can be created.
    """
    current = find_current_signing_key()
    try:
        if settings.RECEIPT_KEY:
            _load_configured_key()
        elif current is not None:
            _derive_private_key(current)
    except SigningKeyUnavailable as reason:
        return str(reason)
    return ""


def _load_configured_key() -> tuple[Ed25519PrivateKey, SigningKey | None]:
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(settings.RECEIPT_KEY))
    signing_key = SigningKey.objects.filter(public=_public_key_hex(private)).first()
    if signing_key is not None and signing_key.retired_at is not None:
        message = _(
            "the key in CITEBOARD_RECEIPT_KEY was replaced on %(date)s by another one"
        )
        raise SigningKeyUnavailable(
            message % {"date": format_day(signing_key.retired_at)}
        )
    return private, signing_key


def _create_signer(before: SigningKey | None) -> ReceiptSigner:
    nonce = secrets.token_hex(32)
    return _switch_to_signing_key(_private_key_from_nonce(nonce), nonce, before)


def _switch_to_signing_key(
    private: Ed25519PrivateKey, nonce: str, before: SigningKey | None
) -> ReceiptSigner:
    public, endorsement = _public_key_hex(private), ""
    if before is not None:
        with suppress(SigningKeyUnavailable):
            endorsement = (
                _derive_private_key(before)
                .sign(KEY_SIGNATURE_PREFIX + bytes.fromhex(public))
                .hex()
            )
        SigningKey.objects.filter(pk=before.pk).update(retired_at=timezone.now())
    facts = {"public": public, "nonce": nonce, "endorsement": endorsement}
    return ReceiptSigner(
        SigningKey.objects.create(**facts, signed_by=before if endorsement else None),
        private,
    )


def _derive_private_key(key: SigningKey) -> Ed25519PrivateKey:
    if not key.nonce:
        message = _(
            "the key %(key)s came from CITEBOARD_RECEIPT_KEY, which does not give it now"
        )
        raise SigningKeyUnavailable(message % {"key": key.public[:16]})
    private = _private_key_from_nonce(key.nonce)
    if _public_key_hex(private) != key.public:
        message = _(
            "the key %(key)s was made with another secret key than the site has now"
        )
        raise SigningKeyUnavailable(message % {"key": key.public[:16]})
    return private


def _private_key_from_nonce(nonce: str) -> Ed25519PrivateKey:
    seed = salted_hmac("citeboard.receipts", nonce, algorithm="sha256").digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def _public_key_hex(private: Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes_raw().hex()


#: One transaction appends at most this many entries to the log of receipts.
MAX_ENTRIES_PER_TRANSACTION = 500
log = logging.getLogger(__name__)


def save_receipt(evaluation: Evaluation, result: Mapping[str, Any]) -> Receipt:
    """Save the receipt of a run's scores in the transaction that publishes the scores."""
    run, gold = evaluation.submission, evaluation.gold
    phase, now = run.phase, timezone.now()
    fields: dict[str, Any] = {
        "task": {
            "site": settings.BASE_URL,
            "season": phase.task.season.slug,
            "task": phase.task.slug,
            "phase": phase.slug,
            "type": phase.task.type,
            "rules": evaluation.rules,
            "options": replace_paths_by_file_names(
                phase.task.task_type.validate_options(evaluation.options)
            ),
        },
        "run": {
            "number": run.pk,
            "sha256": result["run"]["sha256"],
            "file_sha256": run.sha256,
        },
        "gold": {"sha256": gold.digest, "split": gold.split, "version": gold.number},
        "scorer": {
            "version": find_installed_version(),
            "sources": compute_release_digest(),
        },
        "scores": receipts.select_committed_scores(result["metrics"]),
        "time": now.isoformat(timespec="seconds"),
    }
    openings, commitments = {}, {}
    for name, value in fields.items():
        nonce, text = (
            secrets.token_bytes(receipts.NONCE_BYTES),
            receipts.encode_canonical_json(value),
        )
        openings[name] = {"nonce": nonce.hex(), "text": text}
        commitments[name] = receipts.compute_commitment(nonce, text)
    entry = LogEntry.objects.create(content=receipts.build_log_entry(commitments))
    call_after_commit(append_waiting_receipts_to_log)
    packed = zlib.compress(json.dumps(openings).encode())
    return Receipt.objects.create(
        entry=entry, evaluation=evaluation, openings=packed, created_at=now
    )


def read_openings(receipt: Receipt) -> dict[str, dict[str, str]]:
    openings: dict[str, dict[str, str]] = json.loads(zlib.decompress(receipt.openings))
    return openings


def append_waiting_receipts_to_log() -> int:
    """Sign the receipts that wait, append them to the log, and return their number."""
    total = 0
    while LogEntry.objects.filter(index=None).exists():
        try:
            with transaction.atomic():
                total += _append_batch_of_entries(_lock_receipt_log_head())
        except SigningKeyUnavailable as reason:
            log.warning("Receipts wait for their key: %s", reason)
            break
    return total


def replace_signing_key() -> SigningKey:
    """Replace the key with which the site signs receipts. The new key also signs the
    current head of the log of receipts. Raises Refused.
    """
    with transaction.atomic():
        # The caller must lock the log of receipts.
        if settings.RECEIPT_KEY:
            raise ActionRefused(
                _(
                    "the environment gives the key: put another one into CITEBOARD_RECEIPT_KEY"
                )
            )
        head, by = _lock_receipt_log_head(), _create_signer(find_current_signing_key())
        _sign_log_head(head, by)
    return by.row


def create_or_extend_receipt_log() -> int:
    """Append the receipts that wait to the log, and return their number.

    On the first call, the function also creates the first signing key and signs the
    head of the empty log.
    """
    if read_signed_log_head() is None:
        with transaction.atomic():
            _sign_log_head(_lock_receipt_log_head(), get_or_create_signer())
    return append_waiting_receipts_to_log()


def _lock_receipt_log_head() -> LogHead:
    LogHead.objects.get_or_create(pk=1)
    return LogHead.objects.select_for_update().get(pk=1)


def _append_batch_of_entries(head: LogHead) -> int:
    waiting = list(
        LogEntry.objects.filter(index=None).order_by("pk")[:MAX_ENTRIES_PER_TRANSACTION]
    )
    if not waiting:
        return 0
    by = get_or_create_signer()
    # To append entries to the log, only the roots of its complete subtrees are needed.
    known = dict(load_stored_nodes(list(merkle.list_complete_subtrees(0, head.size))))
    made: dict[merkle.TreeNode, bytes] = {}

    def find_known_nodes(
        wanted: Sequence[merkle.TreeNode],
    ) -> Mapping[merkle.TreeNode, bytes]:
        return {node: known.get(node) or made[node] for node in wanted}

    for index, entry in enumerate(waiting, head.size):
        content = entry.content.encode()
        made |= merkle.compute_completed_nodes(
            index, merkle.compute_leaf_hash(content), find_known_nodes
        )
        entry.index, entry.key, entry.signature = (
            index,
            by.row,
            by.sign(receipts.ENTRY_SIGNATURE_PREFIX + content),
        )
    LogNode.objects.bulk_create(
        LogNode(place=_build_node_primary_key(node), hash=value)
        for node, value in made.items()
    )
    LogEntry.objects.bulk_update(waiting, ["index", "key", "signature"])
    head.size += len(waiting)
    head.root = merkle.compute_root(head.size, find_known_nodes).hex()
    _sign_log_head(head, by)
    return len(waiting)


def _sign_log_head(head: LogHead, by: ReceiptSigner) -> None:
    head.root = head.root or merkle.EMPTY_TREE_ROOT.hex()
    head.at, head.key = timezone.now().isoformat(timespec="seconds"), by.row
    head.signature = by.sign(
        receipts.encode_head_for_signature(
            {"at": head.at, "root": head.root, "size": head.size}
        )
    )
    head.save()


def load_stored_nodes(nodes: Sequence[merkle.TreeNode]) -> dict[merkle.TreeNode, bytes]:
    wanted = {_build_node_primary_key(node): node for node in nodes}
    rows = LogNode.objects.filter(pk__in=wanted).values_list("place", "hash")
    return {wanted[place]: bytes(value) for place, value in rows}


def _build_node_primary_key(node: merkle.TreeNode) -> int:
    level, index = node
    return level << 56 | index


def read_signed_log_head() -> dict[str, Any] | None:
    """Return the latest signed head of the log of receipts, or None if no signing key
    exists yet.
    """
    row = LogHead.objects.select_related("key").exclude(key=None).first()
    if row is None or row.key is None:
        return None
    facts = {"size": row.size, "root": row.root, "at": row.at}
    return {**facts, "key": row.key.public, "signature": row.signature}


def describe_signing_keys() -> list[dict[str, Any]]:
    return [
        {
            "public": key.public,
            "since": key.since.isoformat(),
            "retired_at": key.retired_at and key.retired_at.isoformat(),
            "signed_by": key.signed_by.public if key.signed_by else "",
            "endorsement": key.endorsement,
        }
        for key in SigningKey.objects.select_related("signed_by")
    ]


def compute_inclusion_proof(index: int, size: int) -> list[str]:
    return [
        value.hex()
        for value in merkle.build_inclusion_path(index, size, load_stored_nodes)
    ]


def compute_consistency_proof(first: int, second: int) -> list[str]:
    return [
        value.hex()
        for value in merkle.build_consistency_path(first, second, load_stored_nodes)
    ]
