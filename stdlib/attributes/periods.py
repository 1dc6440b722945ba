"""After how many rows the values of an attribute repeat.

A sequence has the period d where each value is that of d rows before it; the smallest one counts (Ahuja 2006, Algorithm 1,
which takes the distance to the first row like the first one for the period, and so rejects a cycle that has the first value
twice). Values are given by codes, see ``columns.codes``.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.attributes.columns import Bools, Ints
from streamq.stdlib.attributes.kinds import MIN_CYCLES

_PRIME = 2**31 - 1
_BASE = 1_103_515_245 % _PRIME
_ROUNDING = 1e-9


def period(
    codes: Ints, min_cycles: int = MIN_CYCLES, tolerance: float = 0.0, max_period: int | None = None
) -> int | None:
    """The smallest period, or None: not seen ``min_cycles`` times, or 1, which makes a constant and tells nothing.

    ``tolerance`` (ε): the share of rows, 0 to below 1, that may differ from the row a period before, as where some were
    lost. ``max_period`` bounds the search. O(rows); with a tolerance O(rows · the period that is found). ValueError for
    fewer cycles than 2, or another tolerance.
    """
    if min_cycles < MIN_CYCLES or not 0 <= tolerance < 1:
        raise ValueError("a cycle is seen at least twice, and the tolerance is from 0 to below 1")
    longest = len(codes) // min_cycles
    if max_period is not None:
        longest = min(longest, max_period)
    candidates = _candidates(codes, longest) if tolerance == 0 else np.arange(1, longest + 1)
    for d in candidates.tolist():
        if np.count_nonzero(repeated(codes, d)) >= (1 - tolerance) * (len(codes) - d) - _ROUNDING:
            return d if d > 1 else None
    return None


def first_repeat(codes: Ints) -> int | None:
    """The period by the letter of Algorithm 1: that of the first row like the first one, if no later row contradicts it.

    One match at the very end is enough, and constants have the period 1 (faithful).
    """
    again = np.flatnonzero(codes[1:] == codes[:1])
    if len(again) == 0:
        return None
    d = int(again[0]) + 1
    return d if bool(np.all(repeated(codes, d))) else None


def repeated(codes: Ints, d: int) -> Bools:
    """Whether rows from the row ``d`` on have the value of ``d`` rows before, ``[rows - d]``."""
    return np.asarray(codes[d:] == codes[: len(codes) - d], dtype=bool)


def _candidates(codes: Ints, longest: int) -> Ints:
    """Lengths up to ``longest`` that may be periods, ascending; of those that are none, one in a billion.

    The sequence without its end and that without its beginning are compared by polynomial hashes, for all lengths at once:
    with prefixes h(i) = Σ_{j<i} x_j b^j it is h(p - d) b^d = h(p) - h(d).
    """
    power = _powers(len(codes) + 1)
    term = codes.astype(np.uint64) % _PRIME * power[:-1] % _PRIME
    prefix = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(term, dtype=np.uint64) % _PRIME])
    d = np.arange(1, longest + 1)
    beginning = prefix[len(codes) - d] * power[d] % _PRIME
    end = (prefix[-1] + np.uint64(_PRIME) - prefix[d]) % _PRIME
    found: Ints = d[beginning == end]
    return found


def _powers(n: int) -> np.typing.NDArray[np.uint64]:
    """Of the base, from that by 0, modulo the prime: what there is times the next one, until there are n."""
    power = np.ones(n, dtype=np.uint64)
    filled, step = 1, _BASE
    while filled < n:
        k = min(filled, n - filled)
        power[filled : filled + k] = power[:k] * np.uint64(step) % _PRIME
        filled, step = filled + k, step * step % _PRIME
    return power
