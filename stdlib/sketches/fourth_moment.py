"""How far F2 by counters may be off where no key is heavy: by its fourth moment, which a bound of all frequencies bounds.

Chebyshev must allow for a key that has half of all rows. Count-Min rules that out: no frequency is above the largest counter
of a row. A row (Deng 2007, section 4.6: the thesis) is off by ``2w/(w-1) * sum of g x`` over pairs of keys, ``g`` the product of their
frequencies, ``x`` 1 where both are in one cell, less 1/w. In the fourth power of that sum only those products have a mean in which
each key is in two pairs at least:

- one pair four times, a mean of q(1-q) at most (q = 1/w), a sum of g^4 of F4^2/2 at most;
- two pairs twice each, 3 orders: q^2 (1-q)^2, and (F2^2/2)^2;
- four pairs around four keys: q^4 (w-1), and 3 F2^4;
- a triangle with one pair twice: q^2 (1-q)(1-2q), and 6 F3^2 F2.

With m the largest frequency and r = m^2/F2: F4 <= r F2^2, and F3^2 <= F2 F4. Hashes are random here: those of any 8 keys are independent.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.counters import Floats


def f2_fourth_moment(heaviest: Floats, width: int, depth: int) -> Floats:
    """The fourth central moment of the mean of ``depth`` rows at most, by F2^4, ``[...]``; ``heaviest``: r, of 0 to 1."""
    q = 1 / width
    of_row = (
        q * (1 - q) * np.square(heaviest) / 2
        + 3 * (q * (1 - q) / 2) ** 2
        + 3 * q**4 * (width - 1)
        + 6 * q**2 * (1 - q) * (1 - 2 * q) * heaviest
    ) * (2 / (1 - q)) ** 4
    variance = 2 / (width - 1)
    return np.asarray((of_row + 3 * (depth - 1) * variance**2) / depth**3, np.float64)


def f2_off(heaviest: Floats, width: int, depth: int, failure: float) -> Floats:
    """How far the mean of rows is from F2 at most, by F2, ``[...]``, but for ``failure``: by the fourth moment or the second."""
    by_fourth = (f2_fourth_moment(heaviest, width, depth) / failure) ** 0.25
    return np.minimum(by_fourth, np.sqrt(2 / ((width - 1) * depth * failure)))
