"""What a selective join compares: how much of each window, and which of its basic windows first.

A subscript names the window that is scanned, 0 for that of S1 and 1 for that of S2: the rows that scan window ``i``
are those of the other side (section 2 of Gedik, Wu, Yu, Liu 2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Selection:
    """How much of each window its probes compare, and in which order.

    ``frac``: the fraction r that is compared overall, 0 to 1; full probes are sampled by it. ``frac_dir``: ``[2]``, the
    fraction r_i of each window. ``frac_type``: for each window the fractions r_{i,z} by the type z of the probing row,
    ``[types]``; None where types do not matter, else they go before ``frac_dir``. ``order``: for each window a permutation
    of the positions of its basic windows, ``[n_bw[i]]``, 0 the newest; the first is visited first. ``sample_p``: the base
    probability γ of a full probe, 0 to 1.

    Raises ``ValueError`` for what is no fraction and no permutation.
    """

    frac: float
    frac_dir: Floats
    frac_type: tuple[Floats, Floats] | None
    order: tuple[Ints, Ints]
    sample_p: float = 0.1

    def __post_init__(self) -> None:
        """Checks fractions and permutations."""
        fractions = [[self.frac, self.sample_p], self.frac_dir, *(self.frac_type or ())]
        if len(self.frac_dir) != 2 or not all(np.all((np.asarray(f) >= 0) & (np.asarray(f) <= 1)) for f in fractions):
            raise ValueError("a fraction is a number from 0 to 1, of each of two windows")
        if any(not np.array_equal(np.sort(order), np.arange(len(order))) for order in self.order):
            raise ValueError("an order has each position of a basic window once")

    def fractions(self, window: int, types: Ints) -> Floats:
        """The fraction of a window that rows of these types compare, ``[rows]``."""
        if self.frac_type is not None:
            return self.frac_type[window][types]
        return np.full(len(types), self.frac_dir[window], dtype=np.float64)


def newest_first(frac: float, n_bw: tuple[int, int], sample_p: float = 0.0) -> Selection:
    """The same fraction of both windows, the newest rows of each: partial processing (section 3.2).

    ``n_bw``: basic windows of each window. With ``frac`` 1 it is the full join.
    """
    return Selection(frac, np.full(2, frac), None, (np.arange(n_bw[0]), np.arange(n_bw[1])), sample_p)
