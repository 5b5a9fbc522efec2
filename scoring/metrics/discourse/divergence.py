"""How far one distribution of labels is from another (Kullback and Leibler 1951), as CiteBench counts it.

Funkquist et al. 2023, section 5: natural logarithm, nothing smoothed. A label that P has and Q lacks makes
the divergence infinite, a label that P lacks adds nothing. Shares are taken as they are and not made to add
up to 1 first, since the published form may average empty distributions in.
"""

from __future__ import annotations

import numpy as np

from scoring.metrics.base import Floats


def shares(counts: Floats) -> Floats:
    """(…, L) counts as shares of their sum; NaN where there is nothing to share."""
    total = counts.sum(axis=-1, keepdims=True)
    undefined = np.full(counts.shape, np.nan)
    return np.asarray(np.divide(counts, total, out=undefined, where=total > 0))


def divergence(p: Floats, q: Floats) -> Floats:
    """KL(P || Q) in nats over the last axis of (…, L) shares; NaN where either is undefined."""
    p, q = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / q), 0.0)
    undefined = np.isnan(p).any(axis=-1) | np.isnan(q).any(axis=-1)
    return np.where(undefined, np.nan, terms.sum(axis=-1))


def macro_average(counts: Floats) -> Floats:
    """(…, D, L) counts as the mean of the data sets' shares, (…, L); an empty data set counts as zeros.

    NaN where all are empty.
    """
    own = shares(counts)
    is_empty = np.asarray(np.isnan(own).any(axis=-1))
    mean = np.where(is_empty[..., None], 0.0, own).mean(axis=-2)
    return np.where(np.asarray(is_empty.all(axis=-1))[..., None], np.nan, mean)


def published_divergence(system: Floats, gold: Floats) -> Floats:
    """The published form, (…, D): the system's macro average over the data sets against each one's gold.

    Both are (…, D, L) counts.
    """
    return divergence(macro_average(system)[..., None, :], shares(gold))
