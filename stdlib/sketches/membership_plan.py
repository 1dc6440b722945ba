"""Sizes of filters that say whether an element came before: from bits and a false-positive rate, or from what is to be kept.

Numpy-free, as plans are made where a query is compiled. The Stable Bloom filter is that of Deng 2007, chapter 3 (the
thesis); decrements are rounded up, where the thesis rounds down and exceeds the rate that was asked for.
"""

from __future__ import annotations

import math
from functools import lru_cache

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.stable_chain import chain, steps_while

MAX_VALUES = (1, 3, 7, 15)
"""What a cell can be set to: whole bits."""

MOST_HASHES = 10
"""That are tried: more were never better (table of optima)."""

LEAST_CELLS = 100
"""By hash: with fewer, the bound on false positives is off by more than a percent or so."""

SETTLED = 1e-3
"""The share of zero cells is as good as its limit when it is this near."""

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class StablePlan:
    """A Stable Bloom filter: ``cells`` (m) of 0 .. ``max_value``, of which an element probes and sets ``hashes`` (K) and
    lowers a run of ``decrements`` (P).

    ``fp_bound``: the most new elements that are taken for duplicates, as a share. ``zero_fraction``: the share of cells
    that are 0 in the end, ``stable_after`` so many elements (None: never). ``horizon_10``, ``horizon_50``: the largest
    gap, in elements between an element and its last occurrence, at which 10 % or 50 % are missed (None: at no gap).
    """

    cells: int
    hashes: int
    decrements: int
    max_value: int
    fp_bound: float
    zero_fraction: float
    stable_after: int | None
    horizon_10: int | None
    horizon_50: int | None

    @property
    def bits(self) -> int:
        """What the cells take when stored."""
        return self.cells * self.max_value.bit_length()


def zero_fraction(cells: int, hashes: int, decrements: int, max_value: int) -> float:
    """The share of cells that are 0 in the end where all elements are new; never less than that otherwise (z*)."""
    if decrements == 0:
        return 0.0
    return math.pow(1 + 1 / (decrements * (1 / hashes - 1 / cells)), -max_value)


def fp_bound(cells: int, hashes: int, decrements: int, max_value: int) -> float:
    """The most new elements that are taken for duplicates, as a share, after any number of elements (FPS)."""
    return math.pow(1 - zero_fraction(cells, hashes, decrements, max_value), hashes)


def real_decrements(hashes: int, fp: float, max_value: int) -> float:
    """The decrements for this rate exactly, were there parts of them, with cells without end."""
    # (1 - fp^(1/K))^(-1/Max) - 1, also where that is less than the digits of 1.
    return hashes / math.expm1(-math.log1p(-math.pow(fp, 1 / hashes)) / max_value)


def whole_decrements(hashes: int, fp: float, max_value: int) -> int:
    """As many decrements as keep false positives within the rate."""
    return math.ceil(real_decrements(hashes, fp, max_value) - ROUNDING)


def best_hashes(fp: float, max_value: int) -> int:
    """The hashes with which least duplicates are missed at small gaps; memory and gaps hardly move it."""
    _check(fp, max_value)
    return min(
        range(1, MOST_HASHES + 1),
        key=lambda hashes: (
            math.log(hashes) + max_value * math.log(real_decrements(hashes, fp, max_value))
        ),
    )


@lru_cache(maxsize=64)
def stable_plan(cells: int, hashes: int, decrements: int, max_value: int) -> StablePlan:
    """The plan of such a filter, whatever its rate. ValueError where there can be none."""
    if hashes < 1 or cells <= hashes or not 0 <= decrements <= cells:
        raise ValueError(
            f"a filter has a hash, more cells than hashes, and 0 decrements to as many as cells: "
            f"{cells} cells, {hashes} hashes, {decrements} decrements"
        )
    _check_max(max_value)
    zeros = zero_fraction(cells, hashes, decrements, max_value)
    step = chain(hashes / cells, decrements / cells, max_value)
    before = steps_while(step, 0, lambda zero: zero - zeros > SETTLED)

    def horizon(missed: float) -> int | None:
        most = 1 - (1 - missed) ** (1 / hashes)
        return steps_while(step, max_value, lambda zero: zero <= most)

    return StablePlan(
        cells,
        hashes,
        decrements,
        max_value,
        fp_bound(cells, hashes, decrements, max_value),
        zeros,
        None if before is None else before + 1,
        horizon(0.1),
        horizon(0.5),
    )


def plan_stable(bits: int, fp: float, max_value: int | None = 1) -> StablePlan:
    """The filter of so many bits that misses least duplicates, with at most ``fp`` false positives.

    ``max_value``: None for 1, which is best where gaps are not known (the thesis, section 3.4). ValueError where the
    bits are too few, with those that would do.
    """
    value = 1 if max_value is None else max_value
    least = least_stable_bits(fp, value)
    if bits < least:
        raise ValueError(
            f"{bits} bits are too few for a false-positive rate of {fp:g}: {least} would do"
        )
    hashes = best_hashes(fp, value)
    return stable_plan(
        bits // value.bit_length(), hashes, whole_decrements(hashes, fp, value), value
    )


def least_stable_bits(fp: float, max_value: int = 1) -> int:
    """The fewest bits that ``plan_stable`` takes."""
    hashes = best_hashes(fp, max_value)
    return (
        max(whole_decrements(hashes, fp, max_value), LEAST_CELLS * hashes) * max_value.bit_length()
    )


def part_of(plan: StablePlan, parts: int) -> StablePlan:
    """The filter of each part of a stream that is split by key: as many cells less, all else the same.

    A part sees as many elements less too, so gaps shrink as cells do and the rates stay. ValueError where parts get
    fewer cells than ``LEAST_CELLS`` by hash, with the parts that would do.
    """
    most = min(plan.cells // (LEAST_CELLS * plan.hashes), plan.cells // max(plan.decrements, 1))
    if not 1 <= parts <= most:
        raise ValueError(f"{plan.cells} cells can be split in 1 to {most} parts: {parts}")
    return stable_plan(plan.cells // parts, plan.hashes, plan.decrements, plan.max_value)


@dataclass(frozen=True, slots=True)
class RotatingPlan:
    """Bloom filters of ``bits_each``, one for each of ``generations``, that hold ``capacity`` distinct elements each.

    An element is taken for a duplicate where any of them has it; ``fp_bound``: the most new ones that are, as a share.
    """

    bits_each: int
    generations: int
    hashes: int
    capacity: int
    fp_bound: float


def plan_rotating(bits: int, fp: float, generations: int = 2) -> RotatingPlan:
    """The filters of so many bits in all that hold most elements. ValueError where they hold none, or there is one only."""
    _check_generations(generations)
    bits_each, each = bits // generations, _fp_each(fp, generations)
    hashes = max(1, round(-math.log2(each)))
    capacity = _capacity(bits_each, hashes, each)
    if capacity < 1:
        raise ValueError(
            f"{bits} bits are too few for a false-positive rate of {fp:g}: {rotating_bits(1, fp, generations)} would do"
        )
    full = -math.expm1(hashes * capacity * math.log1p(-1 / bits_each))
    return RotatingPlan(
        bits_each, generations, hashes, capacity, 1 - (1 - full**hashes) ** generations
    )


def rotating_bits(capacity: int, fp: float, generations: int = 2) -> int:
    """The fewest bits in all with which each generation holds so many distinct elements."""
    _check_generations(generations)
    if capacity < 1:
        raise ValueError(f"a generation holds an element at least: {capacity}")
    each = _fp_each(fp, generations)
    hashes = max(1, round(-math.log2(each)))
    # (1 - 1/bits)^(hashes * capacity) is to be 1 - each^(1/hashes) at least.
    bits = max(
        2,
        math.ceil(
            -1 / math.expm1(math.log1p(-(each ** (1 / hashes))) / (hashes * capacity)) - ROUNDING
        ),
    )
    while _capacity(bits, hashes, each) < capacity:
        bits += 1
    return bits * generations


def _capacity(bits: int, hashes: int, fp: float) -> int:
    if bits < 2:
        return 0
    return math.floor(
        math.log1p(-(fp ** (1 / hashes))) / (hashes * math.log1p(-1 / bits)) + ROUNDING
    )


def _fp_each(fp: float, generations: int) -> float:
    _check_fp(fp)
    return -math.expm1(math.log1p(-fp) / generations)


def _check(fp: float, max_value: int) -> None:
    _check_fp(fp)
    _check_max(max_value)


def _check_fp(fp: float) -> None:
    if not 0 < fp < 1:
        raise ValueError(f"a false-positive rate is between 0 and 1: {fp}")


def _check_max(max_value: int) -> None:
    if max_value not in MAX_VALUES:
        raise ValueError(f"cells are set to 1, 3, 7 or 15: {max_value}")


def _check_generations(generations: int) -> None:
    if generations < 2:
        raise ValueError(
            f"there are two generations at least, so that the older can go: {generations}"
        )
