"""Aggregates over the stretches of time of groups, for which a few numbers can stand for many rows.

Each goes three steps; those in ``members.py`` look at all rows instead. ``lift``: what every row adds.
``combine``: what the members of each stretch make together, in the same columns, so that it can stand for them
later on. ``finish``: the value. No step depends on the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.decimals import halves, mean_text, total_text, total_that_fits
from streamq.stdlib.timelines.exact import sums
from streamq.stdlib.timelines.spans import Spans, bits, greatest, odd_bits, totals
from streamq.stdlib.timelines.squares import OF_ONE, OF_TWO, finish_squares, lift_squares
from streamq.stdlib.timelines.table import Column, Index, Table, length

_EXTREMES = frozenset({"MIN", "MAX", "ANY_VALUE", "FIRST", "LAST", "MIN_BY", "MAX_BY"})
_BITS = frozenset({"BIT_AND", "BIT_OR", "BIT_XOR"})
_FIXED = _EXTREMES | _BITS | OF_ONE | OF_TWO | {"COUNT", "SUM", "TRY_SUM", "AVG", "BOOL_AND", "BOOL_OR"}
_OF_MEMBERS = frozenset({
    "COLLECT_LIST", "LISTAGG", "MODE", "PERCENTILE", "APPROX_PERCENTILE", "APPROX_TOP_K", "MIN_BY_N", "MAX_BY_N",
    "SKEWNESS", "KURTOSIS",
})

FOLDS = _FIXED | _OF_MEMBERS
"""The names of the aggregates."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate of value columns.

    ``args``: positions of its arguments. COUNT without any counts rows; FIRST and LAST have the value, the
    timestamp, and maybe what is NULL where a row does not count; MIN_BY and MAX_BY the value and what it goes by;
    COLLECT_LIST the value, and what its order goes by where that is something else. ``result``: the kind of the
    value, 'long', 'double' or 'text'. ``distinct``: rows with equal arguments count once. ``options``: the
    constants of the aggregate: how many values for MIN_BY_N, MAX_BY_N and APPROX_TOP_K, shares from 0 to 1 for
    percentiles, the separator of LISTAGG. SUM and AVG of decimals, which come as whole numbers, have a text as
    result, and as options the digits after the point: of the values, and of a mean. A SUM of 64 bits wraps
    around, where TRY_SUM is NULL.
    """

    name: str
    args: tuple[int, ...]
    result: str
    distinct: bool = False
    options: tuple[Any, ...] = ()


def needs_members(fold: Fold) -> bool:
    """Whether an aggregate looks at all rows, so that no fixed number of values can stand for them."""
    return fold.distinct or fold.name in _OF_MEMBERS


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
        case "BOOL_AND" | "BOOL_OR":
            return counted | {"total": np.where(known, table[f"v{fold.args[0]}"], 0)}
        case "SUM" if fold.result == "long":
            return counted | {"total": np.where(known, table[f"v{fold.args[0]}"], 0)}
        case "TRY_SUM" | "SUM" | "AVG" if fold.name == "TRY_SUM" or fold.result == "text":
            return counted | halves(np.where(known, table[f"v{fold.args[0]}"], 0))
        case "SUM" | "AVG":
            total, rest = _as_doubles(np.where(known, table[f"v{fold.args[0]}"], 0))
            return counted | {"sum": total, "sum_rest": rest}
        case name if name in OF_ONE | OF_TWO:
            columns = (np.where(known, table[f"v{place}"], 0) for place in fold.args)
            return counted | lift_squares(*columns)
        case name if name in _BITS:
            values = table[f"v{fold.args[0]}"]
            # What is set in all values is what is not missing in any.
            return counted | {"bits": np.where(known, ~values if name == "BIT_AND" else values, 0)}
        case name:
            raise ValueError(f"no such aggregate: {name}")


def combine(fold: Fold, parts: Table, spans: Spans) -> Table:
    """What the members of each stretch make together."""
    if fold.name in _EXTREMES:
        return _chosen(fold.name, parts, spans)
    made: Table = {}
    twice = Spans(np.tile(spans.first, 2), np.tile(spans.last, 2), spans.size)
    for name, column in parts.items():
        if name == "bits":
            made[name] = (odd_bits if fold.name == "BIT_XOR" else bits)(column, spans)
        elif column.dtype == np.int64:
            made[name] = totals(column, spans)
        elif not name.endswith("_rest"):
            both = np.concatenate((column, parts[f"{name}_rest"]))
            made[name], made[f"{name}_rest"] = sums(both, twice)
    return made


def finish(fold: Fold, parts: Table) -> tuple[Column, Column]:
    """The values of the aggregate, and where it is NULL; the value there is 0, or None for a text."""
    if fold.name in _EXTREMES:
        return typed(fold, parts["value"], (parts["known"] == 0) | (parts["value_null"] != 0))
    count = parts["n"]
    empty = count == 0
    match fold.name:
        case "COUNT":
            return typed(fold, count, np.zeros(len(count), dtype=bool))
        case "BOOL_AND":
            return typed(fold, (parts["total"] == count).astype(np.int64), empty)
        case "BOOL_OR":
            return typed(fold, (parts["total"] > 0).astype(np.int64), empty)
        case "SUM" if fold.result == "text":
            return typed(fold, total_text(parts, *fold.options), empty)
        case "AVG" if fold.result == "text":
            return typed(fold, mean_text(parts, *fold.options), empty)
        case "TRY_SUM":
            total, beyond = total_that_fits(parts)
            return typed(fold, total, empty | beyond)
        case "BIT_AND":
            return typed(fold, ~parts["bits"], empty)
        case "BIT_OR" | "BIT_XOR":
            return typed(fold, parts["bits"], empty)
        case "SUM":
            return typed(fold, parts["total" if fold.result == "long" else "sum"], empty)
        case "AVG":
            return typed(fold, parts["sum"] / np.maximum(count, 1), empty)
        case name:
            values, null = finish_squares(name, parts)
            return typed(fold, values, null)


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
    known = ~by_null
    if fold.name in ("FIRST", "LAST"):
        # Those that do not count have a NULL as a third argument.
        known = ~is_null(table, fold.args[2]) if len(fold.args) > 2 else np.ones(size, dtype=bool)
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


def typed(fold: Fold, values: Column, null: Column) -> tuple[Column, Column]:
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
