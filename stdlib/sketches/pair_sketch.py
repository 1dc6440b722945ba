"""How many pairs of records are alike, in memory that does not grow with the records.

Online PairCount (Deng 2007, sections 5.3 to 5.5: the thesis): the super-values of each k go into a sketch of signed counters, and
self-join sizes, join sizes and searches are read from these. Sketches are linear: those of shards, added, are the sketch of
all. An estimate of Y_k is off by about sqrt(2 / width) of it, and Y_k has l_k for each record in it: few similar pairs among
many records are not seen.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.hashing import Keys, buckets, row_seed, signs
from streamq.stdlib.sketches.pair_count import (
    SEARCHED,
    Floats,
    Ints,
    PairCounts,
    join_counts,
    self_join_counts,
)
from streamq.stdlib.sketches.similarity_plan import (
    SimilarityPlan,
    check_joined,
    inversion_weights,
    plan_similarity,
    whole,
)
from streamq.stdlib.sketches.super_values import Records, super_values

_HEAD = struct.Struct("<4sBB?dIIQQQ")
_MAGIC = b"SQP1"

_WORD = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class PairSketch:
    """``counts``: for each k of the plan a sketch, ``[d - s + 1, depth, width]``; ``n``: records in it.

    ``seed``: of sketches that are compared it is the same. ``side``: of relations whose ids may be the same, each has
    another. ``empty_pair_sketch`` makes one; no method changes it.
    """

    plan: SimilarityPlan
    counts: Ints
    n: int
    seed: int = 0
    side: int = 0

    @property
    def depth(self) -> int:
        """Rows of each sketch; the estimate is the median of theirs."""
        return int(self.counts.shape[1])

    @property
    def width(self) -> int:
        """Counters of a row."""
        return int(self.counts.shape[2])

    def added(self, of: Records) -> PairSketch:
        """With these records too. Their ids are none of those that are in it."""
        counts = self.counts.copy()
        for i, keys in enumerate(super_values(of, self.plan, self.seed, self.side)):
            counts[i] += signed_counts(
                keys.ravel(order="K"), self.width, self.depth, _seed_of(self.seed, i)
            )
        return PairSketch(self.plan, counts, self.n + len(of), self.seed, self.side)

    def merged(self, other: PairSketch) -> PairSketch:
        """That of the records of both, in any order the same bits. ValueError for another plan, shape, seed or side."""
        mine, others = ((p.plan, p.counts.shape, p.seed, p.side) for p in (self, other))
        if mine != others:
            raise ValueError(
                f"sketches of one plan, shape, seed and side are merged: {mine}, {others}"
            )
        return PairSketch(
            self.plan, self.counts + other.counts, self.n + other.n, self.seed, self.side
        )

    def self_join_sizes(self) -> Floats:
        """Estimated Y_k, ``[d - s + 1]``."""
        return _sizes(self, self)

    def estimate(self) -> PairCounts:
        """Ordered pairs of the records in it."""
        return self_join_counts(self.self_join_sizes(), self.n, self.plan, exact_sizes=False)

    @property
    def sketch_err(self) -> float:
        """What sketches add to the standard error of ``estimate().size``, at most; what draws add is not in it."""
        weights = np.array(inversion_weights(self.plan))
        return float(np.sqrt(2 / self.width) * np.linalg.norm(weights * self.self_join_sizes()))

    def search(self, record: Records) -> PairCounts:
        """Records in it that are alike to those in ``record``, of which there is one as a rule; an equal one is one of them."""
        asked = empty_pair_sketch(whole(self.plan), self.width, self.depth, self.seed, SEARCHED)
        return join(self, asked.added(record))

    def to_bytes(self) -> bytes:
        """The same on any machine."""
        plan = (self.plan.n_attrs, self.plan.min_common, self.plan.untagged, self.plan.rate)
        head = (*plan, self.depth, self.width, self.n, self.seed, self.side)
        return _HEAD.pack(_MAGIC, *head) + self.counts.astype("<i8").tobytes()


def empty_pair_sketch(
    plan: SimilarityPlan, width: int, depth: int = 3, seed: int = 0, side: int = 0
) -> PairSketch:
    """A sketch of no records, of (d - s + 1)·depth·width counters of 8 bytes.

    ValueError for sketches of no counters, and a side that is not in 0 .. 2^32.
    """
    if not (2 <= width < 1 << 32 and 1 <= depth < 1 << 32):
        raise ValueError(
            f"a sketch has 1 row and 2 counters in each at least, usually 3 and 1000: {depth}, {width}"
        )
    if not 0 <= side <= SEARCHED:
        raise ValueError(f"a side of a join is 0 or 1: {side}")
    counts = np.zeros((len(plan.ks), depth, width), np.int64)
    return PairSketch(plan, counts, 0, seed & _WORD, side)


def join(a: PairSketch, b: PairSketch) -> PairCounts:
    """Pairs of a record of each; rates may differ. ValueError for other attributes, shapes or seeds, or the same side."""
    check_joined(a.plan, b.plan)
    if (a.counts.shape, a.seed) != (b.counts.shape, b.seed):
        raise ValueError(
            f"sketches of one shape and seed are joined: {a.counts.shape}, {b.counts.shape}, {a.seed}, {b.seed}"
        )
    if a.side == b.side:
        raise ValueError(
            f"both sketches are of side {a.side} of a join: make that of one relation with side=1"
        )
    return join_counts(_sizes(a, b), a.n * b.n, a.plan, b.plan, exact_sizes=False)


def from_bytes(data: bytes) -> PairSketch:
    """What ``to_bytes`` gave. ValueError for anything else."""
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise ValueError("these bytes are no PairSketch")
    _, n_attrs, min_common, untagged, rate, depth, width, n, seed, side = _HEAD.unpack_from(data)
    plan = plan_similarity(n_attrs, min_common, rate, untagged=untagged)
    shape = (len(plan.ks), depth, width)
    if len(data) != _HEAD.size + 8 * math.prod(shape):
        raise ValueError(f"a PairSketch of {shape} counters has other than {len(data)} bytes")
    counts = np.frombuffer(data, "<i8", offset=_HEAD.size).reshape(shape).astype(np.int64)
    return PairSketch(plan, counts, n, seed, side)


def signed_counts(keys: Keys, width: int, depth: int, seed: int) -> Ints:
    """``[depth, width]``: of each counter the keys with sign 1 less those with -1, of keys ``[n]``."""
    counts = np.empty((depth, width), np.int64)
    for row in range(depth):
        cells = buckets(keys, width, row_seed(seed, 2 * row))
        negative = signs(keys, row_seed(seed, 2 * row + 1)) < 0
        both = np.bincount(2 * cells + negative, minlength=2 * width)
        counts[row] = both[::2] - both[1::2]
    return counts


def _sizes(a: PairSketch, b: PairSketch) -> Floats:
    """Estimated sizes of the joins of the super-values of both, ``[d - s + 1]``."""
    rows = np.einsum("kij,kij->ki", a.counts.astype(np.float64), b.counts.astype(np.float64))
    return np.asarray(np.median(rows, axis=1), np.float64)


def _seed_of(seed: int, i: int) -> int:
    return int(row_seed(int(row_seed(seed, 5)), i))
