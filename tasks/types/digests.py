"""The public digest of gold, and the commitment to a random sample of the gold that
becomes public.

The public digest of gold is an HMAC with a secret key. From an unkeyed digest, a small
set of answers could be guessed.
"""

import hashlib
import hmac
import re

NONCE_BYTES = 32
#: The prefixes `SALTED` and `PLAIN` name the algorithm of a displayed digest.
SALTED, PLAIN = "HMAC-SHA-256", "SHA-256"
#: For domain separation, the bytes of a commitment begin with the line `_DRAW`.
_DRAW = b"citeboard draw 1\n"
#: The name of a public sample contains `COMMITMENT_DIGITS` digits of the commitment.
COMMITMENT_DIGITS = 12


def is_nonce(text: str) -> bool:
    return re.fullmatch(rf"[0-9a-f]{{{2 * NONCE_BYTES}}}", text) is not None


def salted_digest(digest: str, nonce: str) -> str:
    """Return the HMAC-SHA-256 of the text of a digest. The key of the HMAC is
    ``nonce``. The digest, the key and the result are hexadecimal.
    """
    return hmac.new(bytes.fromhex(nonce), digest.encode(), hashlib.sha256).hexdigest()


def draw_commitment(nonce: str) -> str:
    """Return the commitment to the nonce of a random sample. Nonce and commitment are
    hexadecimal.
    """
    return hashlib.sha256(_DRAW + bytes.fromhex(nonce)).hexdigest()
