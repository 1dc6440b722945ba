"""Standard errors of estimates from counters, by the variances of rows (Deng 2007, sections 4.2 to 4.6: the thesis).

F2 is what the same sketch says. An error of the middle of d rows is that of a row by ``middle_share``, or by sqrt(d) where
it is their mean. ``columns``: w - 1 for CMM, w for AGMS. All are ``[...]``, in the unit of the estimate.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.confidence import How, middle_share
from streamq.stdlib.sketches.counters import Floats, Numbers


def point_std_err(
    f2: Numbers, frequencies: Numbers, columns: int, depth: int, how: How = "median"
) -> Floats:
    """Of a frequency: the root of (F2 - f^2)/columns."""
    others = np.maximum(f2 - np.square(np.asarray(frequencies, np.float64)), 0.0)
    return np.asarray(middle_share(depth, how) * np.sqrt(others / columns), np.float64)


def f2_std_err(
    f2: Numbers, totals: Numbers | float, columns: int, depth: int, how: How = "median"
) -> Floats:
    """Of F2, at most: the root of 2(F2^2 - F4)/columns with F4 no less than F2^3/N^2, which is so of any frequencies."""
    f2 = np.maximum(f2, 0.0)
    pairs = np.maximum(np.square(np.asarray(totals, np.float64)), 1.0)
    spread = np.clip(1 - f2 / pairs, 0.0, 1.0)
    return np.asarray(middle_share(depth, how) * f2 * np.sqrt(2 * spread / columns), np.float64)


def join_std_err(
    f2_a: Numbers, f2_b: Numbers, join: Numbers, columns: int, depth: int, how: How = "median"
) -> Floats:
    """Of a join size, at most: the root of (F2(A) F2(B) + J^2)/columns."""
    return np.asarray(
        middle_share(depth, how) * np.sqrt((f2_a * f2_b + np.square(join)) / columns), np.float64
    )
