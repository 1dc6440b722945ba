"""What selective joins are compared with: dropping rows at random, keeping the newest, keeping the most productive ages.

A join of which each side keeps the share x makes x² of the comparisons and finds x² of the pairs. So at the share r of the
comparisons random dropping finds r of them: just what comparing any r of the windows would. All that is better is so by
choosing what is compared (Gedik, Wu, Yu, Liu 2007, "CPU Load Shedding for Binary Stream Joins"; age-based windows are those
of Srivastava and Widom 2004, "Memory-Limited Execution of Windowed Stream Joins").
"""

from __future__ import annotations

import math

import numpy as np

from streamq.stdlib.joins.basic_window import ROUNDING, Ages


def kept_at_random(share: float) -> float:
    """What each side keeps (x) where a share r of all comparisons can be made, both 0 to 1; found are r of the pairs."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share is from 0 to 1: {share}")
    return math.sqrt(share)


def found_newest(of: Ages, share: float) -> float:
    """The share of pairs that is found where only the newest part of the window is compared."""
    return float(of.younger(np.array(share * of.win_s)))


def found_best(of: Ages, share: float) -> float:
    """The share of pairs that is found where the best part of the window is compared: the most that choosing can give."""
    return float(of.best(np.array(share * of.win_s)))


def age_based(of: Ages) -> tuple[float, float]:
    """The age in seconds until which a row is kept, and the share of pairs that is found then.

    At that age pairs found by second of keeping, F(a) / a, are most; the youngest such age. Within a part of the histogram
    the ratio only rises or only falls, so it is one of the bounds. Saves memory where partners are young; where they are old
    rows have to be kept until then, and all younger ones are still compared.
    """
    age = of.edges[1:]
    found = of.younger(age)
    gained = found / age
    best = int(np.argmax(gained >= gained.max() * (1 - ROUNDING)))
    return float(age[best]), float(found[best])
