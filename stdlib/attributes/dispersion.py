"""How much attributes vary: what varies least is the least informative, and shed first (Ahuja 2006, section 3.1.2, "SD").

The thesis takes the population standard deviation, in the unit of each attribute; by the mean, or by the range, it has none.
Over the rows of a cycle it tells how keys differ; what a synopsis costs is how the values of one key change, which is the
mean over keys of the deviation over time. Attributes that do not vary at all, or have no values, have dispersion 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from streamq.stdlib.attributes.columns import Bools, Floats, Ints
from streamq.stdlib.attributes.kinds import Dispersion


def dispersion(values: Floats, kind: Dispersion = "STDDEV") -> Floats:
    """Of each attribute over the rows, ``[rows, attributes]`` to ``[attributes]``; NaN is no value.

    ``CV`` of values around 0 is infinite.
    """
    if len(values) == 0:
        return np.zeros(values.shape[1])
    given = ~np.isnan(values)
    count = np.maximum(given.sum(axis=0), 1)
    # From the first value on, so that nothing is left of a constant, however large.
    origin = np.nan_to_num(np.take_along_axis(values, given.argmax(axis=0)[None], axis=0))
    off = np.where(given, values - origin, 0.0)
    mean_off = off.sum(axis=0) / count
    apart = np.where(given, off - mean_off, 0.0)
    with np.errstate(over="ignore"):
        sd: Floats = np.sqrt((apart**2).sum(axis=0) / count)
    match kind:
        case "STDDEV":
            return sd
        case "CV":
            return _by(sd, np.abs(origin[0] + mean_off))
        case "MINMAX_STDDEV":
            return _by(sd, apart.max(axis=0) - apart.min(axis=0))
    assert_never(kind)


def dispersion_per_key(
    values: Floats, keys: Ints, kind: Dispersion = "STDDEV", smooth: Callable[[Floats], Floats] | None = None
) -> Floats:
    """Of each attribute over time, the mean over keys, ``[rows, attributes]`` to ``[attributes]``.

    ``keys``: of each row, from 0, in any order; they may come differently often. ``smooth``: of the rows of each key,
    ``[rows, series]``.
    """
    if len(keys) == 0:
        return np.zeros(values.shape[1])
    n_keys, n_attrs = int(keys.max()) + 1, values.shape[1]
    order = np.argsort(keys, kind="stable")
    counts = np.bincount(keys, minlength=n_keys)
    row = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((int(counts.max()), n_keys, n_attrs), np.nan)
    there: Bools = np.zeros(table.shape, dtype=bool)
    table[row, keys[order]] = values[order]
    there[row, keys[order]] = True
    flat = table.reshape(len(table), -1)
    smoothed = flat if smooth is None else smooth(flat)
    each = dispersion(np.where(there.reshape(flat.shape), smoothed, np.nan), kind)
    return np.asarray(each.reshape(n_keys, n_attrs)[counts > 0].mean(axis=0))


def entropy(codes: Ints) -> float:
    """Of the values of an attribute that is no number: 0 where all are the same, 1 where all are different.

    That is -Σ p log p, by the logarithm of the number of rows. NULL is a value.
    """
    if len(codes) < 2:
        return 0.0
    p = np.bincount(codes)[np.unique(codes)] / len(codes)
    return max(0.0, float(-(p * np.log(p)).sum() / np.log(len(codes))))


def _by(sd: Floats, measure: Floats) -> Floats:
    """Divided; what does not vary stays 0, what varies around 0 is infinite."""
    return np.divide(sd, measure, out=np.where(sd > 0, np.inf, 0.0), where=(measure > 0) & (sd > 0))
