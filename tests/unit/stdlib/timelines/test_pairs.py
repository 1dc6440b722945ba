"""Joins of relations that move, against the pairs of rows that are there at each instant."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable
from zlib import crc32

import numpy as np
import pytest

from streamq.stdlib.timelines import pairs as pairs_module
from streamq.stdlib.timelines.facts import advance_facts
from streamq.stdlib.timelines.pairs import Pairs, next_instant
from streamq.stdlib.timelines.table import CHANGE, FOREVER, State, Table, concat, length

LAST = 30
PAIRS = Pairs(left=(0, 2), right=(1, 3))
TYPES = {"v0": np.int64, "v1": np.int64, "v2": np.float64, "v3": object}

Value = int | float | str | None
Change = tuple[int, int, int, int, int, tuple[Value, Value]]
"""(at, sign, end, side, key, the two values of its side)."""
Seen = Counter[tuple[Hashable, ...]]


def table_of(changes: list[Change]) -> Table:
    """The changes as an operator takes them: the values of the other side are filled with NULLs."""
    columns: dict[str, list[object]] = {name: [] for name in (*CHANGE, *TYPES)}
    for at, sign, end, side, key, values in changes:
        mine = dict(zip((PAIRS.left, PAIRS.right)[side], values, strict=True))
        nulls = sum(1 << i for i in range(4) if mine.get(i) is None)
        row = crc32(repr((side, key, values)).encode())
        for name, value in zip(CHANGE, (at, sign, end, side, key, row, nulls), strict=True):
            columns[name].append(value)
        for i, (name, kind) in enumerate(TYPES.items()):
            empty = None if kind is object else 0
            columns[name].append(empty if mine.get(i) is None else mine[i])
    return {n: np.array(c, dtype=TYPES.get(n, np.int64)) for n, c in columns.items()}


def random_changes(rng: random.Random, *, distinct: bool) -> list[Change]:
    """Rows of both sides that come and go: some ends are known at once, some never come."""
    changes: list[Change] = []
    for number in range(rng.randrange(25)):
        side, key = rng.randrange(2), rng.choice((-5, 0, 7))
        first = number + 1 if distinct else rng.choice((None, 1, 2))
        values = (first, rng.choice((None, 2.5)) if side == 0 else rng.choice((None, "a", "b")))
        at = rng.randrange(LAST)
        end = rng.choice((FOREVER, at, *(rng.randrange(at, LAST + 1) for _ in range(5))))
        later = end == FOREVER or rng.random() < 0.5
        changes.append((at, 1, FOREVER if later else end, side, key, values))
        if later and end != FOREVER:
            changes.append((end, -1, FOREVER, side, key, values))
    rng.shuffle(changes)
    return changes


def cuts_of(rng: random.Random) -> list[int]:
    return [*sorted(rng.sample(range(-1, LAST), rng.randrange(6))), LAST]


def run(rng: random.Random, changes: list[Change], cuts: list[int]) -> Table:
    """Stretch by stretch; a change arrives at any time up to the end of the stretch that it belongs to."""
    state, answers = State(), []
    arrives = [
        rng.randrange(1 + next(i for i, cut in enumerate(cuts) if change[0] <= cut))
        for change in changes
    ]
    for number, cut in enumerate(cuts):
        batch = [c for c, n in zip(changes, arrives, strict=True) if n == number]
        through = state.through
        state, answer = PAIRS.advance(state, table_of(batch) if batch else {}, cut)
        if length(answer):
            assert through < answer["at"].min()
            assert answer["at"].max() <= cut
        answers.append(answer)
    return concat(answers)


def told(answer: Table) -> Seen:
    """(at, sign, key, values with NULL as None) of the changes of an answer."""
    if not answer:
        return Counter()
    assert set(answer) == {*CHANGE, *TYPES}
    assert (answer["end"] == FOREVER).all()
    assert not answer["side"].any()
    assert not answer["row"].any()
    nulls = answer["nulls"].tolist()
    values = [
        [None if n & (1 << i) else v for v, n in zip(answer[name].tolist(), nulls, strict=True)]
        for i, name in enumerate(TYPES)
    ]
    change = (answer[name].tolist() for name in ("at", "sign", "key"))
    return Counter(zip(*change, *values, strict=True))


def joined(key: int, left: tuple[Value, Value], right: tuple[Value, Value]) -> tuple[Hashable, ...]:
    return (key, left[0], right[0], left[1], right[1])


def there(changes: list[Change], instant: int) -> Seen:
    """The pairs of rows that are there at an instant, by definition."""
    bags: tuple[Counter[tuple[int, tuple[Value, Value]]], ...] = (Counter(), Counter())
    for at, sign, end, side, key, values in changes:
        if at <= instant < end:
            bags[side][key, values] += sign
    pairs: Seen = Counter()
    for (key, a), n in bags[0].items():
        for (other, b), m in bags[1].items():
            if key == other and n * m:
                pairs[joined(key, a, b)] += n * m
    return pairs


@pytest.mark.parametrize("piece", [3, 4_000_000])
def test_pairs_are_those_of_the_rows_at_each_instant(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_module, "PIECE", piece)
    for seed in range(100):
        rng = random.Random(seed)
        changes = random_changes(rng, distinct=False)
        seen = told(run(rng, changes, cuts_of(rng)))
        held: Seen = Counter()
        for instant in range(-1, LAST + 1):
            for (at, sign, *row), count in seen.items():
                if at == instant:
                    held[tuple(row)] += count if sign == 1 else -count
            assert {r: n for r, n in held.items() if n} == there(changes, instant), (seed, instant)


def test_each_pair_is_told_once_however_time_is_cut_into_stretches() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        changes = random_changes(rng, distinct=True)
        ends = {c[5]: c[0] for c in changes if c[1] < 0}
        facts = [(c[0], min(c[2], ends.get(c[5], FOREVER)), *c[3:]) for c in changes if c[1] > 0]
        expected: Seen = Counter()
        for at, end, side, key, values in facts:
            for other_at, other_end, other_side, other_key, other_values in facts:
                comes, goes = max(at, other_at), min(end, other_end)
                if (side, other_side) == (0, 1) and key == other_key and comes < goes:
                    row = joined(key, values, other_values)
                    expected[comes, 1, *row] += 1
                    if goes <= LAST:
                        expected[goes, -1, *row] += 1
        for _ in range(3):
            assert told(run(rng, changes, cuts_of(rng))) == expected, seed


def test_the_state_keeps_what_still_holds_and_what_waits() -> None:
    rows = table_of([
        (1, 1, FOREVER, 0, 7, (1, None)),
        (2, 1, 5, 1, 7, (2, "a")),
        (3, 1, 12, 1, 7, (3, "b")),
        (20, 1, FOREVER, 0, 7, (4, None)),
    ])
    state, answer = PAIRS.advance(State(), rows, 10)
    assert state.tables["facts"]["at"].tolist() == [1, 3]
    assert state.tables["waiting"]["at"].tolist() == [20]
    assert sorted(answer["at"].tolist()) == [2, 3, 5]
    assert next_instant(state) == 12
    state, answer = PAIRS.advance(state, {}, 12)
    assert answer["sign"].tolist() == [-1]
    assert next_instant(state) == 20
    state, answer = PAIRS.advance(state, {}, 30)
    assert next_instant(state) is None
    assert not length(answer)


def test_nothing_comes_of_no_rows_or_of_one_side() -> None:
    state, answer = PAIRS.advance(State(), {}, 5)
    assert not length(answer)
    assert next_instant(state) is None
    state, answer = PAIRS.advance(state, table_of([(6, 1, FOREVER, 1, 7, (1, "a"))]), 8)
    assert not length(answer)
    assert state.through == 8


def test_a_row_that_goes_but_never_came_is_passed_over() -> None:
    state, answer = PAIRS.advance(State(), table_of([(1, -1, FOREVER, 0, 7, (1, None))]), 5)
    assert not length(answer)
    assert not length(state.tables["facts"])


def test_only_pairs_with_something_to_tell_are_looked_at() -> None:
    sides = ((0, 2.5), (1, "a"))
    old: list[Change] = [
        (1, 1, FOREVER, side, key, (i, value))
        for i in range(20) for key in (1, 2) for side, value in sides
    ]
    state, answer = PAIRS.advance(State(), table_of(old), 5)
    assert length(answer) == 2 * 20 * 20
    changes = table_of([(7, 1, 8, 0, 1, (99, None)), (9, -1, FOREVER, 1, 2, (3, "a"))])
    later, answer = PAIRS.advance(state, changes, 9)
    assert Counter(answer["sign"].tolist()) == {1: 20, -1: 40}
    facts, _ = advance_facts(state.tables["facts"], changes, 9)
    assert sum(len(left) for left, _ in pairs_module._moving(facts, 5, 9)) == 40
    assert sum(len(left) for left, _ in pairs_module._moving(later.tables["facts"], 9, 12)) == 0


def test_null_bits_go_up_to_the_sign() -> None:
    assert pairs_module._bits(()) == 0
    assert pairs_module._bits((0, 3)) == 9
    assert pairs_module._bits((63,)) == -(2**63)
