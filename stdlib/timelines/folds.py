"""Aggregates over the stretches of time of groups.

Each goes three steps. ``lift``: what every row adds. ``combine``: what the members of each stretch make together,
in the same columns, so that it can stand for them later on. ``finish``: the value. No step depends on the order of
the rows.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.exact import about_mean, square, sums
from streamq.stdlib.timelines.spans import Spans, greatest, joined, totals
from streamq.stdlib.timelines.table import Column, Index, Table, length

_EXTREMES = frozenset({"MIN", "MAX", "ANY_VALUE", "FIRST", "LAST", "MIN_BY", "MAX_BY"})
_MOMENTS = frozenset({"VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP"})

FOLDS = _EXTREMES | _MOMENTS | {"COUNT", "COUNT_DISTINCT", "SUM", "AVG", "BOOL_AND", "BOOL_OR"}
"""The names of the aggregates."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate of value columns.

    ``args``: positions of its arguments. COUNT without any counts rows; FIRST and LAST have the value and the
    timestamp, MIN_BY and MAX_BY the value and what it goes by. ``result``: the kind of the value, 'long', 'double'
    or 'text'.
    """

    name: str
    args: tuple[int, ...]
    result: str


def supports_growth(fold: Fold) -> bool:
    """Whether a fixed number of values can stand for all rows seen so far."""
    return fold.name != "COUNT_DISTINCT"


def is_null(table: Table, place: int) -> Column:
    """Where the value at a position is NULL."""
    null: Column = (table["nulls"] >> np.int64(place)) & 1 != 0
    return null


def lift(fold: Fold, table: Table) -> Table:
    """What each row adds to the aggregate. Raises ``ValueError`` for an aggregate that is not known."""
    if fold.name in _EXTREMES:
        return _candidates(fold, table)
    known = np.ones(length(table), dtype=bool)
    for place in fold.args:
        known &= ~is_null(table, place)
    counted: Table = {"n": known.astype(np.int64)}
    match fold.name:
        case "COUNT":
            return counted
        case "COUNT_DISTINCT":
            columns = (codes(table[f"v{i}"], is_null(table, i)) for i in fold.args)
            return counted | {f"code{k}": column for k, column in enumerate(columns)}
        case "BOOL_AND" | "BOOL_OR":
            return counted | {"total": np.where(known, table[f"v{fold.args[0]}"], 0)}
        case "SUM" if fold.result == "long":
            return counted | {"total": np.where(known, table[f"v{fold.args[0]}"], 0)}
        case "SUM" | "AVG":
            total, rest = _as_doubles(np.where(known, table[f"v{fold.args[0]}"], 0))
            return counted | {"sum": total, "sum_rest": rest}
        case name if name in _MOMENTS:
            values = np.where(known, table[f"v{fold.args[0]}"], 0).astype(np.float64)
            squares, rest = square(values)
            counted |= {"sum": values, "sum_rest": np.zeros(len(values))}
            return counted | {"squares": squares, "squares_rest": rest}
        case name:
            raise ValueError(f"no such aggregate: {name}")


def combine(fold: Fold, parts: Table, spans: Spans) -> Table:
    """What the members of each stretch make together."""
    if fold.name in _EXTREMES:
        return _chosen(fold.name, parts, spans)
    if fold.name == "COUNT_DISTINCT":
        known = np.flatnonzero(parts["n"])
        found = tuple(parts[f"code{k}"][known] for k in range(len(fold.args)))
        once = joined(found, spans.take(known))
        return {"n": totals(np.ones(len(once.first), dtype=np.int64), once)}
    made: Table = {name: totals(parts[name], spans) for name in ("n", "total") if name in parts}
    twice = Spans(np.tile(spans.first, 2), np.tile(spans.last, 2), spans.size)
    for name in ("sum", "squares"):
        if name in parts:
            both = np.concatenate((parts[name], parts[f"{name}_rest"]))
            made[name], made[f"{name}_rest"] = sums(both, twice)
    return made


def finish(fold: Fold, parts: Table) -> tuple[Column, Column]:
    """The values of the aggregate, and where it is NULL; the value there is 0, or None for a text."""
    if fold.name in _EXTREMES:
        return _typed(fold, parts["value"], (parts["known"] == 0) | (parts["value_null"] != 0))
    count = parts["n"]
    empty = count == 0
    match fold.name:
        case "COUNT" | "COUNT_DISTINCT":
            return _typed(fold, count, np.zeros(len(count), dtype=bool))
        case "BOOL_AND":
            return _typed(fold, (parts["total"] == count).astype(np.int64), empty)
        case "BOOL_OR":
            return _typed(fold, (parts["total"] > 0).astype(np.int64), empty)
        case "SUM":
            return _typed(fold, parts["total" if fold.result == "long" else "sum"], empty)
        case "AVG":
            return _typed(fold, parts["sum"] / np.maximum(count, 1), empty)
        case name:
            divisor = count - name.endswith("_SAMP")
            distances = about_mean(
                count, (parts["sum"], parts["sum_rest"]), (parts["squares"], parts["squares_rest"])
            )
            values = distances / np.maximum(divisor, 1)
            return _typed(fold, np.sqrt(values) if name.startswith("STD") else values, divisor < 1)


def codes(column: Column, null: Column) -> Index:
    """Whole numbers that are ordered and equal as the values are; NULL is -1, NaN the greatest.

    Texts go by code points; -0.0 equals 0.0.
    """
    found = np.full(len(column), -1, dtype=np.int64)
    some = ~null
    found[some] = np.unique(column[some], return_inverse=True)[1]
    return found


def _candidates(fold: Fold, table: Table) -> Table:
    """What ``lift`` gives for an aggregate that is the value of one row."""
    value = fold.args[0]
    size = length(table)
    null = is_null(table, value)
    found: Table = {"value": table[f"v{value}"], "value_null": null.astype(np.int64)}
    if fold.name in ("MIN", "MAX", "ANY_VALUE"):
        return found | {"known": (~null).astype(np.int64)}
    by_null = is_null(table, fold.args[1])
    known = np.ones(size, dtype=bool) if fold.name in ("FIRST", "LAST") else ~by_null
    return found | {
        "known": known.astype(np.int64),
        "by": table[f"v{fold.args[1]}"],
        "by_null": by_null.astype(np.int64),
        "at": table["at"],
    }


def _chosen(name: str, parts: Table, spans: Spans) -> Table:
    """What ``combine`` gives for an aggregate that is the value of one row: that row."""
    known = np.flatnonzero(parts["known"])
    row = {column: values[known] for column, values in parts.items()}
    order = np.lexsort(_preference(name, row)[::-1])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    best = greatest(rank, spans.take(known))
    there = best >= 0
    chosen = known[order[best[there]]]
    made: Table = {}
    for column, values in parts.items():
        made[column] = np.zeros(spans.size, dtype=values.dtype)
        made[column][there] = values[chosen]
        if values.dtype == object:
            made[column][~there] = None
    return made


def _preference(name: str, row: Table) -> tuple[Index, ...]:
    """What a row is chosen by, most important first: the row where it is greatest.

    As the reference evaluator: of equal timestamps the least or greatest value, with NULL below all; of rows that
    MIN_BY and MAX_BY find equal, the one that came last.
    """
    value = codes(row["value"], row["value_null"] != 0)
    if name in ("MIN", "ANY_VALUE"):
        return (~value,)
    if name == "MAX":
        return (value,)
    by = codes(row["by"], row["by_null"] != 0)
    match name:
        case "FIRST":
            return ~by, ~value
        case "LAST":
            return by, value
        case "MIN_BY":
            return ~by, row["at"], value
        case _:
            return by, row["at"], value


def _as_doubles(column: Column) -> tuple[Column, Column]:
    """Numbers as two doubles that add up to each."""
    if column.dtype == np.float64:
        return column, np.zeros(len(column))
    low = (column & (2**32 - 1)).astype(np.float64)
    return np.ldexp((column >> 32).astype(np.float64), 32), low


def _typed(fold: Fold, values: Column, null: Column) -> tuple[Column, Column]:
    """The values in the column type of the result, with -0.0 as 0.0."""
    match fold.result:
        case "long":
            return np.where(null, 0, values).astype(np.int64), null
        case "double":
            return np.where(null, 0, values).astype(np.float64) + 0.0, null
        case "text":
            found = values.astype(object)
            found[null] = None
            return found, null
        case kind:
            raise ValueError(f"no such kind of value: {kind}")
