"""Verify Ed25519 signatures (RFC 8032, section 5.1) with the standard library only.

The module cannot sign. A curve point is (X, Y, Z, T) in extended coordinates, with x =
X / Z, y = Y / Z and x · y = T / Z, where all numbers are integers modulo ``P``.
"""

import hashlib

FIELD_PRIME = 2**255 - 19
#: GROUP_ORDER is the order of the base point of the curve.
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
_CURVE_CONSTANT_D = -121665 * pow(121666, -1, FIELD_PRIME) % FIELD_PRIME
_ROOT_OF_MINUS_ONE = pow(2, (FIELD_PRIME - 1) // 4, FIELD_PRIME)
KEY_BYTES, SIGNATURE_BYTES = 32, 64

CurvePoint = tuple[int, int, int, int]
_NEUTRAL_POINT: CurvePoint = (0, 1, 1, 0)


def is_valid_signature(public_key: bytes, message: bytes, signature: bytes) -> bool:
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
        or scalar >= GROUP_ORDER
        or _is_same_point(_sum_scaled_points(8, key), _NEUTRAL_POINT)
    ):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % GROUP_ORDER
    return _is_same_point(
        _sum_scaled_points(
            scalar,
            _BASE_POINT,
            challenge,
            (FIELD_PRIME - key[0], key[1], 1, FIELD_PRIME - key[3]),
        ),
        begin,
    )


def _decode_point(text: bytes) -> CurvePoint | None:
    """Return the curve point that the 32 bytes encode, or None if the bytes encode no
    point (RFC 8032, section 5.1.3).
    """
    y = int.from_bytes(text, "little")
    is_odd, y = y >> 255, y & (1 << 255) - 1
    if y >= FIELD_PRIME:
        return None
    # The sign bit selects one of both roots of x² = (y² - 1) / (d · y² + 1).
    square = (
        (y * y - 1) * pow(_CURVE_CONSTANT_D * y * y + 1, -1, FIELD_PRIME) % FIELD_PRIME
    )
    x = pow(square, (FIELD_PRIME + 3) // 8, FIELD_PRIME)
    if x * x % FIELD_PRIME != square:
        x = x * _ROOT_OF_MINUS_ONE % FIELD_PRIME
    if x * x % FIELD_PRIME != square or (x == 0 and is_odd):
        return None
    if x & 1 != is_odd:
        x = FIELD_PRIME - x
    return x, y, 1, x * y % FIELD_PRIME


def _add_points(one: CurvePoint, other: CurvePoint) -> CurvePoint:
    a = (one[1] - one[0]) * (other[1] - other[0]) % FIELD_PRIME
    b = (one[1] + one[0]) * (other[1] + other[0]) % FIELD_PRIME
    c = 2 * _CURVE_CONSTANT_D * one[3] * other[3] % FIELD_PRIME
    d = 2 * one[2] * other[2] % FIELD_PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return (
        e * f % FIELD_PRIME,
        g * h % FIELD_PRIME,
        f * g % FIELD_PRIME,
        e * h % FIELD_PRIME,
    )


def _sum_scaled_points(
    scalar: int,
    point: CurvePoint,
    other_scalar: int = 0,
    other: CurvePoint = _NEUTRAL_POINT,
) -> CurvePoint:
    """Return the sum of two curve points, each multiplied by its scalar."""
    summands = (_NEUTRAL_POINT, point, other, _add_points(point, other))
    total = _NEUTRAL_POINT
    for bit in reversed(range(max(scalar, other_scalar).bit_length())):
        total = _add_points(total, total)
        if chosen := scalar >> bit & 1 | (other_scalar >> bit & 1) << 1:
            total = _add_points(total, summands[chosen])
    return total


def _is_same_point(point: CurvePoint, other: CurvePoint) -> bool:
    return (
        (point[0] * other[2] - other[0] * point[2]) % FIELD_PRIME
        == 0
        == (point[1] * other[2] - other[1] * point[2]) % FIELD_PRIME
    )


_decoded_base_point = _decode_point(
    (4 * pow(5, -1, FIELD_PRIME) % FIELD_PRIME).to_bytes(32, "little")
)
assert _decoded_base_point is not None
_BASE_POINT: CurvePoint = _decoded_base_point
