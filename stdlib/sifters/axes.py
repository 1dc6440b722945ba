"""Where the values of an attribute lie on an axis from 0 to 1, in equal steps.

The first step is for NULL, the others for values; those below and above all that were seen are in the first and last of
these. Text is spread over the steps by a checksum. So a row's cell is worked out by arithmetic, in Spark as here, from
numbers that may change while a query runs. Where most values are small against the largest ones, as prices are, steps are
even in their eighth root.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.boxes import LEAST, Floats, Ints
from streamq.stdlib.sifters.grid import WORD_BITS

NARROWEST = 1e-9
"""Steps that a range has at least."""

SALTS, GOLDEN = 64, 2_654_435_769
"""What is tried to spread words, multiples of 2**32 over the golden ratio."""

ROOT = 8
"""Steps are even in the value, or in its root of that order, which the processor works out by itself: about as even as
in the logarithm over six decades, at a fraction of the cost.
"""

MOST_RANGE = 1e300
"""From the least to the largest value of an axis."""

EDGE = 0.005
"""What may lie outside at each side, where a few values are far from all others."""


Column = NDArray[Any]
"""The values of an attribute: numbers with NULL as minus infinity, or text with NULL as None."""


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """A value is ``(value - lower) * scale`` steps from the first one; where ``curved``, by the root of that difference.

    ``steps``: with the one for NULL, which is minus infinity.
    """

    lower: float
    scale: float
    curved: bool
    steps: int

    def points(self, values: Column) -> Floats:
        """Where values lie on the axis from 0 to 1."""
        return np.minimum(self._steps_of(values) / self.steps, BELOW_ONE)

    def cells(self, values: Column) -> Ints:
        """The step that each value is in."""
        return np.minimum(np.floor(self._steps_of(values)), self.steps - 1.0).astype(np.int64)

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """The bounds of boxes on the axis from 0 to 1. Those of values that lie outside hold the step at that end."""
        low = np.where(lo < LEAST, 0.0, np.clip(self._steps_of(np.maximum(lo, LEAST)), 1.0, self.steps - 1.0))
        high = np.where(np.isposinf(hi), float(self.steps), np.maximum(self._steps_of(np.maximum(hi, LEAST)), 2.0))
        # A range of one value has a width here too, or nobody would want it.
        return low / self.steps, np.maximum(high, low + NARROWEST) / self.steps

    def outside(self, values: Column) -> float:
        """The share of values that lie below the first step, or above the last."""
        known = values[np.isfinite(values)]
        beyond = (known < self.lower) | (self._along(known) > self.steps - 1.0)
        return float(beyond.mean()) if len(known) else 0.0

    def value(self, step: float) -> float:
        """The least value of a step from 1 on."""
        along = max(0.0, step - 1.0) / self.scale
        return self.lower + (along**ROOT if self.curved else along)

    def _steps_of(self, values: Floats) -> Floats:
        null = np.isneginf(values)
        along = self._along(np.where(null, self.lower, values))
        return np.where(null, 0.0, 1.0 + np.minimum(along, self.steps - 1.0))

    def _along(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            above = np.maximum(values - self.lower, 0.0)
            found: Floats = (np.sqrt(np.sqrt(np.sqrt(above))) if self.curved else above) * self.scale
        return found


@dataclass(frozen=True, slots=True)
class WordAxis:
    """A word is in the step that its checksum says, after the first one; ``salt``: so that frequent words have their own."""

    salt: int
    steps: int

    def points(self, values: Column) -> Floats:
        return (self.cells(values) + 0.5) / self.steps

    def cells(self, values: Column) -> Ints:
        null = _is_null(values)
        words, place = np.unique(np.where(null, "", values).astype(str), return_inverse=True)
        steps = np.array([self.step(word) for word in words.tolist()], dtype=np.int64)
        return np.where(null, 0, steps[place])

    def step(self, word: str) -> int:
        spread = (_checksum(word) * self.salt) & ((1 << WORD_BITS) - 1)
        return 1 + (spread * (self.steps - 1) >> WORD_BITS)

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """Boxes go from half before a word's step to half behind it."""
        low, high = np.clip(lo + 0.5, 0.0, self.steps), np.clip(hi + 0.5, 0.0, self.steps)
        return low / self.steps, high / self.steps

    def outside(self, values: Column) -> float:
        """All words have a step."""
        del values
        return 0.0


Axis = NumberAxis | WordAxis

BELOW_ONE = float(np.nextafter(1.0, 0.0))


def axis(values: Column, steps: int) -> Axis:
    """The axis of an attribute, for a sample of it."""
    if values.dtype == object:
        return _word_axis(values, steps)
    return _number_axis(values.astype(np.float64), steps)


def _checksum(word: str) -> int:
    """As Spark has it; halves of characters, which it cannot have, are question marks."""
    return crc32(word.encode("utf-8", "replace"))


def _is_null(values: Column) -> NDArray[np.bool_]:
    nothing: Any = None
    return np.asarray(values == nothing, dtype=bool)


def _word_axis(values: Column, steps: int) -> WordAxis:
    """Of some salts the one with which words share steps least, by how often they come."""
    words, counts = np.unique(values[~_is_null(values)].astype(str), return_counts=True)
    most = np.argsort(-counts, kind="stable")[:steps]
    sums = np.array([_checksum(word) for word in words[most].tolist()], dtype=np.uint64)
    salts = np.arange(1, 2 * SALTS, 2, dtype=np.uint64) * np.uint64(GOLDEN) % np.uint64(1 << 31) | np.uint64(1)
    spread = (sums * salts[:, None]) & np.uint64((1 << WORD_BITS) - 1)
    found = (spread * np.uint64(steps - 1) >> np.uint64(WORD_BITS)).astype(np.int64) + np.arange(SALTS)[:, None] * steps
    shares = np.bincount(found.ravel(), np.tile(counts[most], SALTS).astype(np.float64), SALTS * steps).reshape(SALTS, steps)
    return WordAxis(int(salts[np.argmin((shares**2).sum(axis=1))]), steps)


def _number_axis(values: Floats, steps: int) -> NumberAxis:
    """The axis on which a sample of values lies most evenly. All values alike, or none: that value is in the first step."""
    known = np.sort(values[np.isfinite(values)])
    one_step = NumberAxis(float(known[0]) if len(known) else 0.0, 1.0, False, steps)
    if not len(known) or known[0] == known[-1]:
        return one_step
    inner = np.quantile(known, [EDGE, 1 - EDGE])
    found = [
        one for low, high in ((known[0], known[-1]), (inner[0], inner[1])) if high > low
        for curved in (False, True) if (one := _axis(float(low), float(high), curved, steps)) is not None
    ]
    return max(found, key=lambda one: round(_evenness(one, known), 6), default=one_step)


def _axis(low: float, high: float, curved: bool, steps: int) -> NumberAxis | None:
    """None where the range is too wide, or too narrow, for numbers."""
    wide = high - low
    if not MOST_RANGE > wide > 1 / MOST_RANGE:
        return None
    length = wide ** (1 / ROOT) if curved else wide
    return NumberAxis(low, (steps - 1.0) / length * (1 - 1e-9), curved, steps)


def _evenness(one: NumberAxis, known: Floats) -> float:
    """The entropy of the steps that values are in."""
    counts = np.bincount(one.cells(known), minlength=one.steps)
    shares = counts[counts > 0] / len(known)
    return float(-(shares * np.log(shares)).sum())
