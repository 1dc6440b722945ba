"""Aggregates that look at all rows of a group that changes, against their definitions at each instant."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from streamq.stdlib.timelines import members
from streamq.stdlib.timelines.folds import FOLDS, Fold, needs_members
from streamq.stdlib.timelines.groups import Groups
from streamq.stdlib.timelines.ranks import most_frequent, nth
from streamq.stdlib.timelines.spans import Spans
from streamq.stdlib.timelines.table import FOREVER, State, length
from streamq.stdlib.timelines.texts import arrays, as_json
from tests.support.groups import (
    DOUBLE,
    FLAG,
    KEY,
    LONG,
    NAME,
    NEAR,
    STAMP,
    TEXT,
    Arguments,
    Change,
    check,
    expected,
    known,
    named,
    order,
    run,
    some_changes,
    table,
    try_out,
)

Evaluate = Callable[[Arguments], Any]


def once(members: Arguments) -> Arguments:
    """One member for all that have equal arguments, by their values."""
    found = {tuple(map(order, args)): (0, *args) for args in known(members)}
    return [found[key] for key in sorted(found)]


def in_order(members: Arguments) -> list[Any]:
    """The values as they came, those of one instant by value."""
    ordered = sorted((m for m in members if m[1] is not None), key=lambda m: (m[0], order(m[1])))
    return [m[1] for m in ordered]


def as_list(values: list[Any]) -> str:
    """JSON without spaces, -0.0 as 0.0."""
    plain = [v + 0.0 if isinstance(v, float) else v for v in values]
    return json.dumps(plain, separators=(",", ":"))


def mode(members: Arguments) -> Any:
    counts = Counter(map(order, in_order(members)))
    if not counts:
        return None
    return min((v for v in in_order(members) if counts[order(v)] == max(counts.values())), key=order)


def share_of(values: list[Any], share: float) -> Any:
    at = (len(values) - 1) * share
    low, high = math.floor(at), math.ceil(at)
    if low == high or values[low] == values[high]:
        return values[low]
    return (high - at) * values[low] + (at - low) * values[high]


def percentile(*shares: float) -> Evaluate:
    def fold(members: Arguments) -> Any:
        values = sorted(map(float, in_order(members)), key=order)
        found = [share_of(values, share) for share in shares] if values else None
        return found and (found[0] if len(shares) == 1 else as_list(found))

    return fold


def at_rank(*shares: float) -> Evaluate:
    def fold(members: Arguments) -> Any:
        values = sorted(in_order(members), key=order)
        if not values:
            return None
        found = [values[max(math.ceil(s * len(values)), 1) - 1] for s in shares]
        return found[0] if len(shares) == 1 else as_list(found)

    return fold


def few(count: int, *, largest: bool) -> Evaluate:
    """The first few by the second argument; of equals those that came first, then the least values."""

    def fold(members: Arguments) -> Any:
        kept = sorted((m for m in members if m[2] is not None), key=lambda m: (m[0], order(m[1])))
        kept.sort(key=lambda m: order(m[2]), reverse=largest)
        return as_list([m[1] for m in kept[:count]]) if kept else None

    return fold


def top(count: int) -> Evaluate:
    def fold(members: Arguments) -> str:
        values = {order(v): v for v in in_order(members)}
        counts = Counter(map(order, in_order(members)))
        best = sorted(values, key=lambda v: (-counts[v], v))[:count]
        items = [{"item": values[v], "count": counts[v]} for v in best]
        return json.dumps(items, separators=(",", ":"))

    return fold


def text(separator: str, *, different: bool = False) -> Evaluate:
    def fold(members: Arguments) -> str | None:
        values = in_order(once(members) if different else members)
        return separator.join(values) if values else None

    return fold


def by_another(members: Arguments) -> str:
    """As they came, those of one instant and one second argument as often as they are there."""
    kept = sorted((m for m in members if None not in m), key=lambda m: (m[0], m[2], m[1]))
    return as_list([m[1] for m in kept])


def different_by_another(members: Arguments) -> str:
    kept = {(m[2], m[1]) for m in members if None not in m}
    return as_list([value for _, value in sorted(kept)])


def long_total(members: Arguments) -> int | None:
    values = [v for _, v in once(members)]
    return (sum(values) + 2**63) % 2**64 - 2**63 if values else None


def mean(members: Arguments) -> float | None:
    values = [v for _, v in once(members)]
    return math.fsum(values) / len(values) if values else None


CASES: list[tuple[Fold, Evaluate]] = [
    (Fold("COUNT", (DOUBLE,), "long", distinct=True), lambda m: len(once(m))),
    (Fold("COUNT", (TEXT,), "long", distinct=True), lambda m: len(once(m))),
    (Fold("COUNT", (FLAG, STAMP), "long", distinct=True), lambda m: len(once(m))),
    (Fold("SUM", (LONG,), "long", distinct=True), long_total),
    (Fold("AVG", (NEAR,), "double", distinct=True), mean),
    (Fold("COLLECT_LIST", (LONG,), "text"), lambda m: as_list(in_order(m))),
    (Fold("COLLECT_LIST", (DOUBLE,), "text"), lambda m: as_list(in_order(m))),
    (Fold("COLLECT_LIST", (TEXT,), "text"), lambda m: as_list(in_order(m))),
    (Fold("COLLECT_LIST", (TEXT,), "text", distinct=True), lambda m: as_list(in_order(once(m)))),
    (Fold("COLLECT_LIST", (DOUBLE,), "text", distinct=True), lambda m: as_list(in_order(once(m)))),
    (Fold("COLLECT_LIST", (TEXT, STAMP), "text"), by_another),
    (Fold("COLLECT_LIST", (TEXT, STAMP), "text", distinct=True), different_by_another),
    (Fold("LISTAGG", (TEXT,), "text"), text("")),
    (Fold("LISTAGG", (TEXT,), "text", options=(", ",)), text(", ")),
    (Fold("LISTAGG", (TEXT,), "text", True, ("]",)), text("]", different=True)),
    (Fold("MODE", (LONG,), "long"), mode),
    (Fold("MODE", (DOUBLE,), "double"), mode),
    (Fold("MODE", (TEXT,), "text"), mode),
    (Fold("PERCENTILE", (NEAR,), "double", options=(0.5,)), percentile(0.5)),
    (Fold("PERCENTILE", (DOUBLE,), "double", options=(0.3,)), percentile(0.3)),
    (Fold("PERCENTILE", (NEAR,), "text", options=(0.0, 0.75, 1.0)), percentile(0.0, 0.75, 1.0)),
    (Fold("PERCENTILE", (NEAR,), "double", True, (0.5,)), lambda m: percentile(0.5)(once(m))),
    (Fold("PERCENTILE", (FLAG,), "double", options=(0.5,)), percentile(0.5)),
    (Fold("APPROX_PERCENTILE", (LONG,), "long", options=(0.5,)), at_rank(0.5)),
    (Fold("APPROX_PERCENTILE", (DOUBLE,), "double", options=(0.0,)), at_rank(0.0)),
    (Fold("APPROX_PERCENTILE", (LONG,), "text", options=(0.2, 1.0)), at_rank(0.2, 1.0)),
    (Fold("APPROX_TOP_K", (LONG,), "text", options=(2,)), top(2)),
    (Fold("APPROX_TOP_K", (TEXT,), "text", options=(5,)), top(5)),
    (Fold("MIN_BY_N", (TEXT, DOUBLE), "text", options=(2,)), few(2, largest=False)),
    (Fold("MAX_BY_N", (LONG, TEXT), "text", options=(3,)), few(3, largest=True)),
    (Fold("MAX_BY_N", (DOUBLE, FLAG), "text", options=(0,)), few(0, largest=True)),
]


@pytest.mark.parametrize(("fold", "evaluate"), CASES, ids=named)
def test_rows_that_come_and_go(fold: Fold, evaluate: Evaluate) -> None:
    for seed in range(8):
        try_out(fold, evaluate, seed, grows=False)


@pytest.mark.parametrize(("fold", "evaluate"), CASES, ids=named)
def test_rows_that_only_come(fold: Fold, evaluate: Evaluate) -> None:
    for seed in range(8):
        try_out(fold, evaluate, seed, grows=True)


@pytest.mark.parametrize("grows", [False, True])
def test_many_aggregates_at_once(grows: bool) -> None:
    cases = [*CASES, (Fold("COUNT", (), "long"), len)]
    for seed in range(20):
        pick = random.Random(seed)
        changes = some_changes(pick, goes=not grows)
        groups = Groups((NAME, KEY), tuple(fold for fold, _ in cases), False, grows)
        found = run(groups, changes, [3, 9, 22], pick)
        check(found, expected(changes, cases, (NAME, KEY), False, 22), 22)


def test_every_aggregate_is_tried() -> None:
    tried = {fold.name for fold, _ in CASES}
    assert tried | {"SKEWNESS", "KURTOSIS"} == {"COUNT", "SUM", "AVG"} | {name for name in FOLDS if needs_members(Fold(name, (), ""))}


@pytest.mark.parametrize("grows", [False, True])
def test_the_shape_of_values(grows: bool) -> None:
    """Of 1 nothing, of 1 1 nothing, then of 1 1 1 5 and of 1 1 1 5 and NaN."""
    values = {0: 1.0, 1: 1.0, 2: None, 3: 1.0, 4: 5.0, 5: math.nan}
    changes: list[Change] = [
        (at, 1, FOREVER, at, (1, "k1", v, 0, "", 0, 0, 0.0)) for at, v in values.items()
    ]
    folds = tuple(Fold(name, (DOUBLE,), "double") for name in ("SKEWNESS", "KURTOSIS"))
    found = run(Groups((), folds, True, grows), changes, [3, 20], random.Random(0))
    rows = {at: values for at, sign, _, values in found if sign > 0}
    assert rows[0] == (None, None)
    # The distances from 2 are -1 -1 -1 3: squares 12, cubes 24, fourth powers 84.
    assert rows[4] == pytest.approx((2 * 24 / 12**1.5, 4 * 84 / 12**2 - 3))
    assert all(map(math.isnan, rows[5]))
    assert set(rows) == {0, 4, 5}


def growing(*folds: Fold) -> int:
    """Members that are kept after three times ten rows, of which ten are different."""
    state = State()
    for i in range(3):
        rows: list[Change] = [
            (10 * i + k, 1, FOREVER, k, (1, "k1", 0.0, k, "", 0, 0, 0.0)) for k in range(10)
        ]
        state, _ = Groups((KEY,), folds, False, grows=True).advance(state, table(rows), 10 * i + 9)
    return length(state.tables.get("members", {}))


def test_what_a_growing_group_keeps() -> None:
    different = Fold("COUNT", (LONG,), "long", distinct=True)
    assert growing(Fold("SUM", (LONG,), "long")) == 0
    assert growing(different, Fold("SUM", (LONG,), "long")) == 10
    assert growing(different, Fold("MODE", (LONG,), "long")) == 30


def test_ranks_of_long_spans() -> None:
    pick = random.Random(3)
    for size in (1, 2, 7, 50):
        count = 4 * size
        first = np.array([pick.randint(0, size) for _ in range(count)], dtype=np.int64)
        last = np.array([pick.randint(f, size) for f in first], dtype=np.int64)
        ranks = np.array([pick.randint(0, size) for _ in range(count)], dtype=np.int64)
        spans = Spans(first, last, size)
        modes = most_frequent(ranks, spans)
        for k in range(size):
            held = sorted(int(r) for r, f, t in zip(ranks, first, last, strict=True) if f <= k < t)
            places = np.arange(len(held), dtype=np.int64)
            assert nth(ranks, spans, np.full(len(held), k), places).tolist() == held
            most = max(map(held.count, held), default=0)
            assert modes[k] == min((r for r in held if held.count(r) == most), default=-1)


def test_long_lists_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "AT_ONCE", 5)
    for fold, evaluate in CASES:
        if fold.name in ("COLLECT_LIST", "LISTAGG"):
            try_out(fold, evaluate, 3, grows=False)


def test_lists_as_texts() -> None:
    values = np.empty(4, dtype=object)
    values[:] = ['a"b', "é\n\U0001f600", None, "],["]
    pieces = as_json(values, np.equal(values, None).astype(bool))
    found = arrays(pieces, np.array([0, 0, 2, 2]), 4)
    assert [json.loads(t) for t in found] == [['a"b', "é\n\U0001f600"], [], [None, "],["], []]
    doubles = np.array([0.1, math.nan, -math.inf, -0.0])
    assert as_json(doubles, np.array([False, False, False, False])).tolist() == [
        "0.1", "NaN", "-Infinity", "0.0",
    ]
