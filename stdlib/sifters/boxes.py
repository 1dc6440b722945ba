"""Which rows a predicate may hold for, as boxes in the space of attributes.

A box is half open in each attribute, ``lo <= x < hi``. NULL is below all values, at minus infinity: no comparison holds
for it. A word stands for the number of its step, which other words may have too. The boxes of a predicate do not meet, so
that each row is in at most one of them. More than ``MOST`` boxes become the one around them: a superset protects rows that
need not be kept, and loses none that must.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.predicates import (
    NEGATED,
    Both,
    Compare,
    Either,
    Not,
    Operator,
    Predicate,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = float(np.finfo(np.float64).min)
"""The lower bound of a range of values; that of the box of all rows is lower, where NULL is."""

MOST = 256
"""Boxes of a predicate; a normal form can be exponentially large."""

NO_WORDS: Mapping[int, Callable[[str], int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Boxes:
    """``lo``, ``hi``: the bounds, ``[boxes, attributes]``; infinite where there is none."""

    lo: Floats
    hi: Floats

    def __len__(self) -> int:
        return len(self.lo)

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows, ``[rows, attributes]``, are in one of them."""
        found = np.zeros(len(rows), dtype=bool)
        for lo, hi in zip(self.lo, self.hi, strict=True):
            found |= np.all((rows >= lo) & ((rows < hi) | np.isposinf(hi)), axis=1)
        return found


Words = Mapping[int, Callable[[str], int]]
"""The number of a word, for attributes that are text."""


def boxes(predicate: Predicate, attributes: int, words: Words = NO_WORDS) -> Boxes:
    """The boxes of a predicate over so many attributes; none where it holds for no row."""
    return _boxes(predicate, attributes, words, negated=False)


def everywhere(attributes: int) -> Boxes:
    """The box of all rows."""
    return Boxes(np.full((1, attributes), -np.inf), np.full((1, attributes), np.inf))


def _boxes(predicate: Predicate, n: int, words: Words, *, negated: bool) -> Boxes:
    match predicate:
        case Not(part):
            return _boxes(part, n, words, negated=not negated)
        case Both(parts) | Either(parts):
            found = [_boxes(part, n, words, negated=negated) for part in parts]
            if isinstance(predicate, Both) != negated:
                return _all_of(found, n)
            return _any_of(found, n)
        case Compare(attribute, op, value, whole):
            test = NEGATED[op] if negated else op
            if not isinstance(value, str):
                return _compared(attribute, test, value, whole, n)
            step = words.get(attribute)
            # Of other words in the same step nothing is known, nor of their order.
            return everywhere(n) if step is None or test != "=" else _compared(attribute, "=", float(step(value)), True, n)
        case _:
            # What is not known to hold is not known not to hold.
            return everywhere(n)


def _compared(attribute: int, op: Operator, value: float, whole: bool, n: int) -> Boxes:
    if np.isnan(value):
        return _none(n)  # a comparison with NULL holds for no row
    if op == "!=":
        return _any_of([_compared(attribute, "<", value, whole, n), _compared(attribute, ">", value, whole, n)], n)
    low, high = _range(op, value, whole)
    if not low < high:
        return _none(n)
    box = everywhere(n)
    box.lo[0, attribute], box.hi[0, attribute] = low, high
    return box


def _range(op: Operator, value: float, whole: bool) -> tuple[float, float]:
    if whole:
        least, most = float(np.ceil(value)), float(np.floor(value))
        ranges = {
            "<": (LEAST, least - 0.5), "<=": (LEAST, most + 0.5), ">": (most + 0.5, np.inf), ">=": (least - 0.5, np.inf),
            "=": (least - 0.5, most + 0.5),
        }
    else:
        after = math.nextafter(value, math.inf)
        ranges = {
            "<": (LEAST, value), "<=": (LEAST, after), ">": (after, np.inf), ">=": (value, np.inf),
            "=": (value, after),
        }
    return ranges[op]


def _none(n: int) -> Boxes:
    return Boxes(np.empty((0, n)), np.empty((0, n)))


def _all_of(found: Sequence[Boxes], n: int) -> Boxes:
    result = everywhere(n)
    for one in found:
        lo = np.maximum(result.lo[:, None], one.lo[None]).reshape(-1, n)
        hi = np.minimum(result.hi[:, None], one.hi[None]).reshape(-1, n)
        some = np.all(lo < hi, axis=1)
        result = _limited(Boxes(lo[some], hi[some]))
    return result


def _any_of(found: Sequence[Boxes], n: int) -> Boxes:
    along = _only_attribute(found)
    if along is not None:
        return _merged(found, along)
    result = _none(n)
    for one in found:
        new = one
        for lo, hi in zip(result.lo, result.hi, strict=True):
            new = _without(new, lo, hi)
        result = _limited(Boxes(np.concatenate([result.lo, new.lo]), np.concatenate([result.hi, new.hi])))
    return result


def _only_attribute(found: Sequence[Boxes]) -> int | None:
    """The one attribute by which all boxes are bounded; None where there are others, or no box."""
    bounded = np.zeros(found[0].lo.shape[1] if found else 0, dtype=bool)
    for one in found:
        bounded |= np.any((one.lo != -np.inf) | (one.hi != np.inf), axis=0)
    places = np.flatnonzero(bounded)
    return int(places[0]) if len(places) == 1 else None


def _merged(found: Sequence[Boxes], along: int) -> Boxes:
    """Ranges of one attribute, those that touch as one."""
    lo, hi = (np.concatenate([getattr(one, end) for one in found]) for end in ("lo", "hi"))
    order = np.argsort(lo[:, along], kind="stable")
    lo, hi = lo[order], hi[order]
    reached = np.maximum.accumulate(hi[:, along])
    first = np.flatnonzero(np.append(True, lo[1:, along] > reached[:-1]))
    lo, hi = lo[first], hi[first]
    hi[:, along] = reached[np.append(first[1:] - 1, len(reached) - 1)]
    return _limited(Boxes(lo, hi))


def _without(whole: Boxes, lo: Floats, hi: Floats) -> Boxes:
    """What is left of boxes that do not meet without one other: up to two pieces for each attribute."""
    meets = np.all((whole.lo < hi) & (whole.hi > lo), axis=1)
    lows, highs = [whole.lo[~meets]], [whole.hi[~meets]]
    rest_lo, rest_hi = whole.lo[meets].copy(), whole.hi[meets].copy()
    for attribute in range(whole.lo.shape[1]):
        below, above = rest_hi.copy(), rest_lo.copy()
        below[:, attribute] = np.minimum(rest_hi[:, attribute], lo[attribute])
        above[:, attribute] = np.maximum(rest_lo[:, attribute], hi[attribute])
        for low, high in ((rest_lo.copy(), below), (above, rest_hi.copy())):
            some = low[:, attribute] < high[:, attribute]
            lows.append(low[some])
            highs.append(high[some])
        rest_lo[:, attribute] = np.maximum(rest_lo[:, attribute], lo[attribute])
        rest_hi[:, attribute] = np.minimum(rest_hi[:, attribute], hi[attribute])
    return Boxes(np.concatenate(lows), np.concatenate(highs))


def _limited(found: Boxes) -> Boxes:
    if len(found) <= MOST:
        return found
    return Boxes(found.lo.min(axis=0, keepdims=True), found.hi.max(axis=0, keepdims=True))
