"""Verify Ed25519 signatures (RFC 8032, section 5.1) with the standard library only.

The module cannot sign. A curve point is (X, Y, Z, T) in extended coordinates, with x =
X / Z, y = Y / Z and x · y = T / Z, where all numbers are integers modulo ``P``.
"""

import hashlib

P = 2**255 - 19
#: ORDER is the order of the base point of the curve.
ORDER = 2**252 + 27742317777372353535851937790883648493
_CURVE_CONSTANT_D = -121665 * pow(121666, -1, P) % P
_ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
KEY_BYTES, SIGNATURE_BYTES = 32, 64

Point = tuple[int, int, int, int]
_NEUTRAL_POINT: Point = (0, 1, 1, 0)


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return True if the Ed25519 signature is valid for this key and message.

    The result is False for public keys of small order, for which some signatures are
    valid for every message.
    """
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    key, begin = _decode_point(public_key), _decode_point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if (
        key is None
        or begin is None
        or scalar >= ORDER
        or _is_same_point(_sum_scaled_points(8, key), _NEUTRAL_POINT)
    ):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    return _is_same_point(
        _sum_scaled_points(
            scalar, _BASE_POINT, challenge, (P - key[0], key[1], 1, P - key[3])
        ),
        begin,
    )


def _decode_point(text: bytes) -> Point | None:
    """Return the curve point that the 32 bytes encode, or None if the bytes encode no
    point (RFC 8032, section 5.1.3).
    """
    y = int.from_bytes(text, "little")
    is_odd, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    # The sign bit selects one of both roots of x² = (y² - 1) / (d · y² + 1).
    square = (y * y - 1) * pow(_CURVE_CONSTANT_D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * _ROOT_OF_MINUS_ONE % P
    if x * x % P != square or (x == 0 and is_odd):
        return None
    if x & 1 != is_odd:
        x = P - x
    return x, y, 1, x * y % P


def _add_points(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * _CURVE_CONSTANT_D * one[3] * other[3] % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _sum_scaled_points(
    scalar: int, point: Point, other_scalar: int = 0, other: Point = _NEUTRAL_POINT
) -> Point:
    """Return the sum of two curve points, each multiplied by its scalar."""
    summands = (_NEUTRAL_POINT, point, other, _add_points(point, other))
    total = _NEUTRAL_POINT
    for bit in reversed(range(max(scalar, other_scalar).bit_length())):
        total = _add_points(total, total)
        if chosen := scalar >> bit & 1 | (other_scalar >> bit & 1) << 1:
            total = _add_points(total, summands[chosen])
    return total


def _is_same_point(point: Point, other: Point) -> bool:
    return (
        (point[0] * other[2] - other[0] * point[2]) % P
        == 0
        == (point[1] * other[2] - other[1] * point[2]) % P
    )


_decoded_base_point = _decode_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
assert _decoded_base_point is not None
_BASE_POINT: Point = _decoded_base_point
