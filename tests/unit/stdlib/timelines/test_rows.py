"""Row windows over columns, against the reference evaluator."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable
from zlib import crc32

import numpy as np
import pytest

from streamq.compiler.ir import logical as lg
from streamq.runtime.reference import facts as reference
from streamq.runtime.reference.windows import MICROS, apply_window
from streamq.stdlib.timelines.rows import LastRows, next_instant
from streamq.stdlib.timelines.table import CHANGE, FOREVER, State, Table, concat, length

COLUMNS = ("k", "number", "half", "text")
TYPES = {"v0": np.int64, "v1": np.int64, "v2": np.float64, "v3": object}
TIES = (0, 1, 2, 3)
SOON = 40
LAST = SOON * MICROS

Row = tuple[int, int | None, float | None, str | None]
Stamped = tuple[int, Row]
Seen = Counter[tuple[Hashable, ...]]


def table_of(rows: list[Stamped]) -> Table:
    """The rows as an operator takes them; keys are in another order than the values they stand for."""
    if not rows:
        return {}
    change = {name: np.zeros(len(rows), dtype=np.int64) for name in CHANGE}
    change["at"] += np.array([at for at, _ in rows], dtype=np.int64)
    change["sign"] += 1
    change["end"] += FOREVER
    change["key"] += np.array([10 - row[0] for _, row in rows], dtype=np.int64)
    change["row"] += np.array([crc32(repr(row).encode()) for _, row in rows], dtype=np.int64)
    for i, (name, kind) in enumerate(TYPES.items()):
        values = [row[i] for _, row in rows]
        change["nulls"] |= np.array([v is None for v in values], dtype=np.int64) << i
        filled = values if kind is object else [0 if v is None else v for v in values]
        change[name] = np.array(filled, dtype=kind)
    return change


def random_rows(rng: random.Random, keys: int) -> list[Stamped]:
    """Up to 40 rows, many of them at one instant."""
    return [
        (
            rng.randrange(-3, SOON) * rng.choice((1, 1, MICROS // 4)),
            (
                rng.randrange(keys),
                rng.choice((None, -1, 0, 2)),
                rng.choice((None, math.nan, math.inf, -1.5, 0.0)),
                rng.choice((None, "", "a", "B", "é", "\U0001f600", "\uffee")),
            ),
        )
        for _ in range(rng.randrange(40))
    ]


def cuts_of(rng: random.Random) -> list[int]:
    """Some instants among the crowded first ones, some later ones, and the last."""
    early = rng.sample(range(-4, SOON), rng.randrange(5))
    late = rng.sample(range(SOON, LAST, 7), rng.randrange(5))
    return [*sorted(early + late), LAST]


def plain(row: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """The row with a NaN that equals itself."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row)


def told(answer: Table) -> Seen:
    """(at, sign, values with NULL as None) of the changes of an answer."""
    if not answer:
        return Counter()
    assert set(answer) == {*CHANGE, *TYPES}
    assert (answer["end"] == FOREVER).all()
    assert not answer["side"].any()
    assert (answer["key"] == 10 - answer["v0"]).all()
    nulls = answer["nulls"].tolist()
    values = [
        [None if n & (1 << i) else v for v, n in zip(answer[name].tolist(), nulls, strict=True)]
        for i, name in enumerate(TYPES)
    ]
    changes = zip(answer["at"].tolist(), answer["sign"].tolist(), *values, strict=True)
    return Counter(plain(change) for change in changes)


def expected(rows: list[Stamped], spec: lg.LastRows) -> Seen:
    """The same of the reference, up to the last instant."""
    stream = [reference.Fact(row, at, reference.FOREVER) for at, row in rows]
    return Counter(
        (at, sign, *plain(fact.row))
        for fact in apply_window(spec, stream, COLUMNS)
        for at, sign in ((fact.start, 1), (fact.end, -1)) if at <= LAST
    )


def run(rng: random.Random, operator: LastRows, rows: list[Stamped], cuts: list[int]) -> Table:
    """Stretch by stretch; a row arrives at any time up to the end of the stretch that it belongs to."""
    state, answers = State(), []
    arrives = [rng.randrange(1 + next(i for i, c in enumerate(cuts) if at <= c)) for at, _ in rows]
    for number, cut in enumerate(cuts):
        batch = [row for row, n in zip(rows, arrives, strict=True) if n == number]
        through = state.through
        state, answer = operator.advance(state, table_of(batch), cut)
        if length(answer):
            assert through < answer["at"].min()
            assert answer["at"].max() <= cut
        held = state.tables["held"]
        per_key = Counter(held["key"].tolist() if held else ())
        assert max(per_key.values(), default=0) <= operator.rows + operator.slide
        due = next_instant(state)
        assert due is None or due > cut
        answers.append(answer)
    return concat(answers)


@pytest.mark.parametrize("range_ms", [None, 1, 3])
@pytest.mark.parametrize("slide", [None, 1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_rows_are_in_the_windows_of_the_reference(
    count: int, slide: int | None, range_ms: int | None
) -> None:
    spec = lg.LastRows(count, slide, ("k",), range_ms)
    range_us = None if range_ms is None else range_ms * MICROS
    operator = LastRows(count, slide or 1, range_us, TIES)
    for seed in range(12):
        rng = random.Random(f"{spec} {seed}")
        rows = random_rows(rng, rng.choice((1, 3)))
        answers = expected(rows, spec)
        for cuts in ([LAST], cuts_of(rng), cuts_of(rng)):
            assert told(run(rng, operator, rows, cuts)) == answers, (seed, cuts)


@pytest.mark.parametrize("range_ms", [None, 1])
@pytest.mark.parametrize("slide", [None, 3])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_equal_rows_that_come_and_go_at_one_instant_are_not_told(
    count: int, slide: int | None, range_ms: int | None
) -> None:
    spec = lg.LastRows(count, slide, ("k",), range_ms)
    range_us = None if range_ms is None else range_ms * MICROS
    operator = LastRows(count, slide or 1, range_us, TIES, nets=True)
    cancelled = 0
    for seed in range(12):
        rng = random.Random(f"{spec} {seed}")
        rows = [(at, (key, v % 2 if v else None, None, None)) for at, (key, v, _, _) in random_rows(rng, 2)]
        both = expected(rows, spec)
        net: Seen = Counter()
        for (at, sign, *row), n in both.items():
            net[at, *row] += sign * n  # type: ignore[operator]
        answers = Counter({
            (at, 1 if n > 0 else -1, *row): abs(n) for (at, *row), n in net.items() if n
        })
        cancelled += both.total() - answers.total()
        for cuts in ([LAST], cuts_of(rng)):
            assert told(run(rng, operator, rows, cuts)) == answers, (seed, cuts)
    assert cancelled > 0


def simple(*stamps: int, key: int = 0) -> list[Stamped]:
    """Rows of one key, numbered from 0 in their second value."""
    return [(at, (key, i, None, None)) for i, at in enumerate(stamps)]


def test_a_row_that_expires_before_the_slide_lets_it_in_is_never_there() -> None:
    operator = LastRows(rows=5, slide=3, range_us=10)
    state, answer = operator.advance(State(), table_of(simple(0, 5)), 5)
    assert not length(answer)
    state, answer = operator.advance(state, table_of(simple(12)), 12)
    assert sorted(zip(answer["at"].tolist(), answer["sign"].tolist(), strict=True)) == [(12, 1)] * 2
    assert next_instant(state) == 15
    state, answer = operator.advance(state, {}, 30)
    assert sorted(answer["at"].tolist()) == [15, 22]
    assert answer["sign"].tolist() == [-1, -1]
    assert next_instant(state) is None


def test_a_key_without_rows_is_forgotten_only_between_slides() -> None:
    operator = LastRows(rows=2, slide=2, range_us=10)
    rows = table_of(simple(0, 1, key=1) + simple(0, 1, 2, key=2))
    state, _ = operator.advance(State(), rows, 50)
    assert not length(state.tables["held"])
    assert state.tables["counts"]["key"].tolist() == [8]
    assert state.tables["counts"]["count"].tolist() == [3]
    _, answer = operator.advance(state, table_of(simple(60, key=1) + simple(60, key=2)), 60)
    assert answer["v0"].tolist() == [2]


def test_rows_without_range_stay_until_they_are_pushed_out() -> None:
    state, _ = LastRows(rows=2).advance(State(), table_of(simple(-7, -5, -3, 80)), 10**17)
    assert state.tables["held"]["at"].tolist() == [-3, 80]
    assert next_instant(state) is None


def test_a_range_longer_than_time_never_expires() -> None:
    operator = LastRows(rows=2, range_us=FOREVER)
    state, _ = operator.advance(State(), table_of(simple(3, 5)), 10)
    assert state.tables["held"]["expires"].tolist() == [FOREVER, FOREVER]


def test_rows_wait_for_their_instant() -> None:
    state, answer = LastRows(rows=1).advance(State(), table_of(simple(9, 12)), 5)
    assert not length(answer)
    assert next_instant(state) == 9
