"""Groups that change, made at random, and their rows at each instant by definition.

What an aggregate should give is a function of the group's members: of each the instant at which it came, and the
arguments, NULL as None.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from streamq.stdlib.timelines.folds import Fold
from streamq.stdlib.timelines.groups import Groups
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
