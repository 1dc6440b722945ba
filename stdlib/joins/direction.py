"""Which direction of the join is shed first: that into the less productive window (join direction adaptation).

Comparisons in a second are λ_1 λ_2 Σ r_i w_i, so the same are made where r_1 w_1 + r_2 w_2 = r (w_1 + w_2)
(Algorithm 4 of Gedik, Wu, Yu, Liu 2007, "CPU Load Shedding for Binary Stream Joins"; printed there with the first term of
r_2 divided by w_1, which is right for equal windows only).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.stdlib.joins.selection import Floats


def directions(frac: float, win_s: Sequence[float], match_p_avg: Sequence[float]) -> Floats:
    """The fraction r_i of each window that is compared, ``[2]``: as much as can be of the better one, the rest of the other.

    ``frac``: overall, 0 to 1. ``win_s``: lengths of the windows in seconds. ``match_p_avg``: mean match probabilities; where
    they are equal the first window is the better one, and where both are 0, so that nothing is known, both get ``frac``.
    Nothing is compared of a window of length 0, unless all is (``frac`` 1). ValueError for negative or infinite numbers.
    """
    given = np.array([frac, *win_s, *match_p_avg], dtype=np.float64)
    if not np.all((given >= 0) & np.isfinite(given)):
        raise ValueError("fractions, lengths and probabilities are at least 0")
    if frac >= 1:
        return np.ones(2)
    length, average = np.array(win_s, dtype=np.float64), match_p_avg
    if max(average) == 0:
        return np.where(length > 0, frac, 0.0)
    better = 0 if average[0] >= average[1] else 1
    left = frac * float(length.sum())
    found = np.zeros(2)
    for window in (better, 1 - better):
        if length[window] > 0:
            found[window] = min(1.0, max(0.0, left / length[window]))
            left -= float(found[window] * length[window])
    return found
