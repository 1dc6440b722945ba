"""Aggregates over relations that move, against their definitions at each instant."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from streamq.stdlib.timelines.exact import sums
from streamq.stdlib.timelines.folds import FOLDS, Fold, lift, supports_growth
from streamq.stdlib.timelines.groups import Groups
from streamq.stdlib.timelines.spans import Spans
from streamq.stdlib.timelines.table import FOREVER, State, Table, length

DTYPES = (np.int64, object, np.float64, np.int64, object, np.int64, np.int64, np.float64)
KEY, NAME, DOUBLE, LONG, TEXT, STAMP, FLAG, NEAR = range(8)
"""What the value columns hold."""

CHOICES: dict[int, tuple[Any, ...]] = {
    DOUBLE: (
        0.5,
        0.1,
        0.2,
        3.0,
        -0.0,
        0.0,
        1e16,
        -1e16,
        1e300,
        -1e300,
        5e-324,
        math.nan,
        math.inf,
        None,
    ),
    LONG: (0, 1, -3, 7, 2**62, -(2**62), 2**53 + 1, None),
    TEXT: ("", "a", "b", "B", "é", "\U0001f600", "\uffff", None),
    STAMP: (1, 2, 3, None),
    FLAG: (0, 1, None),
    NEAR: (1e8, 1e8 + 0.5, 0.1, -7.25, 1e-3, None),
}

Arguments = list[tuple[Any, ...]]
"""Of each member: the instant it came, and the arguments."""


def order(value: Any) -> tuple[Any, ...]:
    """NULL first, NaN last."""
    if value is None:
        return (0,)
    return (2,) if value != value else (1, value)


def known(members: Arguments) -> Arguments:
    return [args for _, *args in members if None not in args]


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


def distinct(members: Arguments) -> int:
    return len({tuple(map(order, args)) for args in known(members)})


CASES: list[tuple[Fold, Callable[[Arguments], Any]]] = [
    (Fold("COUNT", (), "long"), len),
    (Fold("COUNT", (DOUBLE,), "long"), lambda m: len(known(m))),
    (Fold("COUNT", (TEXT, LONG), "long"), lambda m: len(known(m))),
    (Fold("COUNT_DISTINCT", (DOUBLE,), "long"), distinct),
    (Fold("COUNT_DISTINCT", (TEXT,), "long"), distinct),
    (Fold("COUNT_DISTINCT", (FLAG, STAMP), "long"), distinct),
    (Fold("SUM", (LONG,), "long"), long_total),
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
]

Change = tuple[int, int, int, int, tuple[Any, ...]]
"""Instant, sign, end, hash of the row, values."""


def table(changes: list[Change]) -> Table:
    """Changes as an operator gets them; the key of a group is 7 times its first value, or 5 without."""
    values = [c[4] for c in changes]
    found: Table = {
        "at": np.array([c[0] for c in changes], dtype=np.int64),
        "sign": np.array([c[1] for c in changes], dtype=np.int64),
        "end": np.array([c[2] for c in changes], dtype=np.int64),
        "side": np.zeros(len(changes), dtype=np.int64),
        "key": np.array([hashed(v) for v in values], dtype=np.int64),
        "row": np.array([c[3] for c in changes], dtype=np.int64),
        "nulls": np.array(
            [sum(1 << i for i, v in enumerate(row) if v is None) for row in values], dtype=np.int64
        ),
    }
    for i, dtype in enumerate(DTYPES):
        column = np.empty(len(changes), dtype=dtype)
        column[:] = [0 if row[i] is None and dtype is not object else row[i] for row in values]
        found[f"v{i}"] = column
    return found


def hashed(values: tuple[Any, ...]) -> int:
    return 5 if values[KEY] is None else 7 * values[KEY]


def some_row(pick: random.Random) -> tuple[Any, ...]:
    key = pick.choice((1, 2, -3, None))
    return (
        key,
        None if key is None else f"k{key}",
        *(pick.choice(CHOICES[i]) for i in range(2, 8)),
    )


def some_changes(pick: random.Random, *, goes: bool = True) -> list[Change]:
    """Rows that stay, that go at a known instant, and that are told to go; some come twice."""
    rows = [some_row(pick) for _ in range(pick.randint(1, 14))]
    changes: list[Change] = []
    for _ in range(pick.randint(1, 18)):
        row = pick.randrange(len(rows))
        at = pick.randint(0, 12)
        end = at + pick.randint(0, 8)
        kind = pick.choice(("stays", "known", "told")) if goes else "stays"
        changes.append((at, 1, end if kind == "known" else FOREVER, row, rows[row]))
        if kind == "told":
            changes.append((end, -1, FOREVER, row, rows[row]))
    return changes


def held_at(changes: list[Change]) -> list[tuple[int, int, tuple[Any, ...]]]:
    """(start, end, values) of each fact; a row that goes is the oldest of its equals without a known end."""
    found: list[tuple[int, int, tuple[Any, ...]]] = []
    opened: dict[int, list[tuple[int, tuple[Any, ...]]]] = defaultdict(list)
    for at, sign, end, row, values in sorted(changes, key=lambda c: (c[0], -c[1])):
        if sign < 0:
            start, old = opened[row].pop(0)
            found.append((start, at, old))
        elif end == FOREVER:
            opened[row].append((at, values))
        else:
            found.append((at, end, values))
    left = [(at, FOREVER, values) for rows in opened.values() for at, values in rows]
    return [fact for fact in found + left if fact[0] < fact[1]]


Row = tuple[Any, ...]


def expected(
    changes: list[Change],
    folds: list[tuple[Fold, Callable[[Arguments], Any]]],
    keys: tuple[int, ...],
    whole: bool,
    upto: int,
) -> dict[tuple[int, int], Row | None]:
    """The row of each group at each instant, None where there is none."""
    facts = held_at(changes)
    found: dict[tuple[int, int], Row | None] = {}
    for key in {0} if whole else {hashed(c[4]) for c in changes}:
        ours = [f for f in facts if whole or hashed(f[2]) == key]
        seen = False
        for at in range(upto + 1):
            members = [f for f in ours if f[0] <= at < f[1]]
            seen |= bool(members)
            found[key, at] = None
            if members or (whole and seen):
                given = [members[0][2][k] for k in keys] if members else []
                for fold, evaluate in folds:
                    args = [(start, *(v[a] for a in fold.args)) for start, _, v in members]
                    given.append(evaluate(args))
                found[key, at] = tuple(given)
    return found


def close(one: Row | None, other: Row | None) -> bool:
    """Equal, doubles up to rounding."""
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(map(close_values, one, other))


def close_values(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (one != one and other != other) or math.isclose(one, other, rel_tol=1e-14)
    return type(one) is type(other) and one == other


def rows_of(output: Table, types: list[str]) -> list[tuple[int, int, int, Row]]:
    """(instant, sign, key, values) of each change, with NULL as None; checks the columns."""
    size = length(output)
    if not size:
        return []
    assert (output["end"] == FOREVER).all()
    assert not output["side"].any()
    assert not output["row"].any()
    columns = []
    for i, kind in enumerate(types):
        column = output[f"v{i}"]
        assert column.dtype == {"long": np.int64, "double": np.float64, "text": object}[kind]
        null = (output["nulls"] >> i) & 1 != 0
        assert all(v == (None if kind == "text" else 0) for v in column[null].tolist())
        columns.append([None if n else v for v, n in zip(column.tolist(), null, strict=True)])
    assert not (output["nulls"] >> len(types)).any()
    values = list(zip(*columns, strict=True)) if columns else [()] * size
    moves = (output[name].tolist() for name in ("at", "sign", "key"))
    return list(zip(*moves, values, strict=True))


def same(one: Row, other: Row) -> bool:
    return all(map(lambda a, b: a == b or (a != a and b != b), one, other))


def run(
    groups: Groups, changes: list[Change], cuts: list[int], pick: random.Random
) -> list[tuple[int, int, int, Row]]:
    """All changes of the output; each change of the input is given at some cut before it is due."""
    kinds = ["long" if k == KEY else "text" for k in groups.keys] + [f.result for f in groups.folds]
    given: dict[int, list[Change]] = defaultdict(list)
    for change in changes:
        due = next(i for i, cut in enumerate(cuts) if cut >= change[0])
        given[pick.randint(0, due)].append(change)
    state, found = State(), []
    for i, cut in enumerate(cuts):
        before = state.through
        rows = table(given[i]) if given[i] else {}
        if rows and groups.whole:
            rows["key"] = np.zeros_like(rows["key"])
        state, output = groups.advance(state, rows, cut)
        assert state.through == cut
        assert all(
            c.dtype in (np.int64, np.float64, object)
            for t in state.tables.values()
            for c in t.values()
        )
        step = rows_of(output, kinds)
        assert [r[0] for r in step] == sorted(r[0] for r in step)
        assert all(before < r[0] <= cut for r in step)
        found += step
    return found


def check(
    found: list[tuple[int, int, int, Row]], wanted: dict[tuple[int, int], Row | None], upto: int
) -> None:
    """Replays the output: what goes is what came, nothing is given twice, and each instant is right."""
    now: dict[int, Row] = {}
    for at in range(upto + 1):
        moved = [r for r in found if r[0] == at]
        went = {}
        for _, sign, key, values in moved:
            if sign < 0:
                assert same(now[key], values)
                went[key] = now.pop(key)
        for _, sign, key, values in moved:
            if sign > 0:
                assert key not in now
                assert key not in went or not same(went[key], values)
                now[key] = values
        for key, instant in wanted:
            if instant == at:
                assert close(now.get(key), wanted[key, at]), (
                    at,
                    key,
                    now.get(key),
                    wanted[key, at],
                )


def try_out(fold: Fold, evaluate: Callable[[Arguments], Any], seed: int, *, grows: bool) -> None:
    pick = random.Random(seed)
    changes = some_changes(pick, goes=not grows)
    whole = pick.random() < 0.3
    keys = () if whole else (KEY, NAME)
    groups = Groups(keys, (fold,), whole, grows)
    upto = 22
    wanted = expected(changes, [(fold, evaluate)], keys, whole, upto)
    once = run(groups, changes, [upto], pick)
    check(once, wanted, upto)
    cuts = [*sorted(pick.sample(range(-1, upto), pick.randint(1, 8))), upto]
    parts = run(groups, changes, cuts, pick)
    check(parts, wanted, upto)
    if not grows:
        assert [r[:3] for r in parts] == [r[:3] for r in once]
        assert all(same(a[3], b[3]) for a, b in zip(parts, once, strict=True))


def named(case: Any) -> str:
    return f"{case.name}-{case.args}-{case.result}" if isinstance(case, Fold) else ""


@pytest.mark.parametrize(("fold", "evaluate"), CASES, ids=named)
def test_rows_that_come_and_go(fold: Fold, evaluate: Callable[[Arguments], Any]) -> None:
    for seed in range(8):
        try_out(fold, evaluate, seed, grows=False)


GROWING = [case for case in CASES if supports_growth(case[0])]


@pytest.mark.parametrize(("fold", "evaluate"), GROWING, ids=named)
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
    assert {fold.name for fold, _ in CASES} == FOLDS


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
    folds = tuple(fold for fold, _ in GROWING)
    state = State()
    for i in range(3):
        changes = doubles(*((10 * i + k, FOREVER, float(k)) for k in range(10)))
        state, _ = Groups((KEY,), folds, False, grows=True).advance(
            state, table(changes), 10 * i + 9
        )
    assert {name: length(t) for name, t in state.tables.items()} == {"sums": 1, "results": 1}


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="MODE"):
        Groups((), (Fold("MODE", (0,), "long"),), False)
    with pytest.raises(ValueError, match="MODE"):
        lift(Fold("MODE", (0,), "long"), table(doubles((0, 1, 1.0))))
    with pytest.raises(ValueError, match="COUNT_DISTINCT"):
        Groups((), (Fold("COUNT_DISTINCT", (0,), "long"),), False, grows=True)
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
