"""Aggregates over relations that move, against their definitions at each instant."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

import numpy as np
import pytest

from streamq.stdlib.timelines.exact import sums
from streamq.stdlib.timelines.folds import FOLDS, Fold, combine, finish, lift, needs_members
from streamq.stdlib.timelines.groups import Groups
from streamq.stdlib.timelines.spans import Spans
from streamq.stdlib.timelines.squares import OF_TWO
from streamq.stdlib.timelines.table import FOREVER, State, length
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
    rows_of,
    run,
    some_changes,
    table,
    try_out,
)


def total(members: Arguments) -> float | None:
    """The exact sum, rounded; single additions only where not all is finite."""
    values = [v for (v,) in known(members)]
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return sum(v for v in values if not math.isfinite(v))
    return float(sum(map(Fraction, values)))


def long_total(members: Arguments) -> int | None:
    values = [v for (v,) in known(members)]
    return (sum(values) + 2**63) % 2**64 - 2**63 if values else None


def total_that_fits(members: Arguments) -> int | None:
    values = [v for (v,) in known(members)]
    return sum(values) if values and -(2**63) <= sum(values) < 2**63 else None


def average(members: Arguments) -> float | None:
    values = [v for (v,) in known(members)]
    if not values:
        return None
    if all(isinstance(v, int) for v in values):
        return float(sum(values)) / len(values)
    found = total(members)
    return found / len(values) if found is not None else None


def variance(sample: bool) -> Callable[[Arguments], float | None]:
    def fold(members: Arguments) -> float | None:
        values = [Fraction(float(v)) for (v,) in known(members)]
        if len(values) <= sample:
            return None
        mean = sum(values) / len(values)
        return float(sum((v - mean) ** 2 for v in values) / (len(values) - sample))

    return fold


def deviation(sample: bool) -> Callable[[Arguments], float | None]:
    def fold(members: Arguments) -> float | None:
        found = variance(sample)(members)
        return None if found is None else math.sqrt(found)

    return fold


def extreme(choose: Any) -> Callable[[Arguments], Any]:
    return lambda members: choose((v for (v,) in known(members)), key=order, default=None)


def at_time(choose: Any) -> Callable[[Arguments], Any]:
    return lambda members: (
        choose(members, key=lambda m: (order(m[2]), order(m[1])))[1] if members else None
    )


def by(sign: int) -> Callable[[Arguments], Any]:
    """The most extreme, of equals the last to come, of those the greatest value."""

    def fold(members: Arguments) -> Any:
        ordered = sorted({order(m[2]) for m in members if m[2] is not None})
        if not ordered:
            return None
        best = ordered[-1 if sign > 0 else 0]
        return max((m for m in members if order(m[2]) == best), key=lambda m: (m[0], order(m[1])))[
            1
        ]

    return fold


def truth(combine: Any) -> Callable[[Arguments], int | None]:
    return lambda members: int(combine(v for (v,) in known(members))) if known(members) else None


def counted(choose: Any) -> Callable[[Arguments], Any]:
    """FIRST and LAST of the members whose third argument is there."""
    return lambda members: at_time(choose)([m for m in members if m[3] is not None])


def decimal_total(members: Arguments) -> str | None:
    values = [v for (v,) in known(members)]
    return f"{sum(values)}e-2" if values else None


def decimal_mean(members: Arguments) -> str | None:
    values = [v for (v,) in known(members)]
    if not values:
        return None
    mean = Fraction(sum(values)) * 10**4 / len(values)
    nearest = math.floor(abs(mean) + Fraction(1, 2))
    return f"{-nearest if mean < 0 else nearest}e-6"


def bitwise(combine: Callable[[int, int], int]) -> Callable[[Arguments], int | None]:
    def fold(members: Arguments) -> int | None:
        values = [v for (v,) in known(members)]
        return reduce(combine, values) if values else None

    return fold


def line(name: str) -> Callable[[Arguments], float | None]:
    """What a line of y over x has, or a covariance, in exact fractions up to the last step."""

    def fold(members: Arguments) -> float | None:
        pairs = [(Fraction(float(y)), Fraction(float(x))) for y, x in known(members)]
        n = len(pairs)
        if n < (2 if name in ("COVAR_SAMP", "CORR", "REGR_SLOPE") else 1):
            return None
        my, mx = sum(y for y, _ in pairs) / n, sum(x for _, x in pairs) / n
        yy = sum((y - my) ** 2 for y, _ in pairs)
        xx = sum((x - mx) ** 2 for _, x in pairs)
        xy = sum((y - my) * (x - mx) for y, x in pairs)
        plain = {"COVAR_POP": xy / n, "COVAR_SAMP": xy / max(n - 1, 1), "REGR_AVGX": mx, "REGR_AVGY": my,
                 "REGR_SXX": xx, "REGR_SYY": yy, "REGR_SXY": xy}
        if name in plain:
            return float(plain[name])
        if xx == 0 or (name == "CORR" and yy == 0):
            return None
        match name:
            case "CORR":
                return float(xy) / math.sqrt(float(xx) * float(yy))
            case "REGR_SLOPE":
                return float(xy / xx)
            case _:
                return float(xy**2 / xx / yy) if yy else 1.0

    return fold


CASES: list[tuple[Fold, Callable[[Arguments], Any]]] = [
    (Fold("COUNT", (), "long"), len),
    (Fold("COUNT", (DOUBLE,), "long"), lambda m: len(known(m))),
    (Fold("COUNT", (TEXT, LONG), "long"), lambda m: len(known(m))),
    (Fold("SUM", (LONG,), "long"), long_total),
    (Fold("TRY_SUM", (LONG,), "long"), total_that_fits),
    (Fold("SUM", (LONG,), "double"), total),
    (Fold("SUM", (DOUBLE,), "double"), total),
    (Fold("AVG", (LONG,), "double"), average),
    (Fold("AVG", (DOUBLE,), "double"), average),
    (Fold("MIN", (DOUBLE,), "double"), extreme(min)),
    (Fold("MAX", (DOUBLE,), "double"), extreme(max)),
    (Fold("MIN", (LONG,), "long"), extreme(min)),
    (Fold("MAX", (LONG,), "long"), extreme(max)),
    (Fold("MIN", (TEXT,), "text"), extreme(min)),
    (Fold("MAX", (TEXT,), "text"), extreme(max)),
    (Fold("ANY_VALUE", (TEXT,), "text"), extreme(min)),
    (Fold("FIRST", (LONG, STAMP), "long"), at_time(min)),
    (Fold("LAST", (DOUBLE, STAMP), "double"), at_time(max)),
    (Fold("LAST", (TEXT, STAMP), "text"), at_time(max)),
    (Fold("MIN_BY", (TEXT, DOUBLE), "text"), by(-1)),
    (Fold("MAX_BY", (DOUBLE, TEXT), "double"), by(1)),
    (Fold("MAX_BY", (LONG, DOUBLE), "long"), by(1)),
    (Fold("BOOL_AND", (FLAG,), "long"), truth(all)),
    (Fold("BOOL_OR", (FLAG,), "long"), truth(any)),
    (Fold("VAR_SAMP", (NEAR,), "double"), variance(True)),
    (Fold("VAR_POP", (NEAR,), "double"), variance(False)),
    (Fold("STDDEV_SAMP", (NEAR,), "double"), deviation(True)),
    (Fold("STDDEV_POP", (LONG,), "double"), deviation(False)),
    (Fold("FIRST", (TEXT, STAMP, FLAG), "text"), counted(min)),
    (Fold("LAST", (DOUBLE, STAMP, TEXT), "double"), counted(max)),
    (Fold("SUM", (LONG,), "text", options=(2,)), decimal_total),
    (Fold("AVG", (LONG,), "text", options=(2, 6)), decimal_mean),
    (Fold("BIT_AND", (LONG,), "long"), bitwise(and_)),
    (Fold("BIT_OR", (LONG,), "long"), bitwise(or_)),
    (Fold("BIT_XOR", (LONG,), "long"), bitwise(xor)),
    *((Fold(name, (NEAR, STAMP), "double"), line(name)) for name in sorted(OF_TWO - {"REGR_INTERCEPT"})),
]


@pytest.mark.parametrize(("fold", "evaluate"), CASES, ids=named)
def test_rows_that_come_and_go(fold: Fold, evaluate: Callable[[Arguments], Any]) -> None:
    for seed in range(8):
        try_out(fold, evaluate, seed, grows=False)


@pytest.mark.parametrize(("fold", "evaluate"), CASES, ids=named)
def test_rows_that_only_come(fold: Fold, evaluate: Callable[[Arguments], Any]) -> None:
    for seed in range(8):
        try_out(fold, evaluate, seed, grows=True)


def test_many_aggregates_at_once() -> None:
    for seed in range(20):
        pick = random.Random(seed)
        changes = some_changes(pick)
        groups = Groups((NAME, KEY), tuple(fold for fold, _ in CASES), whole=False)
        found = run(groups, changes, [3, 9, 22], pick)
        check(found, expected(changes, CASES, (NAME, KEY), False, 22), 22)


def test_every_aggregate_is_tried() -> None:
    tried = {fold.name for fold, _ in CASES} | {"REGR_INTERCEPT"}
    assert tried == {name for name in FOLDS if not needs_members(Fold(name, (), ""))}


def doubles(*facts: tuple[int, int, float]) -> list[Change]:
    """Rows of one group from (start, end, double)."""
    return [(at, 1, end, i, (1, "k1", v, 0, "", 0, 0, v)) for i, (at, end, v) in enumerate(facts)]


def test_a_huge_value_leaves_no_trace() -> None:
    changes = doubles((0, 9, 0.1), (1, 2, 1e300), (3, 4, math.inf), (5, 6, math.nan))
    folds = (Fold("SUM", (DOUBLE,), "double"), Fold("VAR_POP", (NEAR,), "double"))
    found = run(Groups((), folds, False), changes, [20], random.Random(0))
    rows = {at: values for at, sign, _, values in found if sign > 0}
    assert [at for at in rows if rows[at] == (0.1, 0.0)] == [0, 2, 4, 6]
    assert rows[1][0] == 1e300
    assert rows[3][0] == math.inf
    assert all(map(math.isnan, (rows[3][1], *rows[5])))


def test_a_variance_far_from_zero() -> None:
    values = [1e9 + 1e-3 * i for i in range(10)]
    changes = doubles(*((i, FOREVER, v) for i, v in enumerate(values)), (3, 4, 1e17))
    groups = Groups((), (Fold("VAR_SAMP", (NEAR,), "double"),), False)
    last = run(groups, changes, [20], random.Random(0))[-1]
    wanted = variance(True)([(0, v) for v in values])
    assert wanted is not None
    assert math.isclose(last[3][0], wanted, rel_tol=1e-9)


def test_where_a_line_meets_zero() -> None:
    """y = 2 x + 1 through (1, 3) and (2, 5); with (3, 4) it is y = x / 2 + 3."""
    changes: list[Change] = [
        (at, 1, end, at, (1, "k1", y, 0, "", x, 0, 0.0))
        for at, end, y, x in ((0, 9, 3.0, 1), (1, 9, 5.0, 2), (2, 9, None, 7), (3, 9, 4.0, 3))
    ]
    fold = Fold("REGR_INTERCEPT", (DOUBLE, STAMP), "double")
    found = run(Groups((), (fold,), True), changes, [20], random.Random(0))
    rows = {at: values[0] for at, sign, _, values in found if sign > 0}
    assert rows == {0: None, 1: 1.0, 3: 3.0, 9: None}


@pytest.mark.parametrize("grows", [False, True])
def test_whole_numbers_that_do_not_fit_together(grows: bool) -> None:
    """2**62, then twice that, then 1 less, and down to the least number and one below it."""
    values = (2**62, 2**62, -1, -(2**63), -(2**63), 0, -1)
    changes: list[Change] = [
        (at, 1, FOREVER, at, (1, "k1", 0.0, v, "", 0, 0, 0.0)) for at, v in enumerate(values)
    ]
    folds = tuple(Fold(name, (LONG,), "long") for name in ("TRY_SUM", "SUM"))
    found = run(Groups((KEY,), folds, False, grows), changes, [1, 20], random.Random(0))
    rows = {at: values[1:] for at, sign, _, values in found if sign > 0}
    assert rows == {
        0: (2**62, 2**62), 1: (None, -(2**63)), 2: (2**63 - 1, 2**63 - 1), 3: (-1, -1),
        4: (None, 2**63 - 1), 6: (None, 2**63 - 2),
    }


def test_equal_results_are_not_given_again() -> None:
    changes = doubles(
        (0, 9, 2.0), (1, FOREVER, 2.0), (3, 5, 2.0), (4, 6, math.nan), (5, 6, math.nan)
    )
    groups = Groups((KEY,), (Fold("MAX", (DOUBLE,), "double"),), False)
    found = run(groups, changes, [2, 20], random.Random(0))
    assert [r[:2] for r in found] == [(0, 1), (4, -1), (4, 1), (6, -1), (6, 1)]


def test_a_group_goes_and_comes_again() -> None:
    row = (1, "k1", 2.0, 0, "", 0, 0, 0.0)
    changes: list[Change] = [(0, 1, FOREVER, 1, row), (2, -1, FOREVER, 1, row), (5, 1, 6, 1, row)]
    groups = Groups((NAME,), (), False)
    found = run(groups, changes, [0, 1, 2, 7], random.Random(0))
    assert found == [
        (0, 1, 7, ("k1",)),
        (2, -1, 7, ("k1",)),
        (5, 1, 7, ("k1",)),
        (6, -1, 7, ("k1",)),
    ]


def test_no_rows_but_known_ends() -> None:
    groups = Groups((), (Fold("COUNT", (), "long"), Fold("MIN", (TEXT,), "text")), whole=True)
    rows = table([(1, 1, 5, 1, (1, "k1", 0.0, 0, "x", 0, 0, 0.0))])
    rows["key"][:] = 0
    state, output = groups.advance(State(), {}, 0)
    assert (state, output) == (State(through=0), {})
    state, output = groups.advance(state, rows, 0)
    assert length(output) == 0
    assert set(state.tables) == {"waiting"}
    state, output = groups.advance(state, {}, 3)
    assert rows_of(output, ["long", "text"]) == [(1, 1, 0, (1, "x"))]
    state, output = groups.advance(state, {}, 9)
    assert rows_of(output, ["long", "text"]) == [(5, -1, 0, (1, "x")), (5, 1, 0, (0, None))]
    assert set(state.tables) == {"results"}


def test_a_growing_group_keeps_no_rows() -> None:
    folds = tuple(fold for fold, _ in CASES)
    state = State()
    for i in range(3):
        changes = doubles(*((10 * i + k, FOREVER, float(k)) for k in range(10)))
        state, _ = Groups((KEY,), folds, False, grows=True).advance(
            state, table(changes), 10 * i + 9
        )
    assert {name: length(t) for name, t in state.tables.items()} == {"sums": 1, "results": 1}


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="MIDDLE"):
        Groups((), (Fold("MIDDLE", (0,), "long"),), False)
    with pytest.raises(ValueError, match="MIDDLE"):
        lift(Fold("MIDDLE", (0,), "long"), table(doubles((0, 1, 1.0))))
    with pytest.raises(ValueError, match="goes"):
        Groups((), (), False, grows=True).advance(State(), table(doubles((0, 1, 1.0))), 5)


def test_exact_sums() -> None:
    pick = random.Random(5)
    for _ in range(200):
        size = pick.randint(1, 6)
        values = [
            math.ldexp(pick.uniform(-1, 1), pick.choice((pick.randint(-1080, 1000), 0, 3, 40)))
            for _ in range(pick.randint(1, 12))
        ]
        values += [-v for v in values if pick.random() < 0.4]
        first = [pick.randint(0, size) for _ in values]
        last = [pick.randint(f, size) for f in first]
        spans = Spans(np.array(first, dtype=np.int64), np.array(last, dtype=np.int64), size)
        total, rest = sums(np.array(values), spans)
        for k in range(size):
            exact = sum(
                Fraction(v) for v, f, t in zip(values, first, last, strict=True) if f <= k < t
            )
            found = float(total[k])
            assert abs(Fraction(found) - exact) <= Fraction(math.ulp(found))
            assert abs(Fraction(found) + Fraction(float(rest[k])) - exact) <= abs(exact) * Fraction(
                1, 2**100
            )


@pytest.mark.parametrize(
    ("values", "average"), [((10, 0, 0, 0), 2.5), ((1, 2, 3, 4, 5, 6, 7, 8, 9), 5.0)]
)
def test_g_16_averages_of_parts_combine_by_sum_and_count(
    values: tuple[float, ...], average: float
) -> None:
    fold = Fold("AVG", (0,), "double")
    rows = {"v0": np.array(values, dtype=float), "nulls": np.zeros(len(values), dtype=np.int64)}
    part = np.arange(len(values)) % 3
    parts = combine(fold, lift(fold, rows), Spans(part, part + 1, 3))
    whole = combine(fold, parts, Spans(np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64), 1))
    assert finish(fold, whole)[0].tolist() == [average]
