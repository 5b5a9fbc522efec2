"""The key that signs receipts: made at the first use, replaced by command, and missed in plain words."""

import secrets
from contextlib import suppress
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from citeboard.core.refusals import Refused
from scoring.models import SigningKey
from scoring.offline.receipts import KEY


class KeyLost(Refused):
    """Receipts wait for it; scores do not."""


@dataclass(frozen=True)
class Signer:
    row: SigningKey
    private: Ed25519PrivateKey

    def sign(self, message: bytes) -> str:
        return self.private.sign(message).hex()


def signer() -> Signer:
    """Of the current key; the first is made. Called with the log locked. Raises KeyLost."""
    current = current_key()
    if settings.RECEIPT_KEY:
        private, known = _given()
        return Signer(known, private) if known else _take(private, "", current)
    return Signer(current, _private(current)) if current else _made(None)


def replace_key() -> Signer:
    """Called with the log locked."""
    if settings.RECEIPT_KEY:
        raise Refused(_("the environment gives the key: put another one into CITEBOARD_RECEIPT_KEY"))
    return _made(current_key())


def current_key() -> SigningKey | None:
    return SigningKey.objects.filter(retired_at=None).first()


def why_lost() -> str:
    """In words; empty where receipts can be signed, or a first key can be made for them."""
    current = current_key()
    try:
        if settings.RECEIPT_KEY:
            _given()
        elif current is not None:
            _private(current)
    except KeyLost as reason:
        return str(reason)
    return ""


def _given() -> tuple[Ed25519PrivateKey, SigningKey | None]:
    """With its row, where it has signed before."""
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(settings.RECEIPT_KEY))
    known = SigningKey.objects.filter(public=_public(private)).first()
    if known is not None and known.retired_at is not None:
        words = _("the key in CITEBOARD_RECEIPT_KEY was replaced on %(date)s by another one")
        raise KeyLost(words % {"date": f"{known.retired_at:%Y-%m-%d}"})
    return private, known


def _made(before: SigningKey | None) -> Signer:
    nonce = secrets.token_hex(32)
    return _take(_derived(nonce), nonce, before)


def _take(private: Ed25519PrivateKey, nonce: str, before: SigningKey | None) -> Signer:
    """In place of the key before it, which signs it where it is not lost."""
    public, endorsement = _public(private), ""
    if before is not None:
        with suppress(KeyLost):
            endorsement = _private(before).sign(KEY + bytes.fromhex(public)).hex()
        SigningKey.objects.filter(pk=before.pk).update(retired_at=timezone.now())
    row = SigningKey.objects.create(
        public=public, nonce=nonce, endorsement=endorsement, signed_by=before if endorsement else None
    )
    return Signer(row, private)


def _private(key: SigningKey) -> Ed25519PrivateKey:
    if not key.nonce:
        words = _("the key %(key)s came from CITEBOARD_RECEIPT_KEY, which does not give it now")
        raise KeyLost(words % {"key": key.public[:16]})
    private = _derived(key.nonce)
    if _public(private) != key.public:
        words = _("the key %(key)s was made with another secret key than the site has now")
        raise KeyLost(words % {"key": key.public[:16]})
    return private


def _derived(nonce: str) -> Ed25519PrivateKey:
    seed = salted_hmac("citeboard.receipts", nonce, algorithm="sha256").digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def _public(private: Ed25519PrivateKey) -> str:
    return private.public_key().public_bytes_raw().hex()
