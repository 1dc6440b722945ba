"""The error threshold of a shed attribute: the smaller one of its own fixed point and of what its category allows.

After Ahuja 2006, section 3.2.4.3: the cap of a category is the mean fixed point of its sample streams (table 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from streamq.stdlib.recovery.criticality import Category
from streamq.stdlib.recovery.intervals import check_error


def interpolated_cap(very: float, moderately: float, low: float) -> float:
    """The cap of extremely critical streams, of which there are no samples: CRER2 · CRER3 / CRER4."""
    return very * moderately / low


CAPS: Mapping[Category, float] = {
    "extremely critical": 1.67,
    "very critical": 4.7,
    "moderately critical": 4.81,
    "low critical": 13.5,
    "not critical": 20.33,
    "others": math.inf,
}
"""The largest error that each category allows (CRER), in percent."""


def category_cap(plateaus: Sequence[float]) -> float:
    """The mean of the fixed points of sample streams, in percent. Raises ``ValueError`` for none."""
    if not plateaus:
        raise ValueError("a cap is the mean of some fixed points")
    return math.fsum(plateaus) / len(plateaus)


def error_threshold(plateau: float | None, cap: float = math.inf, asked: float | None = None) -> float:
    """E in percent: what the user asks for, or else the smaller one of the fixed point and the cap.

    ``plateau``: None where the attribute has none up to 100 percent. Raises ``ValueError`` where there is nothing to go by,
    and for what is no error.
    """
    if asked is not None:
        check_error(asked)
        return asked
    found = min(math.inf if plateau is None else plateau, cap)
    if found == math.inf:
        raise ValueError("the attribute has no fixed point and its category no cap: say which error is allowed")
    check_error(found)
    return found
