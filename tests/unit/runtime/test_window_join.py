"""Joins of two windows in buckets against the reference evaluator: generated joins of every condition, without Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamq.compiler.lowering.window_joins import SHARDS
from streamq.dsl.records import dataclass
from streamq.runtime.spark import join_bucket
from streamq.runtime.spark.join_bucket import JoinBucket
from tests.unit.runtime.join_harness import (
    Batches,
    Buckets,
    Row,
    by_definition,
    closed,
    compiled,
    joined,
    steps,
    yield_into,
)

JOINS, PART = 500, 25


def both(test: Callable[[Any, Any], bool], column: str) -> Callable[[Row, Row], bool]:
    """A test of a column of both rows, false where one is NULL."""
    return lambda a, b: a[column] is not None and b[column] is not None and test(a[column], b[column])


def shared(a: list[Any], b: list[Any]) -> int:
    return len(({*a} & {*b}) - {None})


def has_all(a: list[Any], b: list[Any]) -> bool:
    return {*b} - {None} <= {*a}


def product(a: dict[str, float | None], b: dict[str, float | None]) -> float:
    return sum(w * other for k, w in a.items() if w is not None and (other := b.get(k)) is not None)


def least(a: float, b: float) -> bool:
    return more(a, b) or a == b


def wrapped(number: int) -> int:
    """As INT, which begins again beyond its range."""
    return (number + 2**31) % 2**32 - 2**31


def apart(a: int, b: int) -> int:
    """The difference of two INT without its sign, which the smallest keeps."""
    return wrapped(abs(wrapped(a - b)))


def more(a: float, b: float) -> bool:
    """NaN is above all other numbers."""
    return not math.isnan(b) if math.isnan(a) else a > b


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in the language, and what it means."""

    text: str
    holds: Callable[[Row, Row], bool]


def conditions(random: np.random.Generator) -> list[Condition]:
    """One of each kind."""
    c, f = int(random.integers(1, 4)), float(random.integers(-4, 9)) / 4
    array = str(random.choice(["tags", "names"]))
    return [
        Condition(f"OVERLAP(a.{array}, b.{array}) >= {c}", both(lambda a, b: shared(a, b) >= c, array)),
        Condition(f"OVERLAP(b.{array}, a.{array}) > {c - 1}", both(lambda a, b: shared(a, b) > c - 1, array)),
        Condition(f"{c} = OVERLAP(a.{array}, b.{array})", both(lambda a, b: shared(a, b) == c, array)),
        Condition(f"OVERLAP(a.{array}, b.{array}) < {c}", both(lambda a, b: shared(a, b) < c, array)),
        Condition(f"a.{array} @> b.{array}", both(has_all, array)),
        Condition(f"a.{array} IS SUBSET OF b.{array}", both(lambda a, b: has_all(b, a), array)),
        Condition(f"INNER_PRODUCT(a.w, b.w) > {f}", both(lambda a, b: more(product(a, b), f), "w")),
        Condition(f"INNER_PRODUCT(b.w, a.w) >= {abs(f)} AND a.v <= b.v", lambda a, b: both(lambda x, y: least(product(x, y), abs(f)), "w")(a, b) and both(lambda x, y: x <= y, "v")(a, b)),
        Condition("a.v < b.v", both(lambda a, b: a < b, "v")),
        Condition("a.v >= b.v AND a.x > b.x", lambda a, b: both(lambda x, y: x >= y, "v")(a, b) and both(more, "x")(a, b)),
        Condition(f"ABS(a.x - b.x) <= {abs(f)}", both(lambda a, b: abs(a - b) <= abs(f), "x")),
        Condition(f"ABS(b.v - a.v) < {c}", both(lambda a, b: apart(a, b) < c, "v")),
        Condition(f"ABS(a.v - b.v) <= {c}.5", both(lambda a, b: apart(a, b) <= c, "v")),
        Condition(f"OVERLAP(a.{array}, b.{array}) > 0.5", both(lambda a, b: shared(a, b) > 0, array)),
        Condition("a.v < b.v AND a.n <> b.n AND a.x < b.x", lambda a, b: a["n"] != b["n"] and both(lambda x, y: x < y, "v")(a, b) and both(lambda x, y: more(y, x), "x")(a, b)),
        Condition("a.k = b.k AND a.v < b.v", lambda a, b: both(lambda x, y: x == y, "k")(a, b) and both(lambda x, y: x < y, "v")(a, b)),
        Condition(f"a.k = b.k AND OVERLAP(a.tags, b.tags) >= {c}", lambda a, b: both(lambda x, y: x == y, "k")(a, b) and both(lambda x, y: shared(x, y) >= c, "tags")(a, b)),
        Condition("(a.v + b.v) % 3 = 0", both(lambda a, b: math.fmod(wrapped(a + b), 3) == 0, "v")),
        Condition("TRUE", lambda a, b: True),
    ]


def query_of(condition: Condition, left: str, right: str) -> str:
    """Joins of equal keys are Spark's own, unless they may shed."""
    join = f"a {left}, b {right}" if condition.text == "TRUE" else f"a {left} JOIN b {right} ON {condition.text}"
    shed = " SHED JOIN BY 0 PERCENT" if "a.k = b.k" in condition.text else ""
    return f"SELECT ISTREAM(a.n, b.n AS m, a.ts AS s, b.ts AS t) FROM {join}{shed}"


def drawn(random: np.random.Generator, spread_s: int, size: int) -> Batches:
    """Micro-batches with late rows, equal times, NULLs, NaN, empty sets and empty batches."""
    number = iter(range(10**6))

    def some(value: Any) -> Any:
        return None if random.random() < 0.1 else value

    def row(second: int) -> Row:
        items = random.integers(0, 6, random.integers(0, 6)).tolist()
        heavy = [math.nan, math.inf, 1e-305] if random.random() < 0.2 else [1.0]
        weights = {str(i): some(float(random.choice(heavy)) * float(random.integers(-2, 5)) / 2) for i in {*random.integers(0, 6, random.integers(0, 5)).tolist()}}
        x = math.nan if random.random() < 0.05 else float(random.integers(-8, 9)) / 4
        return {
            "n": next(number), "k": some(int(random.integers(0, 3))), "v": some(int(random.choice([2**31 - 3, -(2**31)]) if random.random() < 0.05 else random.integers(-5, 6))), "x": some(x),
            "tags": some([some(i) for i in items]), "names": some([some(f"n{i}") for i in items]), "w": some(weights), "ts": second,
        }

    def rows(batch: int) -> list[Row]:
        return [row(max(0, 8 * batch + int(random.integers(-spread_s, 9)))) for _ in range(random.integers(0, size))]

    return [(rows(batch), rows(batch)) for batch in range(4)]


@pytest.mark.parametrize("part", range(JOINS // PART))
def test_generated_joins_of_every_condition(part: int) -> None:
    for number in range(part * PART, (part + 1) * PART):
        random = np.random.default_rng([17, number])
        every = conditions(random)
        condition = every[number % len(every)]
        left, right = ("[NOW]" if random.random() < 0.1 else f"[RANGE {random.integers(1, 25)} SECONDS]" for _ in "ab")
        result = compiled(query_of(condition, left, right))
        batches = drawn(random, 14, 12)
        assert joined(result, batches, condition.holds) == by_definition(result, batches), (number, condition.text)


def test_of_the_generated_joins_many_find_pairs() -> None:
    """Of each condition there is a join with pairs, and one whose operator leaves nothing to Spark."""
    found, whole = set(), set()
    for number in range(4 * len(conditions(np.random.default_rng(0)))):
        random = np.random.default_rng([17, number])
        every = conditions(random)
        condition = every[number % len(every)]
        result = compiled(query_of(condition, "[RANGE 20 SECONDS]", "[RANGE 20 SECONDS]"))
        if joined(result, drawn(random, 14, 12), condition.holds):
            found.add(number % len(every))
        if Buckets(result).matching.whole:
            whole.add(number % len(every))
    assert found == set(range(len(conditions(np.random.default_rng(0)))))
    assert whole >= {0, 1, 4, 5, 8}


def test_of_an_instant_beside_a_longer_window_all_is_compared() -> None:
    """Rows of one instant are few: to leave some of them out would save nothing, and lose most of the pairs."""
    batches = steady((8, 8), lambda n: [1])
    for left, right in (("[NOW]", "[RANGE 20 SECONDS]"), ("[RANGE 20 SECONDS]", "[NOW]")):
        query = OVERLAPPING.replace("[RANGE 20 SECONDS]", "{}").format(left, right)
        exact, half = Buckets(compiled(query)), Buckets(compiled(f"{query} SHED JOIN BY 50 PERCENT"))
        every = {pair for batch in batches for pair in exact.feed(batch)}
        some = {pair for batch in batches for pair in half.feed(batch, 0.5)}
        assert some < every
        same = {(m, n) for m, n in every if m // 8 == n // 8}
        assert len(some & same) / len(same) > 0.5
        assert 0.4 < len(some) / len(every) < 0.8
    both = OVERLAPPING.replace("[RANGE 20 SECONDS]", "[NOW]")
    exact, half = Buckets(compiled(both)), Buckets(compiled(f"{both} SHED JOIN BY 50 PERCENT"))
    counts = [sum(len(one.feed(batch, frac)) for batch in batches) for one, frac in ((exact, 1.0), (half, 0.5))]
    assert 0.4 < counts[1] / counts[0] < 0.8


def test_rows_from_pandas_are_the_same() -> None:
    """NULL and NaN are not one thing, and no BIGINT goes through a float."""
    result = compiled("SELECT ISTREAM(a.n, b.n AS m, a.ts AS s, b.ts AS t) FROM a [NOW] JOIN b [NOW] ON a.x >= b.x AND a.v < b.v")
    step, _, _ = steps(result)
    bucket = JoinBucket.of(step.condition, step.grids, step.kinds, step.left, step.sampled, step.worths)
    schema = bucket.form.incoming()
    empty = {"long": 0, "double": 0.0, "text": None}
    rows = [
        {
            "at": 5, "side": i % 2, "key": 0, "row": i, "nulls": 0, "own": True, "frac": 1.0, "worth": 0.0, "unknown": unknown,
            "c0": x, "c1": v, **{f"v{place}": empty[kind] for place, kind in enumerate(step.kinds)},
        }
        for i, (x, v, unknown) in enumerate([(math.nan, 2**53, 0), (1.0, 2**53 + 1, 0), (0.0, 0, 1), (2.0, 2**53 + 1, 0)])
    ]
    arrow = pa.RecordBatch.from_pylist(rows, schema)
    pandas = bucket.from_pandas(arrow.to_pandas())
    assert pandas.drop_columns(["c0"]).equals(arrow.drop_columns(["c0"]))
    assert [str(x) for x in pandas["c0"].to_pylist()] == [str(x) for x in arrow["c0"].to_pylist()]
    found: list[pa.RecordBatch] = []
    yield_into(found, bucket.advance(0, {}, iter([pandas]), 0))
    assert sum(map(len, found)) == 2


OVERLAPPING = "SELECT ISTREAM(a.n, b.n AS m) FROM a [RANGE 20 SECONDS] JOIN b [RANGE 20 SECONDS] ON OVERLAP(a.tags, b.tags) >= 1"


def test_with_the_whole_window_compared_shedding_changes_nothing() -> None:
    batches = drawn(np.random.default_rng(3), 14, 60)
    exact, sheds = compiled(OVERLAPPING), compiled(f"{OVERLAPPING} SHED JOIN BY 0 PERCENT")
    ours, theirs = Buckets(exact), Buckets(sheds)
    for batch in closed(batches):
        assert sorted(ours.feed(batch)) == sorted(theirs.feed(batch))


def test_a_fraction_gives_a_part_of_the_pairs_and_no_others() -> None:
    batches = drawn(np.random.default_rng(4), 2, 200)
    exact, half = Buckets(compiled(OVERLAPPING)), Buckets(compiled(f"{OVERLAPPING} SHED JOIN BY 50 PERCENT"))
    every = [pair for batch in batches for pair in exact.feed(batch)]
    some = [pair for batch in batches for pair in half.feed(batch, 0.5)]
    assert len(some) == len(set(some))
    assert set(some) < set(every)
    # About half of the comparisons, of which as many find a pair, and full probes: 0.05 of the rows.
    assert 0.4 < len(some) / len(every) < 0.75


def test_what_is_read_back_goes_on_as_if_nothing_had_happened() -> None:
    """Each bucket is made anew for every micro-batch, from bytes; so a run that was killed decides as the one before did."""
    batches = drawn(np.random.default_rng(5), 5, 120)
    sheds = f"{OVERLAPPING} SHED JOIN BY 70 PERCENT"
    once, again = Buckets(compiled(sheds)), Buckets(compiled(sheds))
    for batch in batches:
        before = {bucket: dict(state) for bucket, state in again.state.items()}
        numbers = again.late_ms, again.watermark_ms, list(again.latest)
        again.feed(batch, 0.3)
        again.state, (again.late_ms, again.watermark_ms, again.latest) = before, numbers
        assert again.feed(batch, 0.3) == once.feed(batch, 0.3)
        assert again.state == once.state


def test_windows_are_let_go_and_only_those_that_gain_rows_are_written() -> None:
    buckets = Buckets(compiled(OVERLAPPING))
    row = drawn(np.random.default_rng(1), 2, 40)[0][0][0]
    for second in range(0, 300, 10):
        before = {b: dict(s) for b, s in buckets.state.items()}
        buckets.feed(([{**row, "n": second, "ts": second}], [{**row, "n": second, "ts": second}]))
        for bucket, state in buckets.state.items():
            changed = [place for place, data in state.items() if before.get(bucket, {}).get(place) != data and place[0] < 2]
            assert len(changed) <= 2
    kept = [place for state in buckets.state.values() for place in state if place[0] < 2]
    assert 0 < len(kept) <= 2 * 5


# --- input of all kinds ------------------------------------------------------------------------------


def plain(n: int, second: int, tags: list[int] | None = None, **more: Any) -> Row:
    return {"n": n, "k": 1, "v": n % 7, "x": 0.5, "tags": tags, "names": None, "w": None, "ts": second, **more}


def steady(rates: tuple[int, int], tags: Callable[[int], list[int] | None], seconds: int = 40, per_batch: int = 10) -> Batches:
    """Rows of both streams, so many in a second."""
    return [
        tuple(  # type: ignore[misc]
            [plain(rate * second + i, second, tags(rate * second + i)) for second in range(start, start + per_batch) for i in range(rate)]
            for rate in rates
        )
        for start in range(0, seconds, per_batch)
    ]


INPUTS: dict[str, tuple[str, Batches]] = {
    "one silent stream": (OVERLAPPING, steady((0, 5), lambda n: [1])),
    "rates that differ by a factor of 1000": (OVERLAPPING, [
        ([plain(i, 10 * i + 5, [1, 2])], [plain(1000 * i + j, 10 * i + j // 100, [j % 9]) for j in range(1000)]) for i in range(3)
    ]),
    "all rows match": (OVERLAPPING, steady((3, 3), lambda n: [1])),
    "none match": (OVERLAPPING, [
        ([plain(i, 10 * b + i % 10, [1]) for i in range(20 * b, 20 * b + 20)], [plain(i, 10 * b + i % 10, [2]) for i in range(20 * b, 20 * b + 20)])
        for b in range(3)
    ]),
    "ties in time": (OVERLAPPING, [([plain(i, 7, [i % 3]) for i in range(9)], [plain(i, 7, [i % 3]) for i in range(9)])]),
    "empty sets and NULL": ("SELECT ISTREAM(a.n, b.n AS m) FROM a [RANGE 9 SECONDS] JOIN b [RANGE 9 SECONDS] ON a.tags @> b.tags", [
        ([plain(i, i, [None, [], [1], [1, 2]][i % 4]) for i in range(20)], [plain(i, i, [None, [], [2]][i % 3]) for i in range(20)])
    ]),
    "windows shorter than a basic window": (
        OVERLAPPING.replace("20 SECONDS", "1 SECOND") + " SHED JOIN BASIC WINDOW 30 SECONDS BY 0 PERCENT", steady((2, 3), lambda n: [n % 4])
    ),
}


@pytest.mark.parametrize("name", INPUTS)
def test_input_of_all_kinds(name: str) -> None:
    query, batches = INPUTS[name]
    result = compiled(query)
    expected = by_definition(result, batches)
    assert bool(expected) == (name not in ("one silent stream", "none match"))
    assert joined(result, batches, lambda a, b: True) == expected


def test_rows_out_of_order_within_the_watermark() -> None:
    """Within five seconds they are joined as if they had come in time, later they are late on both sides."""
    batches = [
        ([plain(1, 30, [1])], [plain(1, 30, [1])]), ([plain(2, 27, [1])], [plain(2, 26, [1])]),
        ([plain(3, 40, [1])], [plain(3, 40, [1])]), ([plain(4, 24, [1])], [plain(4, 36, [1])]),
    ]
    result = compiled(OVERLAPPING)
    found = joined(result, batches, lambda a, b: True)
    assert found == by_definition(result, batches)
    assert (2, 2) in found
    assert (1, 4) in found
    assert all(m != 4 for m, _ in found)


def test_many_pairs_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = steady((4, 5), lambda n: [n % 2])
    query = f"{OVERLAPPING} SHED JOIN BY 40 PERCENT"
    once = Buckets(compiled(query))
    whole = [pair for batch in batches for pair in once.feed(batch, 0.6)]
    monkeypatch.setattr(join_bucket, "MOST_PAIRS", 60)
    parts = Buckets(compiled(query))
    assert sorted(pair for batch in batches for pair in parts.feed(batch, 0.6)) == sorted(whole)
    assert {b: {p: d for p, d in s.items() if p[0] < 2} for b, s in parts.state.items()} == {
        b: {p: d for p, d in s.items() if p[0] < 2} for b, s in once.state.items()
    }


@pytest.mark.parametrize("worth", [None, -3.0, 0.0, math.nan, math.inf, 1e-30, 1e30])
def test_any_utility_of_a_row(worth: float | None) -> None:
    """Rows that are worth something go before rows that are worth nothing, which NULL and negative ones are."""
    query = f"{OVERLAPPING} QOS UTILITY a.x SHED JOIN BY 70 PERCENT"
    buckets = Buckets(compiled(query))
    exact = Buckets(compiled(OVERLAPPING))
    found, every = [], []
    for batch in steady((6, 6), lambda n: [1], seconds=60):
        rows = [{**row, "worth": worth if row["n"] % 2 else 1.0} for row in batch[0]]
        found += buckets.feed((rows, batch[1]), 0.3)
        every += exact.feed(batch)
    assert set(found) < set(every)
    late = [(m, n) for m, n in found if m >= 6 * 40]
    odd = sum(m % 2 for m, _ in late) / len(late)
    dear = worth is not None and worth > 1
    assert 0 < odd < 1
    assert (odd > 0.55) == dear
    assert (odd < 0.45) == (worth is None or not worth > 0 or worth < 0.1)


def test_a_lag_between_the_streams_is_learned_and_told() -> None:
    """Partners are twelve seconds apart: with three in ten comparisons most of the pairs are found, and it is said where."""
    random = np.random.default_rng(2)

    def batch(start: int) -> tuple[list[Row], list[Row]]:
        seconds = range(start, start + 5)
        return (
            [plain(40 * s + i, s, [s - 12]) for s in seconds for i in range(40)],
            [plain(40 * s + i, s, [s]) for s in seconds for i in range(40) if random.random() < 0.9],
        )

    query = OVERLAPPING + " SHED JOIN BASIC WINDOW 2 SECONDS BY 70 PERCENT"
    buckets, exact = Buckets(compiled(query)), Buckets(compiled(OVERLAPPING))
    found = every = 0
    for start in range(0, 200, 5):
        rows = batch(start)
        ours, all_ = buckets.feed(rows, 0.3), exact.feed(rows)
        if start >= 100:
            found, every = found + len(ours), every + len(all_)
    assert found / every > 0.9
    last = json.loads(buckets.told[-1])
    right = last["windows"][1]
    # Rows of `a` look for those of `b` of twelve seconds before, in the seventh basic window of two seconds, or the sixth.
    assert {right["order"][0], right["order"][1]} == {6, 5} or right["order"][0] == 6
    assert last["frac_dir"][1] > last["frac_dir"][0]


def test_a_first_micro_batch_that_is_longer_than_a_period_is_learned_from() -> None:
    """As that of a run over files that wait: what it found is told, and the next one goes by it."""
    buckets = Buckets(compiled(f"{OVERLAPPING} SHED JOIN BASIC WINDOW 2 SECONDS BY 50 PERCENT"))
    buckets.feed(steady((4, 4), lambda n: [1], seconds=40, per_batch=40)[0], 0.5)
    assert len(buckets.told) == SHARDS
    assert all(sum(json.loads(told)["windows"][0]["found"]) > 0 for told in buckets.told)
