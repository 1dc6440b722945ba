"""Aggregates that no partial results can stand for: they look at all members of each stretch of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from streamq.stdlib.timelines.folds import Fold, codes, combine, finish, is_null, lift, typed
from streamq.stdlib.timelines.ranks import frequencies, listed, most_frequent, nth, ranked
from streamq.stdlib.timelines.spans import Spans, joined, totals
from streamq.stdlib.timelines.table import Column, Index, Table, firsts, length, spread, take
from streamq.stdlib.timelines.texts import arrays, as_json, counted, texts

AT_ONCE = 1 << 20
"""Members of lists that are laid out at a time."""


def fold_members(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    """The values of an aggregate in each stretch, and where it is NULL; as ``finish`` gives them.

    COLLECT_LIST and LISTAGG have the members in the order in which they came, those of one instant by value;
    with DISTINCT by value. A second argument of COLLECT_LIST goes before the value there. LISTAGG has its separator as an option. A list comes as a JSON array of values.
    """
    members, spans = known(fold, members, spans)
    if fold.distinct:
        members, spans = different(fold, members, spans)
    match fold.name:
        case "COLLECT_LIST" | "LISTAGG":
            return _list(fold, members, spans)
        case "MIN_BY_N" | "MAX_BY_N":
            return _first_few(fold, members, spans)
        case "MODE":
            return _mode(fold, members, spans)
        case "APPROX_TOP_K":
            return _top(fold, members, spans)
        case "PERCENTILE" | "APPROX_PERCENTILE":
            return _percentiles(fold, members, spans)
        case "SKEWNESS" | "KURTOSIS":
            return _shape(fold, members, spans)
        case _:
            return finish(fold, combine(fold, lift(fold, members), spans))


def known(fold: Fold, members: Table, spans: Spans) -> tuple[Table, Spans]:
    """The members that the aggregate does not pass over because of a NULL."""
    kept = np.ones(length(members), dtype=bool)
    for place in fold.args[1:] if fold.name in ("MIN_BY_N", "MAX_BY_N") else fold.args:
        kept &= ~is_null(members, place)
    return take(members, kept), spans.take(kept)


def different(fold: Fold, members: Table, spans: Spans) -> tuple[Table, Spans]:
    """One member for all that have equal arguments, over the stretches in which one of them is there."""
    columns = tuple(codes(members[f"v{i}"], is_null(members, i)) for i in fold.args)
    example, spans = joined(columns, spans)
    return take(members, example), spans


def different_rows(members: Table, places: Sequence[int]) -> Table:
    """One member for all of a group that have equal values at some positions."""
    columns = [members["key"], *(codes(members[f"v{i}"], is_null(members, i)) for i in places)]
    order = np.lexsort(columns)
    return take(members, order[firsts(*(column[order] for column in columns))])


def _list(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    value, null = _argument(fold, members)
    by = [codes(members[f"v{place}"], is_null(members, place)) for place in fold.args]
    order = np.lexsort((*by, *(() if fold.distinct else (members["at"],))))
    plain = fold.name == "LISTAGG"
    separator = str(fold.options[0]) if fold.options else ""
    pieces = value if plain else as_json(value, null)
    found = np.full(spans.size, None, dtype=object)
    counts = _counts(members, spans)
    for start, stop in _blocks(counts):
        stretch, member = listed(order, spans.within(start, stop))
        size = stop - start
        found[start:stop] = (
            texts(pieces[member], stretch, size, separator=separator) if plain
            else arrays(pieces[member], stretch, size)
        )
    return found, (counts == 0) & plain


def _blocks(counts: Index) -> Iterator[tuple[int, int]]:
    """Stretches that follow each other and have about ``AT_ONCE`` members together."""
    block = np.cumsum(counts) // AT_ONCE
    bounds = [*np.flatnonzero(firsts(block)).tolist(), len(counts)]
    return pairwise(bounds)


def _first_few(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    """The values of the n first members by the second argument; of equals those that came first."""
    value, null = _argument(fold, members)
    by = codes(members[f"v{fold.args[1]}"], is_null(members, fold.args[1]))
    if fold.name == "MAX_BY_N":
        by = ~by
    order = np.lexsort((codes(value, null), members["at"], by))
    count = _counts(members, spans)
    stretch, place = spread(np.zeros_like(count), np.minimum(count, int(fold.options[0])))
    member = order[nth(ranked(order), spans, stretch, place)]
    found = arrays(as_json(value, null)[member], stretch, spans.size)
    return _typed_text(found, count == 0)


def _mode(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    value, null = _argument(fold, members)
    chosen = most_frequent(codes(value, null), spans)
    return typed(fold, _by_code(value)[chosen], chosen < 0)


def _top(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    """The most frequent values, each with its count; of equal counts the least value first."""
    value, null = _argument(fold, members)
    some = np.unique(value)
    code, count, when = frequencies(codes(value, null), spans)
    order = np.lexsort((code, ~count))
    there = totals(np.ones(len(code), dtype=np.int64), when)
    stretch, place = spread(np.zeros_like(there), np.minimum(there, int(fold.options[0])))
    chosen = order[nth(ranked(order), when, stretch, place)]
    pieces = counted(as_json(some, np.zeros(len(some), dtype=bool))[code[chosen]], count[chosen])
    return arrays(pieces, stretch, spans.size), np.zeros(spans.size, dtype=bool)


def _percentiles(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    """One value for one share, a list for several."""
    value, null = _argument(fold, members)
    ranks, values = codes(value, null), _by_code(value)
    stretch = np.flatnonzero(_counts(members, spans))
    count = _counts(members, spans)[stretch]
    shares = np.array(fold.options, dtype=np.float64)[:, None]
    if fold.name == "APPROX_PERCENTILE":
        # The least value that so large a share of all does not exceed.
        columns = _at(np.maximum(np.ceil(shares * count), 1) - 1, ranks, values, spans, stretch)
    else:
        columns = _between((count - 1) * shares, ranks, values, spans, stretch)
    empty = np.ones(spans.size, dtype=bool)
    empty[stretch] = False
    if fold.result != "text":
        found = np.zeros(spans.size, dtype=columns.dtype)
        found[stretch] = columns[0]
        return typed(fold, found, empty)
    pieces = columns.T.ravel()
    owner = np.repeat(stretch, len(columns))
    pieces = as_json(pieces, np.zeros(len(pieces), dtype=bool))
    return _typed_text(arrays(pieces, owner, spans.size), empty)


def _between(at: Column, ranks: Index, values: Column, spans: Spans, stretch: Index) -> Column:
    """Doubles at places that lie between two members, by the distance from both; shaped as ``_at`` has it."""
    low, high = np.floor(at), np.ceil(at)
    below, above = np.split(_at(np.concatenate((low, high)), ranks, values, spans, stretch), 2)
    with np.errstate(invalid="ignore", over="ignore"):
        between = (high - at) * below + (at - low) * above
    return np.where((low == high) | (below == above), below, between)


def _at(places: Column, ranks: Index, values: Column, spans: Spans, stretch: Index) -> Column:
    """The values at places in order, counted from 0: a row for each share, with the places of the wanted stretches."""
    wanted = places.astype(np.int64).ravel()
    found: Column = values[nth(ranks, spans, np.tile(stretch, len(places)), wanted)]
    return found.reshape(places.shape)


def _shape(fold: Fold, members: Table, spans: Spans) -> tuple[Column, Column]:
    """The mean third or fourth power of the distances from the mean, in standard deviations; NULL without any."""
    value, _ = _argument(fold, members)
    spread_of = Fold("VAR_POP", fold.args, "double")
    parts = combine(spread_of, lift(spread_of, members), spans)
    variance, _ = finish(spread_of, parts)
    count = np.maximum(parts["n"], 1)
    mean, power = parts["sum"] / count, 3 if fold.name == "SKEWNESS" else 4
    total = np.zeros(spans.size)
    # By value, so that the sums are the same in whatever order the members come.
    order = np.argsort(value)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start, stop in _blocks(parts["n"]):
            stretch, member = listed(order, spans.within(start, stop))
            powers = (value[member] - mean[start + stretch]) ** power
            total[start:stop] = np.bincount(stretch, powers, stop - start)
        found = total / count / variance ** (power / 2)
    return typed(fold, found if power == 3 else found - 3, variance == 0)


def _argument(fold: Fold, members: Table) -> tuple[Column, Column]:
    """The values of the first argument, and where they are NULL."""
    place = fold.args[0]
    return members[f"v{place}"], is_null(members, place)


def _by_code(value: Column) -> Column:
    """The value of each code, and one more at the end for none."""
    empty = np.full(1, None if value.dtype == object else 0, dtype=value.dtype)
    return np.concatenate((np.unique(value), empty))


def _counts(members: Table, spans: Spans) -> Index:
    return totals(np.ones(length(members), dtype=np.int64), spans)


def _typed_text(found: Column, null: Column) -> tuple[Column, Column]:
    found[null] = None
    return found, null
