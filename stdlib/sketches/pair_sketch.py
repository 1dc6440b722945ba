"""How many pairs of records are alike, in memory that does not grow with the records.

Online PairCount (Deng 2007, sections 5.3 to 5.5: the thesis): the super-values of each k go into a Fast-AGMS, and self-join
sizes, join sizes and searches are read from these. Sketches are linear: those of shards, added, are the sketch of all, and a
pane that left a window is subtracted. An estimate of Y_k is off by about sqrt(2 / width) of it, and Y_k has l_k for each
record in it: few similar pairs among many records are not seen.
"""

from __future__ import annotations

import struct

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.counter_sketch import (
    CounterSketch,
    empty_fast_agms,
    sketch_from_bytes,
)
from streamq.stdlib.sketches.counters import Floats, Numbers
from streamq.stdlib.sketches.estimators import f2_agms, join_agms
from streamq.stdlib.sketches.hashing import row_seed, unsigned
from streamq.stdlib.sketches.pair_count import (
    SEARCHED,
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
from streamq.stdlib.sketches.std_errors import f2_std_err, join_std_err
from streamq.stdlib.sketches.super_values import Records, super_values

_HEAD = struct.Struct("<4sBB?dQQQ")
"""Magic and version, attributes, least in common, untagged, rate, records, seed, side; then a Fast-AGMS for each k."""
_MAGIC = b"SQP2"


@dataclass(frozen=True, slots=True)
class PairSketch:
    """``sketches``: for each k of the plan a Fast-AGMS of super-values, ``[d - s + 1]``; ``n``: records in it.

    ``seed``: of sketches that are compared it is the same. ``side``: of relations whose ids may be the same, each has
    another. ``empty_pair_sketch`` makes one; no method changes it.
    """

    plan: SimilarityPlan
    sketches: tuple[CounterSketch, ...]
    n: int
    seed: int = 0
    side: int = 0

    @property
    def depth(self) -> int:
        """Rows of each sketch; the estimate is the median of theirs."""
        return self.sketches[0].depth

    @property
    def width(self) -> int:
        """Counters of a row."""
        return self.sketches[0].width

    @property
    def counts(self) -> Numbers:
        """Those of all sketches, ``[d - s + 1, depth, width]``."""
        return np.stack([sketch.counts for sketch in self.sketches])

    def added(self, of: Records) -> PairSketch:
        """With these records too. Their ids are none of those that are in it."""
        keys = super_values(of, self.plan, self.seed, self.side)
        return self._of(
            tuple(
                sketch.added(of_k.ravel(order="K"))
                for sketch, of_k in zip(self.sketches, keys, strict=True)
            ),
            self.n + len(of),
        )

    def merged(self, other: PairSketch) -> PairSketch:
        """That of the records of both, in any order the same bits. ValueError for another plan, shape, seed or side."""
        self._check_alike(other)
        both = zip(self.sketches, other.sketches, strict=True)
        return self._of(tuple(mine.merged(its) for mine, its in both), self.n + other.n)

    def minus(self, other: PairSketch) -> PairSketch:
        """That without the records of ``other``, as a pane that left a window. ValueError as in ``merged``."""
        self._check_alike(other)
        both = zip(self.sketches, other.sketches, strict=True)
        return self._of(tuple(mine.minus(its) for mine, its in both), self.n - other.n)

    def self_join_sizes(self) -> Floats:
        """Estimated Y_k, ``[d - s + 1]``."""
        return f2_agms(self.counts)

    def estimate(self) -> PairCounts:
        """Ordered pairs of the records in it."""
        return self_join_counts(self.self_join_sizes(), self.n, self.plan, exact_sizes=False)

    @property
    def sketch_err(self) -> float:
        """What sketches add to the standard error of ``estimate().size``, at most; what draws add is not in it."""
        totals = np.array([sketch.total for sketch in self.sketches])
        off = f2_std_err(self.self_join_sizes(), totals, self.width, self.depth)
        return float(np.linalg.norm(np.array(inversion_weights(self.plan)) * off))

    def search(self, record: Records) -> PairCounts:
        """Records in it that are alike to those in ``record``, of which there is one as a rule; an equal one is one of them."""
        asked = empty_pair_sketch(whole(self.plan), self.width, self.depth, self.seed, SEARCHED)
        return join(self, asked.added(record))

    def to_bytes(self) -> bytes:
        """The same on any machine."""
        plan = (self.plan.n_attrs, self.plan.min_common, self.plan.untagged, self.plan.rate)
        head = _HEAD.pack(_MAGIC, *plan, self.n, self.seed, self.side)
        return head + b"".join(sketch.to_bytes() for sketch in self.sketches)

    def _of(self, sketches: tuple[CounterSketch, ...], n: int) -> PairSketch:
        return PairSketch(self.plan, sketches, n, self.seed, self.side)

    def _check_alike(self, other: PairSketch) -> None:
        mine, others = ((p.plan, p.depth, p.width, p.seed, p.side) for p in (self, other))
        if mine != others:
            raise ValueError(
                f"sketches of one plan, shape, seed and side go together: {mine}, {others}"
            )


def empty_pair_sketch(
    plan: SimilarityPlan, width: int, depth: int = 3, seed: int = 0, side: int = 0
) -> PairSketch:
    """A sketch of no records, of (d - s + 1)·depth·width counters of 8 bytes.

    ValueError for sketches of no counters, and a side that is not in 0 .. 2^32.
    """
    if not 0 <= side <= SEARCHED:
        raise ValueError(f"a side of a join is 0 or 1: {side}")
    sketches = tuple(empty_fast_agms(width, depth, _seed_of(seed, i)) for i in range(len(plan.ks)))
    return PairSketch(plan, sketches, 0, unsigned(seed), side)


def join(a: PairSketch, b: PairSketch) -> PairCounts:
    """Pairs of a record of each; rates may differ. ValueError for other attributes, shapes or seeds, or the same side."""
    _check_joined(a, b)
    sizes = join_agms(a.counts, b.counts)
    return join_counts(sizes, a.n * b.n, a.plan, b.plan, exact_sizes=False)


def join_err(a: PairSketch, b: PairSketch) -> float:
    """What sketches add to the standard error of ``join(a, b).size``, at most. ValueError as there."""
    _check_joined(a, b)
    squares, sizes = (a.self_join_sizes(), b.self_join_sizes()), join_agms(a.counts, b.counts)
    off = join_std_err(*squares, sizes, a.width, a.depth)
    return float(np.linalg.norm(np.array(inversion_weights(a.plan, b.plan)) * off))


def from_bytes(data: bytes) -> PairSketch:
    """What ``to_bytes`` gave. ValueError for anything else."""
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise ValueError("these bytes are no PairSketch")
    _, n_attrs, min_common, untagged, rate, n, seed, side = _HEAD.unpack_from(data)
    plan = plan_similarity(n_attrs, min_common, rate, untagged=untagged)
    length, over = divmod(len(data) - _HEAD.size, len(plan.ks))
    if over:
        raise ValueError(f"{len(plan.ks)} sketches have other than {len(data)} bytes")
    starts = range(_HEAD.size, len(data), length) if length else ()
    sketches = tuple(sketch_from_bytes(data[start : start + length]) for start in starts)
    if not sketches:
        raise ValueError("these bytes are no PairSketch: sketches are missing")
    made = empty_pair_sketch(plan, sketches[0].width, sketches[0].depth, seed, side)
    # Each is of the seed and the shape that it would have been made with.
    added = (empty.merged(sketch) for empty, sketch in zip(made.sketches, sketches, strict=True))
    return PairSketch(plan, tuple(added), n, seed, side)


def _check_joined(a: PairSketch, b: PairSketch) -> None:
    check_joined(a.plan, b.plan)
    mine, others = ((p.depth, p.width, p.seed) for p in (a, b))
    if mine != others:
        raise ValueError(f"sketches of one shape and seed are joined: {mine}, {others}")
    if a.side == b.side:
        raise ValueError(
            f"both sketches are of side {a.side} of a join: make that of one relation with side=1"
        )


def _seed_of(seed: int, i: int) -> int:
    return int(row_seed(int(row_seed(seed, 5)), i))
