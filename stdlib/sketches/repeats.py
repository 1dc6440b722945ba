"""An estimate and how far off it may be, from repetitions with other seeds.

Bounds of the theory take pairs as independent, which those of a cluster of similar records are not (Deng 2007, section 5.2: the
thesis). Repetitions show what the error is. The interval is one of order statistics: it needs no distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.hashing import row_seed
from streamq.stdlib.sketches.similarity_plan import repetitions


@dataclass(frozen=True, slots=True)
class Repeated:
    """``estimate``: the median of ``values``, ``[t]`` in rising order; it is from ``low`` to ``high`` with ``confidence``.

    These bound the median over all seeds: the truth where the estimator is right on average and lies evenly about it.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    values: NDArray[np.float64]

    @property
    def std_err(self) -> float:
        """The standard deviation of a single repetition; NaN of one."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else math.nan


def repeated(
    estimate: Callable[[int], float],
    confidence: float = 0.95,
    times: int | None = None,
    seed: int = 0,
) -> Repeated:
    """The median of ``estimate(seed)`` over ``times`` seeds; None: as many as ``repetitions`` says for the confidence.

    The confidence of the result is that asked for, or more. ValueError where it is not in [0.5, 1), or so many times do not reach it.
    """
    if not 0.5 <= confidence < 1:
        raise ValueError(f"the confidence of an interval is 0.5 or more, and below 1: {confidence}")
    times = repetitions(confidence) if times is None else times
    least = 1 + math.ceil(-math.log2(1 - confidence) - 1e-12)
    if times < least:
        raise ValueError(
            f"{times} repetitions do not bound a median with confidence {confidence}: {least} do"
        )
    values = np.sort([estimate(int(row_seed(seed, i))) for i in range(times)])
    cut = max(i for i in range((times + 1) // 2) if _covered(times, i) >= confidence - 1e-12)
    return Repeated(
        float(np.median(values)),
        float(values[cut]),
        float(values[times - 1 - cut]),
        _covered(times, cut),
        values.astype(np.float64),
    )


def _covered(times: int, cut: int) -> float:
    """How likely a median lies within the order statistics that are left when ``cut`` are taken away at each end."""
    return 1 - sum(math.comb(times, i) for i in range(cut + 1)) / 2.0 ** (times - 1)
