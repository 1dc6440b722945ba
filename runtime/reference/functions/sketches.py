"""What is read from sketches, of which the reference has the rows themselves: the truth that estimates are estimates of."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.functions.declare import Family

_f = Family()

Answer = tuple[float, float, float]
"""An estimate and its bounds, which are all the truth."""


Frequencies = tuple[tuple[Any, int, Any], ...]
"""In order of what equal values have in common: that, how many there are, and one of them."""


def frequencies(values: list[Any]) -> Frequencies:
    counts, known = Counter(map(sort_key, values)), {sort_key(value): value for value in values}
    return tuple((key, counts[key], known[key]) for key in sorted(known))


def _counts(sketch: Frequencies) -> dict[Any, int]:
    return {key: n for key, n, _ in sketch}


def _answer(value: float) -> Answer:
    return float(value), float(value), float(value)


@_f.plain("FREQUENCY_OF")
def _frequency(sketch: Frequencies, _rows: int, value: Any, *_settings: object) -> Answer:
    return _answer(0 if value is None else _counts(sketch).get(sort_key(value), 0))


@_f.plain("SELF_JOIN_OF")
def _self_join(sketch: Frequencies, *_settings: object) -> Answer:
    return _answer(sum(n * n for _, n, _ in sketch))


@_f.plain("JOIN_OF")
def _join(left: Frequencies, _rows: int, right: Frequencies, *_settings: object) -> Answer:
    others = _counts(right)
    return _answer(sum(n * others.get(key, 0) for key, n, _ in left))


@_f.plain("HEAVY_OF")
def _heavy(sketch: Frequencies, seen: float, _rows: float, share: float, *_settings: object) -> tuple[Any, ...]:
    found = [(value, n, n, n) for _, n, value in sketch if n >= share * seen]
    return tuple(sorted(found, key=lambda item: -item[1]))


@_f.plain("PAIRS_OF")
def _pairs(alike: int, _deviations: float) -> Answer:
    return _answer(alike)


def pairs_alike(rows: list[tuple[Any, ...]], least: int) -> int:
    """Pairs of rows that have at least so many equal values at the same places; NULL equals nothing."""
    keyed = [tuple(None if v is None else sort_key(v) for v in row) for row in rows]
    return sum(
        sum(a is not None and a == b for a, b in zip(left, right, strict=True)) >= least
        for left, right in combinations(keyed, 2)
    )


MAKERS = _f.makers
