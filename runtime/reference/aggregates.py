"""Aggregates over the rows of a group, straight from their definitions; approximate ones are exact here."""

from __future__ import annotations

import decimal
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from streamq.compiler.ir.expr import AggCall
from streamq.dsl.types import BIGINT, Decimal, is_integer
from streamq.runtime.reference.expressions import ReferenceUnsupported, Udfs, compile_expr
from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.functions import UNSUPPORTED
from streamq.runtime.reference.functions.sketches import frequencies, pairs_alike
from streamq.runtime.reference.moments import OF_ONE, OF_TWO
from streamq.runtime.reference.numbers import MANY_DIGITS, finisher, in_range, rescale
from streamq.runtime.reference.operators import decimal_quotient
from streamq.runtime.reference.values import Instant, Row

Fold = Callable[[list[Row]], object]
"""From the arguments of each row, in order of event time, to the value of the aggregate."""

Aggregate = Callable[[Sequence[Row], Sequence[Instant]], object]

Maker = Callable[[AggCall, Row], Fold]
"""Gives the fold of a call; the row holds the values of its constant arguments, and NULL for the others."""


def compile_aggregate(
    call: AggCall, columns: tuple[str, ...], udfs: Udfs | None = None
) -> Aggregate:
    """The aggregate as a function of a group's rows, in order of event time, and of their instants.

    No instants: the rows are in order already. Raises ``ReferenceUnsupported`` where the reference does not
    compute it.
    """
    if call.function in UNSUPPORTED:
        raise ReferenceUnsupported(call.function)
    args = [compile_expr(a, columns, udfs) for a in call.args]
    condition = None if call.filter is None else compile_expr(call.filter, columns, udfs)
    fold = AGGREGATES[call.function](call, tuple(map(_constant, args)))
    keeps_null = call.function in _KEEPS_NULL
    in_order = call.function in _IN_ORDER

    def aggregate(rows: Sequence[Row], instants: Sequence[Instant]) -> object:
        if in_order and instants:
            rows = by_value(rows, instants)
        chosen = rows if condition is None else [row for row in rows if condition(row)]
        items = [tuple([arg(row) for arg in args]) for row in chosen]
        if not keeps_null:
            items = [item for item in items if None not in item]
        return fold(_distinct(items) if call.distinct else items)

    def by_value(rows: Sequence[Row], instants: Sequence[Instant]) -> list[Row]:
        """Of rows of one instant, those with the lesser arguments first, whatever else is in the rows."""
        stamped = zip(instants, rows, strict=True)
        ordered = sorted(stamped, key=lambda s: (s[0], sort_key(tuple([arg(s[1]) for arg in args]))))
        return [row for _, row in ordered]

    return aggregate


def _constant(evaluate: Callable[[Row], object]) -> object:
    """The value of an argument that reads no column, else NULL."""
    try:
        return evaluate(())
    except IndexError:
        return None


def _distinct(items: list[Row]) -> list[Row]:
    """Each item once, in order of value: a copy that comes or goes changes nothing."""
    found: dict[Any, Row] = {}
    for item in items:
        found.setdefault(sort_key(item), item)
    return [found[key] for key in sorted(found)]


def _plain(fold: Fold) -> Maker:
    return lambda _call, _constants: fold


def _column(items: list[Row], place: int = 0) -> list[Any]:
    return [item[place] for item in items]


def _total(values: list[Any], call: AggCall) -> Any:
    """The sum one by one in the order of the rows, as a value that has not been brought to its type."""
    if isinstance(call.args[0].type, Decimal):
        return reduce(MANY_DIGITS.add, values, decimal.Decimal(0))
    start: Any = 0 if is_integer(call.args[0].type) and call.type == BIGINT else 0.0
    return reduce(lambda a, b: a + b, values, start)


def _sum(call: AggCall, _: Row) -> Fold:
    finish = finisher(call.type)
    return lambda items: finish(_total(_column(items), call)) if items else None


def _try_sum(call: AggCall, _: Row) -> Fold:
    def fold(items: list[Row]) -> object:
        if not items:
            return None
        total = _total(_column(items), call)
        if isinstance(call.type, Decimal):
            return rescale(total, call.type)
        return total if call.type != BIGINT or in_range(total, 64) else None

    return fold


def _avg(call: AggCall, _: Row) -> Fold:
    argument, result = call.args[0].type, call.type
    if not isinstance(argument, Decimal) or not isinstance(result, Decimal):
        return lambda items: _total(_column(items), call) / len(items) if items else None
    summed = Decimal(min(argument.precision + 10, 38), argument.scale)

    def fold(items: list[Row]) -> object:
        if not items:
            return None
        total = rescale(_total(_column(items), call), summed)
        if total is None:
            return None
        found = decimal_quotient(total, decimal.Decimal(len(items)))
        return None if found is None else rescale(found, result)

    return fold


def _extreme(choose: Callable[..., Any]) -> Maker:
    return _plain(lambda items: choose(_column(items), key=sort_key) if items else None)


def _by(*, largest: bool) -> Maker:
    """The first argument where the second is most extreme; of equals the last row.

    With n an array, where Spark leaves open which of equals comes first.
    """

    def make(call: AggCall, constants: Row) -> Fold:
        count = constants[2] if len(call.args) > 2 else None

        def fold(items: list[Row]) -> object:
            known = [item for item in items if item[1] is not None]
            if count is None:
                choose = max if largest else min
                best = choose(reversed(known), key=lambda item: sort_key(item[1]), default=None)
                return None if best is None else best[0]
            assert isinstance(count, int)
            ordered = sorted(known, key=lambda item: sort_key(item[1]), reverse=largest)
            return tuple(item[0] for item in ordered[:count]) if ordered else None

        return fold

    return make


def _at_time(*, latest: bool) -> Maker:
    """The value of the earliest or latest row; of equal times the smallest or largest value."""
    choose = max if latest else min

    def fold(items: list[Row]) -> object:
        return choose(items, key=lambda item: sort_key((item[-1], item[0])))[0] if items else None

    return _plain(fold)


def _mode(items: list[Row]) -> object:
    counts = Counter(sort_key(v) for v in _column(items))
    if not counts:
        return None
    most = max(counts.values())
    return min((v for v in _column(items) if counts[sort_key(v)] == most), key=sort_key)


def _bits(combine: Callable[[int, int], int]) -> Maker:
    return _plain(lambda items: reduce(combine, _column(items)) if items else None)


def _moment(compute: Callable[[list[float]], float | None]) -> Maker:
    return _plain(lambda items: compute(_column(items)))


def _pairs(compute: Callable[[list[float], list[float]], float | None]) -> Maker:
    return _plain(lambda items: compute(_column(items), _column(items, 1)))


def _shared(pick: Callable[[list[Any], float], object], place: int | None) -> Maker:
    """An order statistic for a share, or for several shares; the share is the argument at the place."""

    def make(_call: AggCall, constants: Row) -> Fold:
        share: Any = 0.5 if place is None else constants[place]

        def fold(items: list[Row]) -> object:
            values = sorted(_column(items), key=sort_key)
            if not values or share is None:
                return None
            if isinstance(share, tuple):
                return tuple(pick(values, one) for one in share)
            return pick(values, share)

        return fold

    return make


def _between(values: list[float], share: float) -> float:
    """The value at the share of the way from the first to the last, between two by the distance."""
    at = (len(values) - 1) * share
    low, high = math.floor(at), math.ceil(at)
    if low == high or values[low] == values[high]:
        return values[low]
    return (high - at) * values[low] + (at - low) * values[high]


def _at_rank(values: list[Any], share: float) -> Any:
    """The least value that so large a share of all does not exceed."""
    return values[max(math.ceil(share * len(values)), 1) - 1]


def _top_k(_call: AggCall, constants: Row) -> Fold:
    """The most frequent values with their counts; of equal counts the least value first."""
    k = constants[1] if len(constants) > 1 else 5
    assert isinstance(k, int)

    def fold(items: list[Row]) -> object:
        counts = Counter(_column(items))
        ordered = sorted(counts.items(), key=lambda item: (-item[1], sort_key(item[0])))
        return tuple(ordered[:k])

    return fold


def _alike(call: AggCall, constants: Row) -> Fold:
    """Pairs of rows with enough equal values among the first arguments; how many is the argument before the last two."""
    columns = len(call.args) - 3
    least = constants[columns]
    assert isinstance(least, int)
    return lambda items: pairs_alike([item[:columns] for item in items], least)


def _listagg(call: AggCall, constants: Row) -> Fold:
    separator = str(constants[1]) if len(call.args) > 1 and constants[1] is not None else ""
    return lambda items: separator.join(_column(items)) if items else None


_KEEPS_NULL = frozenset(
    {"PAIR_COUNTS", "FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE", "MIN_BY", "ARG_MIN", "MAX_BY", "ARG_MAX"}
)
"""Aggregates that look at rows with a NULL among the arguments."""

_IN_ORDER = frozenset(
    {"COLLECT_LIST", "ARRAY_AGG", "LISTAGG", "STRING_AGG", "MIN_BY", "ARG_MIN", "MAX_BY", "ARG_MAX"}
)
"""Aggregates for which it matters which of two rows came first."""

_BY_NAMES: dict[str, Maker] = {
    "COUNT REGR_COUNT": _plain(len),
    "COUNT_IF": _plain(lambda items: sum(_column(items))),
    "SUM": _sum,
    "TRY_SUM": _try_sum,
    "AVG MEAN": _avg,
    "MIN ANY_VALUE": _extreme(min),
    "MAX": _extreme(max),
    "MIN_BY ARG_MIN": _by(largest=False),
    "MAX_BY ARG_MAX": _by(largest=True),
    "FIRST FIRST_VALUE": _at_time(latest=False),
    "LAST LAST_VALUE": _at_time(latest=True),
    "MODE": _plain(_mode),
    "BOOL_AND EVERY": _plain(lambda items: all(_column(items)) if items else None),
    "BOOL_OR SOME": _plain(lambda items: any(_column(items)) if items else None),
    "BIT_AND": _bits(and_),
    "BIT_OR": _bits(or_),
    "BIT_XOR": _bits(xor),
    "MEDIAN": _shared(_between, None),
    "PERCENTILE": _shared(_between, 1),
    "APPROX_PERCENTILE PERCENTILE_APPROX": _shared(_at_rank, 1),
    "APPROX_COUNT_DISTINCT": _plain(lambda items: len({sort_key(v) for v in _column(items)})),
    "APPROX_TOP_K": _top_k,
    "FREQUENCY_SKETCH TOP_SKETCH": _plain(lambda items: frequencies(_column(items))),
    "ROWS_SEEN": _plain(len),
    "LEAST_WEIGHT MOST_WEIGHT": _plain(lambda items: 1.0 if items else None),
    "PAIR_COUNTS": _alike,
    "COLLECT_LIST ARRAY_AGG": _plain(lambda items: tuple(_column(items))),
    "COLLECT_SET": _plain(lambda items: tuple(_column(_distinct(items)))),
    "LISTAGG STRING_AGG": _listagg,
    **{name: _moment(compute) for name, compute in OF_ONE.items()},
    **{name: _pairs(compute) for name, compute in OF_TWO.items()},
}

AGGREGATES: dict[str, Maker] = {
    name: maker for names, maker in _BY_NAMES.items() for name in names.split()
}
"""By name, aliases included."""
