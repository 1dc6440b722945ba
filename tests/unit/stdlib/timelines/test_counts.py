"""The ``counts`` operator against a plain count of every row at every instant."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from streamq.stdlib.timelines.counts import RULES, Counts
from streamq.stdlib.timelines.table import FOREVER, State, Table, length

Change = tuple[int, int, int, int, int]
"""(instant, sign, end, side, row)."""


def table(changes: list[Change]) -> Table:
    columns = list(zip(*changes, strict=True)) or [()] * 5
    named = dict(zip(("at", "sign", "end", "side", "row"), columns, strict=True))
    rows = {n: np.array(c, dtype=np.int64) for n, c in named.items()}
    zero = np.zeros(len(changes), dtype=np.int64)
    return {**rows, "key": zero, "nulls": zero, "v0": rows["row"] * 10}


def signed(changes: list[Change]) -> list[tuple[int, int, int, int]]:
    found = []
    for at, sign, end, side, row in changes:
        if end <= at:
            continue
        found.append((at, sign, side, row))
        if end < FOREVER:
            found.append((end, -1, side, row))
    return found


def by_definition(changes: list[Change], rule: str) -> Counter[tuple[int, int]]:
    """What comes (and goes, negative) of each row at each instant."""
    steps = sorted(signed(changes))
    net: Counter[tuple[int, int]] = Counter()
    held: dict[int, list[int]] = {}
    for at in sorted({s[0] for s in steps}):
        before = {row: times(rule, sides) for row, sides in held.items()}
        for _, sign, side, row in (s for s in steps if s[0] == at):
            held.setdefault(row, [0, 0])[side] += sign
        for row, sides in held.items():
            net[at, row] += times(rule, sides) - before.get(row, 0)
    return Counter({key: n for key, n in net.items() if n})


def times(rule: str, sides: list[int]) -> int:
    left, right = (np.array([n]) for n in sides)
    return int(RULES[rule](left, right)[0])


def cases(seed: int) -> list[Change]:
    rng = random.Random(seed)
    changes: list[Change] = []
    for _ in range(rng.randint(0, 30)):
        at, side, row = rng.randint(1, 12), rng.randint(0, 1), rng.randint(1, 4)
        kind = rng.random()
        if kind < 0.4:
            changes.append((at, 1, FOREVER, side, row))
        elif kind < 0.8:
            changes.append((at, 1, at + rng.randint(0, 5), side, row))
        else:
            changes += [(at, 1, FOREVER, side, row), (at + rng.randint(0, 5), -1, FOREVER, side, row)]
    return changes


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(25))
def test_counts_as_defined(rule: str, seed: int) -> None:
    changes = cases(seed)
    rng = random.Random(seed + 1000)
    cuts = [*sorted(rng.sample(range(1, 25), 3)), 100]
    operator, state = Counts(rule), State()
    found: Counter[tuple[int, int]] = Counter()
    before = 0
    for cut in cuts:
        # A change is known at the latest when its instant has passed.
        rows = [c for c in changes if before < c[0] <= cut]
        state, out = operator.advance(state, table(rows), cut)
        for at, sign, row, value in zip(*(out.get(n, ()) for n in ("at", "sign", "row", "v0")), strict=True):
            assert before < at <= cut
            assert value == row * 10
            found[int(at), int(row)] += int(sign)
        before = cut
    assert Counter({k: n for k, n in found.items() if n}) == by_definition(changes, rule)
    assert state.through == 100


def test_changes_come_in_order_of_time() -> None:
    _, out = Counts("keep").advance(State(), table([(5, 1, FOREVER, 0, 1), (2, 1, 4, 0, 2)]), 9)
    assert list(out["at"]) == [2, 4, 5]
    assert list(out["sign"]) == [1, -1, 1]


def test_what_is_not_due_waits() -> None:
    state, out = Counts("keep").advance(State(), table([(5, 1, 8, 0, 1)]), 4)
    assert not length(out)
    state, out = Counts("keep").advance(state, {}, 6)
    assert list(out["sign"]) == [1]
    _, out = Counts("keep").advance(state, {}, 8)
    assert list(out["sign"]) == [-1]


def test_rows_that_are_gone_are_forgotten() -> None:
    state, _ = Counts("keep").advance(State(), table([(1, 1, 3, 0, 7)]), 9)
    assert not length(state.tables["held"])
    assert not length(state.tables["waiting"])
