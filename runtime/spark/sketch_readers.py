"""Estimates from the bytes of Spark's ``count_min_sketch``, over Arrow arrays: a row each for a group of a result (ADR 0017).

``rows``: how many rows stand behind a sketch. Where some were shed that is an estimate of all of them; the counters, which are
of those that were kept, then stand for ``rows / total`` times as many. The weight of a row is taken as that mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.bounds import Interval, point_cm_interval, point_cmm_interval
from streamq.stdlib.sketches.choose import f2_takes_cm, points_take_cm
from streamq.stdlib.sketches.counters import Floats
from streamq.stdlib.sketches.sampled import Sampling, f2_weighted_interval, point_of_weighted
from streamq.stdlib.sketches.size_bounds import f2_interval, join_cmm_interval
from streamq.stdlib.sketches.spark_bytes import SparkSketches, read_sketches, spark_columns

AT_ONCE = 32 << 20
"""Bytes of sketches that are read together."""

SHED = 1e-9
"""More rows than were counted, as a share, is more than rounding."""


@dataclass(frozen=True, slots=True)
class _Groups:
    """Some groups: where they are among all, their sketches, and how many rows each counted row stands for."""

    at: NDArray[np.int64]
    read: SparkSketches
    weights: Floats

    @property
    def counts(self) -> NDArray[np.int64]:
        return self.read.counts

    @property
    def shed(self) -> NDArray[np.bool_]:
        return self.weights > 1 + SHED


def frequency(
    sketches: pa.Array, rows: pa.Array, keys: pa.Array, confidence: pa.Array, method: pa.Array
) -> pa.Array:
    """How many rows have the value whose hash is the key: estimate and bounds, as arrays of three."""
    hashes = _numbers(keys)

    def of(groups: _Groups) -> Interval:
        counts, level = groups.counts, _level(confidence)
        places = spark_columns(hashes[groups.at], groups.read.hash_a, counts.shape[-1])
        columns = np.take_along_axis(counts, places[..., None], axis=-1)[..., 0]
        sampled = groups.shed.any()
        each = 1 - (1 - level) / 2 if sampled else level
        found = _either(
            _takes_cm(method, lambda: points_take_cm(counts), len(counts)),
            point_cm_interval(columns, counts, each), point_cmm_interval(columns, counts, groups.read.totals, each),
        )
        if sampled:
            found = _each(groups, found, lambda one, weight: point_of_weighted(one, weight - 1, each))
        return found

    return _answers(sketches, rows, of)


def self_join(sketches: pa.Array, rows: pa.Array, confidence: pa.Array, method: pa.Array) -> pa.Array:
    """The second moment of the frequencies of all rows: estimate and bounds, as arrays of three."""

    def of(groups: _Groups) -> Interval:
        counts, totals, level = groups.counts, groups.read.totals, _level(confidence)
        if groups.shed.any():
            parts = [
                f2_weighted_interval(one * weight, Sampling(total * weight, total * weight * (weight - 1)), level)
                for one, total, weight in zip(counts, totals.tolist(), groups.weights.tolist(), strict=True)
            ]
            return Interval(*(np.array([getattr(p, name) for p in parts]) for name in ("estimate", "lo", "hi")))
        return _either(
            _takes_cm(method, lambda: f2_takes_cm(counts, totals), len(counts)),
            f2_interval(counts, totals, level, "CM"), f2_interval(counts, totals, level),
        )

    return _answers(sketches, rows, of)


def join(left: pa.Array, left_rows: pa.Array, right: pa.Array, right_rows: pa.Array, confidence: pa.Array) -> pa.Array:
    """The size of the join of two columns: estimate and bounds, as arrays of three. Rows of both are shed independently."""
    known = np.flatnonzero(_there(left, left_rows) & _there(right, right_rows))
    level = _level(confidence)
    found = np.zeros((len(left), 3))
    for at in _pieces(known, left):
        sides = [_groups(at, *side) for side in ((left, left_rows), (right, right_rows))]
        a, b = sides
        one = join_cmm_interval(a.counts, b.counts, a.read.totals, b.read.totals, level)
        if any(side.shed.any() for side in sides):
            one = _of_kept(one, a, b, level)
        found[at] = np.stack([one.estimate, one.lo, one.hi], axis=1)
    return _arrays(found)


def _of_kept(found: Interval, a: _Groups, b: _Groups, level: float) -> Interval:
    """The join of all rows from that of the kept ones: by both weights, and wider by what sampling varies by.

    The variance is at most v J sqrt(F2) of the other side for each, and v v' J, with v = w - 1; Chebyshev.
    """
    scale = a.weights * b.weights
    f2 = [f2_interval(s.counts, s.read.totals, level).hi * s.weights**2 for s in (a, b)]
    size = found.hi * scale
    va, vb = a.weights - 1, b.weights - 1
    variance = size * (va * np.sqrt(f2[1]) + vb * np.sqrt(f2[0]) + va * vb)
    off = np.sqrt(variance / (1 - level))
    return Interval(found.estimate * scale, np.maximum(found.lo * scale - off, 0.0), size + off)


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
        size = max(1, AT_ONCE // max(1, len(sketches[int(known[0])].as_buffer())))
        yield from (known[i : i + size] for i in range(0, len(known), size))


def _groups(at: NDArray[np.int64], sketches: pa.Array, rows: pa.Array) -> _Groups:
    read = read_sketches(sketches.take(pa.array(at)).to_pylist())
    return _Groups(at, read, np.maximum(_numbers(rows)[at] / np.maximum(read.totals, 1), 1.0))


def _either(takes_cm: NDArray[np.bool_], cm: Interval, cmm: Interval) -> Interval:
    return Interval(
        np.where(takes_cm, cm.estimate, cmm.estimate), np.where(takes_cm, cm.lo, cmm.lo), np.where(takes_cm, cm.hi, cmm.hi)
    )


def _each(groups: _Groups, found: Interval, of: Callable[[Interval, float], Interval]) -> Interval:
    """What becomes of each group's interval, counted in all rows, by the weight of its rows."""
    scaled = [np.asarray(part * groups.weights) for part in (found.estimate, found.lo, found.hi)]
    parts = [of(Interval(*one), float(weight)) for *one, weight in zip(*scaled, groups.weights, strict=True)]
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
