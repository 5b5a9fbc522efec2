"""Compute the public digest of gold (reference answers), and the commitment to the
random sample of gold that becomes public.

The public digest is an HMAC whose secret key is the nonce of the gold. Without the
secret key, readers of the digest could find a small set of answers by trying all
possibilities.
"""

import hashlib
import hmac
import re

NONCE_BYTES = 32
#: Displayed digests begin with the hash algorithm, `SALTED_DIGEST_ALGORITHM` or `PLAIN_DIGEST_ALGORITHM`.
SALTED_DIGEST_ALGORITHM, PLAIN_DIGEST_ALGORITHM = "HMAC-SHA-256", "SHA-256"
#: For domain separation, the line `_DRAW_HASH_DOMAIN` precedes the nonce in the hashed bytes.
_DRAW_HASH_DOMAIN = b"citeboard draw 1\n"
#: Names of public samples contain `DISPLAYED_COMMITMENT_DIGITS` digits of the commitment.
DISPLAYED_COMMITMENT_DIGITS = 12


def is_valid_nonce(text: str) -> bool:
    return re.fullmatch(rf"[0-9a-f]{{{2 * NONCE_BYTES}}}", text) is not None


def compute_salted_digest(digest: str, nonce: str) -> str:
    """Return the HMAC-SHA-256 of a digest in hexadecimal notation. The key ``nonce``
    and the result are also hexadecimal.
    """
    return hmac.new(bytes.fromhex(nonce), digest.encode(), hashlib.sha256).hexdigest()


def compute_draw_commitment(nonce: str) -> str:
    """Return the SHA-256 commitment to the nonce (secret seed) of a random sample. The
    nonce and the returned commitment are hexadecimal.
    """
    return hashlib.sha256(_DRAW_HASH_DOMAIN + bytes.fromhex(nonce)).hexdigest()
