"""Times of day that are written as numbers, hour, point, minute: 6.18 for 18 minutes past 6.

Spread is not to be measured of them as they are: 5.59 and 6.00 are a minute apart (Ahuja 2006 does, in Tables 3.2 to 3.4, and
recovers 6.79 in Table 4.9, which is no time).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamq.stdlib.attributes.columns import Floats, numbers

_ROUNDING = 1e-6


def clock_minutes(values: Any, strict: bool = True) -> Floats:
    """Minutes since midnight, NaN for NULL. What is no time of day is a ValueError if ``strict``, else NaN."""
    found = numbers(values)
    hours = np.floor(found + _ROUNDING)
    exact = (found - hours) * 100
    minutes = np.round(exact)
    good = (hours >= 0) & (hours < 24) & (minutes < 60) & (np.abs(exact - minutes) < 100 * _ROUNDING)
    if strict and np.any(~good & ~np.isnan(found)):
        raise ValueError(f"{found[~good & ~np.isnan(found)][0]:g} is no time of day")
    return np.where(good, hours * 60 + minutes, np.nan)
