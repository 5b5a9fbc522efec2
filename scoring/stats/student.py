"""Quantiles of Student's t for whole degrees of freedom, without a library that takes long to import."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

#: From here on the expansion around the normal distribution is exact to 12 digits.
MANY = 300


@lru_cache(maxsize=4096)
def t_quantile(share: float, df: int) -> float:
    """The value below which the share of the distribution lies. Raises ValueError outside of 0 to 1."""
    if not 0 < share < 1 or df < 1:
        raise ValueError(f"there is no quantile {share} of Student's t with {df} degrees of freedom")
    if share < 0.5:
        return -t_quantile(1 - share, df)
    value = _expansion(share, df)
    if df >= MANY:
        return value
    low, high = 0.0, max(1.0, value)
    while t_cdf(high, df) < share:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, df) < share else (low, middle)
    return (low + high) / 2


def _expansion(share: float, df: int) -> float:
    """Abramowitz and Stegun 1964, Handbook of Mathematical Functions, 26.7.5."""
    x = NormalDist().inv_cdf(share)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + math.fsum(term / df**power for power, term in enumerate(terms, start=1))


def t_cdf(value: float, df: int) -> float:
    """The share of the distribution below the value: the finite sums 26.7.3 and 26.7.4 of the same book."""
    angle = math.atan2(value, math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(2 + odd, df - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    inside = 2 / math.pi * (angle + (sine * total if df > 1 else 0.0)) if odd else sine * total
    return (1 + inside) / 2
