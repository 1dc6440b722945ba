"""Streams for tests of joins, and what joins give of them, row by row, as the paper's algorithms are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from streamq.stdlib.joins.columns import Column, Sets, Values, sets
from streamq.stdlib.joins.conditions import EQUAL, Condition, SetCondition
from streamq.stdlib.joins.join import Joined, join, nothing_yet
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import sampled
from streamq.stdlib.joins.selection import Selection
from streamq.stdlib.joins.window import Rows

Pred = Callable[[Any, Any], bool]


class Row(NamedTuple):
    at: int
    id: int
    type: int
    value: Any


Both = tuple[Sequence[Row], Sequence[Row]]
"""The streams of S1 and S2."""


def set_column(given: Sequence[Iterable[int] | dict[int, float] | None], weighted: bool = False) -> Sets:
    """A set of each: its items, or their weights, or None."""
    some = [list(s or ()) for s in given]
    offsets = np.cumsum([0, *(len(s) for s in some)])
    items = np.array([x for s in some for x in s], dtype=np.int64)
    weights = np.array([s[x] for s in given for x in s or ()], dtype=np.float64) if weighted else None
    return sets(offsets, items, np.array([s is None for s in given], dtype=bool), weights)


def value_column(given: Sequence[float | None]) -> Values:
    return Values(np.array([0 if v is None else v for v in given]), np.array([v is None for v in given], dtype=bool))


def column_of(condition: Condition, given: Sequence[Any]) -> Column:
    """What a condition is about."""
    if isinstance(condition, SetCondition):
        return set_column(given, weighted=condition.kind == "INNER_PRODUCT")
    return value_column(given)


def rows_of(stream: Sequence[Row], condition: Condition = EQUAL) -> Rows:
    at, ids, types = (np.array([row[i] for row in stream], dtype=np.int64) for i in range(3))
    return Rows(at, ids, types, column_of(condition, [row.value for row in stream]))


def letters(*given: tuple[int, str]) -> list[Row]:
    return [Row(at, i + 1, 0, frozenset(ord(x) - ord("a") for x in text)) for i, (at, text) in enumerate(given)]


def random_stream(
    random: np.random.Generator, count: int, until: int, types: int = 1, value: Callable[[Any], Any] | None = None
) -> list[Row]:
    """Rows in order of time, some at equal times, of sets if no other value is given."""
    keys = sorted(zip(random.integers(0, until, count).tolist(), random.permutation(count).tolist(), strict=True))
    return [Row(at, i, int(random.integers(types)), (value or some_set)(random)) for at, i in keys]


def random_streams(random: np.random.Generator, count: int, until: int, types: int = 1) -> tuple[list[Row], list[Row]]:
    return random_stream(random, count, until, types), random_stream(random, count, until, types)


def some_set(random: np.random.Generator) -> frozenset[int] | None:
    """Of 0 to 4 of 10 items, one in ten a NULL."""
    if random.random() < 0.1:
        return None
    return frozenset(random.choice(10, random.integers(5), replace=False).tolist())


def overlap(least: int) -> Pred:
    return lambda a, b: a is not None and b is not None and len(a & b) >= least


def oracle(pred: Pred, w: tuple[int, int], streams: Both) -> set[tuple[int, int]]:
    """The pairs of the full join, as a set comprehension."""
    return {
        (a.id, b.id) for a in streams[0] for b in streams[1]
        if (0 <= b.at - a.at <= w[0] or 0 < a.at - b.at <= w[1]) and pred(a.value, b.value)
    }


class Expected(NamedTuple):
    pairs: list[tuple[int, int, int]]
    compared: list[int]
    matches: list[list[int]]
    full_compared: list[list[int]]
    utility: list[list[float]]
    utility_compared: list[list[int]]


def row_by_row(plan: WindowJoin, pred: Pred, streams: Both, selection: Selection) -> Expected:
    """Algorithm 3 of the paper, with whole rows of budgets: time, left, right of each pair, and all counters."""
    grids, n_types = plan.grids, len(plan.utility)
    found = Expected(
        [], [0, 0], *([[0] * g.n_bw for g in grids] for _ in range(2)), *([[0] * n_types for _ in grids] for _ in range(2)),
    )
    windows: tuple[list[Row], list[Row]] = ([], [])
    every = [(row, side) for side in (0, 1) for row in streams[side]]
    for row, side in sorted(every, key=lambda r: (r[0].at, r[1], r[0].id)):
        windows[side].append(row)
        i, grid = 1 - side, grids[1 - side]
        cell = (row.at - grid.origin) // grid.bw_length
        live = [u for u in windows[i] if row.at - u.at <= grid.length]
        by_position = [[u for u in live if cell - (u.at - grid.origin) // grid.bw_length == j] for j in range(grid.n_bw)]
        assert sum(map(len, by_position)) == len(live)
        is_full = bool(sampled(np.array([row.id]), i, selection.frac * selection.sample_p)[0])
        fraction = selection.frac_dir[i] if selection.frac_type is None else selection.frac_type[i][row.type]
        budget = len(live) if is_full else int(np.floor(fraction * len(live) + 1e-9))
        matched = []
        for j in selection.order[i].tolist():
            newest_first = sorted(by_position[j], key=lambda u: (u.at, u.id), reverse=True)
            take = newest_first[:budget]
            budget -= len(take)
            found.compared[i] += len(take)
            hits = [u for u in take if pred(*((row.value, u.value) if side == 0 else (u.value, row.value)))]
            matched += hits
            if is_full:
                found.matches[i][j] += len(hits)
                found.full_compared[i][j] += len(take)
                found.utility_compared[i][row.type] += len(take)
                both = [(plan.utility[row.type], plan.utility[u.type]) for u in hits]
                found.utility[i][row.type] += sum(max(b) if plan.combine == "MAX" else sum(b) / 2 for b in both)
        pairs = [(row.at, row.id, u.id) if side == 0 else (row.at, u.id, row.id) for u in matched]
        found.pairs.extend(sorted(pairs, key=lambda p: p[2 - side]))
    return found


def run(plan: WindowJoin, streams: Both, selection: Selection, cuts: Sequence[tuple[int, int]] = ()) -> list[Joined]:
    """What the join gives of the streams cut into batches; ``cuts``: how many rows of each side came until each."""
    state, found = nothing_yet(plan), []
    whole = tuple(rows_of(stream, plan.condition) for stream in streams)
    bounds = [(0, 0), *cuts, (len(streams[0]), len(streams[1]))]
    for before, upto in pairwise(bounds):
        batch = tuple(rows.take(slice(a, b)) for rows, a, b in zip(whole, before, upto, strict=True))
        state, joined = join(plan, state, (batch[0], batch[1]), selection)
        found.append(joined)
    return found


def pairs(found: Iterable[Joined]) -> list[tuple[int, int, int]]:
    """Time, id of S1, id of S2 of each pair, as they came."""
    return [p for j in found for p in zip(j.at.tolist(), j.left.tolist(), j.right.tolist(), strict=True)]


def cut_in_time(random: np.random.Generator, streams: Both, parts: int) -> list[tuple[int, int]]:
    """Where batches end, so that they come in the order of time, S1 first at equal times."""
    merged = sorted((row.at, side, row.id) for side in (0, 1) for row in streams[side])
    ends = np.sort(random.integers(0, len(merged) + 1, parts - 1)).tolist()
    return [(sum(side == 0 for _, side, _ in merged[:e]), sum(side == 1 for _, side, _ in merged[:e])) for e in ends]
