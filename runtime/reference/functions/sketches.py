"""What is read from sketches, of which the reference has the rows themselves: the truth that estimates are estimates of."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

from streamq.dsl.records import dataclass
from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.functions.declare import Family

_f = Family()

Answer = tuple[float, float, float]
"""An estimate and its bounds, which are all the truth."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often each value is there, by what equal values have in common, and one of them."""

    counts: Counter[Any]
    values: dict[Any, Any]

    @staticmethod
    def of(values: list[Any]) -> Frequencies:
        known = {sort_key(value): value for value in values}
        return Frequencies(Counter(map(sort_key, values)), known)


def _answer(value: float) -> Answer:
    return float(value), float(value), float(value)


@_f.plain("FREQUENCY_OF")
def _frequency(sketch: Frequencies, _rows: int, value: Any, *_settings: object) -> Answer:
    return _answer(0 if value is None else sketch.counts[sort_key(value)])


@_f.plain("SELF_JOIN_OF")
def _self_join(sketch: Frequencies, *_settings: object) -> Answer:
    return _answer(sum(n * n for n in sketch.counts.values()))


@_f.plain("JOIN_OF")
def _join(left: Frequencies, _rows: int, right: Frequencies, *_settings: object) -> Answer:
    return _answer(sum(n * right.counts[value] for value, n in left.counts.items()))


@_f.plain("HEAVY_OF")
def _heavy(sketch: Frequencies, seen: float, _rows: float, share: float, *_settings: object) -> tuple[Any, ...]:
    found = [(key, n) for key, n in sketch.counts.items() if n >= share * seen]
    return tuple((sketch.values[key], n, n, n) for key, n in sorted(found, key=lambda f: (-f[1], f[0])))


@_f.plain("PAIRS_OF")
def _pairs(alike: int) -> Answer:
    return _answer(alike)


def pairs_alike(rows: list[tuple[Any, ...]], least: int) -> int:
    """Pairs of rows that have at least so many equal values at the same places; NULL equals nothing."""
    keyed = [tuple(None if v is None else sort_key(v) for v in row) for row in rows]
    return sum(
        sum(a is not None and a == b for a, b in zip(left, right, strict=True)) >= least
        for left, right in combinations(keyed, 2)
    )


MAKERS = _f.makers
