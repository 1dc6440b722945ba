"""How large a sketch of counters must be for an error, or how far off it is for a memory (Deng 2007, chapter 4: the thesis).

What an error is relative to depends on what is asked and of which sketch:

=============  ==================  ===========================
purpose        CM                  CMM, AGMS
=============  ==================  ===========================
``frequency``  N, the rows seen    sqrt(F2)
``self_join``  N^2                 F2
``join``       N of A by N of B    sqrt(F2 of A by F2 of B)
=============  ==================  ===========================

CM: in one row more than e/w of that is too much with a chance below 1/e (Markov), and the least of ``depth`` rows counts.
CMM and AGMS: a row is further off than the error with a chance of 1/8 at most (Chebyshev), and the median of an odd number
of rows counts, which is at least 2 log2(1/delta) for a chance of failure delta.
"""

from __future__ import annotations

import math
from typing import Literal

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.confidence import check_confidence

Method = Literal["CM", "CMM", "AGMS"]
Purpose = Literal["frequency", "self_join", "join"]

METHODS = ("CM", "CMM", "AGMS")
PURPOSES = ("frequency", "self_join", "join")

COUNTER_BYTES = 8

NARROWEST = 2
"""Columns: with one there is nothing to tell noise by."""

MOST_SPARK_ROWS = 40
"""Beyond it the confidence that Spark takes is too near to 1 for a float to tell depths apart."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class LinearPlan:
    """A sketch of ``depth`` rows of ``width`` counters, off by ``rel_error`` at most with the chance ``confidence``.

    ``rel_error`` is a fraction of what the head of this module says.
    """

    method: Method
    width: int
    depth: int
    rel_error: float
    confidence: float

    @property
    def bytes(self) -> int:
        """Memory of the counters."""
        return COUNTER_BYTES * self.width * self.depth


def plan_of_error(
    purpose: Purpose, method: Method, rel_error: float, confidence: float
) -> LinearPlan:
    """The smallest sketch for an error, a fraction above 0. ValueError for what is no error or no confidence."""
    _check(purpose, method, confidence)
    if not 0 < rel_error < math.inf:
        raise ValueError(f"an error is a fraction above 0, as 0.01: {rel_error}")
    if method == "CM":
        least = math.e / rel_error
    else:
        least = _squared(purpose) / rel_error**2 + (method == "CMM")
    width = max(NARROWEST, _up(least))
    return LinearPlan(method, width, depth_of(method, confidence), rel_error, confidence)


def plan_of_memory(
    purpose: Purpose, method: Method, memory_bytes: int, confidence: float
) -> LinearPlan:
    """The most exact sketch for a memory. ValueError, with what would do, where two columns do not fit."""
    _check(purpose, method, confidence)
    depth = depth_of(method, confidence)
    width = memory_bytes // (COUNTER_BYTES * depth)
    if width < NARROWEST:
        least = COUNTER_BYTES * depth * NARROWEST
        raise ValueError(
            f"{memory_bytes} bytes are too few for {depth} rows, which a confidence of {confidence} takes: {least} would do"
        )
    return LinearPlan(method, width, depth, error_of(purpose, method, width), confidence)


def depth_of(method: Method, confidence: float) -> int:
    """The rows that a confidence takes."""
    if method == "CM":
        return max(1, _up(-math.log1p(-confidence)))
    least = max(1, _up(-2 * math.log1p(-confidence) / math.log(2)))
    return least + 1 - least % 2


def error_of(purpose: Purpose, method: Method, width: int) -> float:
    """The error, as a fraction, that so many columns do for."""
    if method == "CM":
        return math.e / width
    return math.sqrt(_squared(purpose) / (width - (method == "CMM")))


def spark_arguments(plan: LinearPlan) -> tuple[float, float]:
    """``(eps, confidence)`` with which Spark's ``count_min_sketch`` has the plan's width and depth.

    Spark takes ceil(2/eps) columns and ceil(-ln(1 - confidence)/ln 2) rows: both are aimed at half a step below.
    ValueError for more rows than ``MOST_SPARK_ROWS``.
    """
    if plan.depth > MOST_SPARK_ROWS:
        raise ValueError(
            f"Spark can be asked for {MOST_SPARK_ROWS} rows at most, not for {plan.depth}: ask for less confidence"
        )
    return 2 / (plan.width - 0.5), 1 - 2.0 ** -(plan.depth - 0.5)


def _squared(purpose: Purpose) -> int:
    """Eight times the variance of a row, by the square of what the error is relative to and by the columns."""
    return 8 if purpose == "frequency" else 16


def _check(purpose: str, method: str, confidence: float) -> None:
    if purpose not in PURPOSES:
        raise ValueError(f"a sketch of counters is for one of {', '.join(PURPOSES)}: {purpose}")
    if method not in METHODS:
        raise ValueError(f"a method is one of {', '.join(METHODS)}: {method}")
    check_confidence(confidence)


def _up(number: float) -> int:
    """Up to a whole number, but not because of the last digits: a plan of its own error is itself."""
    return math.ceil(number * (1 - _ROUNDING))
