"""Estimates from the bytes of Spark's ``count_min_sketch``, over Arrow arrays: a row each for a group of a result (ADR 0017).

A group has its sketch in parts: of the panes of its window, and of the classes of weights where rows were shed. Each part comes
with the sum of its rows' weights, or NULL; then ``rows`` says how many rows stand behind all of them, which is an estimate
where some were shed. So the counters become those of all rows: each times the mean weight of its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.bounds import Interval, point_cm_interval, point_cmm_interval
from streamq.stdlib.sketches.choose import f2_takes_cm, points_take_cm
from streamq.stdlib.sketches.counters import Floats, Numbers
from streamq.stdlib.sketches.sampled import Sampling, f2_weighted_interval, point_of_weighted
from streamq.stdlib.sketches.size_bounds import f2_interval, join_cmm_interval
from streamq.stdlib.sketches.spark_bytes import read_sketches, spark_columns

AT_ONCE = 32 << 20
"""Bytes of sketches that are read together."""

ROUNDING = 1e-9
"""A weight that is more than 1 by this is that of rows of which some were shed."""


@dataclass(frozen=True, slots=True)
class _Groups:
    """Some groups, at places ``at`` among all: their counters ``[n, d, w]`` and totals ``[n]``, of all rows, and the sum of
    w (w - 1) over the kept ones, ``surplus`` ``[n]``: 0 where none was shed. ``hash_a``: the factors of the rows."""

    at: NDArray[np.int64]
    counts: Numbers
    totals: Numbers
    surplus: Floats
    hash_a: NDArray[np.int64]

    @property
    def shed(self) -> bool:
        return bool(self.surplus.any())

    @property
    def spread(self) -> Floats:
        """The mean of w - 1 over all rows."""
        return np.asarray(self.surplus / np.maximum(self.totals, 1))


def frequency(
    sketches: pa.Array, rows: pa.Array, keys: pa.Array, confidence: pa.Array, method: pa.Array
) -> pa.Array:
    """How many rows have the value whose hash is the key: estimate and bounds, as arrays of three."""
    hashes = _numbers(keys)

    def of(groups: _Groups) -> Interval:
        counts, level = groups.counts, _level(confidence)
        places = spark_columns(hashes[groups.at], groups.hash_a, counts.shape[-1])
        columns = np.take_along_axis(counts, places[..., None], axis=-1)[..., 0]
        each = 1 - (1 - level) / 2 if groups.shed else level
        found = _either(
            _takes_cm(method, lambda: points_take_cm(counts), len(counts)),
            point_cm_interval(columns, counts, each), point_cmm_interval(columns, counts, groups.totals, each),
        )
        if not groups.shed:
            return found
        return _each(
            len(counts),
            lambda i: point_of_weighted(_one(found, i), float(groups.spread[i]), each),
        )

    return _answers(sketches, rows, of)


def self_join(sketches: pa.Array, rows: pa.Array, confidence: pa.Array, method: pa.Array) -> pa.Array:
    """The second moment of the frequencies of all rows: estimate and bounds, as arrays of three."""

    def of(groups: _Groups) -> Interval:
        counts, totals, level = groups.counts, groups.totals, _level(confidence)
        if groups.shed:
            return _each(len(counts), lambda i: f2_weighted_interval(
                counts[i], Sampling(float(totals[i]), float(groups.surplus[i])), level,
            ))
        return _either(
            _takes_cm(method, lambda: f2_takes_cm(counts, totals), len(counts)),
            f2_interval(counts, totals, level, "CM"), f2_interval(counts, totals, level),
        )

    return _answers(sketches, rows, of)


def join(
    left: pa.Array, left_rows: pa.Array, right: pa.Array, right_rows: pa.Array, own: pa.Array, confidence: pa.Array
) -> pa.Array:
    """The size of the join of two columns: estimate and bounds, as arrays of three.

    ``own``: the rows that have two equal values, of all rows. Kept ones are pairs with themselves, which count w² and not w.
    """
    known = np.flatnonzero(_there(left, left_rows) & _there(right, right_rows))
    found, pairs = np.zeros((len(left), 3)), _numbers(own)
    for at in _pieces(known, left):
        level = _level(confidence)
        a, b = (_groups(at, *side) for side in ((left, left_rows), (right, right_rows)))
        one = join_cmm_interval(a.counts, b.counts, a.totals, b.totals, level, how="mean")
        if a.shed or b.shed:
            one = _of_kept(one, a, b, pairs[at], level)
        found[at] = np.stack([one.estimate, one.lo, one.hi], axis=1)
    return _arrays(found)


def _of_kept(found: Interval, a: _Groups, b: _Groups, own: NDArray[np.int64], level: float) -> Interval:
    """The join of all rows, less what pairs of a row with itself count too much, and wider by what sampling varies by.

    The variance is at most v J sqrt(F2) of the other side for each, and v v' J, with v the mean of w - 1; Chebyshev.
    """
    f2 = [f2_interval(side.counts, side.totals, level).hi for side in (a, b)]
    variance = found.hi * (a.spread * np.sqrt(f2[1]) + b.spread * np.sqrt(f2[0]) + a.spread * b.spread)
    off = np.sqrt(variance / (1 - level))
    surplus = a.spread * own
    estimate, low, high = (np.maximum(of - surplus, 0.0) for of in (found.estimate, found.lo - off, found.hi + off))
    return Interval(estimate, low, high)


def _answers(sketches: pa.Array, rows: pa.Array, of: Callable[[_Groups], Interval]) -> pa.Array:
    found = np.zeros((len(sketches), 3))
    for at in _pieces(np.flatnonzero(_there(sketches, rows)), sketches):
        one = of(_groups(at, sketches, rows))
        found[at] = np.stack([one.estimate, one.lo, one.hi], axis=1)
    return _arrays(found)


def _there(sketches: pa.Array, rows: pa.Array) -> NDArray[np.bool_]:
    """Groups with rows; of none there is nothing."""
    return np.asarray(sketches.is_valid()) & (_numbers(rows) > 0)


def _pieces(known: NDArray[np.int64], sketches: pa.Array) -> Iterator[NDArray[np.int64]]:
    if len(known):
        each = max(1, sketches.nbytes // max(1, len(known)))
        size = max(1, AT_ONCE // each)
        yield from (known[i : i + size] for i in range(0, len(known), size))


def _groups(at: NDArray[np.int64], sketches: pa.Array, rows: pa.Array) -> _Groups:
    lists = sketches.take(pa.array(at))
    parts = lists.flatten()
    first = np.append(0, np.cumsum(pc.list_value_length(lists).to_numpy()))[:-1]
    read = read_sketches(parts.field("sketch").to_pylist())
    told = parts.field("weights").to_numpy(zero_copy_only=False).astype(np.float64)
    owner = np.repeat(np.arange(len(at)), np.diff(np.append(first, len(parts))))
    counted = np.add.reduceat(read.totals, first)
    means = _numbers(rows)[at] / np.maximum(counted, 1)
    weights = np.where(np.isnan(told), means[owner], told / np.maximum(read.totals, 1))
    weights = np.where(weights > 1 + ROUNDING, weights, 1.0)
    if (weights == 1.0).all():
        return _Groups(at, np.add.reduceat(read.counts, first), counted, np.zeros(len(at)), read.hash_a)
    counts = np.add.reduceat(read.counts * weights[:, None, None], first)
    totals = read.totals * weights
    return _Groups(at, counts, np.add.reduceat(totals, first), np.add.reduceat(totals * (weights - 1), first), read.hash_a)


def _either(takes_cm: NDArray[np.bool_], cm: Interval, cmm: Interval) -> Interval:
    return Interval(
        np.where(takes_cm, cm.estimate, cmm.estimate), np.where(takes_cm, cm.lo, cmm.lo), np.where(takes_cm, cm.hi, cmm.hi)
    )


def _one(found: Interval, i: int) -> Interval:
    return Interval(found.estimate[i], found.lo[i], found.hi[i])


def _each(n: int, of: Callable[[int], Interval]) -> Interval:
    """Intervals of n groups one by one: what sampling adds is worked out for one sampling at a time."""
    parts = [of(i) for i in range(n)]
    return Interval(*(np.array([getattr(p, name) for p in parts]) for name in ("estimate", "lo", "hi")))


def _takes_cm(method: pa.Array, chosen: Callable[[], NDArray[np.bool_]], n: int) -> NDArray[np.bool_]:
    asked = method[0].as_py()
    return chosen() if asked == "AUTO" else np.full(n, asked == "CM")


def _level(confidence: pa.Array) -> float:
    return float(confidence[0].as_py())


def _numbers(array: pa.Array) -> NDArray[np.int64]:
    return np.asarray(array.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _arrays(found: NDArray[np.float64]) -> pa.Array:
    """Arrays of three, as Spark takes them. What is estimated is a number of rows or pairs, so it is whole."""
    found[:, 0] = np.rint(found[:, 0])
    found[:, 1], found[:, 2] = np.minimum(found[:, 1], found[:, 0]), np.maximum(found[:, 2], found[:, 0])
    return pa.ListArray.from_arrays(
        pa.array(np.arange(0, 3 * len(found) + 1, 3), pa.int32()), pa.array(found.reshape(-1))
    )
