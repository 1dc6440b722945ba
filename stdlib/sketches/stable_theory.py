"""What a Stable Bloom filter does on average: zero cells, missed duplicates by gap, and the best plan for gaps that are known
(Deng 2007, chapter 3: the thesis).

A gap is the number of elements strictly between an element and its last occurrence; the thesis also writes the difference
of their positions, and its simulations follow the former.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.membership_measures import GapCounts
from streamq.stdlib.sketches.membership_plan import (
    LEAST_CELLS,
    MOST_HASHES,
    StablePlan,
    least_stable_bits,
    stable_plan,
    whole_decrements,
)
from streamq.stdlib.sketches.stable_chain import chain

Floats = NDArray[np.float64]

TRIED = (1, 3, 7)
"""What cells are set to, where gaps decide; 15 takes twice the time of 7 for little."""


def zeros_after(plan: StablePlan, elements: NDArray[np.int64]) -> Floats:
    """The expected share of zero cells after so many new elements, ``[n]``, from an empty filter."""
    return _zero(plan, elements, 0, plan.hashes / plan.cells)


def cell_zero(plan: StablePlan, gaps: NDArray[np.int64], set_prob: float | None = None) -> Floats:
    """The chance that a cell that was set is 0 after so many elements, ``[n]`` (PR0).

    ``set_prob``: that an element sets this cell; None for what it is where all elements are new, K/m.
    """
    return _zero(
        plan, gaps, plan.max_value, plan.hashes / plan.cells if set_prob is None else set_prob
    )


def missed(plan: StablePlan, gaps: NDArray[np.int64], set_prob: float | None = None) -> Floats:
    """The chance that a duplicate is not found at each gap, ``[n]`` (FN): 0 below ``max_value``, in the end 1 - FP bound.

    ``set_prob``: as for ``cell_zero``, for all cells of the element.
    """
    with np.errstate(divide="ignore"):
        kept = plan.hashes * np.log1p(-cell_zero(plan, gaps, set_prob))
    found: Floats = -np.expm1(kept)
    return found


def expected_missed(plan: StablePlan, of: GapCounts) -> float:
    """The duplicates of these gaps that are not found, on average."""
    return float(of.counts @ missed(plan, of.gaps))


def set_probability(plan: StablePlan, share: float = 0.0, phi: float = 0.0) -> float:
    """The chance that an element sets a cell of a key that is this ``share`` of the stream.

    ``phi``: by how many standard deviations other keys of the cell are more frequent than on average.
    """
    k = plan.hashes / plan.cells
    return share + k * (1 - share) + phi * math.sqrt(k * (1 - k))


def phi_range(plan: StablePlan, share: float) -> tuple[float, float]:
    """The least and the largest ``phi`` there can be: no other key sets the cell, or all do."""
    k = plan.hashes / plan.cells
    deviation = math.sqrt(k * (1 - k))
    return -k * (1 - share) / deviation, (1 - k) * (1 - share) / deviation


def phi_deviation(largest_share: float) -> float:
    """The standard deviation of ``phi``, at most, where the most frequent key is this share of the stream."""
    return math.sqrt(largest_share)


def plan_with_gaps(bits: int, fp: float, of: GapCounts) -> StablePlan:
    """The filter of so many bits that misses least duplicates of these gaps, with at most ``fp`` false positives.

    ValueError where the bits are too few for any, with those that would do, and for what is no rate.
    """
    least = least_stable_bits(fp)
    best: tuple[float, StablePlan] | None = None
    for max_value in TRIED:
        cells = bits // max_value.bit_length()
        for hashes in range(1, MOST_HASHES + 1):
            decrements = whole_decrements(hashes, fp, max_value)
            if cells < LEAST_CELLS * hashes or cells < decrements:
                continue
            plan = stable_plan(cells, hashes, decrements, max_value)
            lost = expected_missed(plan, of)
            if best is None or lost < best[0]:
                best = lost, plan
    if best is None:
        raise ValueError(
            f"{bits} bits are too few for a false-positive rate of {fp:g}: {least} would do"
        )
    return best[1]


def _zero(plan: StablePlan, elements: NDArray[np.int64], start: int, set_prob: float) -> Floats:
    """The chance of a 0 after each number of elements, ``[n]``, from the value ``start``."""
    steps = np.asarray(elements, np.int64)
    power = np.array(chain(set_prob, plan.decrements / plan.cells, plan.max_value))
    at = np.zeros((len(steps), len(power)))
    at[:, start] = 1.0
    for doublings in range(int(steps.max(initial=0)).bit_length()):
        odd = np.flatnonzero((steps >> doublings) & 1)
        at[odd] = at[odd] @ power
        power = power @ power
        # Of sum 1 again: what rounding adds would double with each doubling.
        power /= power.sum(axis=1, keepdims=True)
    found: Floats = at[:, 0]
    return found
