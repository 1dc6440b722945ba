"""When a row of S1 and a row of S2 are a pair, for many rows of both at once (section 2.1 of the paper).

Sets are compared by the number of items that they share. Sets over a small alphabet are bitmaps, of which a block of
probes and stored rows is compared with one operation for each 64 items; others go through ``postings.py``. A NULL
is no pair with anything. An empty set shares nothing, equals an empty one and is a subset of every set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.columns import Bools, Column, Sets, Values
from streamq.stdlib.joins.kinds import Kind

BITMAP_ITEMS = 512
"""The largest alphabet of which sets are bitmaps."""

ROUNDING = 1e-12
"""The relative error that a sum of products may have."""

Some = TypeVar("Some")


@dataclass(frozen=True, slots=True)
class SetCondition:
    """A condition on the set A of a row of S1 and the set B of a row of S2.

    EQUAL: A = B; SUBSET: A ⊆ B; SUPERSET: A ⊇ B; OVERLAP: they share at least ``least`` items; INNER_PRODUCT: the sum of
    wA·wB over what they share is at least ``least``. ``alphabet``: where it is known, all items are below it.

    Raises ``ValueError`` for a ``least`` that sets which share nothing would reach.
    """

    kind: Kind
    least: float = 1.0
    alphabet: int | None = None

    def __post_init__(self) -> None:
        """Checks ``least``."""
        if not self.least > 0:
            raise ValueError(f"sets that share nothing would reach {self.least}")

    @property
    def by_bitmaps(self) -> bool:
        """Whether sets are compared as bitmaps: a small alphabet, and no weights."""
        return self.kind != "INNER_PRODUCT" and self.alphabet is not None and self.alphabet <= BITMAP_ITEMS

    @property
    def least_amount(self) -> float:
        """What sets share at least that are not empty and for which it holds."""
        if self.kind == "INNER_PRODUCT":
            return self.least * (1 - ROUNDING)
        return self.least if self.kind == "OVERLAP" else 1

    def holds(self, shared: NDArray[Any], a_size: NDArray[Any], b_size: NDArray[Any]) -> Bools:
        """Where it holds of sets with so many items, of which so many (or a product so large) are shared."""
        held: Any
        match self.kind:
            case "EQUAL":
                held = (shared == a_size) & (a_size == b_size)
            case "SUBSET":
                held = shared == a_size
            case "SUPERSET":
                held = shared == b_size
            case "OVERLAP" | "INNER_PRODUCT":
                held = ~(shared < self.least_amount)  # a sum that is no number is above all that are
        return np.asarray(held, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class ValueCondition:
    """Any theta: a function of numpy that tells of values of S1 and of S2, broadcast against each other, where it holds.

    ``key``: where values are records, a field in which both are equal wherever it holds; for that there is an index.
    """

    function: Callable[[Any, Any], Any]
    key: str | None = None

    @property
    def by_key(self) -> bool:
        """Whether there is an index."""
        return self.key is not None or self.function is np.equal


Condition = SetCondition | ValueCondition

EQUAL = ValueCondition(np.equal)
"""Scalar equality, for which there is a hash index; NaN equals nothing."""


def band(width: float) -> ValueCondition:
    """|a - b| <= ``width``."""
    return ValueCondition(partial(_within, width))


@dataclass(frozen=True, slots=True)
class Bitmaps:
    """Sets as bits: ``words``: ``[words, rows]``, bit i of word j is item 64 j + i; ``sizes`` and ``null``: ``[rows]``."""

    words: NDArray[np.uint64]
    sizes: NDArray[np.uint16]
    null: Bools

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.null)

    def take(self, index: Any) -> Bitmaps:
        """The rows at positions, of a slice, or where a mask is true."""
        return Bitmaps(self.words[:, index], self.sizes[index], self.null[index])


def bitmaps(sets: Sets, alphabet: int) -> Bitmaps:
    """Sets of items 0 to ``alphabet`` - 1. Raises ``IndexError`` for another item."""
    if len(sets.items) and (sets.items.min() < 0 or sets.items.max() >= alphabet):
        raise IndexError(f"an item is not below {alphabet}")
    words = max(1, -(-alphabet // 64))
    bits = np.zeros((len(sets), 64 * words), dtype=np.bool_)
    bits[sets.owner, sets.items] = True
    packed = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    return Bitmaps(np.ascontiguousarray(packed.T), sets.sizes.astype(np.uint16), sets.null)


def block(condition: Condition, side: int, probes: Column | Bitmaps, stored: Column | Bitmaps) -> Bools:
    """Which probes match which stored rows, ``[probes, stored]``; ``side``: 0 where the probes are rows of S1, 1 of S2.

    Raises ``TypeError`` for columns that the condition is not about: values, or bitmaps for sets.
    """
    if isinstance(condition, ValueCondition) and isinstance(probes, Values) and isinstance(stored, Values):
        held = holds(condition, side, probes.values[:, None], stored.values[None, :])
        found: Bools = np.broadcast_to(np.asarray(held, dtype=np.bool_), (len(probes), len(stored)))
    elif isinstance(condition, SetCondition) and isinstance(probes, Bitmaps) and isinstance(stored, Bitmaps):
        sizes = sided(side, probes.sizes[:, None], stored.sizes[None, :])
        found = condition.holds(_shared_bits(probes, stored), *sizes)
    else:
        raise TypeError(f"{type(condition).__name__} does not compare {type(probes).__name__}, {type(stored).__name__}")
    if probes.null.any() or stored.null.any():
        found = found & ~probes.null[:, None] & ~stored.null[None, :]
    return found


def holds(condition: ValueCondition, side: int, probes: NDArray[Any], stored: NDArray[Any]) -> Any:
    """Where the condition holds of values, broadcast against each other; ``side``: 0 where the probes are of S1."""
    with np.errstate(invalid="ignore"):
        return condition.function(*sided(side, probes, stored))


def sided(side: int, probes: Some, stored: Some) -> tuple[Some, Some]:
    """What belongs to S1 and what to S2, where the probes are of ``side``."""
    return (probes, stored) if side == 0 else (stored, probes)


def _shared_bits(probes: Bitmaps, stored: Bitmaps) -> NDArray[Any]:
    # Up to three words have at most 192 bits in common, which a byte holds.
    kind = np.uint8 if len(probes.words) <= 3 else np.uint16
    count = np.zeros((len(probes), len(stored)), dtype=kind)
    for mine, theirs in zip(probes.words, stored.words, strict=True):
        count += np.bitwise_count(mine[:, None] & theirs[None, :])
    return count


def _within(width: float, a: Any, b: Any) -> Any:
    return np.abs(a - b) <= width
