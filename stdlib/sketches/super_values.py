"""Super-values: what sets of k attributes of a record hold, as one key (Deng 2007, section 5.2: the thesis).

Two records have a super-value in common where both drew the same set of attributes and are equal in these. A record draws
its sets without replacement, by its id and never by what it holds: equal records that drew equal sets would be counted too
often. Draws of different k are independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.hashing import Keys, buckets, mix64, row_seed
from streamq.stdlib.sketches.similarity_plan import SimilarityPlan

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

BLOCK = 1 << 15
"""Records of which sets of attributes are drawn at once: marks of all their sets fit into a cache."""

_VALUES, _SETS, _DRAWS, _NULLS = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Records:
    """``values``: keys of the attributes, ``[n, d]``. ``ids``: of the records, all different, ``[n]``.

    ``nulls``: ``[n, d]``, attributes that are equal to no other; None: there are none. ``records`` makes one of any arrays.
    """

    values: NDArray[np.uint64]
    ids: Keys
    nulls: Bools | None = None

    def __len__(self) -> int:
        """The number of records."""
        return len(self.ids)

    def take(self, index: slice | Ints | Bools) -> Records:
        """The records at positions, of a slice, or where a mask is true."""
        return Records(
            self.values[index], self.ids[index], None if self.nulls is None else self.nulls[index]
        )


def records(
    values: NDArray[np.uint64], ids: NDArray[np.uint64] | None = None, nulls: Bools | None = None
) -> Records:
    """Records of arrays ``[n, d]``, ``[n]``, ``[n, d]``; ids of None are 0 .. n - 1.

    ValueError where shapes do not fit, keys are not uint64 (``hashing.keys_of``), nulls no mask, or ids come twice.
    """
    if ids is None:
        ids = np.arange(len(values), dtype=np.uint64)
    if values.dtype != np.uint64 or ids.dtype != np.uint64:
        raise ValueError(
            f"values and ids are keys, uint64, as of keys_of: {values.dtype}, {ids.dtype}"
        )
    if (
        values.ndim != 2
        or ids.shape != values.shape[:1]
        or (nulls is not None and nulls.shape != values.shape)
    ):
        raise ValueError(f"values are [n, d], ids [n], nulls [n, d]: {values.shape}, {ids.shape}")
    if nulls is not None and nulls.dtype != np.bool_:
        raise ValueError(f"nulls are a mask, bool, not {nulls.dtype}")
    if len(np.unique(ids)) < len(ids):
        raise ValueError("ids of records are all different: give row numbers, or None")
    return Records(values, ids, nulls)


def super_values(of: Records, plan: SimilarityPlan, seed: int = 0, side: int = 0) -> Iterator[Keys]:
    """For each k of the plan ``[n, l_k]``, those of a record all different.

    ``seed``: records that are compared have the same. ``side``: of relations whose ids may be the same, each has another;
    so they draw independently. ValueError where records have not the attributes of the plan.
    """
    if of.values.shape[1] != plan.n_attrs:
        raise ValueError(
            f"records have {of.values.shape[1]} attributes, and the plan is for {plan.n_attrs}"
        )
    tagged = _tagged(of, plan, seed, side)
    for k, l_k in zip(plan.ks, plan.n_proj, strict=True):
        sets = np.array(list(combinations(range(plan.n_attrs), k)), dtype=np.int64)
        salt = row_seed(_seed(seed, _SETS), k)
        if l_k == len(sets):
            sums = np.stack([np.add.reduce(tagged[list(members)], axis=0) for members in sets])
        else:
            by = _seed(seed, _DRAWS, side, k)
            sums = np.empty((l_k, len(of)), np.uint64)
            for start in range(0, len(of), BLOCK):
                part = slice(start, start + BLOCK)
                sums[:, part] = _sums(
                    tagged[:, part], sets, drawn(of.ids[part], len(sets), l_k, by)
                )
        # A sum of mixed values tells sets of (attribute, value) apart, in whichever order these are added.
        yield mix64(sums ^ salt).T


def drawn(ids: Keys, n_sets: int, draws: int, seed: int) -> Ints:
    """``[draws, n]``: different numbers below ``n_sets`` for each id, all sets of so many equally likely (Floyd's way)."""
    taken = np.zeros(n_sets * len(ids), np.bool_)
    found, place = np.empty((draws, len(ids)), np.int64), np.arange(len(ids))
    for draw, last in enumerate(range(n_sets - draws, n_sets)):
        number = buckets(ids, last + 1, row_seed(seed, draw))
        number[taken[number * len(ids) + place]] = last
        taken[number * len(ids) + place] = True
        found[draw] = number
    return found


def _tagged(of: Records, plan: SimilarityPlan, seed: int, side: int) -> NDArray[np.uint64]:
    """``[d, n]``: values that are equal only where attribute and value are, and NULLs to none."""
    by = _seed(seed, _VALUES)
    tagged = np.stack(
        [
            mix64(of.values[:, i] ^ row_seed(by, 0 if plan.untagged else i))
            for i in range(plan.n_attrs)
        ]
    )
    if of.nulls is not None:
        by = _seed(seed, _NULLS, side)
        for i in range(plan.n_attrs):
            null = of.nulls[:, i]
            tagged[i, null] = mix64(of.ids[null] ^ row_seed(by, i))
    return tagged


def _sums(tagged: NDArray[np.uint64], sets: Ints, chosen: Ints) -> NDArray[np.uint64]:
    """``[l_k, n]``: of what the chosen sets hold, where ``tagged`` is ``[d, n]`` and ``chosen`` ``[l_k, n]``."""
    n, flat = tagged.shape[1], tagged.ravel()
    place, found = np.arange(n), np.zeros(chosen.shape, np.uint64)
    for members in sets.T:
        found += flat[members[chosen] * n + place]
    return found


def _seed(seed: int, *parts: int) -> int:
    for part in parts:
        seed = int(row_seed(seed, part))
    return seed
