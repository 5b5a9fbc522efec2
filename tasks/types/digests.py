"""The public digest of gold, and the commitment to the draw of its public part.

The digest is an HMAC, since the plain digest of a small set of answers can be guessed.
"""

import hashlib
import hmac
import re

NONCE_BYTES = 32
#: The name of a keyed digest, and of a plain one, as people read it.
SALTED, PLAIN = "HMAC-SHA-256", "SHA-256"
#: Domain separation: the bytes of a commitment begin with this line.
_DRAW = b"citeboard draw 1\n"
#: Hexadecimal digits of a commitment in the name of a part.
COMMITMENT_DIGITS = 12


def is_nonce(text: str) -> bool:
    return re.fullmatch(rf"[0-9a-f]{{{2 * NONCE_BYTES}}}", text) is not None


def salted_digest(digest: str, nonce: str) -> str:
    """Return the HMAC-SHA-256 of a digest's hexadecimal digits; ``nonce`` is its key, in such digits too."""
    return hmac.new(bytes.fromhex(nonce), digest.encode(), hashlib.sha256).hexdigest()


def draw_commitment(nonce: str) -> str:
    """Return the commitment to the nonce of a draw; both are hexadecimal digits."""
    return hashlib.sha256(_DRAW + bytes.fromhex(nonce)).hexdigest()
